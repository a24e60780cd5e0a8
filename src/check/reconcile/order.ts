import { sql } from "drizzle-orm";
import type { ProductType } from "../../core/contract/product-types.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import { msOf, textArray, timeFrom } from "../../core/postgres/values.ts";
import { type BillKey, keyArrays } from "../../core/store/bill-rows.ts";
import { reorderInDays } from "../../core/store/days.ts";
import { bookedMaxOf } from "../../core/views/chain-order.ts";
import { epochMs, isoTime } from "../../lib/time.ts";
import { compare, type TypeTally } from "./rules.ts";

/** A bill of a chain. Amounts are in units of the check's last decimal place, times in ms since the epoch. */
export type ChainBill = {
  readonly productType: ProductType;
  readonly billId: string;
  readonly time: number;
  /** Its time, or the later one at which it is known to be booked. */
  at: number;
  /** Its learned place among the bills of that time; 0 where their ids give the order. */
  place: number;
  readonly type: TypeTally;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly coupon: bigint;
  /** What it moves the balance by under its type's rule. */
  readonly moved: bigint;
  /** The balance after it; undefined where none was served. */
  readonly after: bigint | undefined;
};

type Id = Pick<ChainBill, "productType" | "billId">;

/** Ids are compared as src/core/views/chain-order.ts does. */
export const byId = (a: Id, b: Id): number =>
  a.billId.length - b.billId.length ||
  compare(a.billId, b.billId) ||
  compare(a.productType, b.productType);

/** The order in which bills move the balance: see src/core/views/chain-order.ts. */
export const inOrder = (a: ChainBill, b: ChainBill): number =>
  a.at - b.at || a.place - b.place || byId(a, b);

/** The order of times and ids, without what was learned. */
export const byTime = (a: ChainBill, b: ChainBill): number => a.time - b.time || byId(a, b);

/** A bill's place, and when it was booked. */
export type Place = { readonly bill: ChainBill; readonly place: number; readonly at: number };

/** The places of those bills that are elsewhere now than in the order in which balances show them. */
export function movesTo(order: readonly ChainBill[]): readonly Place[] {
  let latest = Number.NEGATIVE_INFINITY;
  const booked = order.map((bill) => {
    latest = Math.max(latest, bill.time);
    return { bill, at: latest };
  });
  const places = [...Map.groupBy(booked, ({ at }) => at).values()].flatMap((together) => {
    const isById = together.every(({ bill }, index) => {
      const before = together[index - 1];
      return before === undefined || byId(before.bill, bill) < 0;
    });
    return together.map(({ bill, at }, index) => ({ bill, at, place: isById ? 0 : index + 1 }));
  });
  return places.filter(({ bill, at, place }) => bill.at !== at || bill.place !== place);
}

/** A bill that was found in another place, and its chain's coin. */
export type MovedBill = { readonly bill: ChainBill; readonly coin: string };

/** Stores the places of bills that their times and ids do not give. */
export async function writeOrder(
  tx: Transaction,
  account: string,
  moved: readonly MovedBill[],
): Promise<void> {
  if (moved.length === 0) return;
  const bills = moved.map(({ bill }) => bill);
  const placed = bills.filter(({ time, place, at }) => place > 0 || at !== time);
  await forget(tx, account, bills);
  await tx.execute(sql`
    insert into bill_order (account, product_type, bill_id, place, booked_at)
    select ${account}, product_type, bill_id, place, booked_at
    from unnest(
      ${keyArrays(placed)},
      ${textArray(placed.map(({ place }) => String(place)))}::integer[],
      ${textArray(placed.map(({ time, at }) => (at === time ? null : isoTime(epochMs(at)))))}::timestamptz[]
    ) as placed (product_type, bill_id, place, booked_at)`);
  await reorderInDays(
    tx,
    account,
    moved.map(({ bill: { productType, billId, time }, coin }) => ({
      productType,
      billId,
      coin,
      cTime: epochMs(time),
    })),
  );
}

const forget = (tx: Transaction, account: string, bills: readonly BillKey[]) =>
  tx.execute(sql`
    delete from bill_order
    where account = ${account}
      and (product_type, bill_id) in (
        select product_type, bill_id
        from unnest(${keyArrays(bills)}) as moved (product_type, bill_id)
      )`);

/** Forgets the learned places of bills whose time was restated. */
export async function forgetMovedBills(tx: Transaction, account: string): Promise<void> {
  const { rows } = await tx.execute<{
    productType: ProductType;
    billId: string;
    coin: string;
    ms: string;
  }>(sql`
    select
      bills.product_type as "productType",
      bills.bill_id as "billId",
      coin,
      ${msOf(sql`c_time`)} as ms
    from bill_order
    join bills
      on bills.account = ${account}
      and bills.product_type = bill_order.product_type
      and bills.bill_id = bill_order.bill_id
    where bill_order.account = ${account}
      and booked_at not between bills.c_time
        and bills.c_time + ${bookedMaxOf("bills.product_type")}`);
  if (rows.length === 0) return;
  await forget(tx, account, rows);
  await reorderInDays(
    tx,
    account,
    rows.map(({ ms, ...bill }) => ({ ...bill, cTime: timeFrom(ms) })),
  );
}
