import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { dayOfColumn } from "../db/days/mark-days.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { timeText } from "../db/sql/time-text.ts";
import { productTypesOf, walletOf } from "../db/sql/wallet.ts";
import {
  type AccountScope,
  type Chosen,
  lastGoodProductType,
  ofScope,
  timeBetween,
  within,
} from "./bills-to-check.ts";
import type { BreakKind } from "./breaks.ts";

// A transaction that was under way during the last check may have committed bills since, with times
// before that check. No transaction lasts longer than this.
const underWayMax = sql`interval '10 minutes'`;

/**
 * The time of the database's clock before which no bill was stored that the last check did not see.
 * @returns undefined where all bills must be checked: a stream never was, or the mapping of a type has changed.
 */
export async function readCheckedTo(
  tx: Transaction,
  scope: AccountScope,
): Promise<string | undefined> {
  const { account, productTypes } = scope;
  const { rows } = await tx.execute<{ checked_to: string | null }>(sql`
    select
      case
        when isfinite(min(ingested_before))
        then ${timeText(sql`(min(ingested_before) - ${underWayMax})`)}
      end as checked_to
    from reconciled_chains
    where account = ${account}
      and ${within("product_type", productTypes)}
      and not exists (
        select 1
        from streams as bills
        where ${ofScope(scope)}
          and bills.bills > 0
          and not exists (
            select 1
            from reconciled_chains
            where account = ${account}
              and product_type = ${walletOf("bills.product_type")}
          )
      )`);
  return onlyRow(rows, "when chains were checked").checked_to ?? undefined;
}

/**
 * Finds where to begin in each chain that changed since its last check: at the last balance before the
 * oldest bill that was stored since, before the old place of one that was restated, before one that was
 * not judged and may be now, or before a break beside which missing time was read since.
 * @param checkedTo a constant of each statement, so that Postgres finds the newest bills by their index.
 */
export async function chooseChanged(
  tx: Transaction,
  scope: AccountScope,
  checkedTo: string,
): Promise<Chosen> {
  const { account, productTypes } = scope;
  await tx.execute(sql`
    create temporary table chains_to_check on commit drop as
    with stored as (
      select product_type, bill_id, coin, c_time
      from bills
      where ${ofScope(scope)}
        and ingested_at >= ${checkedTo}::timestamptz
    ),
    touched as (
      select ${walletOf("product_type")} as wallet, coin, c_time
      from stored
      union all
      select ${walletOf("product_type")}, replaced.coin, replaced.c_time
      from stored
      join bill_revisions as replaced using (product_type, bill_id)
      where replaced.account = ${account}
        and replaced_at >= ${checkedTo}::timestamptz
      union all
      select product_type, coin, unjudged_from
      from reconciled_chains
      where account = ${account}
        and ${within("product_type", productTypes)}
        and unjudged_from is not null
      union all
      -- Breaks beside unread time of which some was read since, whether or not it had a bill. A break that was
      -- signed off as unread may now be one of another kind, which nobody signed off.
      select bills.product_type, bills.coin, bills.happened_at
      from ledger_breaks as bills
      join bills as good
        on good.account = ${account}
        and good.product_type = ${lastGoodProductType("bills")}
        and good.bill_id = bills.last_good_bill
      where bills.kind = 'unread'
        and bills.state <> 'resolved'
        and ${ofScope(scope)}
        and exists (
          select 1
          from covered_wallets
          join reconciled_chains as chains
            on chains.account = ${account}
            and chains.product_type = covered_wallets.wallet
          where covered_wallets.wallet = bills.product_type
            and chains.coin = bills.coin
            and covered_wallets.time - chains.covered
              && ${timeBetween("good.c_time", "bills.happened_at", "bills.product_type")}
        )
      union all
      -- No balance of a unified account is judged before the time from which on all was read. That may have
      -- become earlier.
      select chains.product_type, chains.coin, shared_from
      from covered_wallets
      join reconciled_chains as chains
        on chains.account = ${account}
        and chains.product_type = covered_wallets.wallet
      where covered_wallets.time <> '{}'
        and (chains.covered = '{}' or shared_from < lower(chains.covered))
    ),
    changed as (
      -- Bills may change places with bills this much older, and those with still older ones.
      select wallet, coin, min(c_time) - 2 * ${bookedMaxOf("wallet")} as oldest
      from touched
      group by wallet, coin
    ),
    begun as (
      select wallet, changed.coin, coalesce(before.c_time, '-infinity') as since
      from changed
      left join lateral (
        -- Days only tell where to look. A last balance that they do not know makes the check begin earlier.
        select balanced.c_time
        from ledger_days
        cross join lateral (
          select max(c_time) as c_time
          from bills
          where bills.account = ${account}
            and bills.product_type = any(${productTypesOf("changed.wallet")})
            and bills.coin = changed.coin
            and bills.c_time >= day::timestamp at time zone 'UTC'
            and bills.c_time < least((day + 1)::timestamp at time zone 'UTC', oldest)
            and balance is not null
        ) as balanced
        where ledger_days.account = ${account}
          and ledger_days.wallet = changed.wallet
          and ledger_days.coin = changed.coin
          and day <= ${dayOfColumn(sql`oldest`)}
          and closing is not null
          and balanced.c_time is not null
        order by day desc
        limit 1
      ) as before on true
    ),
    learned as (
      select wallet, begun.coin, unnest(range_agg(tstzrange(c_time, booked_at, '[]'))) as time
      from begun
      join bill_order
        on bill_order.account = ${account}
        and bill_order.product_type = any(${productTypesOf("wallet")})
      join bills
        on bills.account = ${account}
        and bills.product_type = bill_order.product_type
        and bills.bill_id = bill_order.bill_id
        and bills.coin = begun.coin
      where booked_at is not null
      group by wallet, begun.coin
    )
    select
      ${account} as account,
      wallet,
      member as product_type,
      coin,
      coalesce(lower(time), since) as since
    from begun
    -- The check must not begin between bills whose learned order differs from that of their times.
    left join lateral (
      select time
      from learned
      where (learned.wallet, learned.coin) = (begun.wallet, begun.coin)
        and time @> since
    ) as crossed on true
    cross join lateral unnest(${productTypesOf("wallet")}) as member`);
  await tx.execute(sql`analyze chains_to_check`);
  const { rows } = await tx.execute<Chosen>(sql`
    select
      case
        when isfinite(min(since)) then ${timeText(sql`min(since)`)}
        else coalesce(min(since), 'infinity')::text
      end as earliest
    from chains_to_check`);
  return onlyRow(rows, "where to begin");
}

/**
 * Whether a check would begin at a balance that was found wrong alone. What kind of break it is depends on
 * the next balance, so both must be checked together.
 */
export async function isWrongWhereBegun(tx: Transaction, account: string): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1
    from chains_to_check
    join ledger_breaks as broken
      on broken.account = ${account}
      and broken.product_type = wallet
      and broken.coin = chains_to_check.coin
      and broken.kind = ${"balance" satisfies BreakKind}
      and broken.happened_at = since
    where state <> 'resolved'
    limit 1`);
  return rows.length > 0;
}
