import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { ProductType } from "../core/contract/product-types.ts";
import { shownCode } from "../lib/errors.ts";
import { didYouMean } from "../lib/nearest.ts";
import { readTextFile } from "../lib/text-file.ts";
import { type Account, type Configured, wantedTypes } from "./account.ts";
import {
  credentialKeys,
  credentialOrigin,
  exposureOf,
  lookUpOf,
  Reference,
} from "./credentials.ts";
import { accountName, productType } from "./settings.ts";

/*
 * The accounts of ACCOUNTS_FILE: a file with a list of them, or a directory with a file for each. All faults are
 * collected, each with its place. No value is quoted: a secret may stand where a name, a path or a key belongs.
 */

export type AccountsSource = Configured & { readonly warnings: readonly string[] };

type Fault = (text: string) => void;

type AccountsDeps = {
  /** The default of accounts that name none; undefined for all that their keys can read. */
  readonly productTypes: readonly ProductType[] | undefined;
  readonly isSelected: (account: string) => boolean;
  readonly variable: (name: string) => string | undefined;
  /** Takes a fault, which begins with its place. */
  readonly fault: Fault;
};

/** A field with one message for all its faults, and perhaps another where it is missing. */
const field = <Schema extends z.ZodType>(schema: Schema, fault: string, missing = fault) =>
  z.custom<z.output<Schema>>((value) => schema.safeParse(value).success, {
    error: ({ input }) => (input === undefined ? missing : fault),
  });
const text = z.string().min(1);
const listOf = <Item extends z.ZodType<string, string>>(item: Item, example: string) =>
  field(
    z.array(text).min(1),
    `is not a list of texts in quotes; leave it out, or write a list such as ["${example}"]`,
  ).pipe(z.array(item));
const flag = z.boolean({ error: "is neither true nor false" }).optional();
const name = field(
  z.string().regex(accountName.pattern),
  `is not ${accountName.form}`,
  `is missing; it is ${accountName.form}`,
);
const settings = {
  productTypes: listOf(productType, "USDT-FUTURES").optional(),
  riskUnitIds: listOf(text, "123").optional(),
  ltv: flag,
  demo: flag,
  uid: field(z.string().regex(/^\d{1,20}$/), "is not the digits of a user ID in quotes").optional(),
};
const credential = field(
  Reference,
  'is neither a text nor {"env": "NAME"} nor {"file": "PATH"}',
  `is missing; ${credentialOrigin}`,
);
const noObject = { error: "is not an object in braces" };
export const AccountsFile = z.strictObject({ accounts: z.unknown().optional() }, noObject);
export const NamedEntry = z.strictObject(
  {
    name,
    ...{ apiKey: credential, apiSecret: credential, apiPassphrase: credential },
    ...settings,
  },
  noObject,
);
/** In a directory, the file has the name. */
const Entry = NamedEntry.omit({ name: true });

/** An account as a file describes it. */
type Described = {
  readonly path: string;
  /** Where the file itself has the name. */
  readonly name?: string;
  readonly value: unknown;
  readonly faultIn: FaultIn;
};

/** Takes a fault of a key; of the whole without one. */
type FaultIn = (key: string, what: string) => void;

/** Reads the file or directory. Never throws: faults go to `deps.fault`. */
export function readAccounts(path: string, deps: AccountsDeps): AccountsSource {
  const names = isDirectory(path) ? namesIn(path, deps.fault) : undefined;
  const described = names
    ? names.filter(deps.isSelected).flatMap((name) => describedBy(path, name, deps.fault))
    : listedIn(path, deps.fault);
  const accounts = described.flatMap((one) => accountOf(one, deps) ?? []);
  const withSecrets = described.filter(({ value }) => holdsSecret(value));
  return {
    accounts,
    accountNames: names ?? accounts.map(({ name }) => name),
    namesAccounts: true,
    warnings: exposureOf([...new Set(withSecrets.map((one) => one.path))]),
  };
}

