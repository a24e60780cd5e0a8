import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { getTableName, sql, type Table } from "drizzle-orm";
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
  lacksRight,
  readOnlyRemedy,
  rightRemedy,
  sqlStateOf,
} from "../core/postgres/database-errors.ts";
import { tables } from "../core/postgres/schema/tables.ts";
import { onlyRow, textArray } from "../core/postgres/values.ts";
import { noStates, readAccountStates } from "../core/store/accounts/account-states.ts";
import { readShortLedgers, shortText } from "../core/store/bill-counts.ts";
import { Leases } from "../core/store/lease.ts";
import { migrationState, refuseUnfitServer, tryMigrations } from "../core/store/migrate.ts";
import { assertSomethingToRead, identifyAccount } from "../core/sync/account-mode.ts";
import { LedgerReader } from "../core/sync/ledger-reader.ts";
import { systemClock } from "../lib/clock.ts";
import { AccountHeldError, ExchangeError, messageOf, UsageError } from "../lib/errors.ts";
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
  const report: Report = (name, ...found) => {
    checks.push(...found.map((one) => ({ ...one, name })));
  };
  const config = checkConfig(readEnvironment, report);
  const selection = selectionOf(words);
  if (config !== undefined) selectedAccounts(config, selection);
  await using database = config && (await checkDatabase(config.database, report, io));
  const db = await migrated(database);
  if (db !== undefined) {
    report("tables", ...[await tried(() => tableFaults(db))].flat());
    report("bills", await tried(() => checkBills(db)));
  }
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

/** What a check found. */
type Found = {
  /** `warn`: everything works, but somebody should look. */
  readonly status: "ok" | "warn" | "FAIL";
  readonly result: string;
  /** Absent if nothing is to be done, or if `result` says what to do. */
  readonly remedy?: string | undefined;
};
type Check = Found & { readonly name: string };
type Named = readonly [name: string, found: Found];

type Report = (name: string, ...found: readonly Found[]) => void;

const ok = (result: string): Found => ({ status: "ok", result });
const warned = (result: string, remedy?: string): Found => ({ status: "warn", result, remedy });
const failed = (result: string, remedy?: string): Found => ({ status: "FAIL", result, remedy });

/** Runs a check. The message of an error that stops it names the remedy. */
const tried = <T>(check: () => Promise<T>): Promise<T | Found> =>
  check().catch((error: unknown) => failed(messageOf(error)));

const checkColumns = fields<Check>("value", ["status", "name", "result", "remedy"]);

const lineOf = ({ status, name, result, remedy }: Check): string =>
  `${status.padEnd(4)}  ${name.padEnd(15)}  ${result}${remedy === undefined ? "" : `; ${remedy}`}`;

/** The configuration, if it has no faults. */
function checkConfig(readEnvironment: () => Environment, report: Report): Config | undefined {
  try {
    const environment = readEnvironment();
    const exposure = envFileExposure();
    report("env file", ...(exposure?.map((text) => warned(text)) ?? []));
    if (exposure?.length === 0) report("env file", hidden(".env"));
    const config = readConfig(environment, { credentials: true });
    report("config", ok(`${formatCounted(config.accounts.length, "account")} configured`));
    const path = environment["ACCOUNTS_FILE"]?.trim();
    report("config", ...config.warnings.map((text) => warned(text)));
    if (path && config.warnings.length === 0) report("accounts file", hidden(path));
    return config;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const remedy = "create it as .env.example shows, or set these variables in the environment";
    if (!existsSync(".env")) report("env file", warned(`there is no ${resolve(".env")}`, remedy));
    report("config", ...error.faults.map((fault) => failed(fault)));
  }
  return undefined;
}

