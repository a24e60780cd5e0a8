import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../db/connect.ts";
import type { StatementLimit } from "../db/connections.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import type { Result } from "../output/result.ts";
import type { Config } from "../roster/config.ts";
import { type Io, tell } from "./io.ts";

/** The database of a command that only reads. */
export type Stored = AsyncDisposable & {
  /** Undefined before the first sync: the command creates nothing. */
  readonly db: Database | undefined;
};

/** Opens what is stored, and starts an embedded Postgres only where one was created before. */
export async function openStored(
  { database: where }: Pick<Config, "database">,
  io: Io,
  limit: StatementLimit = {},
): Promise<Stored> {
  await using stack = new AsyncDisposableStack();
  const isThere =
    "url" in where ||
    lstatSync(join(where.dataDir, "postgres"), { throwIfNoEntry: false }) !== undefined;
  const database = isThere
    ? stack.use(await openCommandDatabase(where, (message) => tell(io, message), limit))
    : undefined;
  const isMigrated =
    database !== undefined && (await withDatabaseErrors(() => hasSchema(database.db)));
  const kept = stack.move();
  return {
    db: isMigrated ? database.db : undefined,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** What a command says that found nothing: which database it looked at, and what to do. */
export const nothingStored = ({ database: where }: Pick<Config, "database">): string =>
  `nothing is stored yet in ${
    "url" in where ? placeOf(where.url.reveal()) : join(where.dataDir, "postgres")
  }; bill-sync sync stores what the exchange has`;

/** Where a server is. Leaves out the password and the rest of the address. */
export function placeOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  return `${searchParams.get("host") ?? (host || "a local socket")}${pathname}`;
}

export const noResult = (config: Pick<Config, "database">, data: object): Result => ({
  data,
  parts: [nothingStored(config)],
  exit: 0,
});
