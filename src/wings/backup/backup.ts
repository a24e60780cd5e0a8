import { createHash } from "node:crypto";
import { getTableName, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { to as copyTo } from "pg-copy-streams";
import { type Database, inTransaction, type Transaction } from "../../core/postgres/connect.ts";
import { leases } from "../../core/postgres/schema/accounts-schema.ts";
import { analyticsViews } from "../../core/postgres/schema/schema.ts";
import { tables } from "../../core/postgres/schema/tables.ts";
import { onlyRow } from "../../core/postgres/values.ts";
import { readShortLedgers, shortText } from "../../core/store/bill-counts.ts";
import { appliedMigrations, migrationState } from "../../core/store/migrate.ts";
import { DatabaseError, ReportableError } from "../../lib/errors.ts";
import { hourMs } from "../../lib/time.ts";
import { programVersion } from "../../lib/version.ts";
import {
  type BackupHeader,
  type BackupTable,
  columnList,
  formatName,
  formatVersion,
  lineOf,
  quoted,
  rowsEnd,
  rowsIn,
  rowsOfAll,
} from "./backup-file.ts";

/** How long writing one table to a file, or reading it from one, may take. */
export const tableMaxMs = 6 * hourMs;

const ownTables: readonly string[] = Object.values(tables).map((table) => getTableName(table));
// Leases and the digests of the views mean nothing in another database.
const ofOneDatabase = [leases, analyticsViews].map((table): string => getTableName(table));
/** The tables of the program whose rows a backup holds. */
export const keptTables = ownTables.filter((name) => !ofOneDatabase.includes(name)).toSorted();

type BackupPart = Buffer | string;

/**
 * Hands a backup of all kept tables, as of one moment, to `write`. The database is only read. The
 * format is in backup-file.ts.
 * @throws DatabaseError where the database has no tables, or this user may not read all of them; ReportableError
 *   where its ledgers have fewer bills than they say.
 */
export function backUp(
  db: Database,
  write: (lines: AsyncIterable<BackupPart>) => Promise<void>,
  signal: AbortSignal,
): Promise<BackupHeader> {
  return inTransaction(
    db,
    async (tx) => {
      await usePlainText(tx);
      const header = await headerOf(tx);
      await refuseShort(tx);
      await write(linesOf(tx, header, signal));
      return header;
    },
    {
      isolation: "repeatable read read only",
      ...{ statementMaxMs: tableMaxMs, idleMaxMs: hourMs, isPipelined: false },
    },
  );
}

/** Sets the session's settings that decide how values are written and read as text. */
export const usePlainText = (tx: Transaction) =>
  tx.execute(`
    set local datestyle = 'ISO, YMD';
    set local timezone = 'UTC';
    set local search_path = public`);

async function refuseShort(tx: Transaction): Promise<void> {
  const short = shortText(await readShortLedgers(tx));
  if (short === undefined) return;
  throw new ReportableError(
    `the database has ${short}, so nothing was written: somebody deleted rows, or hides them from this user; ` +
      "bill-sync reconcile --full counts them anew, then back up again",
  );
}

async function headerOf(tx: Transaction): Promise<BackupHeader> {
  const [first, ...others] = await appliedMigrations(tx);
  if (first === undefined) {
    throw new DatabaseError("there is nothing to back up: the database has no tables; run sync");
  }
  const { rows } = await tx.execute<{ postgres: string; taken_at: string }>(sql`
    select
      current_setting('server_version') as postgres,
      to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as taken_at`);
  const server = onlyRow(rows, "the server's version");
  return {
    format: formatName,
    version: formatVersion,
    program: programVersion(),
    postgres: server.postgres,
    takenAt: server.taken_at,
    migrations: [first, ...others],
    ...(await readOwn(tx)),
  };
}

/** The program's part of the database, and what others added to it. A database of an older version is kept as it is. */
async function readOwn(tx: Transaction): Promise<Pick<BackupHeader, "leftOut" | "tables">> {
  const kept = await readTables(tx);
  if ((await migrationState(tx)).pending > 0) return { leftOut: [], tables: kept };
  const own = kept.map(({ name, columns, rows }) => ({
    ...{ name, rows },
    columns: columns.filter((column) => ownNames.has(`column ${name}.${column}`)),
  }));
  return { leftOut: await readLeftOut(tx), tables: own };
}

/** The kept tables with this database's columns: its schema may be older than the program. */
async function readTables(tx: Transaction): Promise<BackupTable[]> {
  const { rows } = await tx.execute<Omit<BackupTable, "rows">>(sql`
    select
      relname as name,
      array(
        select attname::text
        from pg_attribute
        where attrelid = pg_class.oid
          and attnum > 0
          and not attisdropped
          and attgenerated = ''
        order by attnum
      ) as columns
    from pg_class
    where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p')
      and relname in ${keptTables}
    order by relname collate "C"`);
  const kept: BackupTable[] = [];
  for (const table of rows) kept.push({ ...table, rows: await countOf(tx, table.name) });
  return kept;
}

export async function countOf(tx: Transaction, table: string): Promise<number> {
  const { rows } = await tx.execute<{ rows: string }>(
    sql`select count(*) as rows from ${sql.identifier(table)}`,
  );
  return Number(rows[0]?.rows);
}

async function* linesOf(
  tx: Transaction,
  header: BackupHeader,
  signal: AbortSignal,
): AsyncGenerator<BackupPart> {
  const whole = createHash("sha256");
  const hashed = <Part extends BackupPart>(part: Part): Part => {
    whole.update(part);
    return part;
  };
  yield hashed(lineOf(header));
  for (const table of header.tables) {
    let rows = 0;
    for await (const chunk of rowsOf(tx, table)) {
      signal.throwIfAborted();
      rows += rowsIn(chunk);
      yield hashed(chunk);
    }
    if (rows !== table.rows) {
      throw new ReportableError(
        `${rows} of ${table.rows} rows of ${table.name} were read; run bill-sync db backup again`,
      );
    }
    yield hashed(rowsEnd + lineOf({ table: table.name, rows }));
  }
  yield lineOf({ end: formatName, rows: rowsOfAll(header.tables), sha256: whole.digest("hex") });
}

async function* rowsOf(tx: Transaction, { name, columns }: BackupTable): AsyncGenerator<Buffer> {
  const rows = `select ${columnList(columns)} from public.${quoted(name)}`;
  const copy: ReturnType<typeof copyTo> & { callback?: () => void } = tx.$client.query(
    copyTo(`copy (${rows}) to stdout with (format text, encoding 'UTF8')`),
  );
  for await (const chunk of copy) yield chunk;
  // This call stops the driver's timer, which would otherwise report the statement as unanswered.
  copy.callback?.();
}

/** What the program itself has in schema public, in the words of {@link readLeftOut}. */
const ownNames = new Set(
  Object.values(tables).flatMap((table: PgTable) => {
    const { name, columns, indexes, primaryKeys, uniqueConstraints } = getTableConfig(table);
    const indexNames = [
      ...[...primaryKeys, ...uniqueConstraints].map((key) => key.getName()),
      ...indexes.map(({ config }) => config.name),
      `${name}_pkey`,
    ];
    return [
      `table ${name}`,
      ...columns.map((column) => `column ${name}.${column.name}`),
      ...indexNames.map((index) => `index ${index} of ${name}`),
    ];
  }),
);

/** What others added to schema public, and a backup leaves out: "column bills.reviewed", "table shop_orders". */
async function readLeftOut(tx: Transaction): Promise<string[]> {
  const { rows } = await tx.execute<{ what: string }>(sql`
    select 'table ' || relname as what
    from pg_class
    where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p', 'f', 'm')
      and not relispartition
      and not exists (
        select
        from pg_depend
        where classid = 'pg_class'::regclass
          and objid = pg_class.oid
          and deptype = 'e'
      )
    union all
    select 'column ' || relname || '.' || attname
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    where relnamespace = 'public'::regnamespace
      and relname in ${ownTables}
      and attnum > 0
      and not attisdropped
    union all
    select 'index ' || found.relname || ' of ' || pg_class.relname
    from pg_index
    join pg_class on pg_class.oid = indrelid
    join pg_class as found on found.oid = indexrelid
    where pg_class.relnamespace = 'public'::regnamespace
      and pg_class.relname in ${ownTables}
    order by 1`);
  return rows.flatMap(({ what }) => (ownNames.has(what) ? [] : what));
}
