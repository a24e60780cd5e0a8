import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { sql } from "drizzle-orm";
import { type Account, type AccountWithCredentials, withCredentials } from "../accounts/account.ts";
import { type Config, type DatabaseConfig, readConfig } from "../accounts/config.ts";
import { envFileExposure } from "../accounts/credentials.ts";
import {
  accountsToRead,
  type Selection,
  selectedAccounts,
  selectionOf,
} from "../accounts/roster.ts";
import type { Environment } from "../accounts/settings.ts";
import type { KeyInfo } from "../core/contract/key-info.ts";
import { loanToValue, unifiedLoanToValue } from "../core/contract/loan-to-value.ts";
import type { ProductType } from "../core/contract/product-types.ts";
import { symbols } from "../core/contract/symbols.ts";
import { readSideBySide } from "../core/exchange/address-limits.ts";
import { keyRightsText } from "../core/exchange/key-rights.ts";
import {
  type AccountExchange,
  openExchange,
  openExchangeAccess,
} from "../core/exchange/session.ts";
import { hostOf } from "../core/exchange/transport.ts";
import type { Database } from "../core/postgres/connect.ts";
import {
  explained,
  lacksRight,
  readOnlyRemedy,
  sqlStateOf,
} from "../core/postgres/database-errors.ts";
import { onlyRow } from "../core/postgres/values.ts";
import { noStates, readAccountStates } from "../core/store/accounts/account-states.ts";
import { readShortLedgers, shortText } from "../core/store/bill-counts.ts";
import { Leases } from "../core/store/lease.ts";
import { type MigrationState, migrationState, refuseUnfitServer } from "../core/store/migrate.ts";
import { assertSomethingToRead, identifyAccount } from "../core/sync/account-mode.ts";
import { LedgerReader } from "../core/sync/ledger-reader.ts";
import type { AccountMode } from "../core/words/account-state.ts";
import { systemClock } from "../lib/clock.ts";
import {
  AccountHeldError,
  ExchangeError,
  firstThrown,
  messageOf,
  UsageError,
} from "../lib/errors.ts";
import { printableLine } from "../lib/printable.ts";
import { secondMs } from "../lib/time.ts";
import { fields, type Result, table } from "../output/result.ts";
import { formatCount, formatCounted, formatDuration } from "../output/text.ts";
import { type Io, stopped, type Wings } from "./io.ts";
import type { CommandDatabase } from "./open.ts";
import { type OpenAccount, openAccount } from "./open-account.ts";
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
  const config = checkConfig(readEnvironment, report);
  const selection = selectionOf(words);
  if (config !== undefined) selectedAccounts(config, selection);
  await using database = config && (await checkDatabase(config.database, report, io));
  const db = await migrated(database);
  if (db !== undefined) report(await checked("bills", () => checkBills(db)));
  if (config !== undefined) {
    const accounts = await accountsToTry(config, selection, db, report);
    await checkExchange({ ...config, accounts }, db, report, io);
  }
  const isWell = checks.every(({ status }) => status !== "FAIL");
  return {
    data: { outcome: isWell ? "ok" : "FAIL" },
    parts: [table("checks", checkColumns, checks, []), ...checks.map(lineOf)],
    exit: isWell ? 0 : config === undefined ? 2 : 1,
  };
}

/** The result of a check, and what to do about it. */
type Check = {
  /** `warn`: everything works, but somebody should look. */
  readonly status: "ok" | "warn" | "FAIL";
  readonly name: string;
  readonly result: string;
  /** Absent if nothing is to be done, or if `result` says what to do. */
  readonly remedy?: string | undefined;
};

type Report = (check: Check) => unknown;

const ok = (name: string, result: string): Check => ({ status: "ok", name, result });

const warned = (name: string, result: string, remedy?: string): Check => ({
  status: "warn",
  name,
  result,
  remedy,
});

/** A check that an error stopped. The messages of this program name the remedy. */
const failed = (name: string, thrown: unknown): Check => ({
  status: "FAIL",
  name,
  result: messageOf(explained(firstThrown(thrown))),
});

/** Runs a check that may throw an error. */
const checked = (name: string, check: () => Promise<Check>): Promise<Check> =>
  check().catch((error: unknown) => failed(name, error));

