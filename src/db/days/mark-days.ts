import { type SQL, sql } from "drizzle-orm";
import type { Bill } from "../../contract/bill.ts";
import { walletOf } from "../../contract/product-types.ts";
import { dayMs } from "../../contract/time.ts";
import type { Stream } from "../../sync/store.ts";
import type { Transaction } from "../connect.ts";
import { textArray } from "../sql/array-literal.ts";
import { walletOf as walletColumnOf } from "../sql/wallet.ts";

/** The UTC day of a time. */
export const dayOfColumn = (time: SQL): SQL => sql`(${time} at time zone 'UTC')::date`;

/**
 * The statement that marks the days of the bills that the transaction stores. It runs by itself, or
 * in a `with` before another statement: by itself it took a tenth of a page's time.
 *
 * The caller holds the account: two callers at once would wait for each other.
 */
export function daysOfPages(
  pages: readonly {
    readonly stream: Stream;
    readonly bills: readonly Pick<Bill, "cTime">[];
  }[],
): SQL {
  const marked = pages.flatMap(({ stream: { account, productType }, bills }) =>
    [...daysOf(bills)].map((day) => ({ account, wallet: walletOf(productType), day })),
  );
  return sql`
      insert into dirty_days (account, wallet, day, cause)
      select account, wallet, date '1970-01-01' + day, 'bills'
      from unnest(
        ${textArray(marked.map(({ account }) => account))}::text[],
        ${textArray(marked.map(({ wallet }) => wallet))}::text[],
        ${textArray(marked.map(({ day }) => String(day)))}::int[]
      ) as marked (account, wallet, day)
      on conflict (account, wallet, day, cause) do nothing`;
}

/** The days of bills, counted from 1970-01-01. A page's bills are mostly of one day. */
function daysOf(bills: readonly Pick<Bill, "cTime">[]): ReadonlySet<number> {
  const days = new Set<number>();
  for (const { cTime } of bills) days.add(Math.floor(cTime / dayMs));
  return days;
}

/**
 * Marks the days of an account's bills whose meaning this transaction changes. The caller holds the
 * account's meaning: see meaning-turns.ts.
 * @param bills the SQL that follows `select product_type, c_time`.
 */
export async function markMeaningOf(tx: Transaction, account: string, bills: SQL): Promise<void> {
  await tx.execute(sql`
    insert into dirty_days (account, wallet, day, cause)
    select distinct
      ${account},
      ${walletColumnOf("product_type")},
      ${dayOfColumn(sql`c_time`)},
      'meaning'
    from (select product_type, c_time ${bills}) as marked
    on conflict (account, wallet, day, cause) do nothing`);
}

/**
 * Marks the days of all bills of these types, of every account. The caller holds the meanings of
 * these accounts.
 */
export async function markTypes(tx: Transaction, codes: readonly string[]): Promise<void> {
  await tx.execute(sql`
    insert into dirty_days (account, wallet, day, cause)
    select distinct
      account,
      ${walletColumnOf("product_type")},
      ${dayOfColumn(sql`c_time`)},
      'meaning'
    from bills
    where business_type = any(${textArray(codes)}::text[])
    on conflict (account, wallet, day, cause) do nothing`);
}
