import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { markMeaningOf } from "../db/days/mark-days.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { timeText } from "../db/sql/time-text.ts";
import { productTypesOf } from "../db/sql/wallet.ts";
import { joinRules, walletMoves } from "../db/sql/wallet-moves.ts";
import { chainedOrder, type Step } from "./millisecond-order.ts";

type Row = {
  readonly account: string;
  readonly wallet: string;
  readonly product_type: string;
  readonly coin: string;
  readonly time: string;
  readonly bill_id: string;
  readonly place: number | null;
  /** In units of the group's smallest decimal. */
  readonly moved: string;
  readonly after: string | null;
  readonly start: string | null;
  readonly end: string | null;
  readonly tolerance: string;
};

/**
 * Tries to find, for every millisecond in which the balances do not follow each other by id, an
 * order in which they do, and keeps it.
 * @returns whether any order was changed.
 */
export async function orderMilliseconds(tx: Transaction): Promise<boolean> {
  const rows = await readGroups(tx);
  const groups = Map.groupBy(rows, (row) =>
    JSON.stringify([row.account, row.wallet, row.coin, row.time]),
  );
  const changed: Placed[] = [];
  for (const group of groups.values()) {
    const order = orderOf(group);
    const placed = group.map((row) => ({ ...row, newPlace: order.get(keyOf(row)) ?? 0 }));
    if (placed.some(({ place, newPlace }) => (place ?? 0) !== newPlace)) changed.push(...placed);
  }
  await writeOrder(tx, changed);
  return changed.length > 0;
}

type Placed = Row & {
  /** From 1; 0 where the bill goes by its id. */
  readonly newPlace: number;
};

/** An id may stand in two categories of a unified account. */
const keyOf = ({ product_type, bill_id }: Row): string => `${product_type}/${bill_id}`;

/** The places of a millisecond's bills, from 1; none where their ids say it all. */
function orderOf(group: readonly Row[]): ReadonlyMap<string, number> {
  const steps = group.map(
    (row): Step => ({
      billId: keyOf(row),
      moved: BigInt(row.moved),
      after: row.after === null ? undefined : BigInt(row.after),
    }),
  );
  const [first] = group;
  const balance = (text: string | null | undefined) => (text == null ? undefined : BigInt(text));
  const order = chainedOrder({
    steps,
    start: balance(first?.start),
    end: balance(first?.end),
    tolerance: BigInt(first?.tolerance ?? 0),
  });
  const isById = order.every((billId, index) => billId === steps[index]?.billId);
  return new Map(isById ? [] : order.map((billId, index) => [billId, index + 1]));
}

// Longer rows of bills without a balance, before or after a millisecond, leave its start or end unknown.
const neighboursMax = 16;

const sameChain = (left: string, right: string): SQL =>
  sql.raw(["account", "wallet", "coin"].map((c) => `${left}.${c} = ${right}.${c}`).join(" and "));

const isOfChain = (bills: string, chain: string): SQL => sql`
        ${sql.raw(`${bills}.account = ${chain}.account`)}
        and ${sql.raw(bills)}.product_type = any(${productTypesOf(`${chain}.wallet`)})
        and ${sql.raw(`${bills}.coin = ${chain}.coin`)}`;

/**
 * What the bill before a millisecond ended with, and what the bill after it begins with, as far
 * as the nearest served balance and the bills up to it tell.
 */
function neighbour(side: "before" | "after"): SQL {
  const isBefore = side === "before";
  const nearestFirst = (table: string) =>
    sql.raw(
      [
        `${table}.c_time`,
        "place",
        `length(${table}.bill_id)`,
        `${table}.bill_id`,
        `${table}.product_type`,
      ]
        .map((column) => `${column} ${isBefore ? "desc" : "asc"}`)
        .join(", "),
    );
  const counted = isBefore ? sql`coalesce(balance, moved)` : sql`coalesce(balance, 0) - moved`;
  return sql`
      select
        case
          when bool_or(balance is not null)
          then sum(${counted}) filter (where shown = 0 or (shown = 1 and balance is not null))
        end as balance
      from (
        select
          balance,
          ${walletMoves("nearest").moved} as moved,
          count(balance) over (
            order by ${nearestFirst("nearest")}
            rows unbounded preceding
          ) as shown
        from (
          select
            bills.account,
            bills.product_type,
            bills.bill_id,
            bills.c_time,
            business_type,
            amount,
            fee,
            fee_by_coupon,
            balance,
            coalesce(bill_order.place, 0) as place
          from bills
          left join bill_order
            on bill_order.account = bills.account
            and bill_order.product_type = bills.product_type
            and bill_order.bill_id = bills.bill_id
          where ${isOfChain("bills", "shared")}
            and bills.c_time ${sql.raw(isBefore ? "<" : ">")} shared.c_time
          order by ${nearestFirst("bills")}
          limit ${neighboursMax}
        ) as nearest
        ${joinRules("nearest")}
      ) as counted`;
}

