import { readFileSync } from "node:fs";
import {
  demoKeyProductTypes,
  isDemoProductType,
  type ProductType,
  productTypes,
} from "../contract/product-types.ts";
import { shownCode } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Account } from "./account.ts";
import { isProductType, productTypeFault } from "./environment.ts";

/** Told of a fault; it begins with its place in the file. */
type TellFault = (text: string) => void;

/** A JSON file's content; undefined where a fault was told. */
export function parsedFile(path: string, fault: TellFault): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
  } catch (error) {
    // The parser's own message quotes the text around the place, which may be a secret.
    if (error instanceof SyntaxError) fault(`is not JSON${placeOf(error)}; often a comma is wrong`);
    else fault(`cannot be read (${shownCode(error)}); correct the path ${path} or its permissions`);
    return undefined;
  }
}

const placeOf = ({ message }: SyntaxError): string => {
  const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(message) ?? [];
  return line === undefined ? "" : ` at line ${line}, column ${column}`;
};

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The place of a key in the object at `at`. */
export const place = (at: string, key: string): string => (at === "" ? key : `${at}.${key}`);

export const settingKeys = ["productTypes", "riskUnitIds", "ltv", "demo", "uid"];

/** Reads the fields of objects and tells of their faults, each with its place, quoting nothing. */
export class FieldReader {
  readonly #productTypesOfAll: readonly ProductType[] | undefined;
  readonly #tell: TellFault;

  /** @param productTypesOfAll of accounts that name none themselves; undefined for all that there are. */
  constructor(productTypesOfAll: readonly ProductType[] | undefined, tell: TellFault) {
    this.#productTypesOfAll = productTypesOfAll;
    this.#tell = tell;
  }

  fault(at: string, text: string): void {
    this.#tell(at === "" ? text : `${at}: ${text}`);
  }

  settings(at: string, name: string, fields: Fields): Account {
    const demo = this.#flag(place(at, "demo"), fields["demo"]) ?? false;
    return {
      name,
      ...this.#productTypes(at, fields, demo),
      ...(demo && { demo }),
      ...this.#loanToValue(at, fields),
      ...this.#uid(place(at, "uid"), fields["uid"]),
    };
  }

  #uid(at: string, value: unknown): Pick<Account, "uid"> {
    if (value === undefined) return {};
    if (typeof value === "string" && /^\d{1,20}$/.test(value)) return { uid: value };
    this.fault(at, "is not the digits of a user ID in quotes");
    return {};
  }

  #productTypes(at: string, fields: Fields, demo: boolean): WantedTypes {
    const given = fields["productTypes"];
    if (given === undefined) return wantedTypes(this.#productTypesOfAll, demo);
    const where = place(at, "productTypes");
    const words = this.#texts(
      where,
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
      if (reason !== undefined) this.fault(where, reason);
      return reason === undefined;
    });
    return { productTypes: [...new Set(known.filter(isProductType))] };
  }

  #loanToValue(at: string, fields: Fields): Pick<Account, "ltv" | "riskUnitIds"> {
    const ltv = this.#flag(place(at, "ltv"), fields["ltv"]);
    const given = fields["riskUnitIds"];
    if (given === undefined) return ltv === undefined ? {} : { ltv };
    const where = place(at, "riskUnitIds");
    const riskUnitIds = this.#texts(where, given, 'leave it out, or write a list such as ["123"]');
    if (ltv !== true) this.fault(where, 'has no use without "ltv": true');
    return { ltv: true, riskUnitIds };
  }

  #flag(at: string, value: unknown): boolean | undefined {
    if (value === undefined || typeof value === "boolean") return value;
    this.fault(at, "is neither true nor false");
    return undefined;
  }

  #texts(at: string, value: unknown, remedy: string): readonly string[] {
    const isText = (item: unknown): item is string => typeof item === "string" && item !== "";
    if (Array.isArray(value) && value.length > 0 && value.every(isText)) return value;
    this.fault(at, `is not a list of texts in quotes; ${remedy}`);
    return [];
  }

  /** An object's fields; a key that is not known would leave a default at work that nobody wanted. */
  fields(at: string, value: unknown, known: readonly string[]): Fields | undefined {
    if (!isObject(value)) {
      this.fault(at, "is not an object in braces");
      return undefined;
    }
    for (const key of Object.keys(value).filter((key) => !known.includes(key))) {
      const meant = didYouMean(key, known);
      // A slip of a known key is no secret.
      if (meant === "") this.fault(at, `has a key that is none of ${known.join(", ")}`);
      else this.fault(place(at, key), `is not a key of this file${meant}`);
    }
    return value;
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
