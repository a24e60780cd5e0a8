import { sql } from "drizzle-orm";
import { historyMs, minuteMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { keyOf, type QueuedTask } from "./task.ts";

const prioritiesMax = historyMs / minuteMs;

/** An account to be queued, and the user of the exchange that it is of, where that is known. */
export type AccountToQueue = { readonly name: string; readonly uid?: string };

/**
 * The tasks of one round, each account's by what the exchange forgets first: its priority is the age of
 * its oldest time that is not read, in minutes. An account that was never read loses its oldest bills
 * every minute, and is first. The public lists change once in days and go before all, one request each.
 * @param areAll whether these are all accounts. Of some, the rows of no other are looked at.
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

/** A check of each account. Nothing waits for them: they are done when no sync is to be. */
export const queuedChecks = (accounts: readonly AccountToQueue[]): readonly QueuedTask[] =>
  accounts.map(({ name }) => {
    const task = { reconcile: name };
    return { task, priority: -1, group: keyOf(task) };
  });

/** How old an account's oldest time is that no run has read, in minutes; of those that were ever read. */
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
