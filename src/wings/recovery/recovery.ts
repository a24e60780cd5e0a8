import { sql } from "drizzle-orm";
import type { Bill } from "../../core/contract/bill.ts";
import { nonFinancialTypes } from "../../core/contract/business-types.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import { taxRowsMax } from "../../core/contract/tax-records.ts";
import type { Queryable, Transaction } from "../../core/postgres/connect.ts";
import { msOf, multirange, textArray, timeFrom, timeOf } from "../../core/postgres/values.ts";
import { readKnownTimes } from "../../core/store/known-time.ts";
import { setFirstUnread } from "../../core/store/record-time.ts";
import { rejectRows } from "../../core/store/rejected-bills.ts";
import { addMissing } from "../../core/store/store-bills.ts";
import { type Interval, intersect, interval } from "../../core/words/intervals.ts";
import type { KnownTime, Ledger } from "../../core/words/ledger.ts";
import type { PageCounts, ReadRows } from "../../core/words/page.ts";
import { dayMs, type EpochMs, epochMs } from "../../lib/time.ts";

const weekMs = 7 * dayMs;

/** What is stored of a window, with which its tax records are compared. */
export type Compared = {
  readonly stored: readonly ComparedBill[];
  /** Which of the records are of bills that broke the contract. */
  readonly rejectedIds: readonly string[];
};

type ComparedBill = Pick<Bill, "billId" | "cTime" | "amount" | "fee" | "balance"> & {
  readonly hasRecord: boolean;
};

/** What the recovery of a ledger's older time begins with. */
export type RecoveryState = {
  readonly known: KnownTime;
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
  const { rows } = await db.execute<{ name: string; comparison: TaxComparison | null }>(sql`
    select product_type as name, tax_comparison as comparison
    from ledgers
    where account = ${account}
      and product_type = any(${textArray(productTypes)}::text[])`);
  const comparisons = new Map(rows.map(({ name, comparison }) => [name, comparison]));
  return {
    of: (productType) => ({
      known: known.of({ account, productType }),
      comparison: comparisons.get(productType) ?? undefined,
    }),
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

/** A window that is asked for as recovery asks, until what is needed of it is compared. */
export type Overlap = { readonly asked: Interval; readonly needed: Interval };

/**
 * Where the records are compared with the bills of covered time:
 *
 * - From one bill to another that have none beside them which tax records may lack: as much time as an answer holds. Of
 *   answers without their first or last row, one lacks these: in 1 of 2,500 simulated histories the last row was of a bill that
 *   was not stored. A full second is avoided: bounds that the exchange rounds to seconds show it.
 * - What the newest week has before them.
 * - The newest bill of each type and each coin, at most fifty.
 *
 * @returns none where no bill is stored with which records can be compared.
 */
export async function readOverlap(
  db: Queryable,
  ledger: Ledger,
  {
    coverage,
    windowMaxMs,
  }: { readonly coverage: readonly Interval[]; readonly windowMaxMs: number },
): Promise<readonly Overlap[]> {
  const isCompared = sql`source is null and ${hasRecord} and c_time <@ ${multirange(coverage)}`;
  const { rows: ends } = await db.execute<{ at: string }>(sql`
    select ${msOf(sql`c_time`)} as at
    from (
      with times as (
        select c_time, is_alone, max(place) as place, date_trunc('second', c_time) = c_time as is_full_second
        from (
          select
            c_time,
            place,
            is_compared,
            count(*) filter (where is_compared) over (partition by c_time) = count(*) over (
              order by c_time range between '1 ms' preceding and '1 ms' following
            ) as is_alone
          from (
            select c_time, ${isCompared} as is_compared, row_number() over (order by c_time desc) as place
            from bills
            where ${isOfLedger(ledger)}
            order by c_time desc
            limit 1000
          ) as newest
        ) as near
        where is_compared
        group by c_time, is_alone
      ),
      last as (
        select c_time, place
        from times
        order by is_alone desc, is_full_second, c_time desc
        limit 1
      )
      select 'last' as name, c_time
      from last
      union all
      (
        select 'first', times.c_time
        from times
        join last
          on times.c_time <= last.c_time
          and times.c_time >= last.c_time - ${windowMaxMs - 1} * interval '1 ms'
          and times.place < last.place + ${taxRowsMax - 1}
        order by is_alone desc, is_full_second, times.c_time
        limit 1
      )
    ) as ends
    order by name desc`);
  const [last, first] = ends.map(({ at }) => Number(at));
  if (first === undefined || last === undefined) return [];
  const { rows: newest } = await db.execute<{ at: string }>(sql`
    select ${msOf(sql`max(c_time)`)} as at
    from bills
    cross join lateral (values (business_type), (coin)) as word (name)
    where ${isOfLedger(ledger)}
      and ${isCompared}
    group by name
    order by max(c_time) desc
    limit 50`);
  /** The time up to here, of which the newest is needed. */
  const upTo = (to: number, neededMs: number, askedMs = windowMaxMs): readonly Overlap[] =>
    intersect(interval(to - askedMs, to), coverage)
      .slice(-1)
      .map((asked) => ({
        asked,
        needed: { ...asked, from: epochMs(Math.max(asked.from, to - neededMs)) },
      }));
  const betweenMs = last + 1 - first;
  return [
    ...upTo(last + 1, betweenMs, betweenMs),
    ...upTo(first, Math.max(0, weekMs - betweenMs)),
    ...newest.flatMap(({ at }) => upTo(Number(at) + 1, 1)),
  ];
}

/** What tax records of a window are compared with. */
export async function readCompared(
  db: Queryable,
  ledger: Ledger,
  { window, records }: { readonly window: Interval; readonly records: readonly Bill[] },
): Promise<Compared> {
  const { rows } = await db.execute<Omit<ComparedBill, "cTime"> & { at: string }>(sql`
    select
      bill_id as "billId", ${msOf(sql`c_time`)} as at, amount::text, fee::text, balance::text,
      ${hasRecord} as "hasRecord"
    from bills
    where ${isOfLedger(ledger)}
      and source is null
      and c_time >= ${timeOf(window.from)}
      and c_time < ${timeOf(window.to)}`);
  const { rows: rejected } = await db.execute<{ id: string }>(sql`
    select bill_id as id
    from rejected_bills
    where ${isOfLedger(ledger)}
      and bill_id = any(${textArray(records.map(({ billId }) => billId))}::text[])`);
  return {
    stored: rows.map(({ at, ...bill }) => ({ ...bill, cTime: timeFrom(at) })),
    rejectedIds: rejected.map(({ id }) => id),
  };
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
