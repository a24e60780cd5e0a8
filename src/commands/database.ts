import type { Config } from "../config/config.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { formatCounted } from "../terminal/format.ts";
import { type ExitCode, type Io, print, tell } from "./io.ts";
import { stopped } from "./stopped.ts";

/** `migrate`: brings the database to this program's schema. */
export async function migrateCommand(config: Config, io: Io): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const applied = await migrate(database.url.reveal());
  print(
    io,
    applied === 0 ? "the schema is up to date" : `applied ${formatCounted(applied, "migration")}`,
  );
  return 0;
}

/**
 * `db`: prints the database's address and keeps the embedded server up until Ctrl-C. The embedded
 * one's password goes with it, since nobody has set it; a configured one is its owner's to know.
 */
export async function databaseCommand(config: Config, io: Io): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  await migrate(database.url.reveal());
  if ("url" in config.database) {
    print(io, withoutPassword(database.url.reveal()));
    return 0;
  }
  print(io, database.url.reveal());
  tell(io, "the embedded Postgres is up until Ctrl-C; connect psql or a BI tool to it");
  await stopped(io.signal);
  return 0;
}

/** The driver takes one from the query too. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = "";
  url.searchParams.delete("password");
  return url.href;
}
