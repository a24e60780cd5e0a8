import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { sql } from "drizzle-orm";
import type { Account } from "../accounts/account.ts";
import {
  type Config,
  type DatabaseConfig,
  readConfig,
  readDatabaseConfig,
} from "../accounts/config.ts";
import { envFileExposure } from "../accounts/credentials.ts";
import { type Selection, selectedAccounts, selectionOf } from "../accounts/roster.ts";
import type { Environment } from "../accounts/settings.ts";
import { accountsToRead } from "../accounts/to-read.ts";
import type { Database } from "../core/postgres/connect.ts";
import {
  type MigrationState,
  migrationState,
  refuseUnfitServer,
} from "../core/postgres/migrate.ts";
import { onlyRow } from "../core/postgres/values.ts";
import { systemClock } from "../lib/clock.ts";
import { UsageError } from "../lib/errors.ts";
import { secondMs } from "../lib/time.ts";
import { unreachableLines } from "../output/account-remarks.ts";
import { formatCount, formatCounted } from "../output/output-format.ts";
import { fields, type Result, table } from "../output/result.ts";
import {
  type Check,
  checkExchange,
  checked,
  failed,
  ok,
  type Report,
  warned,
} from "./doctor-exchange.ts";
import { type Io, stopped } from "./io.ts";
import type { CommandDatabase } from "./open.ts";
import {
  accountOption,
  type Define,
  jsonOption,
  type LedgerFlags,
  type Program,
} from "./options.ts";
import { openWritable, placeOf } from "./stored.ts";

// Time for running checks to return their leases. A statement that hangs is not waited for.
const graceMs = 2 * secondMs;

/**
 * `doctor`: tries everything that a sync needs, and says what is wrong and what to do. After a
 * failed check, it runs the checks that are still possible. The only rows it writes are the
 * leases of the accounts whose keys it tries.
 */
async function doctorCommand(program: Program, words: LedgerFlags): Promise<Result> {
  const { signal } = program.io;
  const isStopped = stopped(signal).then(async () => {
    await systemClock.sleep(graceMs);
    throw signal.reason;
  });
  return Promise.race([examine(program, words), isStopped]);
}

async function examine({ readEnvironment, io }: Program, words: LedgerFlags): Promise<Result> {
  const checks: Check[] = [];
  const report = (check: Check) => checks.push(check);
  const { config, database: where } = checkConfig(readEnvironment, report);
  const selection = selectionOf(words);
  if (config !== undefined && config.addedAccount === undefined)
    selectedAccounts(config, selection);
  await using database = where && (await checkDatabase(where, report, io));
  const db = await migrated(database);
  if (config !== undefined) {
    const accounts = await accountsToTry(config, selection, db, report);
    await checkExchange({ ...config, accounts }, db, report, io.signal);
  }
  const isWell = checks.every(({ status }) => status !== "FAIL");
  return {
    data: { outcome: isWell ? "ok" : "FAIL" },
    parts: [table("checks", checkColumns, checks, []), ...checks.map(lineOf)],
    exit: isWell ? 0 : config === undefined ? 2 : 1,
  };
}

const checkColumns = fields<Check>("value", ["status", "name", "result", "remedy"]);

const lineOf = ({ status, name, result, remedy }: Check): string =>
  `${status.padEnd(4)}  ${name.padEnd(15)}  ${result}${remedy === undefined ? "" : `; ${remedy}`}`;

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
    const exposure = envFileExposure();
    for (const result of exposure ?? []) report(warned("env file", result));
    if (exposure?.length === 0) report(hidden("env file", ".env"));
    const config = readConfig(environment, { credentials: true });
    report(ok(name, `${formatCounted(config.accounts.length, "account")} configured`));
    const path = environment["ACCOUNTS_FILE"]?.trim();
    for (const result of config.warnings) report(warned(name, result));
    if (path && config.warnings.length === 0) report(hidden("accounts file", path));
    return { config, database: config.database };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    if (!existsSync(".env"))
      report(
        warned(
          "env file",
          `there is no ${resolve(".env")}`,
          "create it as .env.example shows, or set these variables in the environment",
        ),
      );
    for (const result of error.faults) report({ status: "FAIL", name, result });
  }
  try {
    return environment === undefined ? {} : { database: readDatabaseConfig(environment) };
  } catch (error) {
    // The database part's faults were reported above.
    if (error instanceof UsageError) return {};
    throw error;
  }
}

const hidden = (name: string, path: string): Check =>
  ok(name, `${path} shows no credential to other users`);

