import { type SQL, sql } from "drizzle-orm";
import { unifiedWallet } from "../contract/product-types.ts";
import { unifiedBookedMaxMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { msOf, timeText } from "../db/sql/time-text.ts";
import { walletOf } from "../db/sql/wallet.ts";
import type { BreakKind } from "./breaks.ts";
import { type Coverage, periodsText } from "./coverage.ts";
import { type ChainStart, chainKey, membersOf } from "./read-chains.ts";
import { type AccountScope, lastGoodProductType, timeOf, within } from "./scope.ts";

// A transaction that was under way during the last check may have committed bills since, with times
// before that check. No transaction lasts longer than this.
const underWayMax = sql`interval '10 minutes'`;

/**
 * The time of the database's clock before which no bill was stored that the last check did not see.
 * @returns undefined where all bills must be checked: a stream never was, or the mapping of a type has changed.
 */
export async function readCheckedTo(
  tx: Transaction,
  { account, productTypes }: AccountScope,
): Promise<string | undefined> {
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
        from streams
        where streams.account = ${account}
          and ${within("streams.product_type", productTypes)}
          and bills > 0
          and ${walletOf("streams.product_type")} not in (
            select product_type
            from reconciled_chains
            where account = ${account}
          )
      )`);
  return onlyRow(rows, "when chains were checked").checked_to ?? undefined;
}

/**
 * The range of time in which a bill that is missing between two bills may lie. It begins earlier than the
 * first of them, since a bill's time may be earlier than that of one booked before it.
 * @param wallet a column.
 */
export const timeBetween = (from: string, to: string, wallet: string): SQL => sql`tstzrange(
          least(${sql.raw(from)}, ${sql.raw(to)}) - ${bookedMaxOf(wallet)},
          greatest(${sql.raw(from)}, ${sql.raw(to)}),
          '[]'
        )`;

type Changed = { readonly wallet: string; readonly coin: string; readonly oldest: number };

/**
 * Where to begin in each chain that changed since its last check: at the last balance before the
 * oldest bill that was stored since, before the old place of one that was restated, before one that was
 * not judged and may be now, or before a break beside which missing time was read since.
 */
export async function chooseChanged(
  tx: Transaction,
  scope: AccountScope,
  coverage: ReadonlyMap<string, Coverage>,
  checkedTo: string,
): Promise<readonly ChainStart[]> {
  const touched = await readTouched(tx, scope, coverage, checkedTo);
  if (touched.length === 0) return [];
  const changed = touched.map(({ wallet, coin, oldest }): Changed => {
    // Bills may change places with bills this much older, and those with still older ones.
    const lateMs = wallet === unifiedWallet ? 2 * unifiedBookedMaxMs : 0;
    return { wallet, coin, oldest: oldest - lateMs };
  });
  return withoutCrossing(tx, scope, await readLastBalances(tx, scope, changed));
}

/** The chains that changed, and the time of the oldest change in each. */
async function readTouched(
  tx: Transaction,
  { account, productTypes }: AccountScope,
  coverage: ReadonlyMap<string, Coverage>,
  checkedTo: string,
): Promise<readonly Changed[]> {
  const wallets = [...coverage.values()].filter(({ read }) => read.length > 0);
  // Whose time was read of a wallet, beside what was read at the last check of its chains.
  const chains = sql`
      from unnest(
        ${textArray(wallets.map(({ wallet }) => wallet))}::text[],
        ${textArray(wallets.map(({ read }) => periodsText(read)))}::tstzmultirange[],
        ${textArray(wallets.map(({ sharedFrom }) => (sharedFrom === undefined ? null : timeOf(sharedFrom))))}::timestamptz[]
      ) as wallets (wallet, read, shared_from)
      join reconciled_chains as chains
        on chains.account = ${account}
        and chains.product_type = wallets.wallet`;
  const { rows } = await tx.execute<{ wallet: string; coin: string; oldest: string }>(sql`
    select wallet, coin, ${msOf(sql`min(c_time)`)} as oldest
    from (
      select ${walletOf("product_type")} as wallet, coin, c_time
      from bills
      where account = ${account}
        and ${within("product_type", productTypes)}
        and ingested_at >= ${checkedTo}::timestamptz
      union all
      select ${walletOf("bills.product_type")}, replaced.coin, replaced.c_time
      from bills
      join bill_revisions as replaced
        on replaced.account = ${account}
        and replaced.product_type = bills.product_type
        and replaced.bill_id = bills.bill_id
      where bills.account = ${account}
        and ${within("bills.product_type", productTypes)}
        and bills.ingested_at >= ${checkedTo}::timestamptz
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
      select broken.product_type, broken.coin, broken.happened_at
      ${chains}
      join ledger_breaks as broken
        on broken.account = ${account}
        and broken.product_type = chains.product_type
        and broken.coin = chains.coin
        and broken.kind = 'unread'
        and broken.state <> 'resolved'
        and ${within("broken.product_type", productTypes)}
      join bills as good
        on good.account = ${account}
        and good.product_type = ${lastGoodProductType("broken")}
        and good.bill_id = broken.last_good_bill
      where read - chains.covered
        && ${timeBetween("good.c_time", "broken.happened_at", "broken.product_type")}
      union all
      -- No balance of a unified account is judged before the time from which on all was read. That may have
      -- become earlier.
      select chains.product_type, chains.coin, shared_from
      ${chains}
      where shared_from is not null
        and (chains.covered = '{}' or shared_from < lower(chains.covered))
    ) as touched
    group by wallet, coin`);
  return rows.map(({ wallet, coin, oldest }) => ({ wallet, coin, oldest: Number(oldest) }));
}

/**
 * The last served balance of each chain before its oldest change. The sums of days tell in which day to look: a chain
 * that shows no balance is not searched to its beginning.
 */
async function readLastBalances(
  tx: Transaction,
  { account }: AccountScope,
  changed: readonly Changed[],
): Promise<readonly ChainStart[]> {
  const members = membersOf(changed.map(({ oldest, ...chain }) => ({ ...chain, since: oldest })));
  const { rows } = await tx.execute<{ wallet: string; coin: string; since: string }>(sql`
    select chosen.wallet, chosen.coin, ${msOf(sql`max(c_time)`)} as since
    from ${members}
    left join (
      select chosen.wallet, chosen.coin, max(day)::timestamp at time zone 'UTC' as day_start
      from ${members}
      join type_days
        on type_days.account = ${account}
        and type_days.product_type = chosen.product_type
        and type_days.coin = chosen.coin
        and type_days.day < (chosen.since at time zone 'UTC')::date
      where bills > unshown
      group by chosen.wallet, chosen.coin
    ) as shown
      on shown.wallet = chosen.wallet
      and shown.coin = chosen.coin
    join bills
      on bills.account = ${account}
      and bills.product_type = chosen.product_type
      and bills.coin = chosen.coin
      and bills.c_time >= coalesce(day_start, (chosen.since at time zone 'UTC')::date::timestamp at time zone 'UTC')
      and bills.c_time < chosen.since
    where balance is not null
    group by chosen.wallet, chosen.coin`);
  const found = new Map(rows.map((row) => [chainKey(row), Number(row.since)]));
  return changed.map(({ wallet, coin }) => ({
    wallet,
    coin,
    since: found.get(chainKey({ wallet, coin })) ?? Number.NEGATIVE_INFINITY,
  }));
}

/** Begins earlier where a check would begin between bills whose learned order differs from that of their times. */
async function withoutCrossing(
  tx: Transaction,
  { account }: AccountScope,
  starts: readonly ChainStart[],
): Promise<readonly ChainStart[]> {
  if (!starts.some(({ wallet }) => wallet === unifiedWallet)) return starts;
  const { rows } = await tx.execute<{ wallet: string; coin: string; since: string }>(sql`
    select wallet, coin, ${msOf(sql`lower(time)`)} as since
    from (
      select
        chosen.wallet,
        chosen.coin,
        chosen.since,
        unnest(range_agg(tstzrange(c_time, booked_at, '[]'))) as time
      from ${membersOf(starts)}
      join bill_order
        on bill_order.account = ${account}
        and bill_order.product_type = chosen.product_type
      join bills
        on bills.account = ${account}
        and bills.product_type = bill_order.product_type
        and bills.bill_id = bill_order.bill_id
        and bills.coin = chosen.coin
      where booked_at is not null
      group by chosen.wallet, chosen.coin, chosen.since
    ) as late
    where time @> since`);
  const crossed = new Map(rows.map((row) => [chainKey(row), Number(row.since)]));
  return starts.map((start) => ({ ...start, since: crossed.get(chainKey(start)) ?? start.since }));
}

/**
 * Whether a check would begin at a balance that was found wrong alone. What kind of break it is depends on
 * the next balance, so both must be checked together.
 */
export async function isWrongWhereBegun(
  tx: Transaction,
  { account }: AccountScope,
  starts: readonly ChainStart[],
): Promise<boolean> {
  if (starts.length === 0) return false;
  const { rows } = await tx.execute(sql`
    select 1
    from ${membersOf(starts)}
    join ledger_breaks as broken
      on broken.account = ${account}
      and broken.product_type = chosen.wallet
      and broken.coin = chosen.coin
      and broken.kind = ${"balance" satisfies BreakKind}
      and broken.happened_at = chosen.since
    where state <> 'resolved'
    limit 1`);
  return rows.length > 0;
}
