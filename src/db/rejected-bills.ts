import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import type { RejectedRow, Stream } from "../sync/store.ts";
import { textArray } from "./array-literal.ts";
import type { Database, Transaction } from "./connect.ts";

/**
 * Keeps rows that broke the contract as they were received, once each.
 * @returns how many were served, the known ones among them included, but for those that are resolved.
 */
export async function rejectRows(
  tx: Transaction,
  { account, productType }: Stream,
  runId: string,
  rows: readonly RejectedRow[],
): Promise<number> {
  if (rows.length === 0) return 0;
  const received = rows.map((row) => JSON.stringify(row.received));
  const { rows: open } = await tx.execute<{ rows: number }>(sql`
    with page as (
      select digest, received, fault_path, fault
      from unnest(
        ${textArray(received.map(sha256))}::text[],
        ${textArray(received)}::text[],
        ${textArray(rows.map(({ fault }) => fault.path))}::text[],
        ${textArray(rows.map(({ fault }) => fault.reason))}::text[]
      ) as given (digest, received, fault_path, fault)
    ),
    kept as (
      insert into rejected_bills (
        account, product_type, digest, received, fault_path, fault, run_id, rejected_at
      )
      select
        ${account}, ${productType}, digest, received, fault_path, fault, ${runId}, clock_timestamp()
      from page
      on conflict (account, product_type, digest) do nothing
    )
    select count(*)::int as rows
    from page
    where not exists (
      select 1
      from rejected_bills
      where account = ${account}
        and product_type = ${productType}
        and rejected_bills.digest = page.digest
        and resolved_at is not null
    )`);
  return open[0]?.rows ?? rows.length;
}

/** For each of the rows, whether it is kept and resolved: accepted for good, or put in by a replay. */
export async function areResolved(
  db: Database,
  { account, productType }: Stream,
  rows: readonly RejectedRow[],
): Promise<readonly boolean[]> {
  if (rows.length === 0) return [];
  const digests = rows.map(({ received }) => sha256(JSON.stringify(received)));
  const { rows: resolved } = await db.execute<{ digest: string }>(sql`
    select digest
    from rejected_bills
    where account = ${account}
      and product_type = ${productType}
      and digest = any (${textArray(digests)}::text[])
      and resolved_at is not null`);
  const known = new Set(resolved.map(({ digest }) => digest));
  return digests.map((digest) => known.has(digest));
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
