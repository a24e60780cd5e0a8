import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { systemClock } from "../clock.ts";
import { secondMs } from "../contract/time.ts";
import type { Database } from "../db/connect.ts";
import { migrationState } from "../db/migrate.ts";
import type { CommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { openFilesMax, openFilesNeeded, openFilesRemedy } from "../open-files.ts";
import { unreachableLines } from "../output/account-remarks.ts";
import { formatCounted } from "../output/format.ts";
import type { Result } from "../output/result.ts";
import {
  type Config,
  type DatabaseConfig,
  narrowed,
  readConfig,
  readDatabaseConfig,
} from "../roster/config.ts";
import { envFileExposure } from "../roster/credentials.ts";
import { everyLedger } from "../roster/roster.ts";
import type { Environment } from "../roster/settings.ts";
import { accountsToRead, reachableSelection } from "../roster/to-read.ts";
import { type Check, checkDatabase, failed, ok, type Report } from "./doctor-database.ts";
import { checkExchange } from "./doctor-exchange.ts";
import { type ExitCode, print, stopped } from "./io.ts";
import { accountOption, type Define, jsonOption, type Program, type Which } from "./options.ts";

// Time for running checks to return their leases. A statement that hangs is not waited for.
const graceMs = 2 * secondMs;

/**
 * `doctor`: tries everything that a sync needs, and says what is wrong and what to do. After a
 * failed check, it runs the checks that are still possible. The only rows it writes are the
 * leases of the accounts whose keys it tries.
 */
async function doctorCommand(program: Program, words: Which): Promise<Result | ExitCode> {
  const { signal } = program.io;
  const isStopped = stopped(signal).then(async () => {
    await systemClock.sleep(graceMs);
    throw signal.reason;
  });
  return Promise.race([examine(program, words), isStopped]);
}

async function examine(
  { readEnvironment, io }: Program,
  { account = [] }: Which,
): Promise<Result | ExitCode> {
  const checks: Check[] = [];
  const report = (check: Check | undefined) => {
    if (check === undefined) return;
    checks.push(check);
    // Each as soon as it is there: some take seconds.
    if (!io.isJson) print(io, lineOf(check));
  };
  report(openFilesCheck(openFilesMax()));
  const { config, database: where } = checkConfig(readEnvironment, report);
  const wanted = config && narrowed(config, { accounts: account, productTypes: [] });
  await using database = where && (await checkDatabase(where, report, io));
  const db = await migrated(database);
  const accounts = db && (await checkRows(db, config, report));
  const configured = wanted && (await accountsToTry(wanted, db, accounts, report));
  if (configured !== undefined) await checkExchange(configured, db, report, io.signal);
  const isWell = checks.every(({ status }) => status !== "FAIL");
  const exit = isWell ? 0 : 1;
  return io.isJson ? { data: { outcome: isWell ? "ok" : "FAIL", checks }, parts: [], exit } : exit;
}

const lineOf = ({ status, name, result, remedy }: Check): string =>
  `${status.padEnd(4)}  ${name.padEnd(15)}  ${result}${remedy === undefined ? "" : `; ${remedy}`}`;

/** Reports the limit only if it is too low, which is rare. */
export function openFilesCheck(max: number | undefined): Check | undefined {
  if (max === undefined || max >= openFilesNeeded) return undefined;
  const result = `this process may have ${max} open`;
  return { status: "warn", name: "open files", result, remedy: openFilesRemedy };
}

/**
 * Checks the configuration. If it has faults, the database is still checked, unless the faults are
 * in its own part.
 */
function checkConfig(
  readEnvironment: () => Environment,
  report: Report,
): { readonly config?: Config; readonly database?: DatabaseConfig } {
  const name = "config";
  let environment: Environment | undefined;
  try {
    environment = readEnvironment();
    reportExposure("env file", ".env", envFileExposure(), report);
    const config = readConfig(environment, { credentials: true });
    report(ok(name, `${formatCounted(config.accounts.length, "account")} configured`));
    const path = environment["ACCOUNTS_FILE"]?.trim();
    if (path) reportExposure("accounts file", path, config.warnings, report);
    return { config, database: config.database };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    for (const result of error.faults) report({ status: "FAIL", name, result });
  }
  if (!existsSync(".env"))
    report({
      status: "warn",
      name: "env file",
      result: `there is no ${resolve(".env")}`,
      remedy: "create it as .env.example shows, or set these variables in the environment",
    });
  try {
    return environment === undefined ? {} : { database: readDatabaseConfig(environment) };
  } catch (error) {
    // The database part's faults were reported above.
    if (error instanceof UsageError) return {};
    throw error;
  }
}

/** @param warnings undefined where the file holds no credential. */
function reportExposure(
  name: string,
  path: string,
  warnings: readonly string[] | undefined,
  report: Report,
): void {
  for (const result of warnings ?? []) report({ status: "warn", name, result });
  if (warnings?.length === 0) report(ok(name, `${path} shows no credential to other users`));
}

/** The database, if its tables can be read. */
async function migrated(database: CommandDatabase | undefined): Promise<Database | undefined> {
  if (database === undefined) return undefined;
  const state = await migrationState(database.db).catch(() => undefined);
  return state?.pending === 0 ? database.db : undefined;
}

/**
 * Looks for accounts whose rows cannot be read, and reports those alone.
 * @returns the other accounts, which the next checks are for; undefined for all.
 */
async function checkRows(
  db: Database,
  config: Config | undefined,
  report: Report,
): Promise<readonly string[] | undefined> {
  try {
    const configured = config ?? { accounts: [], accountNames: [], namesAccounts: false };
    const { selection, unreachable } = await reachableSelection(db, configured, everyLedger);
    const remedy = "see to that node; until then nothing below speaks of these accounts";
    for (const result of unreachableLines(unreachable))
      report({ status: "FAIL", name: "rows", result, remedy });
    return selection.accounts;
  } catch (error) {
    report(failed("rows", error));
    return undefined;
  }
}

/**
 * The accounts whose keys to try. No sync reads what is retired or paused, and its key may be gone.
 */
async function accountsToTry(
  wanted: Config,
  db: Database | undefined,
  accounts: readonly string[] | undefined,
  report: Report,
): Promise<Config> {
  const read = db && (await accountsToRead(db, wanted, accounts).catch(ignoreDatabase));
  if (read === undefined) return wanted;
  for (const result of read.notices) report(ok("not read", result));
  return read.config;
}

/** Ignores errors of the database, which were reported. */
function ignoreDatabase(error: unknown): undefined {
  if (error instanceof UsageError) throw error;
}

const help = `
One line a check: ok, warn (it works, but needs a look) or FAIL, with a remedy.
It sends a few requests for each account, and tries no key while another run
holds its account.`;

export const define: Define = (doctor, program) => {
  doctor
    .addOption(accountOption())
    .addOption(jsonOption())
    .addHelpText("after", help)
    .action(program.runs((words: Which) => doctorCommand(program, words)));
};
