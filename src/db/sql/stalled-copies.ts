import { sql } from "drizzle-orm";
import type { Clock } from "../../clock.ts";
import type { Database } from "../connect.ts";

export type StalledOptions = {
  readonly clock: Clock;
  /** How long a COPY may take. */
  readonly stalledAfterMs: number;
  /** How often to look for stalled ones. */
  readonly everyMs: number;
};

/**
 * Waits for a statement that a COPY of this program may hold up, and ends COPYs that take too long. A
 * process that is frozen in the middle of a COPY keeps its locks. The server's time limits apply to
 * statements that run and to transactions that idle, and a COPY that waits for data is neither. Unless
 * another session ends it, the account stays locked until the connection breaks.
 */
export async function pastStalledCopies<T>(
  db: Database,
  { clock, stalledAfterMs, everyMs }: StalledOptions,
  waited: Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const keepLooking = async () => {
    for (;;) {
      await clock.sleep(everyMs, over.signal);
      await endStalledCopies(db, stalledAfterMs);
    }
  };
  // Where looking fails, the statement that waits reports the cause.
  keepLooking().catch(() => undefined);
  try {
    return await waited;
  } finally {
    over.abort();
  }
}

/** Ends this role's own stalled COPYs. It has no right to end those of others. */
const endStalledCopies = (db: Database, stalledAfterMs: number) =>
  db.execute(sql`
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where datname = current_database()
      and usename = current_user
      and state = 'active'
      and wait_event = 'ClientRead'
      and query like 'copy bills (%'
      and query_start < clock_timestamp() - ${stalledAfterMs} * interval '1 ms'`);
