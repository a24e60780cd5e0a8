import { dirname, join } from "node:path";
import type { ZodError, z } from "zod";
import type { ProductType } from "../core/contract/product-types.ts";
import { UsageError } from "../lib/errors.ts";
import { didYouMean, nearest } from "../lib/nearest.ts";
import { Secret } from "../lib/secret.ts";
import { type EpochMs, minuteMs } from "../lib/time.ts";
import { type Account, type Configured, wantedTypes } from "./account.ts";
import { type AccountsSource, readAccounts } from "./accounts-file.ts";
import { credentialOrigin, credentialVariables } from "./credentials.ts";
import { proxyFor } from "./proxy.ts";
import {
  type Environment,
  type LogLevel,
  variableNames,
  variables,
  withTlsByDefault,
} from "./settings.ts";

/** A server's address, or where the embedded one keeps its data. */
export type DatabaseConfig = { readonly url: Secret } | { readonly dataDir: string };

export type Config = Configured & {
  readonly database: DatabaseConfig;
  readonly baseUrl: URL;
  /** The proxy through which the exchange is asked. */
  readonly proxy: Secret | undefined;
  /** Where the server's own keys are: beside the file of accounts, or beside `.env`. */
  readonly keysFile: string;
  readonly settleLagMs: number;
  /** The oldest time that is wanted of tax records; undefined for two years. */
  readonly recoverFrom: EpochMs | "none" | undefined;
  /** How far behind a ledger may be, and how high a loan to value. */
  readonly healthLimits: { readonly maxAgeMs: number; readonly ltvMax: number };
  readonly logLevel: LogLevel;
  /** Messages for the user that stop nothing. */
  readonly warnings: readonly string[];
};

/** The parts of the accounts that a command needs. */
export type ConfigNeeds = {
  readonly credentials: boolean;
  /** Limits them to these accounts; undefined for all. */
  readonly accounts?: readonly string[] | undefined;
};

/**
 * The configuration, from the environment's variables.
 *
 * @throws UsageError that names every wrong or missing variable, each with its remedy.
 */
export function readConfig(environment: Environment, needs: ConfigNeeds): Config {
  const faults: string[] = [];
  const values = valuesOf(environment);
  const { data: settings, error } = variables.safeParse(values);
  const slips = misspelled(values);
  const textsOf = (isFault: boolean) => [
    ...slips.flatMap(({ isOurs, text }) => (isOurs === isFault ? text : [])),
    // A credential may have them.
    ...quoted(values).flatMap((name) =>
      isCredential(name) === isFault ? [] : [`${name} ${keptQuotes}`],
    ),
  ];
  // A line of YAML with a "=" in its value names its variable twice.
  faults.push(...faultsIn(error), ...new Set(textsOf(true)));
  const fault = (text: string) => faults.push(text);
  const path = values["ACCOUNTS_FILE"];
  const several = path && readSeveral(path, values, settings?.PRODUCT_TYPES, needs, fault);
  if (path === undefined && needs.credentials)
    for (const name of credentialVariables)
      if (values[name] === undefined) fault(`${name} is missing; ${credentialOrigin}`);
  if (settings === undefined || faults.length > 0) throw faulty(faults, path);
  const accounts = several || oneAccount(settings, values, needs);
  return Object.freeze({
    database: databaseOf(settings, values),
    baseUrl: settings.EXCHANGE_BASE_URL,
    proxy: proxyFor(settings.EXCHANGE_BASE_URL, settings),
    ...accounts,
    warnings: [...accounts.warnings, ...textsOf(false)],
    keysFile: join(dirname(settings.ACCOUNTS_FILE ?? ".env"), "mirror-keys.json"),
    settleLagMs: settings.SYNC_SETTLE_MINUTES * minuteMs,
    recoverFrom: settings.RECOVER_FROM,
    healthLimits: { maxAgeMs: settings.HEALTH_MAX_AGE, ltvMax: settings.HEALTH_MAX_LTV },
    logLevel: settings.LOG_LEVEL,
  });
}

/** Each fault, with its variable first. */
const faultsIn = (error: ZodError | undefined): readonly string[] =>
  error?.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`) ?? [];

/** An empty variable counts as absent: an unfilled line of .env reads so. */
const valuesOf = (environment: Environment): Environment =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value = ""]) => {
      const text = value.trim();
      return text === "" ? [] : [[proxyNames[name] ?? name, text]];
    }),
  );

/** Other programs read these in small letters. */
const proxyNames: Readonly<Record<string, string>> = {
  https_proxy: "HTTPS_PROXY",
  no_proxy: "NO_PROXY",
};

/** The variables of this program whose values have quotes around them. */
const quoted = (values: Environment): readonly string[] =>
  variableNames.filter((name) => /^(["'`]).*\1$|^[“„‘].*[”“’]$/s.test(values[name] ?? ""));

