import { type ProductType, productTypes } from "../contract/product-types.ts";
import { minuteMs } from "../contract/time.ts";
import { UsageError } from "../errors.ts";
import type { Credentials } from "../exchange/client.ts";
import { didYouMean, nearest } from "../nearest.ts";
import { Secret } from "../secret.ts";
import { type DatabaseConfig, isDatabaseUrl, withTlsByDefault } from "./database-url.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const defaults = {
  DATA_DIR: "./data",
  EXCHANGE_BASE_URL: "https://api.bitget.com",
  EXCHANGE_ACCOUNT: "main",
  EXCHANGE_LOCALE: "en-US",
  SYNC_LTV: "false",
  SYNC_SETTLE_MINUTES: "10",
  LOG_LEVEL: "info",
} as const;

const credentialNames = [
  "EXCHANGE_API_KEY",
  "EXCHANGE_API_SECRET",
  "EXCHANGE_API_PASSPHRASE",
] as const;

const otherNames = ["ACCOUNTS_FILE", "DATABASE_URL", "PRODUCT_TYPES", "RISK_UNIT_IDS"] as const;

/** Every variable that the program reads. */
export const variables: readonly string[] = [
  ...Object.keys(defaults),
  ...credentialNames,
  ...otherNames,
];

/** What can be set, by the names of the variables. */
export type Settings = {
  readonly [name in
    | keyof typeof defaults
    | (typeof credentialNames)[number]
    | (typeof otherNames)[number]]?: string | undefined;
};

// What starts so is meant for this program, whatever else the environment holds.
const ownPrefix = /^(ACCOUNTS?|EXCHANGE|SYNC|PRODUCT|RISK_UNIT)_/;
// Further off, it may well be the variable of another program.
const slipMax = 2;

/** What an account may be called. */
export const accountName = {
  pattern: /^[\w.-]{1,64}$/,
  form: "1 to 64 letters, digits, dots, hyphens or underscores",
};

/** An account's credentials, as a file or a command names them. */
export const credentialKeys = ["apiKey", "apiSecret", "apiPassphrase"] as const;
export const credentialOrigin = "the exchange gives it when you create an API key";
export const headerFault = "holds a character that no header can carry; copy it again";
export const fitsHeader = (credential: string): boolean => /^[\x20-\x7e]+$/.test(credential);

const settleMinutesMax = 24 * 60;

/** Reads variables and collects their faults, so that all of them are told at once. */
export class EnvironmentReader {
  readonly #environment: Environment;
  readonly #faults: string[] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  throwFaults(): void {
    if (this.#faults.length === 0) return;
    const list = this.#faults.map((fault) => `  ${fault}`).join("\n");
    const path = this.get("ACCOUNTS_FILE");
    const ofFile = path === undefined ? "" : ` What is wrong with ACCOUNTS_FILE is in ${path}.`;
    throw new UsageError(
      `the configuration has errors:\n${list}\nSet these variables in the environment or in ` +
        `.env; .env.example describes each.${ofFile}`,
      this.#faults,
    );
  }

  database(): DatabaseConfig {
    const url = this.get("DATABASE_URL");
    if (url === undefined) return { dataDir: this.get("DATA_DIR") ?? defaults.DATA_DIR };
    if (!isDatabaseUrl(url)) {
      this.fault(
        "DATABASE_URL",
        "is not an address; write postgres://USER:PASSWORD@HOST:5432/NAME, with a # or / in the " +
          "password as %23 or %2F, or leave it out for the embedded Postgres",
      );
      return { url: new Secret(url) };
    }
    const [PGHOST, PGSSLMODE] = [this.get("PGHOST"), this.get("PGSSLMODE")];
    return { url: new Secret(withTlsByDefault(url, { PGHOST, PGSSLMODE })) };
  }

  baseUrl(): URL {
    const text = this.get("EXCHANGE_BASE_URL") ?? defaults.EXCHANGE_BASE_URL;
    const url = URL.parse(text) ?? new URL("none:");
    const fault = baseUrlFault(url);
    // The text itself is not quoted: it may hold a password.
    if (fault !== undefined) this.fault("EXCHANGE_BASE_URL", fault);
    return url;
  }

  /** Undefined where none is named: all that can be read are wanted. */
  productTypes(): readonly ProductType[] | undefined {
    const words = this.#list("PRODUCT_TYPES");
    for (const word of words.filter((word) => !isProductType(word))) {
      this.#faults.push(`PRODUCT_TYPES ${productTypeFault(word)}`);
    }
    return words.length === 0 ? undefined : words.filter(isProductType);
  }

  ltv(): boolean {
    const word = this.matching("SYNC_LTV", /^(true|1|yes|false|0|no)$/i, "true or false");
    return /^(true|1|yes)$/i.test(word);
  }

