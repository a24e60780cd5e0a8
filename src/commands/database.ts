import { type ExitCode, type Io, print, printSummary, tell } from "../app/io.ts";
import { migratedText } from "../app/migrated-text.ts";
import { stopped } from "../app/stopped.ts";
import { storeDays } from "../app/store-days.ts";
import type { Config } from "../config/config.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { addReader } from "../db/reader-role.ts";
import { UsageError } from "../errors.ts";

/** `migrate`: brings the database to this program's schema. */
export async function migrateCommand(config: Config, io: Io): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  printSummary(
    io,
    migratedText(await migrate(database.url.reveal())) ?? "the schema is up to date",
  );
  await storeDays(database.db, io.signal, (message) => tell(io, message));
  return 0;
}

/**
 * `db`: prints the database's address, and keeps the embedded Postgres up until Ctrl-C. The address
 * of the embedded Postgres includes the password, which no user has set. The address of
 * DATABASE_URL leaves the password out.
 * @param write whether to print an address of the embedded Postgres that may change everything,
 *   instead of one that only reads.
 */
export async function databaseCommand(
  config: Config,
  io: Io,
  { write }: { readonly write: boolean },
): Promise<ExitCode> {
  if (write && "url" in config.database) {
    throw new UsageError(
      "--write is for the embedded Postgres; with DATABASE_URL, connect as the user that it names",
    );
  }
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const url = database.url.reveal();
  await migrate(url);
  if ("url" in config.database) {
    print(io, withKnownScheme(withoutPassword(url)));
    return 0;
  }
  print(io, withKnownScheme(write ? url : await addReader(database.db, url)));
  const rights = write
    ? "may change everything"
    : "only reads (--write prints one that may also write)";
  tell(io, `this address ${rights}; the embedded Postgres is up until Ctrl-C`);
  await stopped(io.signal);
  return 0;
}

/** SQLAlchemy refuses `postgres:`, which libpq takes as well. */
const withKnownScheme = (url: string): string => url.replace(/^postgres:/, "postgresql:");

/** The driver also takes a password from the query. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = "";
  url.searchParams.delete("password");
  return url.href;
}