/** All bills of the milliseconds in which one is off and that is not alone, by their ids. */
async function readGroups(tx: Transaction): Promise<readonly Row[]> {
  await collectMilliseconds(tx);
  const { rows } = await tx.execute<Row>(sql`
    with members as (
      select
        shared.account,
        shared.wallet,
        bills.product_type,
        shared.coin,
        shared.c_time,
        start,
        "end",
        bills.bill_id,
        place,
        balance,
        ${walletMoves("bills").moved} as moved
      from shared_milliseconds as shared
      join bills
        on ${isOfChain("bills", "shared")}
        and bills.c_time = shared.c_time
      ${joinRules("bills")}
      left join bill_order
        on bill_order.account = bills.account
        and bill_order.product_type = bills.product_type
        and bill_order.bill_id = bills.bill_id
    ),
    scaled as (
      select
        members.*,
        max(greatest(scale(balance), scale(moved), 8)) over (
          partition by account, wallet, coin, c_time
        ) as scale
      from members
    )
    select
      account,
      wallet,
      product_type,
      coin,
      ${timeText(sql`c_time`)} as time,
      bill_id,
      place,
      trunc(moved * 10::numeric ^ scale)::text as moved,
      trunc(balance * 10::numeric ^ scale)::text as after,
      trunc(start * 10::numeric ^ scale)::text as start,
      trunc("end" * 10::numeric ^ scale)::text as end,
      trunc(10::numeric ^ (scale - 8))::text as tolerance
    from scaled
    order by account, wallet, coin, c_time, length(bill_id), bill_id, product_type`);
  return rows;
}

/**
 * The milliseconds of several bills in which a balance is off, or in which the way to it began,
 * with the balances around them. In tables of
 * their own, whose sizes Postgres knows: as parts of one statement they took 66 s for 80,000
 * bills, 20,000 of them out of order.
 */
async function collectMilliseconds(tx: Transaction): Promise<void> {
  await tx.execute(sql`drop table if exists off_milliseconds, shared_milliseconds`);
  await tx.execute(sql`
    create temporary table off_milliseconds on commit drop as
    with off as (
      select residuals.*, base.c_time as base_time
      from residuals
      join bills as base
        on base.account = residuals.account
        and base.product_type = residuals.base_product_type
        and base.bill_id = residuals.base_bill_id
      where not is_small
    )
    select account, wallet, coin, c_time
    from off
    union
    select account, wallet, coin, base_time
    from off
    union
    select off.account, off.wallet, off.coin, suspects.c_time
    from off
    join suspects
      on ${sameChain("suspects", "off")}
      and suspects.position between off.position - off.steps + 1 and off.position
    where off.steps > 1`);
  await tx.execute(sql`analyze off_milliseconds`);
  await tx.execute(sql`
    create temporary table shared_milliseconds on commit drop as
    select shared.*, before.balance as start, after.balance as "end"
    from off_milliseconds as shared
    cross join lateral (${neighbour("before")}) as before
    cross join lateral (${neighbour("after")}) as after
    where (
      select count(*)
      from bills
      where ${isOfChain("bills", "shared")}
        and bills.c_time = shared.c_time
    ) > 1`);
  await tx.execute(sql`analyze shared_milliseconds`);
}

async function writeOrder(tx: Transaction, placed: readonly Placed[]): Promise<void> {
  if (placed.length === 0) return;
  await markMeaningOf(
    tx,
    sql`
    from unnest(
      ${textArray(placed.map(({ account }) => account))}::text[],
      ${textArray(placed.map(({ product_type }) => product_type))}::text[],
      ${textArray(placed.map(({ time }) => time))}::timestamptz[]
    ) as placed (account, product_type, c_time)`,
  );
  await tx.execute(sql`
    with placed as (
      select account, product_type, bill_id, place
      from unnest(
        ${textArray(placed.map(({ account }) => account))}::text[],
        ${textArray(placed.map(({ product_type }) => product_type))}::text[],
        ${textArray(placed.map(({ bill_id }) => bill_id))}::text[],
        ${textArray(placed.map(({ newPlace }) => String(newPlace)))}::integer[]
      ) as placed (account, product_type, bill_id, place)
    ),
    unplaced as (
      delete from bill_order
      using placed
      where bill_order.account = placed.account
        and bill_order.product_type = placed.product_type
        and bill_order.bill_id = placed.bill_id
        and placed.place = 0
    )
    insert into bill_order (account, product_type, bill_id, place)
    select account, product_type, bill_id, place
    from placed
    where place > 0
    on conflict (account, product_type, bill_id) do update
    set place = excluded.place`);
}
