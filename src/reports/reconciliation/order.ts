import { sql } from "drizzle-orm";
import { textArray } from "../../db/array-literal.ts";
import type { Transaction } from "../../db/connect.ts";
import type { Entries } from "./entries.ts";
import { lastPlace } from "./learn.ts";
import { chainedOrder, type Step } from "./millisecond-order.ts";

type Row = {
  readonly account: string;
  readonly product_type: string;
  readonly coin: string;
  readonly time: string;
  readonly bill_id: string;
  readonly place: number | null;
  /** In units of the group's smallest decimal. */
  readonly moved: string;
  readonly after: string | null;
  readonly start: string | null;
  readonly tolerance: string;
};

/**
 * Tries to find, for every millisecond in which the balances do not follow each other by id, an
 * order in which they do, and keeps it.
 * @returns whether any order was changed.
 */
export async function orderMilliseconds(tx: Transaction, entries: Entries): Promise<boolean> {
  const rows = await readGroups(tx, entries);
  const groups = Map.groupBy(rows, (row) =>
    JSON.stringify([row.account, row.product_type, row.coin, row.time]),
  );
  let isChanged = false;
  for (const group of groups.values()) {
    const order = orderOf(group);
    const isNew = group.some(({ bill_id, place }) => (place ?? 0) !== (order.get(bill_id) ?? 0));
    if (!isNew) continue;
    isChanged = true;
    await writeOrder(tx, group, order);
  }
  return isChanged;
}

/** The places of a millisecond's bills, from 1; none where their ids say it all. */
function orderOf(group: readonly Row[]): ReadonlyMap<string, number> {
  const steps = group.map(
    ({ bill_id, moved, after }): Step => ({
      billId: bill_id,
      moved: BigInt(moved),
      after: after === null ? undefined : BigInt(after),
    }),
  );
  const [first] = group;
  const start = first?.start ?? undefined;
  const order = chainedOrder({
    steps,
    start: start === undefined ? undefined : BigInt(start),
    tolerance: BigInt(first?.tolerance ?? 0),
  });
  const isById = order.every((billId, index) => billId === steps[index]?.billId);
  return new Map(isById ? [] : order.map((billId, index) => [billId, index + 1]));
}

/** All bills of the milliseconds in which one is off and that is not alone, by their ids. */
async function readGroups(tx: Transaction, entries: Entries): Promise<readonly Row[]> {
  const { rows } = await tx.execute<Row>(sql`
    with milliseconds as (
      select distinct account, product_type, coin, c_time
      from residuals
      where is_testable
        and abs(residual) > ${lastPlace}
    ),
    members as (
      select
        bills.account,
        bills.product_type,
        bills.coin,
        bills.c_time,
        bills.bill_id,
        place,
        balance,
        ${entries.moved} as moved,
        count(*) over group_ as members,
        max(greatest(scale(balance), scale(${entries.moved}), 8)) over group_ as scale
      ${entries.from}
      join milliseconds
        on milliseconds.account = bills.account
        and milliseconds.product_type = bills.product_type
        and milliseconds.coin = bills.coin
        and milliseconds.c_time = bills.c_time
      left join bill_order
        on bill_order.account = bills.account
        and bill_order.product_type = bills.product_type
        and bill_order.bill_id = bills.bill_id
      window group_ as (
        partition by bills.account, bills.product_type, bills.coin, bills.c_time
      )
    )
    select
      members.account,
      members.product_type,
      members.coin,
      members.c_time::text as time,
      members.bill_id,
      members.place,
      trunc(moved * 10::numeric ^ scale)::text as moved,
      trunc(members.balance * 10::numeric ^ scale)::text as after,
      trunc(start.balance * 10::numeric ^ scale)::text as start,
      trunc(10::numeric ^ (scale - 8))::text as tolerance
    from members
    left join lateral (
      select earlier.balance
      from bills as earlier
      left join bill_order as earlier_order using (account, product_type, bill_id)
      where earlier.account = members.account
        and earlier.product_type = members.product_type
        and earlier.coin = members.coin
        and earlier.c_time < members.c_time
      order by
        earlier.c_time desc,
        coalesce(earlier_order.place, 0) desc,
        length(earlier.bill_id) desc,
        earlier.bill_id desc
      limit 1
    ) as start on true
    where members > 1
    order by 1, 2, 3, members.c_time, length(members.bill_id), members.bill_id`);
  return rows;
}

async function writeOrder(
  tx: Transaction,
  group: readonly Row[],
  order: ReadonlyMap<string, number>,
): Promise<void> {
  const [first] = group;
  if (first === undefined) return;
  const billIds = group.map(({ bill_id }) => bill_id);
  await tx.execute(sql`
    delete from bill_order
    where account = ${first.account}
      and product_type = ${first.product_type}
      and bill_id = any(${textArray(billIds)}::text[])`);
  await tx.execute(sql`
    insert into bill_order (account, product_type, bill_id, place)
    select ${first.account}, ${first.product_type}, bill_id, place
    from unnest(
      ${textArray([...order.keys()])}::text[],
      ${textArray([...order.values()].map(String))}::integer[]
    ) as ordered (bill_id, place)`);
}