const hidden = (path: string): Found => ok(`${path} shows no credential to other users`);

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
  const database = await opened.catch((error: unknown) =>
    report("database", failed(messageOf(error))),
  );
  if (database) {
    const { db, url } = database;
    const place = "url" in where ? placeOf(url.reveal()) : "embedded";
    report("database", await tried(() => checkServer(db, place)));
    report("migrations", await tried(() => checkMigrations(db)));
  }
  if ("dataDir" in where) report("disk", await tried(() => checkDisk(where.dataDir, database?.db)));
  return database || undefined;
}

async function checkServer(db: Database, place: string): Promise<Found> {
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
  return is_read_only ? failed(`${result}; it is read-only`, readOnlyRemedy) : ok(result);
}

const namesOf = (some: readonly Table[]) => textArray(some.map(getTableName));
// docs/operations.md, Roles: the writer may update all tables but these, and delete from a few.
const addedTo = namesOf([
  ...[tables.accountKeys, tables.accountUsers, tables.keySalt],
  ...[tables.billRevisions, tables.breakDecisions, tables.ltvDebts, tables.ltvCollateral],
]);
const deletedFrom = namesOf([
  ...[tables.windows, tables.walletRules, tables.runs],
  ...[tables.accountKeys, tables.accountUsers],
]);

/** Tables that are not there, or that this user may not read and write as a sync does. */
async function tableFaults(db: Database): Promise<readonly Found[]> {
  const { rows } = await db.execute<{ name: string; is_there: boolean }>(sql`
    select name, oid is not null as is_there
    from unnest(${namesOf(Object.values(tables))}::text[]) as names (name)
    left join pg_class on relname = name and relnamespace = 'public'::regnamespace
    where oid is null
      or not has_table_privilege(oid, 'select')
      or not has_table_privilege(oid, 'insert')
      or not (name = any(${addedTo}::text[]) or has_table_privilege(oid, 'update'))
      or (name = any(${deletedFrom}::text[]) and not has_table_privilege(oid, 'delete'))
    order by name`);
  const fault = (isThere: boolean, what: string, remedy: string): readonly Found[] => {
    const names = rows.flatMap(({ name, is_there }) => (is_there === isThere ? name : []));
    return names.length === 0 ? [] : [failed(`${what}: ${names.join(", ")}`, remedy)];
  };
  return [
    ...fault(false, "not there", "restore a backup into an empty database"),
    ...fault(true, "this user may not read and write", rightRemedy),
  ];
}

/** Compares the bills with what the ledgers say: rows may have been deleted, or hidden from this user. */
async function checkBills(db: Database): Promise<Found> {
  const counted = await readShortLedgers(db).catch((error: unknown) => {
    if (sqlStateOf(error) === "57014") return undefined;
    throw error;
  });
  if (counted === undefined)
    return warned(
      `not counted within ${statementMaxMs / secondMs} s`,
      "bill-sync reconcile --full counts them",
    );
  const short = shortText(counted);
  if (short === undefined) return ok("as many as the ledgers say");
  return failed(
    `the database has ${short}`,
    "bill-sync verify --repair reads again what the exchange has, and reconcile --full counts what is left anew",
  );
}

async function checkMigrations(db: Database): Promise<Found> {
  const { applied, pending, areViewsOld } = await migrationState(db);
  if (applied === 0) await tryMigrations(db);
  if (!areViewsOld && pending === 0) return ok(`up to date (${applied} applied)`);
  const left =
    applied === 0 ? "none applied yet" : `${formatCounted(pending, "migration")} to apply`;
  const result = areViewsOld
    ? "its journal or its views are of another version of bill-sync"
    : left;
  if (applied > 0 && !(await ownsTables(db))) {
    return failed(
      `${result}; this user does not own the tables`,
      "run bill-sync db migrate as their owner",
    );
  }
  return warned(result, "run bill-sync sync, which applies them first, or bill-sync db migrate");
}

async function ownsTables(db: Database): Promise<boolean> {
  const { rows } = await db.execute(sql`
    select
    from pg_tables
    where schemaname = 'public'
      and tablename = ${getTableName(tables.bills)}
      and pg_has_role(tableowner, 'usage')`);
  return rows.length > 0;
}

