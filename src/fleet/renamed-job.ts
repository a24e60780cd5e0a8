import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { failedQueue, queueSchema, syncQueue } from "../reports/queue-status.ts";
import { keyOf } from "./task.ts";

/**
 * Renames an account in its waiting jobs and in those that were given up. No job of the account is
 * at work while it is renamed. Without a queue it does nothing.
 */
export async function renameJobs(
  tx: Transaction,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const { rows } = await tx.execute(sql`
    select 1
    where to_regclass(${`${queueSchema}.job`}) is not null`);
  if (rows.length === 0) return;
  await renameJobsOf(tx, keyOf({ account: from }), keyOf({ account: to }));
  await renameJobsOf(tx, keyOf({ reconcile: from }), keyOf({ reconcile: to }));
}

async function renameJobsOf(tx: Transaction, from: string, to: string): Promise<void> {
  const isOld = sql`
      singleton_key = ${from}
      and (name = ${failedQueue} or name = ${syncQueue} and state < 'active')`;
  // The new name may wait already, and an account waits only once.
  await tx.execute(sql`
    delete from fleet.job
    where ${isOld}
      and exists (
        select 1
        from fleet.job as other
        where other.name = ${syncQueue}
          and other.singleton_key = ${to}
          and other.state <= 'active'
          and job.name = ${syncQueue}
      )`);
  await tx.execute(sql`
    update fleet.job
    set
      singleton_key = ${to},
      data = jsonb_set(data, '{key}', to_jsonb(${to}::text)),
      group_id = case when group_id = ${from} then ${to} else group_id end
    where ${isOld}`);
}
