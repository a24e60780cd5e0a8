import { Secret } from "../secret.ts";
import { type Database, openDatabase, type StatementLimit } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { openEmbedded } from "./embedded.ts";

/** The database of a command: the one that is configured, or the embedded one. */
export type CommandDatabase = AsyncDisposable & { readonly db: Database; readonly url: Secret };

/**
 * Opens the configured database, starting the embedded one where none is.
 * @throws DatabaseError with the remedy.
 */
export async function openCommandDatabase(
  where: { readonly url: Secret } | { readonly dataDir: string },
  notify: (message: string) => void,
  limit?: StatementLimit,
): Promise<CommandDatabase> {
  const stack = new AsyncDisposableStack();
  try {
    const url =
      "url" in where
        ? where.url
        : new Secret(stack.use(await openEmbedded({ dataDir: where.dataDir, notify })).url);
    const { db } = stack.use(openDatabase(url.reveal(), limit));
    await withDatabaseErrors(() => db.execute("select 1"));
    return { db, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
