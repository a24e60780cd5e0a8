import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { secondMs } from "../contract/time.ts";
import type { Database } from "../db/connect.ts";
import { explained } from "../db/database-errors.ts";
import { type MigrationState, migrationState } from "../db/migrate.ts";
import type { CommandDatabase } from "../db/open.ts";
import { refuseUnfitServer } from "../db/server-settings.ts";
import { onlyRow } from "../db/values.ts";
import { firstThrown, messageOf } from "../errors.ts";
import { formatCount, formatCounted } from "../output/format.ts";
import type { DatabaseConfig } from "../roster/config.ts";
import type { Io } from "./io.ts";
import { openWritable, placeOf } from "./stored.ts";

/** The result of a check, and what to do about it. */
export type Check = {
  /** `warn`: everything works, but somebody should look. */
  readonly status: "ok" | "warn" | "FAIL";
  readonly name: string;
  readonly result: string;
  /** Absent if nothing is to be done, or if `result` says what to do. */
  readonly remedy?: string;
};

export type Report = (check: Check) => void;

export const ok = (name: string, result: string): Check => ({ status: "ok", name, result });

/** A check that an error stopped. The messages of this program name the remedy. */
export const failed = (name: string, thrown: unknown): Check => ({
  status: "FAIL",
  name,
  result: messageOf(explained(firstThrown(thrown))),
});

/** Runs a check that may throw an error, or find nothing to check. */
export const checked = <Done extends Check | undefined>(
  name: string,
  check: () => Promise<Done>,
): Promise<Done | Check> => check().catch((error: unknown) => failed(name, error));

// A user waits for the answer. The driver waits ten seconds longer.
const statementMaxMs = 10 * secondMs;

/**
 * Checks the database and leaves it open for the next checks. Undefined if it cannot be reached.
 */
export async function checkDatabase(
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

export function migrationsCheck({ applied, pending, areViewsOld }: MigrationState): Check {
  const name = "migrations";
  if (!areViewsOld && pending === 0) return ok(name, `up to date (${applied} applied)`);
  const left =
    applied === 0 ? "none applied yet" : `${formatCounted(pending, "migration")} to apply`;
  return {
    status: "warn",
    name,
    result: areViewsOld
      ? "the views of schema analytics are of another version of bill-sync"
      : left,
    remedy: "run bill-sync sync, which applies them first, or bill-sync db migrate",
  };
}

const mebibyte = 1_024 ** 2;
const freeMin = 1_024 * mebibyte;
// Postgres stops if it cannot create the next file of its log, which has 16 MiB. A day of bills
// with their index entries takes less than the rest.
const neededMin = 64 * mebibyte;

async function checkDisk(dataDir: string, db: Database | undefined): Promise<Check> {
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
  const result = `${inMebibytes(freeBytes)} free in ${dataDir}${taken}`;
  if (freeBytes >= freeMin) return ok("disk", result);
  const remedy = "free some space, or let DATA_DIR name a folder on a larger disk";
  if (freeBytes >= neededMin) return { status: "warn", name: "disk", result, remedy };
  const full = `${result}: too little for the database to write`;
  return { status: "FAIL", name: "disk", result: full, remedy };
}

const inMebibytes = (bytes: number): string => `${formatCount(Math.floor(bytes / mebibyte))} MiB`;