const checkColumns = fields<Check>("value", ["status", "name", "result", "remedy"]);

const lineOf = ({ status, name, result, remedy }: Check): string =>
  `${status.padEnd(4)}  ${name.padEnd(15)}  ${result}${remedy === undefined ? "" : `; ${remedy}`}`;

/** The configuration, if it has no faults. */
function checkConfig(readEnvironment: () => Environment, report: Report): Config | undefined {
  const name = "config";
  try {
    const environment = readEnvironment();
    const exposure = envFileExposure();
    for (const result of exposure ?? []) report(warned("env file", result));
    if (exposure?.length === 0) report(hidden("env file", ".env"));
    const config = readConfig(environment, { credentials: true });
    report(ok(name, `${formatCounted(config.accounts.length, "account")} configured`));
    const path = environment["ACCOUNTS_FILE"]?.trim();
    for (const result of config.warnings) report(warned(name, result));
    if (path && config.warnings.length === 0) report(hidden("accounts file", path));
    return config;
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
  return undefined;
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
  const { rows } = await db.execute<{
    version: string;
    time_zone: string;
    is_read_only: boolean;
  }>(sql`
    select
      current_setting('server_version') as version,
      current_setting('TimeZone') as time_zone,
      current_setting('transaction_read_only') = 'on' as is_read_only`);
  const { version, time_zone, is_read_only } = onlyRow(rows, "the server's settings");
  const result = `PostgreSQL ${version}, ${place}, shown in time zone ${time_zone}`;
  return is_read_only
    ? {
        status: "FAIL",
        name: "database",
        result: `${result}; it is read-only`,
        remedy: readOnlyRemedy,
      }
    : ok("database", result);
}

/** Compares the bills with what the ledgers say: rows may have been deleted, or hidden from this user. */
async function checkBills(db: Database): Promise<Check> {
  const name = "bills";
  const counted = await readShortLedgers(db).catch((error: unknown) => {
    if (sqlStateOf(error) === "57014") return undefined;
    throw error;
  });
  if (counted === undefined)
    return warned(
      name,
      `not counted within ${statementMaxMs / secondMs} s`,
      "bill-sync reconcile --full counts them",
    );
  const short = shortText(counted);
  if (short === undefined) return ok(name, "as many as the ledgers say");
  const remedy =
    "bill-sync verify --repair reads again what the exchange has, and reconcile --full counts what is left anew";
  return { status: "FAIL", name, result: `the database has ${short}`, remedy };
}

function migrationsCheck({ applied, pending, areViewsOld }: MigrationState): Check {
  const name = "migrations";
  if (!areViewsOld && pending === 0) return ok(name, `up to date (${applied} applied)`);
  const left =
    applied === 0 ? "none applied yet" : `${formatCounted(pending, "migration")} to apply`;
  return warned(
    name,
    areViewsOld ? "its journal or its views are of another version of bill-sync" : left,
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
 * The accounts whose keys to try. No sync reads what is retired, and its key may be gone.
 */
async function accountsToTry(
  config: Config,
  selection: Selection,
  db: Database | undefined,
  report: Report,
): Promise<readonly Account[]> {
  try {
    const { accounts, notSynced } = await accountsToRead(db, config, selection);
    for (const result of notSynced) report(ok("accounts", result));
    return accounts;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    report(failed("rows", error));
    return selectedAccounts(config, selection);
  }
}

/** Checks that the exchange answers, the clock, and what each account's key may read. */
async function checkExchange(
  config: Pick<Config, "baseUrl" | "proxy" | "accounts">,
  /** A migrated database; undefined if it is not migrated or cannot be reached. */
  db: Database | undefined,
  report: Report,
  { signal, wings }: Pick<Io, "signal" | "wings">,
): Promise<void> {
  await using access = openExchangeAccess();
  const { client, clock: exchangeClock } = openExchange(config, {}, access);
  try {
    await client.ask(symbols, { symbol: "BTCUSDT" }, { signal, onAttempt: throwIfAway });
  } catch (error) {
    // Every account's check would fail with the same error.
    report(failed("exchange", error));
    return;
  }
  const { proxy } = config;
  const through = proxy === undefined ? "" : `, through the proxy ${hostOf(proxy)} of HTTPS_PROXY`;
  report(ok("exchange", `${config.baseUrl.origin} answers${through}`));
  report(clockCheck(exchangeClock.offsetMs()));
  const check = async (wanted: Account): Promise<readonly Check[]> => {
    const account = await Promise.try(withCredentials, wanted).catch((error: unknown) => ({
      error,
    }));
    if ("error" in account) return [failed(`account ${wanted.name}`, account.error)];
    const exchange = openExchange(config, account, access);
    return checkAccount({ exchange, db, signal, wings }, account);
  };
  for (const result of await readSideBySide(config.accounts, check)) result.map(report);
}

const skewMax = 5 * secondMs;

/** @param offsetMs the exchange's time minus this machine's. */
function clockCheck(offsetMs: number | undefined): Check {
  const name = "clock";
  if (offsetMs === undefined) {
    const remedy = "check that EXCHANGE_BASE_URL is the exchange's address";
    return warned(name, "the exchange's answer has no time", remedy);
  }
  const duration = formatDuration(Math.abs(offsetMs));
  const result = `this machine is ${duration} ${offsetMs > 0 ? "behind" : "ahead of"} the exchange`;
  if (Math.abs(offsetMs) <= skewMax) return ok(name, result);
  const remedy =
    "set the clock, for example by NTP; until then requests are signed with the exchange's time";
  return warned(name, result, remedy);
}

type AccountDeps = {
  readonly exchange: Pick<AccountExchange, "client" | "exchangeNow" | "useLimitsOf">;
  readonly db: Database | undefined;
  readonly signal: AbortSignal;
  readonly wings: Pick<Wings, "recovery">;
};

/**
 * Tries an account's key under its lease: beside a sync, two requests got 38 of the sync's requests refused.
 */
async function checkAccount(
  deps: AccountDeps,
  account: AccountWithCredentials,
): Promise<readonly Check[]> {
  const { db, exchange } = deps;
  const { name, uid } = account;
  const check = `account ${name}`;
  const checkKey = async (opened?: OpenAccount) => {
    const key = await checked(check, async () => {
      const tried = await tryKey(deps, account, opened?.assertHeld);
      const key = keyCheck(account, tried);
      if (key.status !== "FAIL") await opened?.checkKey({ ...tried, productTypes: tried.read });
      return key;
    });
    return withLoanToValue(deps, account, key);
  };
  if (db === undefined) {
    if (uid !== undefined) await exchange.useLimitsOf(uid);
    return checkKey();
  }
  try {
    const opening = { ...deps, db, leases: new Leases(db) };
    await using opened = await openAccount(opening, account, exchange);
    return [...(await checkKey(opened)), ...(await recoveryChecks(deps.wings, db, name))];
  } catch (error) {
    if (error instanceof AccountHeldError)
      return [warned(check, `its key was not tried, ${error.message}`)];
    if (!lacksRight(error)) return [failed(check, error)];
    const result =
      "its key was not tried, this database user may not see whether a sync of the account runs";
    return [warned(check, result, "run doctor as the user that syncs")];
  }
}

/** Asks for the account's mode, and for bills of each product type to read. */
async function tryKey(
  { db, exchange: { client }, signal }: AccountDeps,
  account: Account,
  assertHeld: () => void = () => undefined,
): Promise<TriedKey> {
  const { name } = account;
  const states = db === undefined ? noStates : await readAccountStates(db, [name]);
  const asking = { client, assertHeld, signal, onAttempt: throwIfAway, onFailure: throwIfAway };
  const readerOf = (productType: ProductType) =>
    new LedgerReader(asking, { account: name, productType });
  const { mode, info, ledgers } = await identifyAccount(asking, account, states.of(name), readerOf);
  if (ledgers.length === 0) assertSomethingToRead(account, mode);
  for (const ledger of ledgers) {
    if (!ledger.hasAnswered && ledger.refusal === undefined) await ledger.probe();
  }
  const read = ledgers.filter(({ refusal }) => refusal === undefined);
  const refused = ledgers.flatMap(({ ledger, refusal }) =>
    refusal === undefined ? [] : [[ledger.productType, refusal] as const],
  );
  const productTypes = read.map(({ ledger }) => ledger.productType);
  return { mode, read: productTypes, refused: new Map(refused), info };
}

/** `doctor` reports an exchange that is away or a ban, and does not wait for its end. */
function throwIfAway(failure: ExchangeError | undefined): void {
  if (failure?.kind === "unavailable" || failure?.kind === "banned") throw failure;
}

async function withLoanToValue(
  { exchange, signal }: AccountDeps,
  { name, ltv = false, riskUnitIds = [] }: Account,
  key: Check,
): Promise<readonly Check[]> {
  if (key.status !== "ok" || !ltv) return [key];
  const asking = { signal, onAttempt: throwIfAway };
  const tried = await checked(`ltv ${name}`, async () => {
    const queries = riskUnitIds.length === 0 ? [{}] : riskUnitIds.map((id) => ({ riskUnitId: id }));
    for (const query of queries) {
      await exchange.client.ask(loanToValue, query, asking).catch((error: unknown) => {
        if (error instanceof ExchangeError && error.kind === "other-mode")
          return exchange.client.ask(unifiedLoanToValue, query, asking);
        throw error;
      });
    }
    const units = riskUnitIds.length === 0 ? "its own" : `risk unit ${riskUnitIds.join(", ")}`;
    return ok(`ltv ${name}`, `its key reads the loan-to-value record of ${units}`);
  });
  const remedy = "where the account has no institutional loan, do not ask for its loan-to-value";
  return [key, tried.status === "FAIL" ? { ...tried, remedy } : tried];
}

/** What the last sync found of tax records that it did not believe. */
async function recoveryChecks(
  wings: AccountDeps["wings"],
  db: Database,
  account: string,
): Promise<readonly Check[]> {
  const recovery = await wings.recovery?.();
  const notRecovered = (await recovery?.readNotRecovered(db, account)) ?? [];
  const alike = Map.groupBy(notRecovered, ({ why }) => why);
  return [...alike].map(([why, ledgers]) => {
    const types = listed(ledgers.map(({ productType }) => productType));
    return warned(`recovery ${account}`, `older bills of ${types} are not recovered: ${why}`);
  });
}

/** The result of trying an account's key. */
type TriedKey = {
  readonly mode: AccountMode;
  readonly read: readonly ProductType[];
  readonly refused: ReadonlyMap<ProductType, ExchangeError>;
  /** The error where the exchange tells nothing about the key. */
  readonly info: KeyInfo | ExchangeError;
};

/** The check of an account's key. Product types with equal refusals are named together. */
export function keyCheck(
  { name: account, uid, readsAll = false }: Pick<Account, "name" | "uid" | "readsAll">,
  { mode, read, refused, info }: TriedKey,
): Check {
  const name = `account ${account}`;
  const able = read.length === 0 ? "reads no bills" : `reads bills of ${listed(read)}`;
  const alike = Map.groupBy(refused, ([, { message }]) => message);
  const refusals = [...alike].map(
    ([message, types]) => `${listed(types.map(([type]) => type))}: ${message}`,
  );
  const result = `a ${mode} account; its key ${able}`;
  // Where the configuration names no product type, one that the key may not read is no failure.
  if (refusals.length > 0 && (read.length === 0 || !readsAll))
    return { status: "FAIL", name, result: `${result}; refused: ${refusals.join("; ")}` };
  const parts = [result, ...refusals.map((text) => `not available to it: ${text}`)];
  const rights = keyRightsText(info);
  parts.push(rights.text);
  const remedies = rights.remedy === undefined ? [] : [rights.remedy];
  const userId = info instanceof Error ? null : info.userId;
  if (uid !== undefined && userId !== null && uid !== userId) {
    parts.push(`its uid is configured as ${uid}, and the exchange says ${printableLine(userId)}`);
    remedies.push("correct its uid: accounts of one user share its rate limit");
  }
  if (remedies.length === 0) return ok(name, parts.join("; "));
  return warned(name, parts.join("; "), remedies.join("; "));
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

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
