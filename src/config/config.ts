import { dirname, join } from "node:path";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Account } from "./account.ts";
import { readAccountsFile, wantedTypes } from "./accounts.ts";
import type { DatabaseConfig } from "./database-url.ts";
import {
  accountName,
  type Environment,
  EnvironmentReader,
  isProductType,
  productTypeFault,
} from "./environment.ts";

export type Config = {
  readonly database: DatabaseConfig;
  readonly baseUrl: URL;
  readonly locale: string;
  readonly accounts: readonly Account[];
  /** Where the server's own keys are: beside the file of accounts, or beside `.env`. */
  readonly keysFile: string;
  readonly settleLagMs: number;
  readonly logLevel: LogLevel;
  /** What the user should know of, and what stops nothing. */
  readonly warnings: readonly string[];
};

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * The configuration, from the environment's variables.
 *
 * @throws UsageError that names every wrong or missing variable, each with its remedy.
 */
export function readConfig(
  environment: Environment,
  needs: { readonly credentials: boolean },
): Config {
  const reader = new EnvironmentReader(environment);
  const config: Config = {
    database: reader.database(),
    baseUrl: reader.baseUrl(),
    locale: reader.matching("EXCHANGE_LOCALE", /^[a-z]{2}-[A-Z]{2}$/, "a tag such as en-US"),
    ...readAccounts(reader, needs),
    keysFile: join(dirname(reader.get("ACCOUNTS_FILE") ?? ".env"), "mirror-keys.json"),
    settleLagMs: reader.settleLagMs(),
    logLevel: reader.oneOf("LOG_LEVEL", logLevels),
  };
  reader.noSlips();
  reader.throwFaults();
  return Object.freeze(config);
}

/** @throws UsageError where it is wrong; of the other variables, none is looked at. */
export function readDatabaseConfig(environment: Environment): DatabaseConfig {
  const reader = new EnvironmentReader(environment);
  const database = reader.database();
  reader.throwFaults();
  return database;
}

function readAccounts(
  reader: EnvironmentReader,
  needs: { readonly credentials: boolean },
): Pick<Config, "accounts" | "warnings"> {
  const path = reader.get("ACCOUNTS_FILE");
  if (path === undefined) {
    const { pattern, form } = accountName;
    const account = {
      name: reader.matching("EXCHANGE_ACCOUNT", pattern, form),
      ...wantedTypes(reader.productTypes(), false),
      ltv: reader.ltv(),
      riskUnitIds: reader.riskUnitIds(),
      ...(needs.credentials ? { credentials: reader.credentials() } : {}),
    };
    return { accounts: [account], warnings: [] };
  }
  reader.refuseBothSources();
  return readAccountsFile(path, {
    productTypes: reader.productTypes(),
    needsCredentials: needs.credentials,
    variable: (name) => reader.get(name),
    fault: (text) => reader.fault("ACCOUNTS_FILE", text),
  });
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
    throw new UsageError(
      `--product ${word} is not configured: PRODUCT_TYPES or ACCOUNTS_FILE leaves it out`,
    );
  }
  return {
    ...config,
    accounts: accounts
      .map((account) => ({
        ...account,
        // What is typed is named.
        readsAll: false,
        productTypes: account.productTypes.filter((type) => wanted.includes(type)),
      }))
      .filter((account) => account.productTypes.length > 0),
  };
}
