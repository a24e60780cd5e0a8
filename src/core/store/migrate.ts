import { fileURLToPath } from "node:url";
import { type SQL, sql } from "drizzle-orm";
import { type MigrationMeta, readMigrationFiles } from "drizzle-orm/migrator";
import { DatabaseError, errorCode, messageOf } from "../../lib/errors.ts";
import { hourMs } from "../../lib/time.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../postgres/connect.ts";
import { onlyRow } from "../postgres/values.ts";
import { areViewsCurrent, makeViews, refuseForeignNames } from "../postgres/views.ts";
import { readViews } from "../views/views.ts";
import { seedBusinessTypes } from "./reference/stored-business-types.ts";

const migrationsFolder = fileURLToPath(new URL("../../../migrations", import.meta.url));

const journalName = "drizzle.bill_sync_migrations";
const journal = sql.raw(journalName);
// Where 0.1.0 kept it: the name that Drizzle gives the journal of each program that names none.
const sharedName = "drizzle.__drizzle_migrations";
const shared = sql.raw(sharedName);

// Building an index on many millions of rows takes long.
const statementMaxMs = hourMs;

// Any number that no other program is likely to use.
const migrationLock = 7_305_491_262;

export type Migrated = {
  /** How many migrations were applied. */
  readonly migrations: number;
  /** Whether the views were recreated. */
  readonly areViewsNew: boolean;
};

/**
 * Migrates a database to this program's schema. Cheap where nothing is pending. Two runs at once take
 * turns.
 *
 * @throws DatabaseError where the database is newer than the program or half migrated, or its server is
 *   unfit or refuses.
 */
export async function migrate(db: Database, folder = migrationsFolder): Promise<Migrated> {
  await refuseUnfitServer(db);
  const migrations = readMigrationFiles({ migrationsFolder: folder });
  const migrated = (await isCurrent(db, migrations))
    ? { migrations: 0, areViewsNew: false }
    : await migrating(db, (tx) => apply(tx, migrations));
  await seedBusinessTypes(db);
  return migrated;
}

async function isCurrent(db: Queryable, migrations: readonly MigrationMeta[]): Promise<boolean> {
  if (!(await exists(db, journalName))) return false;
  const pending = await pendingMigrations(db, migrations);
  return pending.length === 0 && areViewsCurrent(db, readViews());
}

/** Reads the catalog: in a transaction that waited for a lock, to_regclass may still tell what it found before. */
async function exists(db: Queryable, table: string): Promise<boolean> {
  const { rows } = await db.execute(
    sql`select from pg_tables where schemaname || '.' || tablename = ${table}`,
  );
  return rows.length > 0;
}

/** Whether any migration was ever applied. */
export async function hasSchema(db: Database): Promise<boolean> {
  return (await appliedMigrations(db)).length > 0;
}

/** The first migration replaced all that were made before the first release, and has the time of the last of these. */
function sinceFirst(times: readonly number[]): readonly number[] {
  const [first] = readMigrationFiles({ migrationsFolder });
  return times.filter((time) => time >= (first?.folderMillis ?? 0));
}

const countedMigrations = (count: number): string =>
  `${count} ${count === 1 ? "migration" : "migrations"}`;

/**
 * How far a database is migrated. Changes nothing.
 * @throws DatabaseError where it is newer than the program, or half migrated.
 */
export async function migrationState(db: Queryable): Promise<MigrationState> {
  const migrations = readMigrationFiles({ migrationsFolder });
  const pending = (await pendingMigrations(db, migrations)).length;
  const areViewsOld = pending === 0 && !(await isCurrent(db, migrations));
  return { applied: migrations.length - pending, pending, areViewsOld };
}

export type MigrationState = {
  readonly applied: number;
  readonly pending: number;
  /** Whether the tables are up to date, but the views are not. */
  readonly areViewsOld: boolean;
};

/** The migrations that the database lacks, oldest first. */
async function pendingMigrations(
  db: Queryable,
  migrations: readonly MigrationMeta[],
): Promise<readonly MigrationMeta[]> {
  const applied = await appliedMigrations(db);
  const ours = migrations.map(({ folderMillis }) => folderMillis);
  const unknown = applied.filter((time) => !ours.includes(time));
  if (unknown.length > 0) {
    throw new DatabaseError(
      `the database has ${countedMigrations(unknown.length)} that this version does not know: a newer ` +
        "version of bill-sync has migrated it; update the program",
    );
  }
  return migrations.filter(({ folderMillis }) => !applied.includes(folderMillis));
}

/** The migrations that were applied, each as its time in the journal. */
export async function appliedMigrations(db: Queryable): Promise<readonly number[]> {
  if (await exists(db, journalName)) return sinceFirst(await timesIn(db, journal));
  if (!(await exists(db, sharedName))) return [];
  const known = readMigrationFiles({ migrationsFolder }).map(({ folderMillis }) => folderMillis);
  return (await timesIn(db, shared)).filter((time) => known.includes(time));
}

async function timesIn(db: Queryable, table: SQL): Promise<readonly number[]> {
  const { rows } = await db.execute<{ created_at: string }>(sql`select created_at from ${table}`);
  return rows.map(({ created_at }) => Number(created_at));
}

/**
 * Applies the migrations and undoes them: may this user, and is nothing in the way? For a new database, where they take a second.
 * @throws DatabaseError where a migration would fail.
 */
export const tryMigrations = (db: Database): Promise<void> =>
  migrating(db, async (tx) => {
    await tx.execute(sql`savepoint before`);
    await apply(tx, readMigrationFiles({ migrationsFolder }));
    await tx.execute(sql`rollback to savepoint before`);
  });

