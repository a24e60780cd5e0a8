import { sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import type { Queryable, Transaction } from "../postgres/connect.ts";
import { textArray } from "../postgres/values.ts";
import type { Ledger } from "../words/ledger.ts";
import type { PageCounts } from "../words/page.ts";

/** How many bills a ledger has by the count that is kept, and by counting its rows, which are right. */
type BillCount = Ledger & { readonly keptCount: number; readonly rowCount: number };

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

/**
 * Corrects an account's kept counts, which are wrong where rows were deleted or added by hand. A count that a writer
 * changes meanwhile is left to the next check.
 */
export async function correctCounts(db: Queryable, account: string): Promise<void> {
  await db.execute(sql`
    update ledgers
    set bills = counted.bills
    from (
      select product_type, ledgers.bills as kept, count(bill_id) as bills
      from ledgers
      left join bills using (account, product_type)
      where account = ${account}
      group by product_type, kept
    ) as counted
    where ledgers.account = ${account}
      and ledgers.product_type = counted.product_type
      and ledgers.bills = counted.kept
      and ledgers.bills <> counted.bills`);
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
