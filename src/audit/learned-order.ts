import { sql } from "drizzle-orm";
import type { ProductType } from "../contract/product-types.ts";
import { epochMs, isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { reorderInDays } from "../ledger/days.ts";
import type { ChainBill } from "./order.ts";

/** A bill that was found in another place, and its chain's coin. */
export type MovedBill = { readonly bill: ChainBill; readonly coin: string };

/** Stores the places of bills that their times and ids do not give. */
export async function writeOrder(
  tx: Transaction,
  account: string,
  moved: readonly MovedBill[],
): Promise<void> {
  if (moved.length === 0) return;
  const column = (textIn: (bill: ChainBill) => string | null) =>
    textArray(moved.map(({ bill }) => textIn(bill)));
  const productTypes = sql`${column(({ productType }) => productType)}::text[]`;
  const ids = sql`${column(({ billId }) => billId)}::text[]`;
  const isById = ({ time, place, at }: ChainBill) => place === 0 && at === time;
  await tx.execute(sql`
    delete from bill_order
    where account = ${account}
      and (product_type, bill_id) in (
        select product_type, bill_id
        from unnest(${productTypes}, ${ids}, ${column((one) => String(isById(one)))}::boolean[])
          as placed (product_type, bill_id, is_by_id)
        where is_by_id
      )`);
  await tx.execute(sql`
    insert into bill_order (account, product_type, bill_id, place, booked_at)
    select ${account}, product_type, bill_id, place, booked_at
    from unnest(
      ${productTypes},
      ${ids},
      ${column(({ place }) => String(place))}::integer[],
      ${column(({ time, at }) => (at === time ? null : isoTime(epochMs(at))))}::timestamptz[]
    ) as placed (product_type, bill_id, place, booked_at)
    where place > 0
      or booked_at is not null
    on conflict (account, product_type, bill_id) do update
    set
      place = excluded.place,
      booked_at = excluded.booked_at`);
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
  const productTypes = sql`${textArray(rows.map(({ productType }) => productType))}::text[]`;
  await tx.execute(sql`
    delete from bill_order
    where account = ${account}
      and (product_type, bill_id) in (
        select product_type, bill_id
        from unnest(${productTypes}, ${textArray(rows.map(({ billId }) => billId))}::text[])
          as moved (product_type, bill_id)
      )`);
  await reorderInDays(
    tx,
    account,
    rows.map(({ ms, ...bill }) => ({ ...bill, cTime: timeFrom(ms) })),
  );
}