/** The database, if its tables can be read. */
async function migrated(database: CommandDatabase | undefined): Promise<Database | undefined> {
  if (database === undefined) return undefined;
  const state = await migrationState(database.db).catch(() => undefined);
  return state?.pending === 0 ? database.db : undefined;
}

// A user waits for the answer. The driver waits ten seconds longer.
const statementMaxMs = 10 * secondMs;

/**
 * Checks the database and leaves it open for the next checks. Undefined if it cannot be reached.
 */
async function checkDatabase(
  where: DatabaseConfig,
  report: Report,
  io: Io,
): Promise<CommandDatabase | undefined> {
  const opened = openWritable({ database: where }, io, { statementMaxMs });
  const database = await opened.catch((error: unknown) => {
    report(failed("database", error));
    return undefined;
  });
  if (database !== undefined) {
    const { db, url } = database;
    const place = "url" in where ? placeOf(url.reveal()) : "embedded";
    report(await checked("database", () => checkServer(db, place)));
    report(await checked("migrations", async () => migrationsCheck(await migrationState(db))));
  }
  if ("dataDir" in where)
    report(await checked("disk", () => checkDisk(where.dataDir, database?.db)));
  return database;
}

async function checkServer(db: Database, place: string): Promise<Check> {
  await refuseUnfitServer(db);
  const { rows } = await db.execute<{ version: string; time_zone: string }>(sql`
    select current_setting('server_version') as version, current_setting('TimeZone') as time_zone`);
  const { version, time_zone } = onlyRow(rows, "the server's settings");
  return ok("database", `PostgreSQL ${version}, ${place}, shown in time zone ${time_zone}`);
}

function migrationsCheck({ applied, pending, areViewsOld }: MigrationState): Check {
  const name = "migrations";
  if (!areViewsOld && pending === 0) return ok(name, `up to date (${applied} applied)`);
  const left =
    applied === 0 ? "none applied yet" : `${formatCounted(pending, "migration")} to apply`;
  return warned(
    name,
    areViewsOld ? "the views of schema analytics are of another version of bill-sync" : left,
    "run bill-sync sync, which applies them first, or bill-sync db migrate",
  );
}

const mebibyte = 1_024 ** 2;
const freeMin = 1_024 * mebibyte;
// Postgres stops if it cannot create the next file of its log, which has 16 MiB. A day of bills
// with their index entries takes less than the rest.
const neededMin = 64 * mebibyte;

async function checkDisk(dataDir: string, db: Database | undefined): Promise<Check> {
  // For root, the data may be kept elsewhere, with a link to it.
  const { bavail, bsize } = await statfs(join(dataDir, "postgres")).catch(() =>
    statfs(nearestFolder(dataDir)),
  );
  const taken = await db?.execute<{ bytes: string }>(
    sql`select pg_database_size(current_database()) as bytes`,
  );
  const bytes = taken?.rows[0]?.bytes;
  return diskCheck(dataDir, bavail * bsize, bytes === undefined ? undefined : Number(bytes));
}

/** The folder, or the one in which it would be made. */
const nearestFolder = (path: string): string =>
  existsSync(path) ? path : nearestFolder(dirname(path));

export function diskCheck(dataDir: string, freeBytes: number, takenBytes?: number): Check {
  const taken = takenBytes === undefined ? "" : `, the database takes ${inMebibytes(takenBytes)}`;
  const result = `${inMebibytes(freeBytes)} free in ${dataDir}${taken}`;
  if (freeBytes >= freeMin) return ok("disk", result);
  const remedy = "free some space, or let DATA_DIR name a folder on a larger disk";
  if (freeBytes >= neededMin) return warned("disk", result, remedy);
  const full = `${result}: too little for the database to write`;
  return { status: "FAIL", name: "disk", result: full, remedy };
}

const inMebibytes = (bytes: number): string => `${formatCount(Math.floor(bytes / mebibyte))} MiB`;

/**
 * The accounts whose keys to try, without those whose rows cannot be read. No sync reads what is retired or paused,
 * and its key may be gone.
 */
async function accountsToTry(
  config: Config,
  selection: Selection,
  db: Database | undefined,
  report: Report,
): Promise<readonly Account[]> {
  try {
    const { accounts, notSynced, unreachable } = await accountsToRead(db, config, selection);
    const remedy = "see to that node; until then nothing below speaks of these accounts";
    for (const result of unreachableLines(unreachable))
      report({ status: "FAIL", name: "rows", result, remedy });
    for (const result of notSynced) report(ok("accounts", result));
    return accounts;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    report(failed("rows", error));
    return selectedAccounts(config, selection);
  }
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
    .action(program.runs((words: LedgerFlags) => doctorCommand(program, words)));
};
