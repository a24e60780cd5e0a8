import { Secret } from "../secret.ts";
import { type Database, openDatabase } from "./connect.ts";
import type { StatementLimit } from "./connections.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { openEmbedded } from "./embedded/embedded.ts";
import { keepStrangersOut } from "./strangers.ts";

/** A command's database: the configured one, or the embedded one. */
export type CommandDatabase = AsyncDisposable & { readonly db: Database; readonly url: Secret };

/**
 * Opens the configured database, or starts the embedded one where none is configured.
 * @throws DatabaseError with the remedy.
 */
export async function openCommandDatabase(
  where: { readonly url: Secret } | { readonly dataDir: string },
  notify: (message: string) => void,
  limit: StatementLimit = {},
): Promise<CommandDatabase> {
  const stack = new AsyncDisposableStack();
  try {
    const url =
      "url" in where
        ? where.url
        : new Secret(stack.use(await openEmbedded({ dataDir: where.dataDir, notify })).url);
    const { db } = stack.use(openDatabase(url.reveal(), limit));
    await withDatabaseErrors(() => reach(db, notify));
    return { db, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Tries to connect. Leaves no connection open: a role may be limited to one, and a migration opens its own. */
async function reach({ $client }: Database, notify: (message: string) => void): Promise<void> {
  const client = await $client.connect();
  try {
    await keepStrangersOut(client, notify);
  } finally {
    client.release(true);
  }
}