const keptQuotes =
  "has quotes around its value, which docker run --env-file, say, keeps; write it without them";

function faulty(faults: readonly string[], accountsFile?: string): UsageError {
  const list = faults.map((fault) => `  ${fault}`).join("\n");
  const ofFile =
    accountsFile === undefined ? "" : ` What is wrong with ACCOUNTS_FILE is in ${accountsFile}.`;
  return new UsageError(
    `the configuration has errors:\n${list}\nSet these variables in the environment or in ` +
      `.env; .env.example describes each.${ofFile}`,
    faults,
  );
}

const databaseOf = (
  { DATABASE_URL: url, DATA_DIR: dataDir }: { DATABASE_URL?: string | undefined; DATA_DIR: string },
  { PGHOST, PGSSLMODE }: Environment,
): DatabaseConfig =>
  url === undefined
    ? { dataDir }
    : { url: new Secret(withTlsByDefault(url, { PGHOST, PGSSLMODE })) };

// A variable that begins so is meant for this program, whatever else the environment holds.
const prefix = /^(ACCOUNTS?|EXCHANGE|HEALTH|PRODUCT|RECOVER|SYNC|RISK_UNIT)_/;
// A name that differs by more letters may well be the variable of another program.
const slipMax = 2;

const isNotSet = "is named in .env or the environment, in a form that sets nothing; write";

// The name that Node finds in a line of PowerShell may be "$env:DATABASE_URL".
const wordsOf = (name: string): readonly string[] => name.split(/\W+/);
const lettersOf = (name: string): string => name.toUpperCase().replaceAll(/[^A-Z]/g, "");

/** A misspelled variable would leave a default in force that nobody wanted. */
function misspelled(values: Environment) {
  const unset = variableNames.filter(
    (name) => values[name] === undefined && !Object.values(proxyNames).includes(name),
  );
  return Object.keys(values).flatMap((name) => {
    if (variableNames.some((variable) => variable === name)) return [];
    const named = /^\w*$/.test(name) ? undefined : unset.find((one) => wordsOf(name).includes(one));
    if (named !== undefined) return [{ isOurs: true, text: `${named} ${isNotSet} ${named}=VALUE` }];
    // Another name for it would send the bills into another database.
    const isOurs = prefix.test(name) || lettersOf(name) === "DATABASEURL";
    const meant = nearest(name, unset, isOurs ? slipMax : 1);
    const text = `${name} is not a variable of this program, did you mean ${meant}?`;
    return meant === undefined ? [] : [{ isOurs, text }];
  });
}

const isCredential = (name: string): boolean =>
  credentialVariables.some((variable) => variable === name);

const ofOneAccount = [
  ...credentialVariables,
  ...(["ACCOUNT_NAME", "SYNC_LTV", "RISK_UNIT_IDS"] as const),
];

/** The accounts of ACCOUNTS_FILE. */
function readSeveral(
  path: string,
  values: Environment,
  productTypes: readonly ProductType[] | undefined,
  needs: ConfigNeeds,
  fault: (text: string) => void,
): AccountsSource {
  const set = ofOneAccount.filter((name) => values[name] !== undefined);
  if (set.length > 0) {
    fault(
      `ACCOUNTS_FILE is set together with the variables of a single account (${set.join(", ")}); ` +
        "remove one or the other",
    );
  }
  return readAccounts(path, {
    productTypes,
    isSelected: (account) => needs.accounts?.includes(account) ?? true,
    variable: (name) => values[name],
    fault: (text) => fault(`ACCOUNTS_FILE ${text}`),
  });
}

/** The one account of the variables. */
function oneAccount(
  settings: z.output<typeof variables>,
  values: Environment,
  { credentials: areNeeded }: ConfigNeeds,
): AccountsSource {
  const name = settings.ACCOUNT_NAME;
  const [key, secret, passphrase] = credentialVariables.map((variable) => settings[variable]);
  const account: Account = {
    name,
    ...wantedTypes(settings.PRODUCT_TYPES, false),
    ltv: settings.SYNC_LTV,
    riskUnitIds: settings.RISK_UNIT_IDS,
    ...(areNeeded &&
      key &&
      secret &&
      passphrase && { lookUp: () => ({ key, secret, passphrase }) }),
  };
  const namesAccounts =
    values["ACCOUNT_NAME"] !== undefined || values["EXCHANGE_API_KEY"] !== undefined;
  return { accounts: [account], accountNames: [name], namesAccounts, warnings: [] };
}

const namesShownMax = 20;

/** @param names those that there are. */
export function unknownAccount(name: string, names: readonly string[]): UsageError {
  const shown = names.slice(0, namesShownMax).join(", ");
  const more = names.length > namesShownMax ? ` and ${names.length - namesShownMax} more` : "";
  return new UsageError(
    `there is no account ${name}${didYouMean(name, names)} (known: ${shown}${more})`,
  );
}
