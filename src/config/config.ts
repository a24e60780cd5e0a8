import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ProductType } from "../contract/product-types.ts";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Account, LookUp } from "./account.ts";
import { wantedTypes } from "./account-fields.ts";
import { type AccountsDeps, readAccountsFile } from "./accounts.ts";
import { namesInDirectory, readAccountsDirectory } from "./accounts-directory.ts";
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
  /** Those that are configured; `accounts` has those among them that were asked for. */
  readonly accountNames: readonly string[];
  /** False where nothing names an account: `accounts` then has the default's name, and no more is known. */
  readonly namesAccounts: boolean;
  /** Absent where the table `accounts` is not to be read: nothing says how its accounts' credentials are had. */
  readonly added?: AddedAccounts;
  /** Where the server's own keys are: beside the file of accounts, or beside `.env`. */
  readonly keysFile: string;
  readonly settleLagMs: number;
  readonly logLevel: LogLevel;
  /** What the user should know of, and what stops nothing. */
  readonly warnings: readonly string[];
};

/** Accounts that are in the table `accounts`, and not in the configuration. */
export type AddedAccounts = {
  /** Those that were asked for; undefined for all that there are. */
  readonly names: readonly string[] | undefined;
  readonly accountOf: (settings: AccountSettings) => Account;
};

/** What the table says of an account. */
export type AccountSettings = Pick<Account, "name" | "demo" | "ltv" | "riskUnitIds"> & {
  /** Undefined for those that are wanted of all accounts. */
  readonly productTypes: readonly ProductType[] | undefined;
};

/** What a command needs of the accounts. */
export type ConfigNeeds = {
  readonly credentials: boolean;
  /** Of these accounts only; undefined for all. */
  readonly accounts?: readonly string[] | undefined;
};

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * The configuration, from the environment's variables.
 *
 * @throws UsageError that names every wrong or missing variable, each with its remedy.
 */
export function readConfig(environment: Environment, needs: ConfigNeeds): Config {
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

type ReadAccounts = Pick<
  Config,
  "accounts" | "accountNames" | "namesAccounts" | "added" | "warnings"
>;

function readAccounts(reader: EnvironmentReader, needs: ConfigNeeds): ReadAccounts {
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
    const namesAccounts = ["EXCHANGE_ACCOUNT", "EXCHANGE_API_KEY"].some(
      (name) => reader.get(name) !== undefined,
    );
    return { accounts: [account], accountNames: [account.name], namesAccounts, warnings: [] };
  }
  reader.refuseBothSources();
  const isWanted = (account: string) => needs.accounts?.includes(account) ?? true;
  const deps: AccountsDeps = {
    productTypes: reader.productTypes(),
    needsCredentials: (account) => needs.credentials && isWanted(account),
    variable: (name) => reader.get(name),
    fault: (text) => reader.fault("ACCOUNTS_FILE", text),
  };
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    const accountNames = namesInDirectory(path, deps.fault);
    const wanted = readAccountsDirectory(path, accountNames.filter(isWanted), deps);
    return { accountNames, namesAccounts: true, ...wanted };
  }
  const { accounts, lookUpOf, warnings } = readAccountsFile(path, deps);
  const accountNames = accounts.map(({ name }) => name);
  return {
    accounts,
    accountNames,
    namesAccounts: true,
    warnings,
    ...(lookUpOf && { added: addedAccounts(lookUpOf, deps.productTypes) }),
  };
}

const addedAccounts = (
  lookUpOf: (account: string) => LookUp,
  productTypesOfAll: readonly ProductType[] | undefined,
): AddedAccounts => ({
  names: undefined,
  accountOf: ({ productTypes, ...settings }) => ({
    ...settings,
    ...wantedTypes(productTypes ?? productTypesOfAll, settings.demo ?? false),
    lookUp: lookUpOf(settings.name),
  }),
});

/**
 * The configuration for these accounts and product types only; empty lists leave all.
 * @throws UsageError for a name that is not configured, with the nearest that is.
 */
export function narrowed(
  config: Config,
  only: { readonly accounts: readonly string[]; readonly productTypes: readonly string[] },
): Config {
  const { accountNames: names, added } = config;
  const others = only.accounts.filter((name) => !names.includes(name));
  if (others.length > 0 && added === undefined) throw unknownAccount(others[0] ?? "", names);
  const accounts = config.accounts.filter(
    ({ name }) => only.accounts.length === 0 || only.accounts.includes(name),
  );
  const narrow = {
    ...config,
    accounts,
    ...(added && { added: { ...added, names: only.accounts.length === 0 ? undefined : others } }),
  };
  const wanted = only.productTypes.flatMap((word) => word.split(","));
  if (wanted.length === 0) return narrow;
  for (const word of wanted) {
    if (!isProductType(word)) throw new UsageError(`--product ${productTypeFault(word)}`);
    if (added !== undefined) continue;
    if (accounts.some(({ productTypes }) => productTypes.includes(word))) continue;
    throw new UsageError(
      `--product ${word} is not configured: PRODUCT_TYPES or ACCOUNTS_FILE leaves it out`,
    );
  }
  const ofWanted = (account: Account): Account => ({
    ...account,
    // What is typed is named.
    readsAll: false,
    productTypes: account.productTypes.filter((type) => wanted.includes(type)),
  });
  return {
    ...narrow,
    accounts: accounts.map(ofWanted).filter(({ productTypes }) => productTypes.length > 0),
    ...(narrow.added && {
      added: withProducts(narrow.added, ofWanted),
    }),
  };
}

const withProducts = (
  { names, accountOf }: AddedAccounts,
  ofWanted: (account: Account) => Account,
): AddedAccounts => ({ names, accountOf: (settings) => ofWanted(accountOf(settings)) });

const namesShownMax = 20;

/** @param names those that there are. */
export function unknownAccount(name: string, names: readonly string[]): UsageError {
  const shown = names.slice(0, namesShownMax).join(", ");
  const more = names.length > namesShownMax ? ` and ${names.length - namesShownMax} more` : "";
  return new UsageError(
    `--account ${name}: there is no such account${didYouMean(name, names)} (configured: ${shown}${more})`,
  );
}
