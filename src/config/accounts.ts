import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  demoKeyProductTypes,
  isDemoProductType,
  type ProductType,
  productTypes,
} from "../contract/product-types.ts";
import type { Credentials } from "../exchange/client.ts";
import { didYouMean } from "../nearest.ts";
import { Secret } from "../secret.ts";
import type { Account } from "./account.ts";
import {
  accountName,
  credentialOrigin,
  fitsHeader,
  headerFault,
  isProductType,
  productTypeFault,
} from "./environment.ts";
import { exposureOf } from "./exposed-files.ts";

export type AccountsFile = {
  readonly accounts: readonly Account[];
  readonly warnings: readonly string[];
};

export type AccountsDeps = {
  /** Of accounts that name none themselves; undefined for all that their keys can read. */
  readonly productTypes: readonly ProductType[] | undefined;
  /** Where they are not needed, no variable and no file is looked up for them. */
  readonly needsCredentials: boolean;
  readonly variable: (name: string) => string | undefined;
  /** Told of each fault; it begins with its place in the file. */
  readonly fault: (text: string) => void;
};

const credentialKeys = ["apiKey", "apiSecret", "apiPassphrase"] as const;
const accountKeys = ["name", ...credentialKeys, "productTypes", "riskUnitIds", "ltv", "demo"];

/** Reads the file of several accounts: `{"accounts":[{"name":…,"apiKey":…}]}`. Never throws. */
export function readAccountsFile(path: string, deps: AccountsDeps): AccountsFile {
  const reader = new AccountsReader(path, deps);
  const accounts = reader.accounts(parsedFile(path, deps.fault));
  return { accounts, warnings: reader.holdsSecret ? exposureOf(path) : [] };
}

function parsedFile(path: string, fault: AccountsDeps["fault"]): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
  } catch (error) {
    // The parser's own message quotes the text around the place, which may be a secret.
    if (error instanceof SyntaxError) fault(`is not JSON${placeOf(error)}; often a comma is wrong`);
    else fault(`cannot be read (${codeOf(error)}); correct the path ${path} or its permissions`);
    return undefined;
  }
}

const placeOf = ({ message }: SyntaxError): string => {
  const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(message) ?? [];
  return line === undefined ? "" : ` at line ${line}, column ${column}`;
};

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "for an unknown reason";

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Reads accounts and tells of all faults, each with its place. What stands there is not quoted: a
 * secret may have been put where a name, a path or a key belongs.
 */
class AccountsReader {
  /** Whether a credential stands in the file itself. */
  holdsSecret = false;
  readonly #deps: AccountsDeps;
  readonly #folder: string;
  readonly #placeOfName = new Map<string, string>();
  readonly #placeOfKey = new Map<string, string>();

  constructor(path: string, deps: AccountsDeps) {
    this.#deps = deps;
    this.#folder = dirname(path);
  }

  accounts(file: unknown): readonly Account[] {
    if (file === undefined) return [];
    const fields = this.#fields("", file, ["accounts"]);
    if (fields === undefined) return [];
    const accounts = fields["accounts"];
    if (Array.isArray(accounts) && accounts.length > 0) {
      return accounts.flatMap((account, index) => this.#account(`accounts[${index}]`, account));
    }
    this.#fault("accounts", 'is not a list of accounts; write {"accounts": [{"name": "main", …}]}');
    return [];
  }

  #account(at: string, value: unknown): readonly Account[] {
    const fields = this.#fields(at, value, accountKeys);
    if (fields === undefined) return [];
    const name = this.#name(`${at}.name`, fields["name"]);
    const [key, secret, passphrase] = credentialKeys.map((name) =>
      this.#credential(`${at}.${name}`, fields[name]),
    );
    this.#refuseTwice(`${at}.apiKey`, key?.reveal(), this.#placeOfKey, "is the same key as");
    const demo = this.#flag(`${at}.demo`, fields["demo"]) ?? false;
    const account = {
      name,
      ...this.#productTypes(at, fields, demo),
      ...(demo && { demo }),
      ...this.#loanToValue(at, fields),
    };
    if (!this.#deps.needsCredentials) return [account];
    const none = new Secret("");
    const credentials: Credentials = {
      key: key ?? none,
      secret: secret ?? none,
      passphrase: passphrase ?? none,
    };
    return [{ ...account, credentials }];
  }

  #name(at: string, value: unknown): string {
    const { pattern, form } = accountName;
    if (value === undefined) this.#fault(at, `is missing; it is ${form}`);
    else if (typeof value !== "string" || !pattern.test(value)) {
      this.#fault(at, `is not ${form}`);
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
    else this.#fault(at, `${sameAs} ${first}; remove one of the two accounts, or correct it`);
  }

  #credential(at: string, value: unknown): Secret | undefined {
    const text = this.#credentialText(at, value);
    if (text === undefined) return undefined;
    if (text !== "" && fitsHeader(text)) return new Secret(text);
    this.#fault(at, text === "" ? `is empty; ${credentialOrigin}` : headerFault);
    return undefined;
  }

