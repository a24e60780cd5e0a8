import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import type { RejectedRow, Stream } from "../sync/store.ts";
import type { Transaction } from "./connect.ts";

/**
 * Keeps rows that broke the contract as they were received, once each.
 * @returns how many were served, the known ones among them included.
 */
export async function rejectRows(
  tx: Transaction,
  { account, productType }: Stream,
  runId: string,
  rows: readonly RejectedRow[],
): Promise<number> {
  for (const { received, fault } of rows) {
    const json = JSON.stringify(received);
    const digest = createHash("sha256").update(json).digest("hex");
    await tx.execute(sql`
      insert into rejected_bills (
        account, product_type, digest, received, fault_path, fault, run_id, rejected_at
      )
      values (
        ${account}, ${productType}, ${digest}, ${json}, ${fault.path}, ${fault.reason},
        ${runId}, clock_timestamp()
      )
      on conflict (account, product_type, digest) do nothing`);
  }
  return rows.length;
}
