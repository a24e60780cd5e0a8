import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import {
  demoKeyProductTypes,
  isDemoProductType,
  type ProductType,
  productTypes,
} from "../contract/product-types.ts";
import { shownCode } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Account, LookUp } from "./account.ts";
import {
  CommandSource,
  credentialKeys,
  credentialOrigin,
  exposureOf,
  isExposed,
  lookUpCredentials,
  lookUpInFile,
  ReferenceField,
  type Source,
  ThreeKeys,
  withMessage,
} from "./credentials.ts";
import { accountName, productType } from "./settings.ts";

/*
 * The accounts of ACCOUNTS_FILE: a file with a list of them, or a directory with a file for each. All faults are
 * collected, each with its place. No value is quoted: a secret may stand where a name, a path or a key belongs.
 */

export type AccountsSource = {
  readonly accounts: readonly Account[];
  /** All accounts of the file or directory; `accounts` may be some of them. */
  readonly accountNames: readonly string[];
  readonly warnings: readonly string[];
  /** How to look up the credentials of accounts that the file does not list; undefined where it does not say. */
  readonly lookUpOf?: ((account: string) => LookUp) | undefined;
};

export type AccountsDeps = {
  /** Of accounts that name none themselves; undefined for all that their keys can read. */
  readonly productTypes: readonly ProductType[] | undefined;
  readonly isSelected: (account: string) => boolean;
  /** Whether the command uses credentials. */
  readonly needsCredentials: boolean;
  readonly variable: (name: string) => string | undefined;
  /** Takes a fault, which begins with its place. */
  readonly fault: (text: string) => void;
};

const text = z.string().min(1);
const listOf = <Item extends z.ZodType<string, string>>(item: Item, example: string) =>
  withMessage(
    z.array(text).min(1),
    `is not a list of texts in quotes; leave it out, or write a list such as ["${example}"]`,
  ).pipe(z.array(item));
const notDigits = { error: "is not the digits of a user ID in quotes" };
const flag = z.boolean({ error: "is neither true nor false" }).optional();
const nameFault = `is not ${accountName.form}`;
const name = z
  .string({
    error: ({ input }) =>
      input === undefined ? `is missing; it is ${accountName.form}` : nameFault,
  })
  .regex(accountName.pattern, { error: nameFault });
const settings = {
  productTypes: listOf(productType, "USDT-FUTURES").optional(),
  riskUnitIds: listOf(text, "123").optional(),
  ltv: flag,
  demo: flag,
  uid: z
    .string(notDigits)
    .regex(/^\d{1,20}$/, notDigits)
    .optional(),
};
const keys = {
  apiKey: ReferenceField.optional(),
  apiSecret: ReferenceField.optional(),
  apiPassphrase: ReferenceField.optional(),
};
const isNoCommand = 'is not {"command": ["PROGRAM", …]}';
const noObject = { error: "is not an object in braces" };
const AccountFile = z.strictObject(
  { ...keys, credentials: withMessage(CommandSource, isNoCommand).optional(), ...settings },
  noObject,
);
const ListedAccount = z.strictObject({ name, ...AccountFile.shape }, noObject);
const AccountsFile = z.strictObject(
  {
    accounts: z.unknown().optional(),
    credentials: withMessage(CommandSource, isNoCommand).optional(),
  },
  noObject,
);

type AccountFields = z.infer<typeof AccountFile>;

/** Reads the file or directory. Never throws: faults go to `deps.fault`. */
export function readAccounts(path: string, deps: AccountsDeps): AccountsSource {
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isDirectory ? readDirectory(path, deps) : readList(path, deps);
}

