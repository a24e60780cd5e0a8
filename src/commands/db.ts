import type { Config } from "../accounts/config.ts";
import { migrate } from "../core/store/migrate.ts";
import { UsageError } from "../lib/errors.ts";
import { done, type Result } from "../output/result.ts";
import { type Io, note } from "./io.ts";
import type { Define } from "./options.ts";
import { migratedText, openMigrated, openWritable } from "./stored.ts";

/** `db migrate`: brings the database to this program's schema. */
async function migrateCommand(config: Config, io: Io): Promise<Result> {
  await using database = await openWritable(config, io);
  const text = migratedText(await migrate(database.db));
  return { ...done(text ?? "the schema is up to date"), isSummary: true };
}

/**
 * `db url`: prints the database's address, and keeps the embedded Postgres up until Ctrl-C. The address
 * of the embedded Postgres includes the password, which no user has set. The address of
 * DATABASE_URL leaves the password out.
 * @param readWrite whether to print an address of the embedded Postgres that may change everything,
 *   instead of one that only reads.
 */
async function urlCommand(
  config: Config,
  io: Io,
  { readWrite }: { readonly readWrite: boolean },
): Promise<Result> {
  const isServer = "url" in config.database;
  if (readWrite && isServer)
    throw new UsageError(
      "--read-write is for the embedded Postgres; with DATABASE_URL, connect as the user that it names",
    );
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await openMigrated(config, io));
  const url = (readWrite ? database.url : database.readOnlyUrl).reveal();
  const address = isServer ? withoutPassword(url) : url;
  // SQLAlchemy refuses `postgres:`, which libpq takes as well.
  const result = done(address.replace(/^postgres:/, "postgresql:"));
  if (isServer) return result;
  const rights = readWrite
    ? "may change everything"
    : "only reads (--read-write prints one that may also write)";
  note(io, `this address ${rights}; the embedded Postgres is up until Ctrl-C`);
  return { ...result, running: stack.move() };
}

/** The driver also takes a password from the query. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = "";
  url.searchParams.delete("password");
  return url.href;
}

export const define: Define = (db, { io, config, runs }) => {
  db.command("migrate")
    .description("create or update the tables; sync does it too")
    .action(runs(() => migrateCommand(config(), io)));
  db.command("url")
    .description("print the database's address and keep the embedded Postgres running until Ctrl-C")
    .option("--read-write", "an address that may also write, not only read", false)
    .action(runs((words: { readonly readWrite: boolean }) => urlCommand(config(), io, words)));
};