const mebibyte = 1_024 ** 2;
const freeMin = 1_024 * mebibyte;
// Postgres stops if it cannot create the next file of its log, which has 16 MiB. A day of bills
// with their index entries takes less than the rest.
const neededMin = 64 * mebibyte;

async function checkDisk(dataDir: string, db: Database | undefined): Promise<Found> {
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

export function diskCheck(dataDir: string, freeBytes: number, takenBytes?: number): Found {
  const taken = takenBytes === undefined ? "" : `, the database takes ${inMebibytes(takenBytes)}`;
  const result = `${inMebibytes(freeBytes)} free in ${dataDir}${taken}`;
  if (freeBytes >= freeMin) return ok(result);
  const remedy = "free some space, or let DATA_DIR name a folder on a larger disk";
  return freeBytes >= neededMin
    ? warned(result, remedy)
    : failed(`${result}: too little for the database to write`, remedy);
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
    report("accounts", ...notSynced.map(ok));
    return accounts;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    report("rows", failed(messageOf(error)));
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
    return report("exchange", failed(messageOf(error)));
  }
  const { proxy } = config;
  const through = proxy === undefined ? "" : `, through the proxy ${hostOf(proxy)} of HTTPS_PROXY`;
  report("exchange", ok(`${config.baseUrl.origin} answers${through}`));
  report("clock", clockCheck(exchangeClock.offsetMs()));
  const check = async (wanted: Account): Promise<readonly Named[]> => {
    const checks: Named[] = [];
    try {
      const account = withCredentials(wanted);
      const exchange = openExchange(config, account, access);
      for await (const one of checkAccount({ exchange, db, signal, wings }, account))
        checks.push(one);
    } catch (error) {
      checks.push([`account ${wanted.name}`, failed(messageOf(error))]);
    }
    return checks;
  };
  for (const checks of await readSideBySide(config.accounts, check))
    for (const [name, found] of checks) report(name, found);
}

const skewMax = 5 * secondMs;

