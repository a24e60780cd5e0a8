import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { chainOrder, joinOrder, unlearnedOrder } from "../db/sql/chain-order.ts";
import { walletOf } from "../db/sql/wallet.ts";
import { joinRules, walletMoves } from "../db/sql/wallet-moves.ts";
import type { AccountScope, BillsToCheck } from "./bills-to-check.ts";
import { lastPlace } from "./rule-evidence.ts";

const wallet = walletOf("bills.product_type");

/**
 * Finds, in one pass over the chains, the bills whose balance is not the previous one plus what they move,
 * and those for which the two balances alone cannot tell.
 */
export async function collectSuspects(
  tx: Transaction,
  { account }: AccountScope,
  bills: BillsToCheck,
): Promise<void> {
  await tx.execute(sql`drop table if exists off_chain`);
  await tx.execute(sql`drop table if exists suspects`);
  const { join, order } = await knownOrder(tx, account);
  await tx.execute(sql`
    create temporary table off_chain on commit drop as
    select *
    from (
      select
        bills.account,
        ${wallet} as wallet,
        bills.product_type,
        bills.coin,
        bills.bill_id,
        bills.c_time,
        business_type,
        amount,
        fee,
        fee_by_coupon,
        balance,
        ${bills.isException} as is_exception,
        row_number() over chain as position,
        lag(balance) over chain as previous,
        lag(bills.bill_id) over chain as previous_bill_id,
        lag(bills.product_type) over chain as previous_product_type
      ${bills.from}
      ${join}
      where ${bills.where}
      window chain as (
        partition by bills.account, ${wallet}, bills.coin
        order by ${order}
      )
    ) as chained
    where balance is null
      or previous is null
      or is_exception
      or balance - previous <> amount + fee`);
  await tx.execute(sql`
    create temporary table suspects on commit drop as
    with candidates as (
      select
        off_chain.account,
        wallet,
        off_chain.product_type,
        off_chain.coin,
        bill_id,
        c_time,
        off_chain.business_type,
        business_types.category,
        rule.is_testable,
        amount,
        fee,
        fee_by_coupon,
        balance,
        ${walletMoves("off_chain").moved} as moved,
        position,
        previous,
        previous_bill_id,
        previous_product_type
      from off_chain
      ${joinRules("off_chain", account)}
    )
    select candidates.*
    from candidates
    where balance is null
      or previous is null
      or balance - previous <> moved`);
}

/** How to sort the bills of a chain. Joins nothing where all are ordered by their times and ids. */
async function knownOrder(
  tx: Transaction,
  account: string,
): Promise<{ readonly join: SQL; readonly order: SQL }> {
  const { rowCount } = await tx.execute(
    sql`select 1 from bill_order where account = ${account} limit 1`,
  );
  return rowCount === 0
    ? { join: sql``, order: unlearnedOrder("bills") }
    : { join: joinOrder("bills", account), order: chainOrder("bills") };
}

/**
 * Computes how far each suspect is off, from the last served balance before it. The first balance of a
 * chain cannot be checked.
 */
export async function collectResiduals(tx: Transaction): Promise<void> {
  await tx.execute(sql`drop table if exists residuals`);
  await tx.execute(sql`
    create temporary table residuals on commit drop as
    with numbered as (
      select
        suspects.*,
        -- A stretch begins after a served balance, and ends with the next one.
        count(*) filter (where previous is not null or position = 1) over chain as stretch
      from suspects
      window chain as (partition by account, wallet, coin order by position)
    ),
    stretched as (
      select
        numbered.*,
        first_value(previous) over stretch as base,
        first_value(previous_bill_id) over stretch as base_bill_id,
        first_value(previous_product_type) over stretch as base_product_type,
        sum(moved) over stretch as moved_since,
        count(*) over stretch as steps,
        bool_and(is_testable) over stretch as are_testable
      from numbered
      window stretch as (
        partition by account, wallet, coin, stretch
        order by position
        rows unbounded preceding
      )
    )
    select
      account,
      wallet,
      product_type,
      coin,
      bill_id,
      -- Two categories of a unified account may have the same id.
      case when wallet = product_type then bill_id else product_type || '/' || bill_id end as anchor,
      c_time,
      business_type,
      category,
      amount,
      fee,
      balance,
      moved,
      position,
      base_bill_id,
      base_product_type,
      steps,
      are_testable as is_testable,
      base + moved_since as expected,
      balance - base - moved_since as residual,
      -- Each bill of the stretch may have been rounded.
      abs(balance - base - moved_since) <= steps * ${lastPlace} as is_small
    from stretched
    where balance - base - moved_since <> 0`);
}

/**
 * Adds the bills up by day and type, regardless of their order. The readers of the sums apply the rules:
 * joining those to every bill costs a third of the pass.
 */
export async function collectDaySums(tx: Transaction, bills: BillsToCheck): Promise<void> {
  await tx.execute(sql`drop table if exists day_sums`);
  await tx.execute(sql`
    create temporary table day_sums on commit drop as
    select
      account,
      ${walletOf("product_type")} as wallet,
      product_type,
      coin,
      business_type,
      (day_start at time zone 'UTC')::date as day,
      bills,
      amount,
      fee,
      fee_by_coupon,
      last_time
    from (
      select
        bills.account,
        bills.product_type,
        bills.coin,
        bills.business_type,
        -- Cheaper than a cast to date. The origin is older than any bill: before it, old servers round
        -- down twice.
        date_bin('1 day', bills.c_time, timestamptz 'epoch') as day_start,
        count(*) as bills,
        sum(amount) as amount,
        sum(fee) as fee,
        sum(fee_by_coupon) as fee_by_coupon,
        max(bills.c_time) as last_time
      ${bills.from}
      where ${bills.where}
      group by 1, 2, 3, 4, 5
    ) as summed`);
}
