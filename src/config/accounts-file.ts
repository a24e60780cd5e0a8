import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { z } from "zod";
import {
  demoKeyProductTypes,
  isDemoProductType,
  type ProductType,
  productTypes,
} from "../contract/product-types.ts";
import { shownCode, UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Account, LookUp } from "./account.ts";
import {
  CommandSource,
  credentialKeys,
  credentialOrigin,
  DirectorySource,
  lookUpCredentials,
  lookUpInFile,
  ReferenceField,
  readStored,
  type Source,
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
  /** Where they are not needed, no variable and no file is read for them. */
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
    credentials: withMessage(
      z.union([CommandSource, DirectorySource]),
      `${isNoCommand} or {"directory": "PATH"}`,
    ).optional(),
  },
  noObject,
);

type AccountFields = z.infer<typeof AccountFile>;

/** Reads the file or directory. Never throws: faults go to `deps.fault`. */
export function readAccounts(path: string, deps: AccountsDeps): AccountsSource {
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isDirectory ? readDirectory(path, deps) : readList(path, deps);
}

/** A list: credentials in texts, variables and files are read at once, and those of commands when they are needed. */
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
  const placeOfKey = new Map<string, string>();
  const refuseTwice = (places: Map<string, string>, value: string, at: string, what: string) => {
    const first = places.get(value);
    if (first === undefined) places.set(value, at);
    else
      fault(
        `${at}: is the same ${what} as ${first}; remove one of the two accounts, or correct it`,
      );
  };

  const readEntry = (value: unknown, index: number): readonly Account[] => {
    const at = `accounts[${index}]`;
    const entry = checked(ListedAccount, value, at, fault);
    const isSourced = hasOneSource(value, at, lookUpOf !== undefined, fault);
    if (entry === undefined) return [];
    refuseTwice(placeOfName, entry.name, `${at}.name`, "name");
    const account = accountOf(entry.name, entry, `${at}.`, deps);
    if (!isSourced) return [account];
    const { credentials, apiKey, apiSecret, apiPassphrase } = entry;
    if (credentials !== undefined)
      return [{ ...account, lookUp: lookUpIn(credentials)(entry.name) }];
    if (apiKey === undefined || apiSecret === undefined || apiPassphrase === undefined)
      return [{ ...account, ...(lookUpOf && { lookUp: lookUpOf(entry.name) }) }];
    const references = { apiKey, apiSecret, apiPassphrase };
    const readNow = (key: (typeof credentialKeys)[number]) => {
      const reference = references[key];
      if (typeof reference === "object" && "command" in reference) return undefined;
      try {
        return readStored(reference, source);
      } catch (error) {
        if (error instanceof UsageError) fault(`${at}.${key}: ${error.message}`);
        return undefined;
      }
    };
    const isLater = Object.values(references).some(
      (reference) => typeof reference === "object" && "command" in reference,
    );
    if (isLater) return [{ ...account, lookUp: lookUpIn(references)(entry.name) }];
    if (!deps.needsCredentials || !deps.isSelected(entry.name)) return [account];
    const [key, secret, passphrase] = credentialKeys.map(readNow);
    if (key !== undefined) refuseTwice(placeOfKey, key.reveal(), `${at}.apiKey`, "key");
    if (!key || !secret || !passphrase) return [account];
    return [{ ...account, credentials: { key, secret, passphrase } }];
  };
  const accounts = list.flatMap(readEntry);
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
    if (json !== undefined) hasOneSource(json, "", false, faultOfFile);
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

/** Whether an account says in exactly one way where its credentials are. */
function hasOneSource(
  value: unknown,
  at: string,
  hasDefault: boolean,
  fault: AccountsDeps["fault"],
): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const present = credentialKeys.filter((key) => fields[key] !== undefined);
  const place = (key: string) => (at === "" ? key : `${at}.${key}`);
  if (fields["credentials"] !== undefined) {
    if (present.length === 0) return true;
    fault(`${place("credentials")}: stands beside ${present[0]}; remove one of the two`);
    return false;
  }
  if (present.length === 0 && hasDefault) return true;
  const missing = credentialKeys.filter((key) => !present.includes(key));
  for (const key of missing) fault(`${place(key)}: is missing; ${credentialOrigin}`);
  return missing.length === 0;
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

const isExposed = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;

/** A warning about a file with credentials that other users may read or write; none if they may not. */
const exposureOf = (path: string): readonly string[] =>
  isExposed(path)
    ? [`${path} holds credentials, and other users may read or change it; run chmod 600 ${path}`]
    : [];

const secretVariables = [
  "EXCHANGE_API_KEY",
  "EXCHANGE_API_SECRET",
  "EXCHANGE_API_PASSPHRASE",
  "DATABASE_URL",
];

/** The same of the file `.env`; undefined where there is none, or it holds no credential. */
export function envFileExposure(path = ".env"): readonly string[] | undefined {
  if (!existsSync(path)) return undefined;
  const variables = parseEnv(readFileSync(path, "utf8"));
  return secretVariables.some((name) => variables[name]?.trim()) ? exposureOf(path) : undefined;
}
