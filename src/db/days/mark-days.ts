import { type SQL, sql } from "drizzle-orm";
import { walletOf } from "../../contract/product-types.ts";
import { dayMs, type EpochMs } from "../../contract/time.ts";
import type { Stream } from "../../sync/store.ts";
import type { Transaction } from "../connect.ts";
import { textArray } from "../sql/array-literal.ts";
import { walletOf as walletColumnOf } from "../sql/wallet.ts";

/** The UTC day of a time. */
export const dayOfColumn = (time: SQL): SQL => sql`(${time} at time zone 'UTC')::date`;

/** A bill's place in days. */
export type DatedBill = { readonly stream: Stream; readonly bill: { readonly cTime: EpochMs } };

/**
 * Marks the days of bills that are stored in this transaction, for a caller who holds the account: two
 * of them would wait for each other.
 */
export async function markDaysOf(tx: Transaction, bills: readonly DatedBill[]): Promise<void> {
  const days = new Map<string, { account: string; wallet: string; day: number }>();
  for (const { stream, bill } of bills) {
    const { account } = stream;
    const wallet = walletOf(stream.productType);
    const day = Math.floor(bill.cTime / dayMs);
    days.set(`${wallet} ${day}`, { account, wallet, day });
  }
  if (days.size === 0) return;
  const marked = [...days.values()];
  await tx.execute(sql`
    insert into dirty_days (account, wallet, day, cause)
    select account, wallet, date '1970-01-01' + day, 'bills'
    from unnest(
      ${textArray(marked.map(({ account }) => account))}::text[],
      ${textArray(marked.map(({ wallet }) => wallet))}::text[],
      ${textArray(marked.map(({ day }) => String(day)))}::int[]
    ) as marked (account, wallet, day)
    on conflict (account, wallet, day, cause) do nothing`);
}

/**
 * Marks the days of bills that mean something else from this transaction on.
 * @param bills what follows `select account, product_type, c_time`.
 *
 * The caller holds `ledger_breaks`, see {@link holdMeaning}.
 */
export async function markMeaningOf(tx: Transaction, bills: SQL): Promise<void> {
  await tx.execute(sql`
    insert into dirty_days (account, wallet, day, cause)
    select distinct
      account,
      ${walletColumnOf("product_type")},
      ${dayOfColumn(sql`c_time`)},
      'meaning'
    from (select account, product_type, c_time ${bills}) as marked
    on conflict (account, wallet, day, cause) do nothing`);
}

/**
 * Keeps everybody else from changing what bills mean, and from storing days: a day that is stored
 * meanwhile, of a bill that this transaction does not see, would keep the old meaning. The first
 * statement of its transaction, which must not have a snapshot yet.
 */
export const holdMeaning = (tx: Transaction) =>
  tx.execute(sql`lock table ledger_breaks in share row exclusive mode`);