/** Reading what may not be looked at says why. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function listedIn(path: string, fault: Fault): readonly Described[] {
  const json = jsonOf(path, fault);
  const file = json && checked(AccountsFile, json.value, faultAt(fault));
  if (file === undefined) return [];
  const list: readonly unknown[] = Array.isArray(file.accounts) ? file.accounts : [];
  if (list.length === 0)
    fault('accounts: is not a list of accounts; write {"accounts": [{"name": "main", …}]}');
  const names = list.map((value) => Object(value).name);
  return list.map((value, index) => {
    const faultIn = faultAt(fault, `accounts[${index}]`);
    const first = names.indexOf(names[index]);
    if (typeof names[index] === "string" && first < index)
      faultIn(
        "name",
        `is the same name as accounts[${first}].name; remove one of the two accounts, or correct it`,
      );
    return { path, value, faultIn };
  });
}

const ending = ".json";

/** The names of a directory's accounts. */
function namesIn(directory: string, fault: Fault): readonly string[] {
  let files: readonly string[] = [];
  try {
    files = readdirSync(directory);
  } catch (error) {
    fault(`cannot be read (${shownCode(error)}); correct the path ${directory} or its permissions`);
    return [];
  }
  // A name that begins with a dot is the mount's.
  const names = files
    .filter((file) => file.endsWith(ending) && !file.startsWith("."))
    .map((file) => file.slice(0, -ending.length))
    .toSorted();
  const wrong = names.filter((file) => !accountName.pattern.test(file)).length;
  if (wrong > 0)
    fault(`has ${wrong} files whose name, without ${ending}, is not ${accountName.form}`);
  if (names.length === 0) fault(`has no file such as main${ending}`);
  return names;
}

function describedBy(directory: string, name: string, fault: Fault): readonly Described[] {
  const path = join(directory, `${name}${ending}`);
  const faultOfFile = (what: string) => fault(`${name}${ending}: ${what}`);
  const json = jsonOf(path, faultOfFile);
  return json === undefined ? [] : [{ path, name, ...json, faultIn: faultAt(faultOfFile) }];
}

const holdsSecret = (entry: unknown): boolean =>
  credentialKeys.some((key) => typeof Object(entry)[key] === "string");

/** The account; undefined where its description has a fault. */
function accountOf(
  { path, name: given, value, faultIn }: Described,
  deps: AccountsDeps,
): Account | undefined {
  const entry = checked(given === undefined ? NamedEntry : Entry, value, faultIn);
  if (entry === undefined) return undefined;
  const { productTypes: types, riskUnitIds, ltv, demo = false, uid } = entry;
  const name = given ?? ("name" in entry ? String(entry.name) : "");
  if (riskUnitIds !== undefined && ltv !== true)
    faultIn("riskUnitIds", 'has no use without "ltv": true');
  return {
    name,
    ...(types === undefined
      ? wantedTypes(deps.productTypes, demo)
      : { productTypes: [...new Set(types)] }),
    ...(demo && { demo }),
    ...(ltv !== undefined && { ltv }),
    ...(riskUnitIds && { riskUnitIds }),
    ...(uid !== undefined && { uid }),
    lookUp: lookUpOf(name, entry, { folder: dirname(path), variable: deps.variable }),
  };
}

/** A JSON file's content; undefined where it has a fault. */
function jsonOf(path: string, fault: Fault): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(readTextFile(path)) };
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

/** Faults of a place in the file. */
const faultAt =
  (fault: Fault, at = ""): FaultIn =>
  (key, what) => {
    const place = [at, key].filter(Boolean).join(".");
    fault(place === "" ? what : `${place}: ${what}`);
  };

/** The value by its schema; undefined where it has faults. */
function checked<Schema extends z.ZodObject>(
  schema: Schema,
  value: unknown,
  faultIn: FaultIn,
): z.output<Schema> | undefined {
  const keys = Object.keys(schema.shape);
  const { data, error } = schema.safeParse(value);
  for (const issue of error?.issues ?? []) {
    if (issue.code !== "unrecognized_keys") {
      faultIn(String(issue.path[0] ?? ""), issue.message);
      continue;
    }
    for (const unknown of issue.keys) {
      const meant = didYouMean(unknown, keys);
      // A slip of a known key is no secret.
      if (meant === "") faultIn("", `has a key that is none of ${keys.join(", ")}`);
      else faultIn(unknown, `is not a key of this file${meant}`);
    }
  }
  return data;
}
