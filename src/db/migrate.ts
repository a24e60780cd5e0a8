import { fileURLToPath } from "node:url";
import { getTableName, is, sql } from "drizzle-orm";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import { businessTypes as businessTypeTable } from "../contract/business-types.ts";
import { DatabaseError, messageOf } from "../errors.ts";
import { textArray } from "./array-literal.ts";
import { type Database, openDatabase } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import * as schema from "./schema.ts";

const migrationsFolder = fileURLToPath(new URL("../../migrations", import.meta.url));
const migrationsSchema = "drizzle";
const migrationsTable = "__drizzle_migrations";
const versionMin = 14;

// Any number that no other program is likely to use.
const migrationLock = 7_305_491_262;

/**
 * Brings a database to this program's schema; two at once take turns. Cheap where nothing is
 * to be done.
 *
 * @returns how many migrations were applied.
 * @throws DatabaseError where the database is newer than the program, older than Postgres 14,
 *   half migrated, or refuses.
 */
export async function migrate(databaseUrl: string): Promise<number> {
  return withDatabaseErrors(async () => {
    await using database = openDatabase(databaseUrl);
    const { db } = database;
    await refuseOldServer(db);
    const pending = await pendingMigrations(db);
    if (pending > 0) {
      // Held by a transaction: session locks do not hold behind a pooler in transaction mode.
      await db.transaction(async (lock) => {
        await lock.execute(sql`select pg_advisory_xact_lock(${migrationLock})`);
        await applyPending(db);
      });
    }
    await refuseForeignSchema(db);
    await seedBusinessTypes(db);
    return pending;
  });
}

/** Whether any migration was ever applied. */
export async function hasSchema(db: Database): Promise<boolean> {
  return withDatabaseErrors(async () => (await appliedMigrations(db)).length > 0);
}

async function refuseOldServer(db: Database): Promise<void> {
  const { rows } = await db.execute<{ version: string }>(
    sql`show server_version_num`.mapWith(String),
  );
  const version = Math.floor(Number(Object.values(rows[0] ?? {})[0]) / 10_000);
  if (version < versionMin) {
    throw new DatabaseError(
      `the server is PostgreSQL ${version}, and ${versionMin} or newer is needed; ` +
        "point DATABASE_URL at a newer one",
    );
  }
}

/** How many of this program's migrations the database lacks. */
async function pendingMigrations(db: Database): Promise<number> {
  const ours = readMigrationFiles({ migrationsFolder }).map(({ folderMillis }) => folderMillis);
  const applied = await appliedMigrations(db);
  const unknown = applied.filter((time) => !ours.includes(time));
  if (unknown.length > 0) {
    throw new DatabaseError(
      `the database has ${unknown.length} migrations that this program does not know: ` +
        "it is newer than the program; update the program",
    );
  }
  return ours.length - applied.length;
}

async function appliedMigrations(db: Database): Promise<readonly number[]> {
  const name = `${migrationsSchema}.${migrationsTable}`;
  const { rows: found } = await db.execute(sql`select 1 where to_regclass(${name}) is not null`);
  if (found.length === 0) return [];
  const { rows } = await db.execute<{ created_at: string }>(
    sql`select created_at from ${sql.identifier(migrationsSchema)}.${sql.identifier(migrationsTable)}`,
  );
  return rows.map(({ created_at }) => Number(created_at));
}

async function applyPending(db: Database): Promise<void> {
  try {
    await applyMigrations(db, { migrationsFolder, migrationsSchema, migrationsTable });
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new DatabaseError(
      `a migration failed and was undone (${messageOf(cause)}); where it says that something ` +
        "exists already, the database holds tables that are not this program's or were half " +
        "restored: use an empty database, or remove them",
      { cause: error },
    );
  }
}

/** The journal may say that all is applied where tables were dropped or only half restored. */
async function refuseForeignSchema(db: Database): Promise<void> {
  const wanted = Object.values(schema)
    .filter((table) => is(table, PgTable))
    .flatMap((table) =>
      getTableConfig(table).columns.map((column) => `${getTableName(table)}.${column.name}`),
    );
  const { rows } = await db.execute<{ name: string }>(sql`
    select table_name || '.' || column_name as name
    from information_schema.columns
    where table_schema = 'public'`);
  const found = new Set(rows.map(({ name }) => name));
  const missing = wanted.filter((name) => !found.has(name));
  if (missing.length === 0) return;
  throw new DatabaseError(
    `the database's journal says that it is migrated, and ${missing.slice(0, 3).join(", ")}` +
      `${missing.length > 3 ? ` and ${missing.length - 3} more columns are` : " is"} missing: ` +
      "a migration was half applied or a backup half restored; restore the backup whole",
  );
}

/** The program's list of business types, as a table for queries; codes met beside it stay. */
async function seedBusinessTypes(db: Database): Promise<void> {
  const column = (pick: (type: (typeof businessTypeTable)[number]) => string) =>
    textArray(businessTypeTable.map(pick));
  await db.execute(sql`
    insert into business_types (code, category, meaning, documented)
    select *
    from unnest(
      ${column(({ code }) => code)}::text[],
      ${column(({ category }) => category)}::text[],
      ${column(({ meaning }) => meaning)}::text[],
      ${column(({ documented }) => String(documented))}::boolean[]
    )
    on conflict (code) do update
    set category = excluded.category, meaning = excluded.meaning, documented = excluded.documented
    where (business_types.category, business_types.meaning, business_types.documented)
      is distinct from (excluded.category, excluded.meaning, excluded.documented)`);
}
