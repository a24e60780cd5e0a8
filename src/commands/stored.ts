import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../accounts/config.ts";
import type { StatementLimit } from "../core/postgres/connections.ts";
import { hasSchema, type Migrated, migrate } from "../core/store/migrate.ts";
import { ReportableError } from "../lib/errors.ts";
import { formatCounted } from "../output/text.ts";
import { type Io, note } from "./io.ts";
import { type CommandDatabase, openCommandDatabase } from "./open.ts";

type Where = Pick<Config, "database">;

/** Opens the database of a command that writes. */
export const openWritable = ({ database }: Where, io: Io, limit?: StatementLimit) =>
  openCommandDatabase(database, { notify: (message) => note(io, message), wings: io.wings }, limit);

export async function openMigrated(config: Where, io: Io): Promise<CommandDatabase> {
  const database = await openWritable(config, io);
  await migrate(database.db);
  return database;
}

/** @returns undefined if nothing was done. */
export function migratedText({ migrations, areViewsNew }: Migrated): string | undefined {
  if (migrations > 0) return `applied ${formatCounted(migrations, "migration")}`;
  return areViewsNew ? "recreated the views of schema analytics" : undefined;
}

/** The database of a command that only reads. Undefined before the first sync: the command creates nothing. */
type Stored = AsyncDisposable &
  (Pick<CommandDatabase, "db" | "url" | "readOnlyUrl"> | { readonly db: undefined });

/** Opens what is stored, and starts an embedded Postgres only where one was created before. */
export async function openStored(
  config: Where,
  io: Io,
  limit: StatementLimit = {},
): Promise<Stored> {
  const { database: where } = config;
  await using stack = new AsyncDisposableStack();
  const isThere = "url" in where || isMade(where.dataDir);
  const database = isThere ? stack.use(await openWritable(config, io, limit)) : undefined;
  const isMigrated = database !== undefined && (await hasSchema(database.db));
  const opened = stack.move();
  return {
    ...(isMigrated ? database : { db: undefined }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Whether the embedded Postgres was created, or opening it says why that cannot be seen. */
function isMade(dataDir: string): boolean {
  try {
    return lstatSync(join(dataDir, "postgres"), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/**
 * Opens what is stored, for a command that has nothing to say before the first sync.
 * @throws ReportableError where nothing is stored: the database, and the remedy.
 */
export async function openFilled(
  config: Where,
  io: Io,
  limit?: StatementLimit,
): Promise<CommandDatabase> {
  const stored = await openStored(config, io, limit);
  if (stored.db !== undefined) return stored;
  await stored[Symbol.asyncDispose]();
  throw new ReportableError(nothingStored(config));
}

/** The message if nothing is stored: the database, and the remedy. */
export const nothingStored = ({ database: where }: Where): string =>
  `nothing is stored yet in ${
    "url" in where ? placeOf(where.url.reveal()) : join(where.dataDir, "postgres")
  }; bill-sync sync stores what the exchange has`;

/** Where a server is. Leaves out the password and the rest of the address. */
export function placeOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  return `${searchParams.get("host") ?? (host || "a local socket")}${pathname}`;
}
