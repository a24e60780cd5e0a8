import { readFileSync } from "node:fs";
import { dirname, parse, resolve } from "node:path";
import type { ProductType } from "../contract/product-types.ts";
import { shownCode } from "../errors.ts";
import { Secret } from "../secret.ts";
import type { Account, LookUp } from "./account.ts";
import {
  FieldReader,
  type Fields,
  isObject,
  parsedFile,
  place,
  settingKeys,
} from "./account-fields.ts";
import { isReference, isSource } from "./credential-forms.ts";
import {
  accountName,
  credentialKeys,
  credentialOrigin,
  fitsHeader,
  headerFault,
} from "./environment.ts";
import { exposureOf } from "./exposed-files.ts";

export type AccountsFile = {
  readonly accounts: readonly Account[];
  readonly warnings: readonly string[];
  /** How to look up the credentials of accounts that the file does not list; undefined where it does not say. */
  readonly lookUpOf: ((account: string) => LookUp) | undefined;
};

export type AccountsDeps = {
  /** Of accounts that name none themselves; undefined for all that their keys can read. */
  readonly productTypes: readonly ProductType[] | undefined;
  /** Where they are not needed, no variable and no file is looked up for them. */
  readonly needsCredentials: (account: string) => boolean;
  readonly variable: (name: string) => string | undefined;
  /** Told of each fault; it begins with its place in the file. */
  readonly fault: (text: string) => void;
};

const noCredential =
  'is neither a text nor {"env": "NAME"} nor {"file": "PATH"} nor {"command": ["PROGRAM", …]}';
const placeKeys = [...credentialKeys, "credentials"] as const;

/** Reads the file of several accounts: `{"accounts":[{"name":…,"apiKey":…}]}`. Never throws. */
export function readAccountsFile(path: string, deps: AccountsDeps): AccountsFile {
  const reader = new AccountsReader(dirname(path), deps);
  const { accounts, lookUpOf } = reader.accounts(parsedFile(path, deps.fault));
  return { accounts, lookUpOf, warnings: reader.holdsSecret ? exposureOf(path) : [] };
}

/** The settings in a file of one account, whose credentials are looked up when they are needed. Never throws. */
export function readAccountFile(path: string, name: string, deps: AccountsDeps): Account {
  const { base } = parse(path);
  const fault = (text: string) => deps.fault(`${base}: ${text}`);
  const reader = new AccountsReader(dirname(path), { ...deps, fault });
  const account = reader.settings(name, parsedFile(path, fault));
  return {
    ...account,
    lookUp: async (signal) =>
      (await import("./credential-lookup.ts")).lookUpInFile(name, path, deps, signal),
  };
}

/**
 * Reads accounts and tells of all faults, each with its place. What stands there is not quoted: a
 * secret may have been put where a name, a path or a key belongs.
 */
class AccountsReader {
  /** Whether a credential stands in the file itself. */
  holdsSecret = false;
  readonly #deps: AccountsDeps;
  readonly #reader: FieldReader;
  readonly #folder: string;
  readonly #placeOfName = new Map<string, string>();
  readonly #placeOfKey = new Map<string, string>();

  constructor(folder: string, deps: AccountsDeps) {
    this.#deps = deps;
    this.#reader = new FieldReader(deps.productTypes, deps.fault);
    this.#folder = folder;
  }

