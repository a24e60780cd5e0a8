import { sql } from "drizzle-orm";
import type { Queryable } from "../../core/postgres/connect.ts";
import { isOneOf } from "../../core/postgres/values.ts";
import { minuteMs, retentionMs } from "../../lib/time.ts";

/** One piece of a worker's work: the sync of one account, or the public lists. */
export type Task = { readonly account: string } | { readonly lists: true };

/** A task on its way into the queue. */
export type QueuedTask = {
  readonly task: Task;
  /** The highest priority goes first. */
  readonly priority: number;
  /**
   * Tasks of one group run one after the other. Accounts of one user of the exchange share a group.
   */
  readonly group: string;
};

/** A task that this process fetched. */
export type Job = {
  readonly id: string;
  /** How often the task was tried before. It tells this try from a later one. */
  readonly retryCount: number;
  readonly task: Task;
};

/** How a job ended. */
export type JobEnd =
  | { readonly kind: "done" }
  /** Another try may succeed. */
  | { readonly kind: "failed"; readonly why: string }
  /** Another try fails as well until somebody acts: the next round tries. */
  | { readonly kind: "permanent"; readonly why: string }
  /** The job was stopped, and another worker continues it. */
  | { readonly kind: "given-back" };

// Account names contain no colon, so this key cannot be an account's.
const listsKey = ":lists";

/** A task's key. The queue never holds two tasks of the same key. */
export const keyOf = (task: Task): string => ("account" in task ? task.account : listsKey);

export const taskOf = (key: string): Task =>
  key === listsKey ? { lists: true } : { account: key };

export const taskName = (task: Task): string =>
  "account" in task ? task.account : "spot pairs and contracts";

const prioritiesMax = retentionMs / minuteMs;

/** An account to be queued, with the exchange's user whose account it is, if known. */
type AccountToQueue = { readonly name: string; readonly uid?: string | undefined };

/**
 * The tasks of one round. An account's priority is the age of its oldest unread time, in minutes:
 * the exchange deletes that time first. An account that was never read comes first, because it
 * loses its oldest bills every minute. The public lists change once in days and precede all
 * accounts, at one request each.
 */
export async function queuedTasks(
  db: Queryable,
  accounts: readonly AccountToQueue[],
): Promise<readonly QueuedTask[]> {
  const ages = await readUnreadAges(
    db,
    accounts.map(({ name }) => name),
  );
  const tasks = accounts.map(({ name, uid }) => ({
    task: { account: name },
    priority: ages.get(name) ?? prioritiesMax,
    group: uid === undefined ? name : `uid ${uid}`,
  }));
  const lists = { task: { lists: true }, priority: prioritiesMax + 1, group: "lists" } as const;
  return [lists, ...tasks];
}

/**
 * The age of each account's oldest unread time, in minutes. Accounts that were never read are left
 * out.
 */
async function readUnreadAges(
  db: Queryable,
  accounts: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.execute<{ account: string; minutes: number }>(sql`
    select
      account,
      greatest(0, least(
        ${prioritiesMax},
        ceil(extract(epoch from clock_timestamp() - min(first_unread_at)) / 60)
      ))::int as minutes
    from ledgers
    where ${isOneOf(accounts)}
      and not exists (
        select 1
        from ledgers as unsynced
        where unsynced.account = ledgers.account
          and ${isOneOf(accounts)}
          and unsynced.product_type in ('', ledgers.product_type)
          and (unsynced.retired_at is not null or unsynced.ended_at is not null)
      )
    group by account`);
  return new Map(rows.map(({ account, minutes }) => [account, minutes]));
}
