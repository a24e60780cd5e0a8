import { sql } from "drizzle-orm";
import { type EpochMs, hourMs, isoTime } from "../../lib/time.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../postgres/connect.ts";
import { withDatabaseErrors } from "../postgres/database-errors.ts";
import { onlyRow, textArray, timeText } from "../postgres/values.ts";
import type { Ledger } from "../words/ledger.ts";
import type { PageCounts } from "../words/page.ts";
import { allBillsOf, keyOf, storedLess, typeDaySums } from "./day-sums.ts";
import { makeDays } from "./differing-days.ts";

/** How many bills a ledger has by the count that is kept, and by counting its rows, which are right. */
export type BillCount = Ledger & { readonly keptCount: number; readonly rowCount: number };

/** The ledgers that say that they have more bills than there are, as of one moment. */
export async function readShortLedgers(db: Queryable): Promise<readonly BillCount[]> {
  const { rows } = await db.execute<Ledger & Record<"keptCount" | "rowCount", string>>(sql`
    select
      account,
      product_type as "productType",
      ledgers.bills::text as "keptCount",
      coalesce(counts.bills, 0)::text as "rowCount"
    from ledgers
    left join (
      select account, product_type, count(*) as bills
      from bills
      group by account, product_type
    ) as counts using (account, product_type)
    where ledgers.bills > coalesce(counts.bills, 0)
    order by account, product_type`);
  return rows.map(countOf);
}

const countOf = ({
  keptCount,
  rowCount,
  ...ledger
}: Ledger & Record<"keptCount" | "rowCount", string>): BillCount => ({
  ...ledger,
  keptCount: Number(keptCount),
  rowCount: Number(rowCount),
});

/** "2 of 5 bills of main USDT-FUTURES and 1 more ledger" */
export function shortText([first, ...others]: readonly BillCount[]): string | undefined {
  if (first === undefined) return undefined;
  const { account, productType, rowCount, keptCount } = first;
  const more = others.length === 0 ? "" : `, and fewer of ${others.length} more`;
  return `${rowCount} of ${keptCount} bills of ${account} ${productType}${more}`;
}

// Generous: counting a million bills takes about a tenth of a second, and no writer waits for it.
const statementMaxMs = hourMs;

/**
 * Counts an account's bills and corrects the kept counts, which are wrong where rows were deleted by hand or stored
 * by a version that did not count. Where rows disappeared, by the count or by the stored days, it also stores a break of
 * the kind `rows-gone`, which no check resolves, only somebody who accepts it, and adds the account's days up anew.
 *
 * Writers go on meanwhile. Rows and count are read at one moment, and their difference is added to the count, which
 * stays right whatever a writer adds to it meanwhile. Writes nothing where a count is right.
 * @returns the counts that were wrong.
 */
export function recount(db: Database, account: string): Promise<readonly BillCount[]> {
  const work = async (tx: Transaction) => {
    // One at a time: two recounts at once would both add the difference.
    await tx.execute(
      sql`select pg_advisory_xact_lock(hashtextextended(${`counts ${account}`}, 0))`,
    );
    const { rows } = await tx.execute<Ledger & Record<"keptCount" | "rowCount", string>>(sql`
      select
        account,
        product_type as "productType",
        sum(kept) as "keptCount",
        sum(stored) as "rowCount"
      from (
        select account, product_type, bills as kept, 0 as stored
        from ledgers
        where account = ${account}
        union all
        select account, product_type, 0, count(*)
        from bills
        where account = ${account}
        group by account, product_type
      ) as counts
      group by account, product_type
      order by product_type`);
    const counts = rows.map(countOf);
    const days = Map.groupBy(await daysWithRowsGone(tx, account), ({ productType }) => productType);
    if (days.size > 0) await makeDays(tx, account);
    const wrong = counts.filter(({ keptCount, rowCount }) => keptCount !== rowCount);
    for (const { productType, keptCount, rowCount } of wrong) {
      await tx.execute(sql`
        insert into ledgers (account, product_type, bills)
        values (${account}, ${productType}, ${rowCount - keptCount})
        on conflict (account, product_type) do update
        set bills = ledgers.bills + excluded.bills`);
    }
    for (const count of counts) {
      const gone = days.get(count.productType) ?? [];
      if (count.rowCount < count.keptCount || gone.length > 0)
        await recordRowsGone(tx, count, gone);
    }
    return wrong;
  };
  return withDatabaseErrors(() => inTransaction(db, work, { statementMaxMs }));
}