/** A list of accounts, whose credentials are read when they are needed. */
function readList(path: string, deps: AccountsDeps): AccountsSource {
  const { fault } = deps;
  const none = { accounts: [], accountNames: [], warnings: [] };
  const json = jsonOf(path, fault);
  const file = json === undefined ? undefined : checked(AccountsFile, json, "", fault);
  if (file === undefined) return none;
  const source = { folder: dirname(path), variable: deps.variable };
  const lookUpIn = (from: Source) => (account: string) => (signal: AbortSignal) =>
    lookUpCredentials(account, from, source, signal);
  const lookUpOf = file.credentials && lookUpIn(file.credentials);
  const { accounts: list } = file;
  if (list === undefined && lookUpOf !== undefined) return { ...none, lookUpOf };
  if (!Array.isArray(list) || list.length === 0) {
    fault('accounts: is not a list of accounts; write {"accounts": [{"name": "main", …}]}');
    return none;
  }
  const placeOfName = new Map<string, string>();
  const accounts = list.flatMap((value: unknown, index): readonly Account[] => {
    const at = `accounts[${index}]`;
    const entry = checked(ListedAccount, value, at, fault);
    const from = sourceOf(value, entry, at, file.credentials, fault);
    if (entry === undefined) return [];
    const first = placeOfName.get(entry.name);
    if (first === undefined) placeOfName.set(entry.name, `${at}.name`);
    else
      fault(
        `${at}.name: is the same name as ${first}; remove one of the two accounts, or correct it`,
      );
    const account = accountOf(entry.name, entry, `${at}.`, deps);
    return [{ ...account, ...(from && { lookUp: lookUpIn(from)(entry.name) }) }];
  });
  const holdsSecret = list.some((entry) =>
    credentialKeys.some((key) => typeof Object(entry)[key] === "string"),
  );
  return {
    accounts,
    accountNames: accounts.map((account) => account.name),
    warnings: holdsSecret ? exposureOf(path) : [],
    lookUpOf,
  };
}

const ending = ".json";

/** A directory with a file for each account, such as `main.json`. Credentials are read when they are needed. */
function readDirectory(directory: string, deps: AccountsDeps): AccountsSource {
  const { fault } = deps;
  let files: readonly string[] = [];
  try {
    files = readdirSync(directory);
  } catch (error) {
    fault(`cannot be read (${shownCode(error)}); correct the path ${directory} or its permissions`);
    return { accounts: [], accountNames: [], warnings: [] };
  }
  // A name that begins with a dot is the mount's.
  const accountNames = files
    .filter((file) => file.endsWith(ending) && !file.startsWith("."))
    .map((file) => file.slice(0, -ending.length))
    .toSorted();
  const wrong = accountNames.filter((name) => !accountName.pattern.test(name)).length;
  if (wrong > 0)
    fault(`has ${wrong} files whose name, without ${ending}, is not ${accountName.form}`);
  if (accountNames.length === 0) fault(`has no file such as main${ending}`);
  const selected = accountNames.filter(deps.isSelected);
  const pathOf = (name: string) => join(directory, `${name}${ending}`);
  const accounts = selected.map((name): Account => {
    const faultOfFile = (text: string) => fault(`${name}${ending}: ${text}`);
    const json = jsonOf(pathOf(name), faultOfFile);
    const fields = json === undefined ? undefined : checked(AccountFile, json, "", faultOfFile);
    sourceOf(json, fields, "", undefined, faultOfFile);
    return {
      ...accountOf(name, fields ?? {}, "", { ...deps, fault: faultOfFile }),
      lookUp: (signal) => lookUpInFile(name, pathOf(name), deps, signal),
    };
  });
  const exposed = deps.needsCredentials ? selected.map(pathOf).filter(isExposed).length : 0;
  const warnings =
    exposed === 0
      ? []
      : [
          `${exposed} of the files in ${directory} hold credentials, and other users may read or change ` +
            `them; run chmod 600 ${directory}/*.json, or mount them with defaultMode 0400`,
        ];
  return { accounts, accountNames, warnings };
}

