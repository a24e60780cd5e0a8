import { sql } from "drizzle-orm";
import { unifiedWallet } from "../contract/product-types.ts";
import { epochMs, isoTime, unifiedBookedMaxMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { markMeaningOf } from "../db/days/mark-days.ts";
import { reorderInDays } from "../db/days/written-bills.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import type { AccountScope } from "./bills-to-check.ts";
import { chainedOrder, type Step } from "./booking-order.ts";
import { type GroupedBill, readGroups } from "./order-groups.ts";

/**
 * Wherever balances do not follow each other in the order of their bills' times and ids, tries to find an
 * order in which they do, and stores it. In a classic account bills may change places within their
 * millisecond; in a unified one, within the seconds that a bill may be booked after its time.
 * @returns whether any order was changed.
 */
export async function orderBills(tx: Transaction, scope: AccountScope): Promise<boolean> {
  let isChanged = false;
  for await (const groups of readGroups(tx, scope)) {
    const changed = groups.flatMap((group) => {
      const placed = placesOf(group);
      return placed.some(isMoved) ? placed : [];
    });
    await writeOrder(tx, scope, changed);
    isChanged ||= changed.length > 0;
  }
  return isChanged;
}

type Placed = GroupedBill & {
  /** From 1; 0 where the bill is sorted by its id. */
  readonly newPlace: number;
  readonly newBookedMs: number | undefined;
};

const isMoved = ({ place, bookedMs, newPlace, newBookedMs }: Placed): boolean =>
  (place ?? 0) !== newPlace || bookedMs !== newBookedMs;

/** Names a bill in its group: two categories of a unified account may have the same id. */
const keyOf = ({ productType, billId }: GroupedBill): string => `${productType}/${billId}`;

const byId = (a: GroupedBill, b: GroupedBill): number => a.idRank - b.idRank;

/** The places to store for a group's bills where their times and ids do not give the order. */
function placesOf(group: readonly GroupedBill[]): readonly Placed[] {
  const [first] = group;
  if (first === undefined) return [];
  const stepOf = (bill: GroupedBill): Step => ({ ...bill, billId: keyOf(bill) });
  const isUnifiedWallet = first.wallet === unifiedWallet;
  const order = chainedOrder({
    steps: group.map(stepOf),
    ...(isUnifiedWallet && { byId: group.toSorted(byId).map(stepOf) }),
    start: first.start,
    end: first.end,
    tolerance: first.tolerance,
    bookedMaxMs: isUnifiedWallet ? unifiedBookedMaxMs : 0,
  });
  const bills = new Map(group.map((bill) => [keyOf(bill), bill]));
  let latest = Number.NEGATIVE_INFINITY;
  const booked = order.flatMap((key) => {
    const bill = bills.get(key);
    if (bill === undefined) return [];
    latest = Math.max(latest, bill.time);
    return [{ bill, at: latest }];
  });
  const together = Map.groupBy(booked, ({ at }) => at).values();
  return [...together].flatMap((sameTime) => {
    const isById = sameTime.every(({ bill }, index) => {
      const before = sameTime[index - 1];
      return before === undefined || byId(before.bill, bill) < 0;
    });
    return sameTime.map(({ bill, at }, index) => ({
      ...bill,
      newPlace: isById ? 0 : index + 1,
      newBookedMs: at === bill.time ? undefined : at,
    }));
  });
}

async function writeOrder(
  tx: Transaction,
  { account }: AccountScope,
  placed: readonly Placed[],
): Promise<void> {
  if (placed.length === 0) return;
  const isoOf = (ms: number) => isoTime(epochMs(ms));
  await markMeaningOf(
    tx,
    account,
    sql`
    from unnest(
      ${textArray(placed.map(({ productType }) => productType))}::text[],
      ${textArray(placed.map(({ time }) => isoOf(time)))}::timestamptz[]
    ) as placed (product_type, c_time)`,
  );
  const bookedAt = ({ newBookedMs }: Placed) =>
    newBookedMs === undefined ? null : isoOf(newBookedMs);
  await tx.execute(sql`
    with placed as (
      select product_type, bill_id, place, booked_at
      from unnest(
        ${textArray(placed.map(({ productType }) => productType))}::text[],
        ${textArray(placed.map(({ billId }) => billId))}::text[],
        ${textArray(placed.map(({ newPlace }) => String(newPlace)))}::integer[],
        ${textArray(placed.map(bookedAt))}::timestamptz[]
      ) as placed (product_type, bill_id, place, booked_at)
    ),
    unplaced as (
      delete from bill_order
      using placed
      where bill_order.account = ${account}
        and bill_order.product_type = placed.product_type
        and bill_order.bill_id = placed.bill_id
        and placed.place = 0
        and placed.booked_at is null
    )
    insert into bill_order (account, product_type, bill_id, place, booked_at)
    select ${account}, product_type, bill_id, place, booked_at
    from placed
    where place > 0
      or booked_at is not null
    on conflict (account, product_type, bill_id) do update
    set
      place = excluded.place,
      booked_at = excluded.booked_at`);
  await reorderInDays(
    tx,
    account,
    placed.map((bill) => ({ ...bill, cTime: epochMs(bill.time) })),
  );
}

/** Forgets the learned places of bills whose time was restated. */
export async function forgetMovedBills(tx: Transaction, { account }: AccountScope): Promise<void> {
  const isMovedAway = sql`
        bill_order.account = ${account}
        and bills.account = ${account}
        and bills.product_type = bill_order.product_type
        and bills.bill_id = bill_order.bill_id
        and booked_at not between bills.c_time
          and bills.c_time + ${bookedMaxOf("bills.product_type")}`;
  await markMeaningOf(
    tx,
    account,
    sql`
      from (
        select bills.product_type, bills.c_time
        from bill_order
        join bills on ${isMovedAway}
      ) as moved_away`,
  );
  const { rows } = await tx.execute<
    Pick<GroupedBill, "productType" | "billId" | "coin"> & { ms: string }
  >(sql`
    select
      bills.product_type as "productType",
      bills.bill_id as "billId",
      coin,
      ${msOf(sql`c_time`)} as ms
    from bill_order
    join bills on ${isMovedAway}`);
  await tx.execute(sql`delete from bill_order using bills where ${isMovedAway}`);
  await reorderInDays(
    tx,
    account,
    rows.map(({ ms, ...bill }) => ({ ...bill, cTime: timeFrom(ms) })),
  );
}
