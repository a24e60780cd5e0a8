import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { secondMs } from "../../contract/time.ts";
import type { Database } from "../../db/connect.ts";
import { type MigrationState, migrationState } from "../../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../../db/open.ts";
import { refuseUnfitServer } from "../../db/server-settings.ts";
import { onlyRow } from "../../db/sql/only-row.ts";
import { formatCounted } from "../../output/format.ts";
import type { DatabaseConfig } from "../../roster/config.ts";
import { type Check, checked, failed, ok, type Tell } from "./check.ts";

// A user waits for the answer. The driver waits ten seconds longer.
const statementMaxMs = 10 * secondMs;

/**
 * Checks the database and leaves it open for the next checks. Undefined if it cannot be reached.
 */
export async function checkDatabase(
  where: DatabaseConfig,
  tell: Tell,
  notify: (message: string) => void,
): Promise<CommandDatabase | undefined> {
  const limit = { statementMaxMs };
  const database = await openCommandDatabase(where, notify, limit).catch((error: unknown) => {
    tell(failed("database", error));
    return undefined;
  });
  if (database !== undefined) {
    const { db, url } = database;
    const place = "url" in where ? placeOf(url.reveal()) : "embedded";
    tell(await checked("database", () => server(db, place)));
    tell(await checked("migrations", async () => migrationsCheck(await migrationState(db))));
  }
  if ("dataDir" in where) tell(await checked("disk", () => disk(where.dataDir, database?.db)));
  return database;
}

/** Where a server is. Leaves out the password and the rest of the URL. */
function placeOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  return `${searchParams.get("host") ?? (host || "a local socket")}${pathname}`;
}

async function server(db: Database, place: string): Promise<Check> {
  await refuseUnfitServer(db);
  const { rows } = await db.execute<{ version: string; time_zone: string }>(sql`
    select current_setting('server_version') as version, current_setting('TimeZone') as time_zone`);
  const { version, time_zone } = onlyRow(rows, "the server's settings");
  return ok("database", `PostgreSQL ${version}, ${place}, shown in time zone ${time_zone}`);
}

export function migrationsCheck({ applied, pending, areViewsOld }: MigrationState): Check {
  const name = "migrations";
  const remedy = "run bill-sync sync, which applies them first, or bill-sync db migrate";
  if (areViewsOld) {
    const found = "the views of schema analytics are of another version of bill-sync";
    return { status: "warn", name, found, remedy };
  }
  if (pending === 0) return ok(name, `up to date (${applied} applied)`);
  const found =
    applied === 0 ? "none applied yet" : `${formatCounted(pending, "migration")} to apply`;
  return { status: "warn", name, found, remedy };
}

const mebibyte = 1_024 ** 2;
const freeMin = 1_024 * mebibyte;
// Postgres stops if it cannot create the next file of its log, which has 16 MiB. A day of bills
// with their index entries takes less than the rest.
const neededMin = 64 * mebibyte;

async function disk(dataDir: string, db: Database | undefined): Promise<Check> {
  // For root, the data may be kept elsewhere, with a link to it.
  const { bavail, bsize } = await statfs(join(dataDir, "postgres")).catch(() => statfs(dataDir));
  const taken = await db?.execute<{ bytes: string }>(
    sql`select pg_database_size(current_database()) as bytes`,
  );
  const bytes = taken?.rows[0]?.bytes;
  return diskCheck(dataDir, bavail * bsize, bytes === undefined ? undefined : Number(bytes));
}

export function diskCheck(dataDir: string, freeBytes: number, takenBytes?: number): Check {
  const taken = takenBytes === undefined ? "" : `, the database takes ${inMebibytes(takenBytes)}`;
  const found = `${inMebibytes(freeBytes)} free in ${dataDir}${taken}`;
  if (freeBytes >= freeMin) return ok("disk", found);
  const remedy = "free some space, or let DATA_DIR name a folder on a larger disk";
  if (freeBytes >= neededMin) return { status: "warn", name: "disk", found, remedy };
  const full = `${found}: too little for the database to write`;
  return { status: "FAIL", name: "disk", found: full, remedy };
}

const inMebibytes = (bytes: number): string =>
  `${Math.floor(bytes / mebibyte).toLocaleString("en-US")} MiB`;
