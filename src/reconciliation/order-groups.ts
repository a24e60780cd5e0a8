import { type SQL, sql } from "drizzle-orm";
import type { ProductType } from "../contract/product-types.ts";
import type { Transaction } from "../db/connect.ts";
import { bookedMaxOf, joinOrder } from "../db/sql/chain-order.ts";
import { msOf } from "../db/sql/time-text.ts";
import { productTypesOf } from "../db/sql/wallet.ts";
import { joinRules, walletMoves } from "../db/sql/wallet-moves.ts";
import type { AccountScope } from "./bills-to-check.ts";
import { neighbour } from "./group-neighbours.ts";

/** A bill of a group that may be out of order. */
export type GroupedBill = {
  readonly account: string;
  readonly wallet: string;
  readonly productType: ProductType;
  readonly coin: string;
  readonly billId: string;
  /** Milliseconds since the Unix epoch. */
  readonly time: number;
  /** The bill's place in the group when sorted by id alone. */
  readonly idRank: number;
  /** What was learned before: the bill's place among those of its time, and when it was booked, ms. */
  readonly place: number | null;
  readonly bookedMs: number | undefined;
  /** In units of the group's smallest decimal. */
  readonly moved: bigint;
  readonly after: bigint | undefined;
  /** The balances before and after the group, where they are known. */
  readonly start: bigint | undefined;
  readonly end: bigint | undefined;
  readonly tolerance: bigint;
};

// One millisecond may have thousands of bills. Where as many within seconds do not follow each other,
// they are not out of order: a rule is still to be learned.
const groupMax = 5_000;
// Bills in memory at a time: some 500 bytes each.
const batchBills = 20_000;

/**
 * The bills among which one is off, group by group, each group sorted by time and then by id. A group has
 * all bills of its time, and no bill of another time was booked within it.
 */
export async function* readGroups(
  tx: Transaction,
  { account }: AccountScope,
): AsyncGenerator<readonly (readonly GroupedBill[])[]> {
  await collectOffTimes(tx, account);
  await collectLateBills(tx, account);
  await collectGroups(tx, account);
  const { rows } = await tx.execute<{ batches: number }>(
    sql`select coalesce(max(batch) + 1, 0)::int as batches from bill_groups`,
  );
  const batches = rows[0]?.batches ?? 0;
  for (let batch = 0; batch < batches; batch++) {
    const bills = await readBatch(tx, account, batch);
    yield [...Map.groupBy(bills, ({ group }) => group).values()];
  }
}

const isOfChain = (account: string, bills: string, chain: string): SQL => sql`
        ${sql.raw(bills)}.account = ${account}
        and ${sql.raw(bills)}.product_type = any(${productTypesOf(`${chain}.wallet`)})
        and ${sql.raw(`${bills}.coin = ${chain}.coin`)}`;

/**
 * The times of bills whose balance is off, of the bills whose balance it does not follow, and of the bills
 * between the two. A temporary table, so that Postgres knows its size: as parts of one statement, 80,000
 * bills, 20,000 of them out of order, took 66 s.
 */
async function collectOffTimes(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`drop table if exists off_times, late_bills, off_groups, bill_groups`);
  await tx.execute(sql`
    create temporary table off_times on commit drop as
    with off as (
      select residuals.*, base.c_time as base_time
      from residuals
      join bills as base
        on base.account = ${account}
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
      on suspects.account = off.account
      and suspects.wallet = off.wallet
      and suspects.coin = off.coin
      and suspects.position between off.position - off.steps + 1 and off.position
    where off.steps > 1`);
  await tx.execute(sql`analyze off_times`);
}

/** The bills that are known to be booked after their time: few, and none in a classic account. */
async function collectLateBills(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`
    create temporary table late_bills on commit drop as
    select
      bills.account,
      chains.wallet,
      bills.product_type,
      bills.coin,
      bills.bill_id,
      c_time,
      business_type,
      amount,
      fee,
      fee_by_coupon,
      balance,
      place,
      booked_at
    from (select distinct account, wallet, coin from off_times) as chains
    join bill_order
      on bill_order.account = ${account}
      and bill_order.product_type = any(${productTypesOf("chains.wallet")})
    join bills
      on bills.account = ${account}
      and bills.product_type = bill_order.product_type
      and bills.bill_id = bill_order.bill_id
      and bills.coin = chains.coin
    where booked_at is not null`);
  await tx.execute(sql`analyze late_bills`);
}

/**
 * Groups of bills that are off, with all bills that they may have changed places with, and those known to
 * be booked between them. The others need not be off themselves: a bill that moves nothing fits in more
 * than one place. No group spans midnight, since each day is computed from its own bills.
 */
