import { sql } from "drizzle-orm";
import type { Bill } from "../../core/contract/bill.ts";
import type { Queryable, Transaction } from "../../core/postgres/connect.ts";
import { msOf, onlyRow, timeFrom } from "../../core/postgres/values.ts";
import { readKnownTime } from "../../core/store/known-time.ts";
import { addRecovered } from "../../core/store/record-time.ts";
import { rejectRows } from "../../core/store/rejected-bills.ts";
import { changesOf, lookUpBills, writeBills } from "../../core/store/upsert-bills.ts";
import type {
  Ledger,
  Overlap,
  PageCounts,
  RecoveredCommit,
  RecoveryState,
  TaxComparison,
} from "../../core/words/nouns.ts";
import { epochMs, isoTime } from "../../lib/time.ts";

const isOfLedger = ({ account, productType }: Ledger) =>
  sql`account = ${account} and product_type = ${productType}`;

/** What the recovery of a ledger's older time begins with. */
export async function readRecoveryState(db: Queryable, ledger: Ledger): Promise<RecoveryState> {
  const [known, { rows: ends }, { rows: decided }] = await Promise.all([
    readKnownTime(db, ledger),
    db.execute<{ oldest: string | null }>(sql`
    select ${msOf(sql`min(c_time)`)} as oldest
    from bills
    where ${isOfLedger(ledger)}`),
    db.execute<{ taxComparison: TaxComparison | null }>(sql`
    select tax_comparison as "taxComparison"
    from ledgers
    where ${isOfLedger(ledger)}`),
  ]);
  const { oldest } = onlyRow(ends, "the ledger's oldest bill");
  return {
    known,
    oldestBill: oldest === null ? undefined : timeFrom(oldest),
    comparison: decided[0]?.taxComparison ?? undefined,
  };
}

/** The ledgers of an account whose tax records are not believed, and why. */
export async function readNotRecovered(
  db: Queryable,
  account: string,
): Promise<readonly { readonly productType: string; readonly why: string }[]> {
  const { rows } = await db.execute<{ productType: string; why: string }>(sql`
    select product_type as "productType", tax_comparison ->> 'notRecoveredReason' as why
    from ledgers
    where account = ${account}
      and tax_comparison ->> 'notRecoveredReason' is not null
    order by product_type`);
  return rows;
}

/**
 * The newest stored bills of covered time, with which tax records are compared.
 * @param overlapMs how much time of them.
 * @returns undefined where no bill is stored.
 */
export async function readOverlap(
  db: Queryable,
  ledger: Ledger,
  overlapMs: number,
): Promise<Overlap | undefined> {
  const { rows: newest } = await db.execute<{ at: string; from: string }>(sql`
    select ${msOf(sql`c_time`)} as at, ${msOf(sql`lower(span)`)} as from
    from bills
    join (
      select account, product_type, unnest(covered) as span
      from ledgers
      where ${isOfLedger(ledger)}
    ) as read using (account, product_type)
    where ${isOfLedger(ledger)}
      and source is null
      and c_time <@ span
    order by c_time desc
    limit 1`);
  const [last] = newest;
  if (last === undefined) return undefined;
  const to = epochMs(Number(last.at) + 1);
  const window = { from: epochMs(Math.max(Number(last.from), to - overlapMs)), to };
  const { rows } = await db.execute<{ id: string; at: string; amount: string; fee: string }>(sql`
    select bill_id as id, ${msOf(sql`c_time`)} as at, amount::text, fee::text
    from bills
    where ${isOfLedger(ledger)}
      and c_time >= ${isoTime(window.from)}::timestamptz
      and c_time < ${isoTime(window.to)}::timestamptz`);
  const bills = rows.map(({ id, at, ...money }) => ({ billId: id, cTime: timeFrom(at), ...money }));
  return { window, bills };
}

/** Keeps the last comparison of tax records with stored bills. */
export async function recordTaxComparison(
  tx: Transaction,
  ledger: Ledger,
  evidence: TaxComparison,
): Promise<void> {
  await tx.execute(sql`
    update ledgers
    set tax_comparison = ${JSON.stringify(evidence)}::json
    where ${isOfLedger(ledger)}`);
}

/**
 * Stores the rows of a window of tax records, and that its time is recovered. A bill that is stored already stays: it has
 * a balance, which the record lacks.
 */
export async function commitRecovered(
  tx: Transaction,
  { ledger, window, bills, rejected }: RecoveredCommit,
): Promise<PageCounts> {
  const counts = await addMissing(tx, ledger, bills);
  const count = await rejectRows(tx, ledger, rejected, "tax-records");
  if (window !== undefined) await addRecovered(tx, ledger, window);
  return { ...counts, rejected: count };
}

/** Stores those bills of tax records of which no other content is stored. */
export async function addMissing(
  tx: Transaction,
  ledger: Ledger,
  bills: readonly Bill[],
): Promise<Omit<PageCounts, "rejected">> {
  const before = await lookUpBills(tx, [{ ledger, bills }]);
  const stored = new Set(before.stored.map(({ bill }) => bill.billId));
  const missing = bills.filter(({ billId }) => !stored.has(billId));
  const pages = [{ ledger, bills: missing }];
  const changes = changesOf(pages, { ...before, stored: [] });
  await writeBills(tx, pages, changes, { ...before, stored: [] });
  const [counts = { new: 0, unchanged: 0, restated: 0 }] = changes.counts;
  return { ...counts, unchanged: bills.length - missing.length };
}
