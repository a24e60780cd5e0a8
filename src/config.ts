import { type ProductType, productTypes } from "./contract/product-types.ts";
import { minuteMs } from "./contract/time.ts";
import { UsageError } from "./errors.ts";
import type { Credentials } from "./exchange/client.ts";
import { didYouMean, nearest } from "./nearest.ts";
import { Secret } from "./secret.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export type Account = {
  readonly name: string;
  readonly productTypes: readonly ProductType[];
  /** Whether its loan-to-value is synced: most accounts have no loan. */
  readonly ltv?: boolean;
  /** A parent account's risk units; none for a risk unit's own account. */
  readonly riskUnitIds?: readonly string[];
  /** Absent where a command does not need them. */
  readonly credentials?: Credentials;
};

export type DatabaseConfig = { readonly url: Secret } | { readonly dataDir: string };

export type Config = {
  readonly database: DatabaseConfig;
  readonly baseUrl: URL;
  readonly locale: string;
  readonly accounts: readonly Account[];
  readonly settleLagMs: number;
  readonly logLevel: LogLevel;
};

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

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

const variables = [
  ...Object.keys(defaults),
  ...credentialNames,
  "DATABASE_URL",
  "PRODUCT_TYPES",
  "RISK_UNIT_IDS",
] as const;

// What starts so is meant for this program, whatever else the environment holds.
const ownPrefix = /^(EXCHANGE|SYNC|PRODUCT|RISK_UNIT)_/;
// Further off, it may well be the variable of another program.
const slipMax = 2;

const settleMinutesMax = 24 * 60;

/**
 * The configuration, from the environment's variables.
 *
 * @throws UsageError that names every wrong or missing variable, each with its remedy.
 */
export function readConfig(
  environment: Environment,
  needs: { readonly credentials: boolean },
): Config {
  const reader = new Reader(environment);
  const config: Config = {
    database: reader.database(),
    baseUrl: reader.baseUrl(),
    locale: reader.matching("EXCHANGE_LOCALE", /^[a-z]{2}-[A-Z]{2}$/, "a tag such as en-US"),
    accounts: [
      {
        name: reader.matching(
          "EXCHANGE_ACCOUNT",
          /^[\w.-]{1,64}$/,
          "1 to 64 letters, digits, dots, hyphens or underscores",
        ),
        productTypes: reader.productTypes(),
        ltv: reader.ltv(),
        riskUnitIds: reader.riskUnitIds(),
        ...(needs.credentials ? { credentials: reader.credentials() } : {}),
      },
    ],
    settleLagMs: reader.settleLagMs(),
    logLevel: reader.oneOf("LOG_LEVEL", logLevels),
  };
  reader.noSlips();
  reader.throwFaults();
  return Object.freeze(config);
}

/** Reads variables and collects their faults, so that all of them are told at once. */
class Reader {
  readonly #environment: Environment;
  readonly #faults: string[] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  throwFaults(): void {
    if (this.#faults.length === 0) return;
    const list = this.#faults.map((fault) => `  ${fault}`).join("\n");
    throw new UsageError(
      `the configuration has faults:\n${list}\nSet these variables in the environment or in ` +
        ".env; .env.example describes each.",
    );
  }

