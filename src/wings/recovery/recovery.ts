import { sql } from "drizzle-orm";
import type { Bill } from "../../core/contract/bill.ts";
import { nonFinancialTypes } from "../../core/contract/business-types.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import type { Queryable, Transaction } from "../../core/postgres/connect.ts";
import { msOf, multirange, textArray, timeFrom } from "../../core/postgres/values.ts";
import { readKnownTimes } from "../../core/store/known-time.ts";
import { setFirstUnread } from "../../core/store/record-time.ts";
import { rejectRows } from "../../core/store/rejected-bills.ts";
import { addMissing } from "../../core/store/store-bills.ts";
import type { Interval } from "../../core/words/intervals.ts";
import type { KnownTime, Ledger } from "../../core/words/ledger.ts";
import type { PageCounts, ReadRows } from "../../core/words/page.ts";
import { type EpochMs, epochMs, isoTime } from "../../lib/time.ts";

/** Stored bills, with which tax records of the same window are compared. */
export type Overlap = { readonly window: Interval; readonly bills: readonly OverlapBill[] };

export type OverlapBill = Pick<Bill, "billId" | "cTime" | "amount" | "fee" | "balance">;

/** What the recovery of a ledger's older time begins with. */
export type RecoveryState = {
  readonly known: KnownTime;
  /** The time of the oldest stored bill. */
  readonly oldestBill: EpochMs | undefined;
  readonly comparison: TaxComparison | undefined;
};

/** The last comparison of tax records with stored bills. */
export type TaxComparison = {
  /** The exchange's time. */
  readonly at: EpochMs;
  /** How many bills were compared. */
  readonly compared: number;
  /** Why the records are not believed; absent where they are. */
  readonly notRecoveredReason?: string | undefined;
  /** Milliseconds of which the records have more rows than an answer shows, as the last recovery met them. */
  readonly partlyRecovered?: readonly EpochMs[];
};

/** The rows of a window of tax records. They are committed with it as a whole or not at all. */
type RecoveredCommit = ReadRows & {
  readonly ledger: Ledger;
  /** The time that is now recovered; undefined where other rows of it may be missing. */
  readonly window: Interval | undefined;
};

const isOfLedger = ({ account, productType }: Ledger) =>
  sql`account = ${account} and product_type = ${productType}`;

/** What the recovery of the older time of an account's ledgers begins with. */
export async function readRecoveryStates(
  db: Queryable,
  account: string,
  productTypes: readonly ProductType[],
): Promise<{ readonly of: (productType: ProductType) => RecoveryState }> {
  const known = await readKnownTimes(
    db,
    productTypes.map((productType) => ({ account, productType })),
  );
  const { rows } = await db.execute<{
    productType: string;
    taxComparison: TaxComparison | null;
    oldest: string | null;
  }>(sql`
    select
      product_type as "productType",
      tax_comparison as "taxComparison",
      (
        select ${msOf(sql`min(c_time)`)}
        from bills
        where account = ${account}
          and bills.product_type = ledgers.product_type
      ) as oldest
    from ledgers
    where account = ${account}
      and product_type = any(${textArray(productTypes)}::text[])`);
  const stored = new Map(rows.map((row) => [row.productType, row]));
  return {
    of(productType) {
      const { oldest = null, taxComparison = null } = stored.get(productType) ?? {};
      return {
        known: known.of({ account, productType }),
        oldestBill: timeFrom(oldest),
        comparison: taxComparison ?? undefined,
      };
    },
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

/** Margin moves have no tax records: the four types move no money. */
const hasRecord = sql`business_type <> all(${textArray(nonFinancialTypes)}::text[])`;

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
      and ${hasRecord}
    order by c_time desc
    limit 1`);
  const [last] = newest;
  if (last === undefined) return undefined;
  const to = epochMs(Number(last.at) + 1);
  const window = { from: epochMs(Math.max(Number(last.from), to - overlapMs)), to };
  const { rows } = await db.execute<
    { id: string; at: string } & Pick<Bill, "amount" | "fee" | "balance">
  >(sql`
    select bill_id as id, ${msOf(sql`c_time`)} as at, amount::text, fee::text, balance::text
    from bills
    where ${isOfLedger(ledger)}
      and c_time >= ${isoTime(window.from)}::timestamptz
      and c_time < ${isoTime(window.to)}::timestamptz
      and ${hasRecord}`);
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

/** Records that a window was recovered: what of it was lost is lost no more. */
async function addRecovered(tx: Transaction, ledger: Ledger, window: Interval): Promise<void> {
  await tx.execute(sql`
    update ledgers
    set
      lost = lost - ${multirange([window])},
      recovered = recovered + ${multirange([window])}
    where ${isOfLedger(ledger)}`);
  await tx.execute(setFirstUnread(ledger.account, [ledger.productType]));
}
