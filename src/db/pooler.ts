import pg from "pg";
import type { Database } from "./connect.ts";
import { isRefused } from "./connections.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { onlyRow } from "./sql/only-row.ts";

/** What stands between this program and the server, as far as it can be told from here. */
export type Pooler = "none" | "session" | "transaction";

/** Process numbers of the server, as two connections see them. */
export type Sightings = {
  /** What the first connection was told when it was opened. */
  readonly announced: number;
  /** What serves the first connection. */
  readonly first: number;
  /** What serves the second one, in a transaction, while the first one is idle. */
  readonly second: number;
  /**
   * What serves the first one meanwhile. Not asked where the second one has its process: a pooler
   * that has no other would keep it waiting.
   */
  readonly firstAgain?: number;
};

/** A connection of its own keeps its server process; one of a pooler has it for a transaction. */
export function poolerOf({ announced, first, second, firstAgain = first }: Sightings): Pooler {
  if (second === first || firstAgain !== first) return "transaction";
  // A pooler makes the number up: it stands for no single process.
  return announced === first ? "none" : "session";
}

/**
 * Tells what kind of pooler, if any, the connections of this pool go through; undefined where one
 * connection is all that can be had. Writes nothing.
 */
export function detectPooler(db: Database): Promise<Pooler | undefined> {
  return withDatabaseErrors(async () => {
    const one = await db.$client.connect();
    // Beside the pool, which would wait for the first one's return.
    const other = new pg.Client(db.$client.options);
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
      if (isRefused(error)) return undefined;
      throw error;
    } finally {
      // Closed: what failed in a transaction leaves it open.
      one.release(true);
      await other.end();
    }
  });
}

async function servedBy(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return onlyRow(rows, "a connection's process").pid;
}

/** The driver keeps the number, to cancel statements by; its types do not list it. */
const announcedTo = (client: pg.ClientBase): number =>
  "processID" in client && typeof client.processID === "number" ? client.processID : 0;