/** Where an account's credentials are; undefined where the file does not say it in exactly one way. */
function sourceOf(
  value: unknown,
  entry: AccountFields | undefined,
  at: string,
  sourceOfAll: Source | undefined,
  fault: AccountsDeps["fault"],
): Source | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const present = credentialKeys.filter((key) => fields[key] !== undefined);
  const place = (key: string) => (at === "" ? key : `${at}.${key}`);
  if (fields["credentials"] !== undefined) {
    if (present.length === 0) return entry?.credentials;
    fault(`${place("credentials")}: stands beside ${present[0]}; remove one of the two`);
    return undefined;
  }
  if (present.length === 0 && sourceOfAll !== undefined) return sourceOfAll;
  const missing = credentialKeys.filter((key) => !present.includes(key));
  for (const key of missing) fault(`${place(key)}: is missing; ${credentialOrigin}`);
  return ThreeKeys.safeParse(entry).data;
}

/** @param at the place of the account in the file, with a dot at its end. */
function accountOf(name: string, fields: AccountFields, at: string, deps: AccountsDeps): Account {
  const { productTypes: types, riskUnitIds, ltv, demo = false, uid } = fields;
  const unreadable = demo ? (types ?? []).filter(isDemoProductType) : [];
  for (const type of unreadable) {
    deps.fault(
      `${at}productTypes: "${type}" is read by live keys only; "demo": true says that this one is of demo ` +
        `trading, which has ${demoKeyProductTypes.join(", ")}`,
    );
  }
  if (riskUnitIds !== undefined && ltv !== true)
    deps.fault(`${at}riskUnitIds: has no use without "ltv": true`);
  return {
    name,
    ...(types === undefined
      ? wantedTypes(deps.productTypes, demo)
      : { productTypes: [...new Set(types)] }),
    ...(demo && { demo }),
    ...(ltv !== undefined && { ltv }),
    ...(riskUnitIds && { riskUnitIds }),
    ...(uid !== undefined && { uid }),
  };
}

/**
 * Of the product types that are named for all accounts, those that a key may read. A key of demo trading cannot
 * read all of them; where it can read none, it reads all that a demo key can.
 */
export function wantedTypes(
  named: readonly ProductType[] | undefined,
  demo: boolean,
): Pick<Account, "productTypes" | "readsAll"> {
  const readable = demo ? demoKeyProductTypes : productTypes;
  const wanted = named?.filter((type) => readable.includes(type)) ?? [];
  return wanted.length > 0 ? { productTypes: wanted } : { productTypes: readable, readsAll: true };
}

/** A JSON file's content; undefined where it has a fault. */
function jsonOf(path: string, fault: AccountsDeps["fault"]): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
  } catch (error) {
    if (!(error instanceof SyntaxError)) {
      fault(`cannot be read (${shownCode(error)}); correct the path ${path} or its permissions`);
      return undefined;
    }
    // The parser's own message quotes the text around the place, which may be a secret.
    const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(error.message) ?? [];
    const place = line === undefined ? "" : ` at line ${line}, column ${column}`;
    fault(`is not JSON${place}; often a comma is wrong`);
    return undefined;
  }
}

/** The value by its schema; undefined where it has faults, each of which begins with its place. */
function checked<Schema extends z.ZodObject>(
  schema: Schema,
  value: unknown,
  at: string,
  fault: AccountsDeps["fault"],
): z.output<Schema> | undefined {
  const { data, error } = schema.safeParse(value);
  for (const issue of error?.issues ?? []) {
    const place = [at, String(issue.path[0] ?? "")].filter(Boolean).join(".");
    const tell = (where: string, what: string) => fault(where === "" ? what : `${where}: ${what}`);
    if (issue.code === "unrecognized_keys") {
      const names = Object.keys(schema.shape);
      for (const unknown of issue.keys) {
        const meant = didYouMean(unknown, names);
        // A slip of a known key is no secret.
        if (meant === "") tell(at, `has a key that is none of ${names.join(", ")}`);
        else tell([at, unknown].filter(Boolean).join("."), `is not a key of this file${meant}`);
      }
    } else tell(place, issue.message);
  }
  return data;
}
