import { sql } from "drizzle-orm";
import { historyMs, minuteMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { keyOf, type QueuedTask } from "./task.ts";

const prioritiesMax = historyMs / minuteMs;

/** An account to be queued, with the exchange's user whose account it is, if known. */
export type AccountToQueue = { readonly name: string; readonly uid?: string | undefined };

/**
 * The tasks of one round. An account's priority is the age of its oldest unread time, in minutes:
 * the exchange deletes that time first. An account that was never read comes first, because it
 * loses its oldest bills every minute. The public lists change once in days and precede all
 * accounts, at one request each.
 * @param areAll whether these are all accounts. If not, only the rows of these accounts are read.
 */
export async function queuedTasks(
  db: Queryable,
  accounts: readonly AccountToQueue[],
  { areAll }: { readonly areAll: boolean },
): Promise<readonly QueuedTask[]> {
  const ages = await readUnreadAges(db, areAll ? undefined : accounts.map(({ name }) => name));
  const tasks = accounts.map(({ name, uid }) => ({
    task: { account: name },
    priority: ages.get(name) ?? prioritiesMax,
    group: uid === undefined ? name : `uid ${uid}`,
  }));
  const lists = { task: { lists: true }, priority: prioritiesMax + 1, group: "lists" } as const;
  return [lists, ...tasks];
}

/**
 * A check of each account. Checks have the lowest priority: nothing waits for them, so they run
 * when no sync is due.
 */
export const queuedChecks = (accounts: readonly AccountToQueue[]): readonly QueuedTask[] =>
  accounts.map(({ name }) => {
    const task = { reconcile: name };
    return { task, priority: -1, group: keyOf(task) };
  });

/**
 * The age of each account's oldest unread time, in minutes. Accounts that were never read are left
 * out.
 */
async function readUnreadAges(
  db: Queryable,
  accounts: readonly string[] | undefined,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ account: string; minutes: number }>(sql`
      select
        account,
        greatest(0, least(
          ${prioritiesMax},
          ceil(extract(epoch from clock_timestamp() - min(settled_to)) / 60)
        ))::int as minutes
      from stream_times as streams
      where ${isOneOf(accounts)}
        and not exists (
          select 1
          from stream_states as ended
          where ended.account = streams.account
            and ${isOneOf(accounts)}
            and ended.product_type in ('', streams.product_type)
            and (ended.retired_at is not null or ended.closed_at is not null)
        )
      group by account`),
  );
  return new Map(rows.map(({ account, minutes }) => [account, minutes]));
}