  riskUnitIds(): readonly string[] {
    const ids = this.#list("RISK_UNIT_IDS");
    const wrong = ids.find((id) => !/^[\w-]{1,64}$/.test(id));
    if (wrong !== undefined) this.fault("RISK_UNIT_IDS", `"${wrong}" is not a risk unit's ID`);
    return ids;
  }

  credentials(): Credentials {
    const [key, secret, passphrase] = credentialNames.map((name) => {
      const value = this.get(name);
      if (value === undefined) {
        const slip = this.#unknown().find((other) => nearest(other, credentialNames) === name);
        const hint = slip === undefined ? "" : ` (${slip} is set)`;
        this.fault(name, `is missing${hint}; ${credentialOrigin}`);
      } else if (!fitsHeader(value)) {
        this.fault(name, headerFault);
      }
      return new Secret(value ?? "");
    });
    const none = new Secret("");
    return { key: key ?? none, secret: secret ?? none, passphrase: passphrase ?? none };
  }

  settleLagMs(): number {
    const text = this.get("SYNC_SETTLE_MINUTES") ?? defaults.SYNC_SETTLE_MINUTES;
    const minutes = /^\d{1,5}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
    if (minutes > settleMinutesMax) {
      this.fault(
        "SYNC_SETTLE_MINUTES",
        `"${text}" is not a whole number of minutes from 0 to ${settleMinutesMax}`,
      );
      return 0;
    }
    return minutes * minuteMs;
  }

  /** The accounts file brings its own accounts: the one of the environment would be left out. */
  refuseBothSources(): void {
    const own = ["EXCHANGE_ACCOUNT", ...credentialNames, "SYNC_LTV", "RISK_UNIT_IDS"].filter(
      (name) => this.get(name) !== undefined,
    );
    if (own.length === 0) return;
    this.fault(
      "ACCOUNTS_FILE",
      `is set together with the variables of a single account (${own.join(", ")}); ` +
        "remove one or the other",
    );
  }

  matching(name: keyof typeof defaults, pattern: RegExp, form: string): string {
    const text = this.get(name) ?? defaults[name];
    if (!pattern.test(text)) this.fault(name, `"${text}" is not ${form}`);
    return text;
  }

  oneOf<Word extends string>(name: keyof typeof defaults, words: readonly Word[]): Word {
    const text = this.get(name) ?? defaults[name];
    const word = words.find((candidate) => candidate === text);
    if (word !== undefined) return word;
    this.fault(name, `"${text}" is not one of ${words.join(", ")}${didYouMean(text, words)}`);
    return words[0] as Word;
  }

  /** An empty variable counts as absent: that is how an unfilled line of .env reads. */
  get(name: string): string | undefined {
    const value = this.#environment[name]?.trim();
    return value === "" ? undefined : value;
  }

  /** A list with commas; no word twice. */
  #list(name: string): readonly string[] {
    const words = (this.get(name) ?? "").split(",").map((word) => word.trim());
    return [...new Set(words.filter((word) => word !== ""))];
  }

  /** A misspelled variable would leave a default at work that nobody wanted. */
  noSlips(): void {
    const unset = variables.filter((name) => this.get(name) === undefined);
    for (const name of this.#unknown()) {
      const meant = nearest(name, unset, slipMax);
      const isTold = credentialNames.some((known) => known === meant);
      if (meant === undefined || isTold) continue;
      this.fault(name, `is not a variable of this program, did you mean ${meant}?`);
    }
  }

  /** Keeps a fault for {@link throwFaults}. Its text follows the variable's name. */
  fault(name: string, text: string): void {
    this.#faults.push(`${name} ${text}`);
  }

  /** Variables that are set for this program and that it does not know. */
  #unknown(): readonly string[] {
    return Object.keys(this.#environment).filter(
      (name) =>
        ownPrefix.test(name) &&
        this.get(name) !== undefined &&
        !variables.some((known) => known === name),
    );
  }
}

function baseUrlFault(url: URL): string | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return `is not a URL such as ${defaults.EXCHANGE_BASE_URL}`;
  }
  if (url.href !== `${url.origin}/`) {
    return `has more than a scheme, a host and a port; write ${url.origin}`;
  }
  if (url.protocol === "https:" || isLoopback(url)) return undefined;
  return `would send the key in the clear to ${url.host}; use https, or http on 127.0.0.1 only`;
}

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);

export const isProductType = (word: string): word is ProductType =>
  productTypes.some((known) => known === word);

export function productTypeFault(word: string): string {
  const meant = didYouMean(word, productTypes) || ` (there are ${productTypes.join(", ")})`;
  return `"${word}" is not a product type${meant}`;
}