// A break names so many days at most.
const daysNamedMax = 10;

/** Stores the break of bills that disappeared, with the days whose stored sums show more bills than there are. */
async function recordRowsGone(
  tx: Transaction,
  { account, productType, keptCount, rowCount }: BillCount,
  days: readonly RowsGone[],
): Promise<void> {
  const gone = days.reduce((sum, { bills }) => sum + Number(bills), 0);
  const expected = rowCount < keptCount ? keptCount : rowCount + gone;
  const named = days.slice(0, daysNamedMax).map(({ day, bills }) => `${day} (${bills})`);
  const more = days.length > daysNamedMax ? [`${days.length - daysNamedMax} more days`] : [];
  const where =
    days.length === 0
      ? "no stored day lacked bills, so they may have been read again"
      : `by the stored days, of ${[...named, ...more].join(", ")}; bill-sync reconcile --repair reads again ` +
        "what the exchange still has; this break stays until it is accepted";
  const explanation =
    rowCount < keptCount
      ? `when counted, ${rowCount} of ${keptCount} bills were there: somebody had deleted rows; ${where}`
      : `when counted, ${rowCount} bills were there: somebody had deleted or changed ${gone}; ${where}`;
  const { rows } = await tx.execute<{ id: string }>(
    sql`select nextval('public.ledger_break_ids') as id`,
  );
  await tx.execute(sql`
    insert into ledger_breaks (
      break_id, kind, account, ledger, coin, anchor, happened_at, expected, observed, difference,
      explanation, first_seen_at, last_seen_at, state
    )
    values (
      ${onlyRow(rows, "a new break's number").id}, 'rows-gone', ${account}, ${productType}, '',
      'found ' || ${timeText(sql`transaction_timestamp()`)}, ${days[0]?.day ?? null}::timestamp at time zone 'UTC',
      ${expected}, ${rowCount}, ${rowCount - expected}, ${explanation}, transaction_timestamp(),
      transaction_timestamp(), 'open'
    )`);
}

type RowsGone = Record<"productType" | "day" | "bills", string>;

/** The days that have more bills of some type by their sums than by counting them, and how many more. */
async function daysWithRowsGone(tx: Transaction, account: string): Promise<readonly RowsGone[]> {
  const { rows } = await tx.execute<RowsGone>(sql`
    select product_type as "productType", to_char(day, 'YYYY-MM-DD') as day, sum(bills)::text as bills
    from (
      select account, product_type, day, sum(bills) as bills
      from ${storedLess(typeDaySums, sql`account = ${account}`, allBillsOf(account))}
      group by ${keyOf(typeDaySums)}
      having sum(bills) > 0
    ) as gone
    group by account, product_type, gone.day
    order by gone.day`);
  return rows;
}

/** Adds new bills to each ledger's kept count, and notes when its bills changed. Where none did, no row is written. */
export async function countStored(
  tx: Transaction,
  pages: readonly { readonly ledger: Ledger }[],
  counts: readonly Pick<PageCounts, "new" | "restated">[],
  storedAt: EpochMs,
): Promise<void> {
  const changed = pages.flatMap(({ ledger }, page) => {
    const { new: bills = 0, restated = 0 } = counts[page] ?? {};
    return bills + restated === 0 ? [] : [{ ...ledger, bills }];
  });
  if (changed.length === 0) return;
  const column = (pick: (one: (typeof changed)[number]) => string) => textArray(changed.map(pick));
  await tx.execute(sql`
    insert into ledgers (account, product_type, bills, stored_at)
    select account, product_type, sum(bills), ${isoTime(storedAt)}::timestamptz
    from unnest(
      ${column(({ account }) => account)}::text[],
      ${column(({ productType }) => productType)}::text[],
      ${column(({ bills }) => String(bills))}::bigint[]
    ) as changed (account, product_type, bills)
    group by account, product_type
    on conflict (account, product_type) do update
    set
      bills = ledgers.bills + excluded.bills,
      stored_at = excluded.stored_at`);
}
