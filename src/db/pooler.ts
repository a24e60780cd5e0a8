import type pg from "pg";
import type { Database } from "./connect.ts";
import { isOutOfConnections } from "./connections.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { GuardedClient } from "./driver.ts";
import { onlyRow } from "./sql/only-row.ts";

/** The kind of pooler between this program and the server, as far as it can be told from here. */
export type Pooler = "none" | "session" | "transaction";

/** Process ids of the server, as two connections see them. */
export type Sightings = {
  /** The process id that the first connection was told when it was opened. */
  readonly announced: number;
  /** The process that serves the first connection. */
  readonly first: number;
  /** The process that serves the second connection, in a transaction, while the first is idle. */
  readonly second: number;
  /**
   * The process that serves the first connection meanwhile. Not asked where the second one has been
   * given the first one's process: a pooler that has no other would keep the first one waiting.
   */
  readonly firstAgain?: number;
};

/** A direct connection keeps its server process. Through a pooler, it may change with each transaction. */
export function poolerOf({ announced, first, second, firstAgain = first }: Sightings): Pooler {
  if (second === first || firstAgain !== first) return "transaction";
  // A pooler announces an id of its own, which is no server process's.
  return announced === first ? "none" : "session";
}

/**
 * Tells what kind of pooler, if any, the connections of this pool go through; undefined where one
 * connection is all that can be had. Writes nothing.
 */
export function detectPooler(db: Database): Promise<Pooler | undefined> {
  return withDatabaseErrors(async () => {
    const one = await db.$client.connect();
    // Not from the pool, which would wait until the first connection is returned.
    const other = new GuardedClient(db.$client.options);
    try {
      await other.connect();
      const first = await servedBy(one);
      await other.query("begin");
      const second = await servedBy(other);
      const seen = { announced: announcedTo(one), first, second };
      const all = second === first ? seen : { ...seen, firstAgain: await servedBy(one) };
      await other.query("rollback");
      return poolerOf(all);
    } catch (error) {
      if (isOutOfConnections(error)) return undefined;
      throw error;
    } finally {
      // Closed rather than returned: after a failure the connection may still be in a transaction.
      one.release(true);
      await other.end();
    }
  });
}

async function servedBy(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return onlyRow(rows, "a connection's process").pid;
}

/** The announced process id. The driver keeps it to cancel statements; its types do not list it. */
const announcedTo = (client: pg.ClientBase): number =>
  "processID" in client && typeof client.processID === "number" ? client.processID : 0;