/** @param offsetMs the exchange's time minus this machine's. */
function clockCheck(offsetMs: number | undefined): Found {
  if (offsetMs === undefined)
    return warned(
      "the exchange's answer has no time",
      "check that EXCHANGE_BASE_URL is the exchange's address",
    );
  const duration = formatDuration(Math.abs(offsetMs));
  const result = `this machine is ${duration} ${offsetMs > 0 ? "behind" : "ahead of"} the exchange`;
  if (Math.abs(offsetMs) <= skewMax) return ok(result);
  return warned(
    result,
    "set the clock, for example by NTP; until then requests are signed with the exchange's time",
  );
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
async function* checkAccount(
  deps: AccountDeps,
  account: AccountWithCredentials,
): AsyncGenerator<Named> {
  const { db, exchange } = deps;
  if (db === undefined) {
    if (account.uid !== undefined) await exchange.useLimitsOf(account.uid);
    yield* keyChecks(deps, account);
    return;
  }
  try {
    const opening = { ...deps, db, leases: new Leases(db) };
    await using opened = await openAccount(opening, account, exchange);
    yield* keyChecks(deps, account, opened);
    yield* recoveryChecks(deps.wings, db, account.name);
  } catch (error) {
    const isHeld = error instanceof AccountHeldError;
    if (!isHeld && !lacksRight(error)) throw error;
    const why = isHeld
      ? error.message
      : "this database user may not see whether a sync of the account runs";
    const remedy = isHeld ? undefined : "run doctor as the user that syncs";
    yield [`account ${account.name}`, warned(`its key was not tried, ${why}`, remedy)];
  }
}

async function* keyChecks(
  deps: AccountDeps,
  account: AccountWithCredentials,
  opened?: OpenAccount,
): AsyncGenerator<Named> {
  const { name, ltv = false } = account;
  const key = await tried(async () => {
    const answer = await tryKey(deps, account, opened?.assertHeld);
    const found = keyCheck(account, answer);
    if (found.status !== "FAIL") await opened?.checkKey({ ...answer, productTypes: answer.read });
    return found;
  });
  yield [`account ${name}`, key];
  if (key.status !== "ok" || !ltv) return;
  const loan = await tried(() => checkLoanToValue(deps, account));
  const remedy = "where the account has no institutional loan, do not ask for its loan-to-value";
  yield [`ltv ${name}`, loan.status === "FAIL" ? { ...loan, remedy } : loan];
}

/** Asks for the account's mode, and for bills of each product type to read. */
async function tryKey(
  { db, exchange: { client }, signal }: AccountDeps,
  account: Account,
  assertHeld: () => void = () => undefined,
) {
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
  const productTypes: readonly ProductType[] = read.map(({ ledger }) => ledger.productType);
  return { mode, read: productTypes, refused: new Map(refused), info };
}

/** `doctor` reports an exchange that is away or a ban, and does not wait for its end. */
function throwIfAway(failure: ExchangeError | undefined): void {
  if (failure?.kind === "unavailable" || failure?.kind === "banned") throw failure;
}

async function checkLoanToValue(
  { exchange: { client }, signal }: AccountDeps,
  { riskUnitIds = [] }: Account,
): Promise<Found> {
  const asking = { signal, onAttempt: throwIfAway };
  const queries = riskUnitIds.length === 0 ? [{}] : riskUnitIds.map((id) => ({ riskUnitId: id }));
  for (const query of queries) {
    await client.ask(loanToValue, query, asking).catch((error: unknown) => {
      if (error instanceof ExchangeError && error.kind === "other-mode")
        return client.ask(unifiedLoanToValue, query, asking);
      throw error;
    });
  }
  const units = riskUnitIds.length === 0 ? "its own" : `risk unit ${riskUnitIds.join(", ")}`;
  return ok(`its key reads the loan-to-value record of ${units}`);
}

/** What the last sync found of tax records that it did not believe. */
async function* recoveryChecks(
  wings: AccountDeps["wings"],
  db: Database,
  account: string,
): AsyncGenerator<Named> {
  const recovery = await wings.recovery?.();
  const notRecovered = (await recovery?.readNotRecovered(db, account)) ?? [];
  for (const [why, ledgers] of Map.groupBy(notRecovered, (one) => one.why)) {
    const types = listed(ledgers.map(({ productType }) => productType));
    const found = warned(`older bills of ${types} are not recovered: ${why}`);
    yield [`recovery ${account}`, found];
  }
}

/** The check of an account's key. Product types with equal refusals are named together. */
export function keyCheck(
  { uid, readsAll = false }: Pick<Account, "uid" | "readsAll">,
  { mode, read, refused, info }: Awaited<ReturnType<typeof tryKey>>,
): Found {
  const able = read.length === 0 ? "reads no bills" : `reads bills of ${listed(read)}`;
  const alike = Map.groupBy(refused, ([, { message }]) => message);
  const refusals = [...alike].map(
    ([message, types]) => `${listed(types.map(([type]) => type))}: ${message}`,
  );
  const result = `a ${mode} account; its key ${able}`;
  // Where the configuration names no product type, one that the key may not read is no failure.
  if (refusals.length > 0 && (read.length === 0 || !readsAll))
    return failed(`${result}; refused: ${refusals.join("; ")}`);
  const parts = [result, ...refusals.map((text) => `not available to it: ${text}`)];
  const rights = keyRightsText(info);
  parts.push(rights.text);
  const remedies = rights.remedy === undefined ? [] : [rights.remedy];
  const userId = info instanceof Error ? null : info.userId;
  if (uid !== undefined && userId !== null && uid !== userId) {
    parts.push(`its uid is configured as ${uid}, and the exchange says ${printableLine(userId)}`);
    remedies.push("correct its uid: accounts of one user share its rate limit");
  }
  if (remedies.length === 0) return ok(parts.join("; "));
  return warned(parts.join("; "), remedies.join("; "));
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
