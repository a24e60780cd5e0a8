import type { Config } from "../config/config.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { formatCounted } from "../terminal/format.ts";
import { type ExitCode, type Io, print } from "./io.ts";
import { stopped } from "./stopped.ts";

const toErr = (io: Io) => (message: string) => {
  io.err.write(`${message}\n`);
};

/** `migrate`: brings the database to this program's schema. */
export async function migrateCommand(config: Config, io: Io): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, toErr(io));
  const applied = await migrate(database.url.reveal());
  print(
    io,
    applied === 0 ? "the schema is up to date" : `applied ${formatCounted(applied, "migration")}`,
  );
  return 0;
}

/** `db`: prints the database's address and keeps the embedded server up until Ctrl-C. */
export async function databaseCommand(config: Config, io: Io): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, toErr(io));
  await migrate(database.url.reveal());
  print(io, database.url.reveal());
  if ("url" in config.database) return 0;
  io.err.write("the embedded Postgres is up until Ctrl-C; connect psql or a BI tool to it\n");
  await stopped(io.signal);
  return 0;
}