async function collectGroups(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`
    create temporary table off_groups on commit drop as
    with near as (
      select
        account,
        wallet,
        coin,
        tstzrange(
          greatest(c_time - ${bookedMaxOf("wallet")}, day_start),
          least(
            c_time + ${bookedMaxOf("wallet")},
            day_start + interval '1 day' - interval '1 millisecond'
          ),
          '[]'
        ) as time
      from off_times
      cross join lateral (
        select (c_time at time zone 'UTC')::date::timestamp at time zone 'UTC' as day_start
      ) as days
    ),
    joined as (
      select account, wallet, coin, unnest(range_agg(time)) as time
      from (
        select * from near
        union all
        select account, wallet, coin, tstzrange(c_time, booked_at, '[]')
        from late_bills
      ) as spans
      group by account, wallet, coin
    ),
    counted as (
      select
        joined.account,
        joined.wallet,
        joined.coin,
        lower(time) as from_time,
        upper(time) as to_time,
        (
          select count(*)
          from bills
          where ${isOfChain(account, "bills", "joined")}
            and bills.c_time between lower(time) and upper(time)
        ) as bills
      from joined
      where exists (
        select 1
        from near
        where near.account = joined.account
          and near.wallet = joined.wallet
          and near.coin = joined.coin
          and near.time <@ joined.time
      )
    )
    select
      counted.*,
      row_number() over places as "group",
      div(sum(bills) over places, ${batchBills}::int)::int as batch
    from counted
    where bills > 1
      and (bills <= ${groupMax} or from_time = to_time)
    window places as (order by account, wallet, coin, from_time)`);
  await tx.execute(sql`analyze off_groups`);
  // A statement of its own: joined with the bills, this would be computed again for each bill.
  await tx.execute(sql`
    create temporary table bill_groups on commit drop as
    select off_groups.*, before.balance as start, after.balance as "end"
    from off_groups
    cross join lateral (${neighbour(account, "before")}) as before
    cross join lateral (${neighbour(account, "after")}) as after`);
  await tx.execute(sql`analyze bill_groups`);
}

type Row = Record<"account" | "wallet" | "coin" | "billId" | "group", string> & {
  readonly productType: ProductType;
  readonly time: string;
  readonly idRank: number;
  readonly place: number | null;
  readonly bookedMs: string | null;
  readonly moved: string;
  readonly after: string | null;
  readonly start: string | null;
  readonly end: string | null;
  readonly tolerance: string;
};

async function readBatch(tx: Transaction, account: string, batch: number) {
  const { rows } = await tx.execute<Row>(sql`
    with members as (
      select
        bill_groups."group",
        bill_groups.account,
        bill_groups.wallet,
        bills.product_type,
        bill_groups.coin,
        bills.c_time,
        start,
        "end",
        bills.bill_id,
        place,
        booked_at,
        bills.balance,
        ${walletMoves("bills").moved} as moved
      from bill_groups
      join bills
        on ${isOfChain(account, "bills", "bill_groups")}
        and bills.c_time between from_time and to_time
      ${joinRules("bills", account)}
      ${joinOrder("bills", account)}
      where batch = ${batch}
    ),
    scaled as (
      select
        members.*,
        max(greatest(scale(balance), scale(moved), 8)) over (partition by "group") as scale,
        row_number() over (
          partition by "group"
          order by length(bill_id), bill_id, product_type
        )::int as id_rank
      from members
    )
    select
      "group",
      account,
      wallet,
      product_type as "productType",
      coin,
      ${msOf(sql`c_time`)} as time,
      bill_id as "billId",
      id_rank as "idRank",
      place,
      ${msOf(sql`booked_at`)} as "bookedMs",
      trunc(moved * 10::numeric ^ scale)::text as moved,
      trunc(balance * 10::numeric ^ scale)::text as after,
      trunc(start * 10::numeric ^ scale)::text as start,
      trunc("end" * 10::numeric ^ scale)::text as end,
      trunc(10::numeric ^ (scale - 8))::text as tolerance
    from scaled
    order by "group", c_time, id_rank`);
  const units = (text: string | null) => (text === null ? undefined : BigInt(text));
  return rows.map((row) => ({
    ...row,
    time: Number(row.time),
    bookedMs: row.bookedMs === null ? undefined : Number(row.bookedMs),
    moved: BigInt(row.moved),
    after: units(row.after),
    start: units(row.start),
    end: units(row.end),
    tolerance: BigInt(row.tolerance),
  }));
}