  database(): DatabaseConfig {
    const url = this.#get("DATABASE_URL");
    if (url === undefined) return { dataDir: this.#get("DATA_DIR") ?? defaults.DATA_DIR };
    if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
      this.#fault(
        "DATABASE_URL",
        "is not an address; write postgres://USER:PASSWORD@HOST:5432/NAME, with a # or / in the " +
          "password as %23 or %2F, or leave it out for the embedded Postgres",
      );
    }
    return { url: new Secret(url) };
  }

  baseUrl(): URL {
    const text = this.#get("EXCHANGE_BASE_URL") ?? defaults.EXCHANGE_BASE_URL;
    const url = URL.parse(text) ?? new URL("none:");
    const fault = baseUrlFault(url);
    // The text itself is not quoted: it may hold a password.
    if (fault !== undefined) this.#fault("EXCHANGE_BASE_URL", fault);
    return url;
  }

  productTypes(): readonly ProductType[] {
    const words = this.#list("PRODUCT_TYPES");
    for (const word of words.filter((word) => !isProductType(word))) {
      this.#faults.push(`PRODUCT_TYPES ${productTypeFault(word)}`);
    }
    return words.length === 0 ? productTypes : words.filter(isProductType);
  }

  ltv(): boolean {
    const word = this.matching("SYNC_LTV", /^(true|1|yes|false|0|no)$/i, "true or false");
    return /^(true|1|yes)$/i.test(word);
  }

  riskUnitIds(): readonly string[] {
    const ids = this.#list("RISK_UNIT_IDS");
    const wrong = ids.find((id) => !/^[\w-]{1,64}$/.test(id));
    if (wrong !== undefined) this.#fault("RISK_UNIT_IDS", `"${wrong}" is not a risk unit's ID`);
    return ids;
  }

  credentials(): Credentials {
    const [key, secret, passphrase] = credentialNames.map((name) => {
      const value = this.#get(name);
      if (value === undefined) {
        const slip = this.#unknown().find((other) => nearest(other, credentialNames) === name);
        const hint = slip === undefined ? "" : ` (${slip} is set)`;
        this.#fault(name, `is missing${hint}; the exchange gives it when you create an API key`);
      } else if (!/^[\x20-\x7e]+$/.test(value)) {
        this.#fault(name, "holds a character that no header can carry; copy it again");
      }
      return new Secret(value ?? "");
    });
    const none = new Secret("");
    return { key: key ?? none, secret: secret ?? none, passphrase: passphrase ?? none };
  }

  settleLagMs(): number {
    const text = this.#get("SYNC_SETTLE_MINUTES") ?? defaults.SYNC_SETTLE_MINUTES;
    const minutes = /^\d{1,5}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
    if (minutes > settleMinutesMax) {
      this.#fault(
        "SYNC_SETTLE_MINUTES",
        `"${text}" is not a whole number of minutes from 0 to ${settleMinutesMax}`,
      );
      return 0;
    }
    return minutes * minuteMs;
  }

  matching(name: keyof typeof defaults, pattern: RegExp, form: string): string {
    const text = this.#get(name) ?? defaults[name];
    if (!pattern.test(text)) this.#fault(name, `"${text}" is not ${form}`);
    return text;
  }

  oneOf<Word extends string>(name: keyof typeof defaults, words: readonly Word[]): Word {
    const text = this.#get(name) ?? defaults[name];
    const word = words.find((candidate) => candidate === text);
    if (word !== undefined) return word;
    this.#fault(name, `"${text}" is not one of ${words.join(", ")}${didYouMean(text, words)}`);
    return words[0] as Word;
  }

  /** An empty variable counts as absent: that is how an unfilled line of .env reads. */
  #get(name: string): string | undefined {
    const value = this.#environment[name]?.trim();
    return value === "" ? undefined : value;
  }

  /** A list with commas; no word twice. */
  #list(name: string): readonly string[] {
    const words = (this.#get(name) ?? "").split(",").map((word) => word.trim());
    return [...new Set(words.filter((word) => word !== ""))];
  }

  /** A misspelled variable would leave a default at work that nobody wanted. */
  noSlips(): void {
    const unset = variables.filter((name) => this.#get(name) === undefined);
    for (const name of this.#unknown()) {
      const meant = nearest(name, unset, slipMax);
      const isTold = credentialNames.some((known) => known === meant);
      if (meant === undefined || isTold) continue;
      this.#fault(name, `is not a variable of this program, did you mean ${meant}?`);
    }
  }

  #fault(name: string, text: string): void {
    this.#faults.push(`${name} ${text}`);
  }

  /** Variables that are set for this program and that it does not know. */
  #unknown(): readonly string[] {
    return Object.keys(this.#environment).filter(
      (name) =>
        ownPrefix.test(name) &&
        this.#get(name) !== undefined &&
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

/**
 * The configuration for these accounts and product types only; empty lists leave all.
 * @throws UsageError for a name that is not configured, with the nearest that is.
 */
export function narrowed(
  config: Config,
  only: { readonly accounts: readonly string[]; readonly productTypes: readonly string[] },
): Config {
  const names = config.accounts.map(({ name }) => name);
  for (const name of only.accounts) {
    if (names.includes(name)) continue;
    throw new UsageError(
      `--account ${name}: there is no such account${didYouMean(name, names)} (configured: ${names.join(", ")})`,
    );
  }
  const accounts = config.accounts.filter(
    ({ name }) => only.accounts.length === 0 || only.accounts.includes(name),
  );
  const wanted = only.productTypes.flatMap((word) => word.split(","));
  if (wanted.length === 0) return { ...config, accounts };
  for (const word of wanted) {
    if (!isProductType(word)) throw new UsageError(`--product ${productTypeFault(word)}`);
    if (accounts.some(({ productTypes }) => productTypes.includes(word))) continue;
    throw new UsageError(`--product ${word} is not among those that PRODUCT_TYPES names`);
  }
  return {
    ...config,
    accounts: accounts
      .map((account) => ({
        ...account,
        productTypes: account.productTypes.filter((type) => wanted.includes(type)),
      }))
      .filter((account) => account.productTypes.length > 0),
  };
}