/**
 * Runs work in one transaction, the journal and the views included. Drizzle's own migrator
 * takes no lock, and a lock around it needs a second connection, which a small pooler may not have.
 */
async function migrating<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  try {
    return await inTransaction(db, work, {
      statementMaxMs,
      // Waits for another process that migrates.
      lockMaxMs: statementMaxMs,
    });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    if (errorCode(error.cause) === "42501") throw mayNotMigrate(error);
    throw new DatabaseError(`a migration failed and was undone: ${error.message}`, {
      cause: error.cause,
    });
  }
}

async function apply(tx: Transaction, migrations: readonly MigrationMeta[]): Promise<Migrated> {
  await lockMigrations(tx);
  const applied = await applyTables(tx, migrations);
  return { migrations: applied, areViewsNew: await makeViews(tx, readViews()) };
}

/** Locks until the transaction ends: session locks do not hold behind a pooler in transaction mode. */
export const lockMigrations = (tx: Transaction) =>
  tx.execute(sql`select pg_advisory_xact_lock(${migrationLock})`);

/**
 * Creates the tables as they were after these migrations, named by their times, without the views.
 * @throws DatabaseError for a migration that the program does not know.
 */
export async function migrateTo(tx: Transaction, times: readonly number[]): Promise<void> {
  const applied = sinceFirst(times);
  const migrations = readMigrationFiles({ migrationsFolder });
  const wanted = migrations.filter(({ folderMillis }) => applied.includes(folderMillis));
  if (applied.length === 0)
    throw new DatabaseError(
      "the backup is of a version before 0.1.0, which this one cannot restore",
    );
  if (wanted.length < applied.length) {
    throw new DatabaseError(
      `the backup has ${countedMigrations(applied.length - wanted.length)} that this version does not ` +
        "know: a newer version of bill-sync has written it; update the program",
    );
  }
  await applyTables(tx, wanted);
}

/** @returns how many were applied. */
async function applyTables(tx: Transaction, migrations: readonly MigrationMeta[]): Promise<number> {
  await refuseForeignNames(tx, readViews(), await exists(tx, "public.analytics_views"));
  await makeJournal(tx);
  const pending = await pendingMigrations(tx, migrations);
  for (const { sql: statements, hash, folderMillis } of pending) {
    // One by one: Citus hands some on to its nodes with the whole message's text.
    for (const statement of statements) await tx.execute(sql.raw(statement));
    await tx.execute(
      sql`insert into ${journal} (hash, created_at) values (${hash}, ${folderMillis})`,
    );
  }
  return pending.length;
}

/** Makes the journal, with the program's rows of the one that it had before. */
async function makeJournal(tx: Transaction): Promise<void> {
  if (await exists(tx, journalName)) return;
  const applied = await appliedMigrations(tx);
  await tx.execute(sql`create schema if not exists drizzle`);
  await tx.execute(sql`
    create table ${journal} (
      id serial primary key,
      hash text not null,
      created_at bigint
    )`);
  if (applied.length === 0) return;
  const isOurs = sql`created_at in ${applied}`;
  await tx.execute(
    sql`insert into ${journal} (hash, created_at) select hash, created_at from ${shared} where ${isOurs} order by id`,
  );
  // Another program's migrator would take the newest row for its own, and apply nothing that is older.
  await tx.execute(sql`delete from ${shared} where ${isOurs}`);
  if ((await timesIn(tx, shared)).length === 0) await tx.execute(sql`drop table ${shared}`);
}

const mayNotMigrate = (cause: DatabaseError): DatabaseError =>
  new DatabaseError(
    `the database needs a migration, and this user may not make it (${messageOf(cause.cause)}): run ` +
      "bill-sync db migrate as the owner of the tables, with the owner's DATABASE_URL, and run again; " +
      "or let this user create schemas in the database, and tables in schemas public, analytics and drizzle",
    { cause },
  );

export type ServerSettings = {
  /** `server_version_num`: 140012 is 14.12. */
  readonly versionNumber: number;
  readonly encoding: string;
  /** The schema in which unqualified names are created; null where there is none. */
  readonly currentSchema: string | null;
};

const versionMin = 14;

/** Why these settings would fail the program or damage what it stores, with the remedy. */
export function unfitness({
  versionNumber,
  encoding,
  currentSchema,
}: ServerSettings): string | undefined {
  const version = Math.floor(versionNumber / 10_000);
  if (version < versionMin) {
    return (
      `the server is PostgreSQL ${version}, and ${versionMin} or newer is needed; ` +
      "point DATABASE_URL at a newer one"
    );
  }
  if (encoding !== "UTF8") {
    return (
      `the database's encoding is ${encoding}, which cannot keep every text; make one with ` +
      "create database NAME encoding 'UTF8' template template0, and name it in DATABASE_URL"
    );
  }
  return currentSchema === "public"
    ? undefined
    : `this user's search_path begins with schema ${currentSchema ?? "(none)"}, and the tables ` +
        "belong in public; alter role NAME set search_path = public, and let the user use public";
}

/** @throws DatabaseError where the program cannot keep its promises on this server. */
export async function refuseUnfitServer(db: Database): Promise<void> {
  const { rows } = await db.execute<ServerSettings>(sql`
    select
      current_setting('server_version_num')::int as "versionNumber",
      pg_encoding_to_char(encoding) as "encoding",
      current_schema() as "currentSchema"
    from pg_database
    where datname = current_database()`);
  const reason = unfitness(onlyRow(rows, "the server's settings"));
  if (reason !== undefined) throw new DatabaseError(reason);
}
