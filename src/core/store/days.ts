import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import { walletOf } from "../contract/product-types.ts";
import type { Transaction } from "../postgres/connect.ts";
import { textArray, timeFrom } from "../postgres/values.ts";
import { chainOrder } from "../views/chain-order.ts";
import { productTypesArray, walletOf as walletColumn } from "../views/wallet-moves.ts";
import { type BillKey, type BillRow, keyArrays } from "./bill-rows.ts";
import { addSums, allBillsOf, type Bills, dayText, rowsOf, sumTables } from "./day-sums.ts";

/*
 * The two places where days follow the bills. A page's transaction calls both, and sends their statements
 * with its other writes in one message: so they read nothing that they would have to wait for, and send
 * several statements with Promise.all. The caller holds the account.
 */

/**
 * Runs before stored bills are overwritten.
 * @param replaced their stored content.
 */
export async function takeOutOfDays(
  tx: Transaction,
  account: string,
  replaced: readonly BillRow[],
): Promise<void> {
  if (replaced.length === 0) return;
  const bills = rowsOf(account, replaced);
  await Promise.all([
    ...sumTables.map((table) => addSums(tx, table, bills, "-")),
    forgetEnds(tx, account, replaced.map(placed)),
  ]);
}

/**
 * Runs after the bills were written.
 * @param written the bills that are new or replace other content. No key is there twice.
 * @param replaced the stored content of the latter: their days may have lost their first or last bill.
 */
export async function putIntoDays(
  tx: Transaction,
  account: string,
  written: readonly BillRow[],
  replaced: readonly BillRow[],
): Promise<void> {
  if (written.length === 0) return;
  const bills = rowsOf(account, written);
  await Promise.all([
    ...sumTables.map((table) => addSums(tx, table, bills)),
    ...(replaced.length === 0 ? [] : [findEnds(tx, account, replaced.map(placed))]),
    moveEnds(tx, bills),
  ]);
}

type PlacedBill = BillKey & { readonly coin: string; readonly cTime: EpochMs };

const placed = ({ productType, bill }: BillRow): PlacedBill => ({
  productType,
  billId: bill.billId,
  coin: bill.coin,
  cTime: timeFrom(bill.cTimeMs),
});

/** A day of a chain; `day` as YYYY-MM-DD. */
export type ChainDay = { readonly wallet: string; readonly coin: string; readonly day: string };

export const endColumns = [
  ...["account", "wallet", "coin", "day", "is_last", "c_time", "product_type", "bill_id"],
  "balance",
];

/** The first and the last balance of each chain's day, of these bills: see chain-order.ts. */
export const endsOf = ({ from, where }: Bills): SQL => sql`
      select ${sql.raw(endColumns.join(", "))}
      from (
        select
          bills.account,
          ${walletColumn("bills.product_type")} as wallet,
          bills.coin,
          ${sql.raw(dayText)} as day,
          bills.c_time,
          bills.product_type,
          bills.bill_id,
          bills.balance,
          lag(bills.bill_id) over chain is null as is_day_first,
          lead(bills.bill_id) over chain is null as is_day_last
        from ${from}
        where ${where}
          and bills.balance is not null
        window chain as (
          partition by bills.account, ${walletColumn("bills.product_type")}, bills.coin, ${sql.raw(dayText)}
          order by ${chainOrder("bills")}
        )
      ) as ordered
      cross join (values (false), (true)) as ends (is_last)
      where case when is_last then is_day_last else is_day_first end`;

const addedEnds = (bills: Bills): SQL => sql`
      insert into day_ends (${sql.raw(endColumns.join(", "))})
      ${endsOf(bills)}
      order by wallet, coin, day, is_last`;

/** Moves the ends of days to those bills that come before or after them. */
async function moveEnds(tx: Transaction, bills: Bills): Promise<void> {
  const changed = endColumns.slice(5).map((column) => `${column} = excluded.${column}`);
  await tx.execute(sql`
      ${addedEnds(bills)}
      on conflict (account, wallet, coin, day, is_last) do update
      set ${sql.raw(changed.join(", "))}
      where case when day_ends.is_last
        then (${chainOrder("excluded")}) > (${chainOrder("day_ends")})
        else (${chainOrder("excluded")}) < (${chainOrder("day_ends")}) end`);
}

/** Forgets the ends of the days that begin or end with one of these bills. */
async function forgetEnds(
  tx: Transaction,
  account: string,
  bills: readonly BillKey[],
): Promise<void> {
  await tx.execute(sql`
      delete from day_ends
      where account = ${account}
        and (wallet, coin, day) in (
          select wallet, coin, day
          from day_ends
          where account = ${account}
            and (product_type, bill_id) in (
              select product_type, bill_id
              from unnest(${keyArrays(bills)}) as taken (product_type, bill_id)
            )
        )`);
}

/** Reads the ends of these bills' days that have none. */
async function findEnds(
  tx: Transaction,
  account: string,
  days: readonly PlacedBill[],
): Promise<void> {
  const from = sql`(
        select distinct wallet, coin, day
        from unnest(
          ${textArray(days.map(({ productType }) => walletOf(productType)))}::text[],
          ${textArray(days.map(({ coin }) => coin))}::text[],
          ${textArray(days.map(({ cTime }) => isoTime(cTime).slice(0, 10)))}::date[]
        ) as ended (wallet, coin, day)
      ) as ended
          join bills
            on bills.account = ${account}
            and bills.product_type = any(${productTypesArray("ended.wallet")})
            and bills.coin = ended.coin
            and bills.c_time >= ended.day::timestamp at time zone 'UTC'
            and bills.c_time < (ended.day + 1)::timestamp at time zone 'UTC'`;
  const where = sql`not exists (
            select 1
            from day_ends
            where day_ends.account = ${account}
              and day_ends.wallet = ended.wallet
              and day_ends.coin = ended.coin
              and day_ends.day = ended.day
          )`;
  await tx.execute(addedEnds({ from, where }));
}

/** Reads the ends of all days of an account, which has none stored. */
export async function findAllEnds(tx: Transaction, account: string): Promise<void> {
  await tx.execute(addedEnds(allBillsOf(account)));
}
