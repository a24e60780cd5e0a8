import { Secret } from "../secret.ts";
import { type Database, openDatabase, type StatementLimit } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { openEmbedded } from "./embedded/embedded.ts";

/** The database of a command: the one that is configured, or the embedded one. */
export type CommandDatabase = AsyncDisposable & { readonly db: Database; readonly url: Secret };

export type OpenOptions = StatementLimit & {
  /** Whether an embedded database of another version of Postgres is opened by its own server. */
  readonly anyVersion?: boolean;
};

/**
 * Opens the configured database, starting the embedded one where none is.
 * @throws DatabaseError with the remedy.
 */
export async function openCommandDatabase(
  where: { readonly url: Secret } | { readonly dataDir: string },
  notify: (message: string) => void,
  { anyVersion = false, ...limit }: OpenOptions = {},
): Promise<CommandDatabase> {
  const stack = new AsyncDisposableStack();
  try {
    const url =
      "url" in where
        ? where.url
        : new Secret(
            stack.use(await openEmbedded({ dataDir: where.dataDir, notify, anyVersion })).url,
          );
    const { db } = stack.use(openDatabase(url.reveal(), limit));
    await withDatabaseErrors(() => reach(db));
    return { db, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Leaves no connection behind: a role may have no more than one, and a migration has its own. */
async function reach({ $client }: Database): Promise<void> {
  const client = await $client.connect();
  try {
    await client.query("select 1");
  } finally {
    client.release(true);
  }
}
