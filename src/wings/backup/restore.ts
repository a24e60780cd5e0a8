import { pipeline } from "node:stream/promises";
import { sql } from "drizzle-orm";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { type Database, inTransaction, type Transaction } from "../../core/postgres/connect.ts";
import { onlyRow } from "../../core/postgres/values.ts";
import {
  appliedMigrations,
  lockMigrations,
  migrate,
  migrateTo,
  refuseUnfitServer,
} from "../../core/store/migrate.ts";
import { AccountHeldError, DatabaseError, UsageError } from "../../lib/errors.ts";
import { hourMs } from "../../lib/time.ts";
import { countOf, keptTables, tableMaxMs, usePlainText } from "./backup.ts";
import {
  type BackupHeader,
  type BackupReading,
  type BackupTable,
  columnList,
  damaged,
  quoted,
  readBackup,
} from "./backup-file.ts";

/** Tables that `db migrate` fills. Their rows are replaced by the backup's. */
const seeded = ["business_types"];
const lockMaxMs = 10_000;
// Classes of SQLSTATE. 22: text that is not UTF-8, not a number or not a time. 23: a key that is
// there twice, or a constraint that is violated.
const dataFaults = ["22", "23"];

type Restored = BackupReading & {
  /** How many migrations the backup's database lacked. */
  readonly migrated: number;
};

/**
 * Puts a backup into an empty database, wholly or not at all. Then migrates the database to this
 * program's schema.
 *
 * @throws UsageError where the file is not a backup, or the database is not empty;
 *   ReportableError where it is damaged; AccountHeldError where a run holds an account there; DatabaseError.
 */
export async function restore(db: Database, path: string, signal: AbortSignal): Promise<Restored> {
  const reading = await restoreRows(db, path, signal);
  const { migrations: migrated } = await migrate(db);
  // Autovacuum does it up to a minute later. Until then a report of a year takes six times as long.
  await db.execute(sql`analyze public.bills`);
  return { ...reading, migrated };
}

async function restoreRows(
  db: Database,
  path: string,
  signal: AbortSignal,
): Promise<BackupReading> {
  await refuseUnfitServer(db);
  return await inTransaction(
    db,
    async (tx) => {
      const loaded = new Map<string, number>();
      const done = await readBackup(path, {
        begin: (header) => prepare(tx, header),
        take: async ({ name, columns }, rows) => {
          const copied = load(tx, { name, columns }, rows, signal);
          loaded.set(name, await copied.catch((error) => Promise.reject(asDamage(path, error))));
        },
      });
      for (const { name, rows } of done.header.tables)
        if (loaded.get(name) !== rows) throw notAllTaken(name, rows, loaded.get(name));
      if (loaded.has("ledger_breaks")) await continueNumbers(tx);
      return done;
    },
    // The transaction idles between two statements while a slow disk is read.
    { statementMaxMs: tableMaxMs, idleMaxMs: hourMs, isPipelined: false },
  );
}

/** Numbers new breaks after the backup's. */
const continueNumbers = (tx: Transaction) =>
  tx.execute(sql`
    select setval('public.ledger_break_ids', max(break_id))
    from ledger_breaks
    having max(break_id) is not null`);

/** Creates the tables as the backup's database had them, or locks those that exist and are empty. */
async function prepare(tx: Transaction, header: BackupHeader): Promise<void> {
  await usePlainText(tx);
  await lockMigrations(tx);
  const applied = await appliedMigrations(tx);
  if (applied.length === 0) await migrateTo(tx, header.migrations);
  else await takeTables(tx, header, applied);
  for (const table of seeded) await tx.execute(sql`delete from ${sql.identifier(table)}`);
}

async function takeTables(
  tx: Transaction,
  { migrations }: BackupHeader,
  applied: readonly number[],
): Promise<void> {
  const { rows } = await tx.execute<{ name: string }>(sql`select current_database() as name`);
  const { name } = onlyRow(rows, "the database's name");
  const elsewhere =
    "restore into an empty database: set another name in DATABASE_URL or, for the embedded " +
    "Postgres, another DATA_DIR";
  if (Math.max(...applied) !== Math.max(...migrations)) {
    throw new UsageError(
      `the tables of the database ${name} are of another version than the backup's: ${elsewhere}`,
    );
  }
  await lockTables(tx, name);
  // Bills first: the message names the first table that holds rows.
  for (const table of ["bills", ...keptTables.filter((table) => !seeded.includes(table))]) {
    const count = await countOf(tx, table);
    if (count === 0) continue;
    throw new UsageError(
      `the database ${name} is not empty, its table ${table} holds ${count.toLocaleString("en-US")} ` +
        `${count === 1 ? "row" : "rows"}: nothing was restored; ${elsewhere}`,
    );
  }
}

async function lockTables(tx: Transaction, name: string): Promise<void> {
  const all = [...keptTables, "leases"].map((table) => `public.${quoted(table)}`);
  await tx.execute(`
    set local lock_timeout = ${lockMaxMs};
    lock table ${all.join(", ")} in exclusive mode`);
  const { rows } = await tx.execute<{ holder: string }>(sql`
    select holder
    from public.leases
    where holder <> ''
      and expires_at > clock_timestamp()`);
  const [running] = rows;
  if (running === undefined) return;
  throw new AccountHeldError(
    `${running.holder} is at work in the database ${name}; run restore again when it has ended`,
  );
}

/** @returns how many rows the server took. */
async function load(
  tx: Transaction,
  { name, columns }: Pick<BackupTable, "name" | "columns">,
  rows: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  const copy = tx.$client.query(
    copyFrom(
      `copy public.${quoted(name)} (${columnList(columns)}) from stdin ` +
        "with (format text, encoding 'UTF8')",
    ),
  );
  try {
    await pipeline(rows, copy, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  return copy.rowCount;
}

/**
 * Reports rows that the server refuses as a damaged file: the server sees them before their digest
 * is checked.
 */
const asDamage = (path: string, error: unknown): unknown =>
  error instanceof pg.DatabaseError && dataFaults.includes(error.code?.slice(0, 2) ?? "")
    ? damaged(path, error.message, error)
    : error;

const notAllTaken = (table: string, rows: number, taken: number | undefined) =>
  new DatabaseError(
    `the server stored ${taken ?? 0} of ${rows} rows of ${table}, so nothing was restored; look for ` +
      "rules and triggers that were added to the table",
  );