  /** Undefined where it is not needed, and where a fault was told. */
  #credentialText(at: string, value: unknown): string | undefined {
    if (typeof value === "string") {
      this.holdsSecret = true;
      return value;
    }
    if (value === undefined) {
      this.#fault(at, `is missing; ${credentialOrigin}`);
      return undefined;
    }
    const [[kind, name] = [], ...others] = isObject(value) ? Object.entries(value) : [];
    if (typeof name !== "string" || others.length > 0 || (kind !== "env" && kind !== "file")) {
      this.#fault(at, 'is neither a text nor {"env": "NAME"} nor {"file": "PATH"}');
      return undefined;
    }
    if (!this.#deps.needsCredentials) return undefined;
    return kind === "env" ? this.#variable(at, name) : this.#file(at, name);
  }

  #variable(at: string, name: string): string | undefined {
    const text = this.#deps.variable(name);
    if (text === undefined)
      this.#fault(at, "the variable that it names is not set; set it, or correct its name");
    return text;
  }

  #file(at: string, name: string): string | undefined {
    try {
      return readFileSync(resolve(this.#folder, name), "utf8").replace(/\r?\n$/, "");
    } catch (error) {
      const what = `the file that it names cannot be read (${codeOf(error)})`;
      this.#fault(at, `${what}; correct its path, from ${this.#folder} on, or its permissions`);
      return undefined;
    }
  }

  #productTypes(at: string, fields: Fields, demo: boolean): WantedTypes {
    const given = fields["productTypes"];
    if (given === undefined) return wantedTypes(this.#deps.productTypes, demo);
    const place = `${at}.productTypes`;
    const words = this.#texts(
      place,
      given,
      'leave it out, or write a list such as ["USDT-FUTURES"]',
    );
    const known = words.filter((word) => {
      const reason = !isProductType(word)
        ? productTypeFault(word)
        : demo && isDemoProductType(word)
          ? `"${word}" is read by live keys only; "demo": true says that this one is of demo ` +
            `trading, which has ${demoKeyProductTypes.join(", ")}`
          : undefined;
      if (reason !== undefined) this.#fault(place, reason);
      return reason === undefined;
    });
    return { productTypes: [...new Set(known.filter(isProductType))] };
  }

  #loanToValue(at: string, fields: Fields): Pick<Account, "ltv" | "riskUnitIds"> {
    const ltv = this.#flag(`${at}.ltv`, fields["ltv"]);
    const given = fields["riskUnitIds"];
    if (given === undefined) return ltv === undefined ? {} : { ltv };
    const place = `${at}.riskUnitIds`;
    const riskUnitIds = this.#texts(place, given, 'leave it out, or write a list such as ["123"]');
    if (ltv !== true) this.#fault(place, 'has no use without "ltv": true');
    return { ltv: true, riskUnitIds };
  }

  #flag(at: string, value: unknown): boolean | undefined {
    if (value === undefined || typeof value === "boolean") return value;
    this.#fault(at, "is neither true nor false");
    return undefined;
  }

  #texts(at: string, value: unknown, remedy: string): readonly string[] {
    const isText = (item: unknown): item is string => typeof item === "string" && item !== "";
    if (Array.isArray(value) && value.length > 0 && value.every(isText)) return value;
    this.#fault(at, `is not a list of texts in quotes; ${remedy}`);
    return [];
  }

  /** An object's fields; a key that is not known would leave a default at work that nobody wanted. */
  #fields(at: string, value: unknown, known: readonly string[]): Fields | undefined {
    if (!isObject(value)) {
      this.#fault(at, "is not an object in braces");
      return undefined;
    }
    for (const key of Object.keys(value).filter((key) => !known.includes(key))) {
      const meant = didYouMean(key, known);
      // A slip of a known key is no secret.
      if (meant === "") this.#fault(at, `has a key that is none of ${known.join(", ")}`);
      else this.#fault(at === "" ? key : `${at}.${key}`, `is not a key of this file${meant}`);
    }
    return value;
  }

  #fault(at: string, text: string): void {
    this.#deps.fault(at === "" ? text : `${at}: ${text}`);
  }
}

export type WantedTypes = Pick<Account, "productTypes" | "readsAll">;

/**
 * Of the product types that are named for all accounts, those that a key may read: one of demo trading
 * reads not all, and, where none of its own is named, all that it can.
 */
export function wantedTypes(named: readonly ProductType[] | undefined, demo: boolean): WantedTypes {
  const readable = demo ? demoKeyProductTypes : productTypes;
  const own = named?.filter((productType) => readable.includes(productType)) ?? [];
  return own.length > 0 ? { productTypes: own } : { productTypes: readable, readsAll: true };
}