  accounts(file: unknown): Pick<AccountsFile, "accounts" | "lookUpOf"> {
    const none = { accounts: [], lookUpOf: undefined };
    if (file === undefined) return none;
    const fields = this.#reader.fields("", file, ["accounts", "credentials"]);
    if (fields === undefined) return none;
    const { accounts, credentials } = fields;
    const lookUpOf = this.#source("credentials", credentials, ["command", "directory"]);
    if (accounts === undefined && lookUpOf !== undefined) return { accounts: [], lookUpOf };
    if (Array.isArray(accounts) && accounts.length > 0) {
      const read = accounts.flatMap((account, index) =>
        this.#account(`accounts[${index}]`, account, lookUpOf),
      );
      return { accounts: read, lookUpOf };
    }
    this.#reader.fault(
      "accounts",
      'is not a list of accounts; write {"accounts": [{"name": "main", …}]}',
    );
    return none;
  }

  #account(at: string, value: unknown, lookUpOf: AccountsFile["lookUpOf"]): readonly Account[] {
    const fields = this.#reader.fields(at, value, ["name", ...placeKeys, ...settingKeys]);
    if (fields === undefined) return [];
    const name = this.#name(`${at}.name`, fields["name"]);
    const found = this.#credentials(at, name, fields, lookUpOf);
    return [{ ...this.#reader.settings(at, name, fields), ...found }];
  }

  /** What a file of one account says of it, its credentials left alone but for their form. */
  settings(name: string, value: unknown): Account {
    const fields =
      value === undefined
        ? undefined
        : this.#reader.fields("", value, [...placeKeys, ...settingKeys]);
    if (fields !== undefined) this.#lookUp("", name, fields, undefined);
    return this.#reader.settings("", name, fields ?? {});
  }

  /** Those that stand in texts, variables and files are read at once, with all their faults. */
  #credentials(
    at: string,
    name: string,
    fields: Fields,
    lookUpOf: AccountsFile["lookUpOf"],
  ): Pick<Account, "credentials" | "lookUp"> {
    const isOwn = placeKeys.some((key) => fields[key] !== undefined);
    const isLater =
      fields["credentials"] !== undefined ||
      (!isOwn && lookUpOf !== undefined) ||
      credentialKeys.some((key) => isObject(fields[key]) && "command" in fields[key]);
    if (isLater) {
      const lookUp = this.#lookUp(at, name, fields, lookUpOf);
      return lookUp === undefined ? {} : { lookUp };
    }
    const isNeeded = this.#deps.needsCredentials(name);
    const [key, secret, passphrase] = credentialKeys.map((one) =>
      this.#credential(`${at}.${one}`, fields[one], isNeeded),
    );
    this.#refuseTwice(`${at}.apiKey`, key?.reveal(), this.#placeOfKey, "is the same key as");
    if (!isNeeded) return {};
    const none = new Secret("");
    return {
      credentials: { key: key ?? none, secret: secret ?? none, passphrase: passphrase ?? none },
    };
  }

  /** How the credentials are looked up; undefined where a fault was told. */
  #lookUp(
    at: string,
    name: string,
    fields: Fields,
    lookUpOf: AccountsFile["lookUpOf"],
  ): LookUp | undefined {
    const own = credentialKeys.filter((key) => fields[key] !== undefined);
    const source = fields["credentials"];
    if (source !== undefined && own.length > 0) {
      this.#reader.fault(
        place(at, "credentials"),
        `stands beside ${own[0]}; remove one of the two`,
      );
      return undefined;
    }
    if (source !== undefined) {
      return this.#source(place(at, "credentials"), source, ["command"])?.(name);
    }
    if (own.length === 0 && lookUpOf !== undefined) return lookUpOf(name);
    const isGood = credentialKeys.map((key) => this.#isGiven(place(at, key), fields[key]));
    return isGood.includes(false) ? undefined : this.#lookUpAt(fields)(name);
  }

  /** A place for all three credentials of an account. */
  #source(at: string, value: unknown, kinds: readonly string[]): AccountsFile["lookUpOf"] {
    if (value === undefined) return undefined;
    if (isSource(value) && kinds.some((kind) => kind in value)) return this.#lookUpAt(value);
    const forms = ['{"command": ["PROGRAM", …]}', '{"directory": "PATH"}'].slice(0, kinds.length);
    this.#reader.fault(at, `is not ${forms.join(" or ")}`);
    return undefined;
  }

  #lookUpAt(given: unknown): (account: string) => LookUp {
    const deps = { folder: this.#folder, variable: this.#deps.variable };
    return (account) => async (signal) => {
      const { lookUpCredentials } = await import("./credential-lookup.ts");
      return lookUpCredentials(account, given, deps, signal);
    };
  }

  #name(at: string, value: unknown): string {
    const { pattern, form } = accountName;
    if (value === undefined) this.#reader.fault(at, `is missing; it is ${form}`);
    else if (typeof value !== "string" || !pattern.test(value)) {
      this.#reader.fault(at, `is not ${form}`);
    } else {
      this.#refuseTwice(at, value, this.#placeOfName, "is the same name as");
      return value;
    }
    return "";
  }

  #refuseTwice(
    at: string,
    value: string | undefined,
    placeOf: Map<string, string>,
    sameAs: string,
  ): void {
    if (value === undefined) return;
    const first = placeOf.get(value);
    if (first === undefined) placeOf.set(value, at);
    else
      this.#reader.fault(at, `${sameAs} ${first}; remove one of the two accounts, or correct it`);
  }

  #credential(at: string, value: unknown, isNeeded: boolean): Secret | undefined {
    const text = this.#credentialText(at, value, isNeeded);
    if (text === undefined) return undefined;
    if (text !== "" && fitsHeader(text)) return new Secret(text);
    this.#reader.fault(at, text === "" ? `is empty; ${credentialOrigin}` : headerFault);
    return undefined;
  }

  /** Undefined where it is not needed, and where a fault was told. */
  #credentialText(at: string, value: unknown, isNeeded: boolean): string | undefined {
    if (typeof value === "string") {
      this.holdsSecret = true;
      return value;
    }
    if (!this.#isGiven(at, value) || !isNeeded || !isObject(value)) return undefined;
    const { env, file } = value;
    return typeof env === "string" ? this.#variable(at, env) : this.#file(at, String(file));
  }

  /** Tells the fault of what is no credential and names none. */
  #isGiven(at: string, value: unknown): boolean {
    if (typeof value === "string") {
      this.holdsSecret = true;
      return true;
    }
    if (isReference(value)) return true;
    this.#reader.fault(at, value === undefined ? `is missing; ${credentialOrigin}` : noCredential);
    return false;
  }

  #variable(at: string, name: string): string | undefined {
    const text = this.#deps.variable(name);
    if (text === undefined)
      this.#reader.fault(at, "the variable that it names is not set; set it, or correct its name");
    return text;
  }

  #file(at: string, name: string): string | undefined {
    try {
      return readFileSync(resolve(this.#folder, name), "utf8").replace(/\r?\n$/, "");
    } catch (error) {
      const what = `the file that it names cannot be read (${shownCode(error)})`;
      this.#reader.fault(
        at,
        `${what}; correct its path, from ${this.#folder} on, or its permissions`,
      );
      return undefined;
    }
  }
}
