import { sql } from "drizzle-orm";
import { isoTime } from "../../contract/time.ts";
import { timeText } from "../../db/sql/time-text.ts";
import { decimalOf, isAtMost } from "../../export/decimal.ts";
import type { WalletContext } from "../section.ts";
import type { Day } from "../selection.ts";

/** The highest ratio on a day at which a risk unit was seen; null if the exchange served none. */
export type LoanDay = { readonly day: Day; readonly highest: string | null };

/** A coin of a risk unit's newest record. Decimals are text; null if the exchange served none. */
export type LoanCoin = {
  /** Empty if the exchange named none. */
  readonly coin: string;
  readonly price: string | null;
  readonly amount: string | null;
  readonly converted: string | null;
  readonly haircut: string | null;
  readonly debt: string | null;
  readonly interest: string | null;
  /** Debt and interest at the price; null if the exchange served no price or there is no debt. */
  readonly owed: string | null;
};

/** A risk unit: its days, and its newest record. */
export type RiskUnit = {
  /** Empty for the account's own risk unit. */
  readonly id: string;
  readonly ltv: string | null;
  readonly assets: string | null;
  readonly debt: string | null;
  /** When the newest record was first and last seen. ISO 8601. */
  readonly takenAt: string;
  readonly heldUntil: string;
  readonly days: readonly LoanDay[];
  readonly coins: readonly LoanCoin[];
};

/** Whether any loan-to-value record of the selected account is stored. */
export async function hasRiskUnits({ tx, selection }: WalletContext): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1
    from ltv_snapshots
    where account = ${selection.account}
    limit 1`);
  return rows.length > 0;
}

/** The risk units of the selected account, and their selected days up to now. */
export async function readRiskUnits(context: WalletContext): Promise<readonly RiskUnit[]> {
  const newest = await readNewest(context);
  const days = Map.groupBy(await readDays(context), ({ id }) => id);
  const coins = Map.groupBy(await readCoins(context), ({ id }) => id);
  return newest.map((unit) => ({
    ...unit,
    days: days.get(unit.id) ?? [],
    coins: coins.get(unit.id) ?? [],
  }));
}

type Newest = Omit<RiskUnit, "days" | "coins">;

async function readNewest({ tx, selection }: WalletContext): Promise<readonly Newest[]> {
  const { rows } = await tx.execute<Newest>(sql`
    select distinct on (risk_unit_id)
      risk_unit_id as id,
      ltv::text,
      usdt_balance::text as assets,
      unpaid_usdt_amount::text as debt,
      ${timeText(sql`taken_at`)} as "takenAt",
      ${timeText(sql`held_until`)} as "heldUntil"
    from ltv_snapshots
    where account = ${selection.account}
    order by risk_unit_id, taken_at desc`);
  return rows;
}

/**
 * The ratio by day. A record holds for every day from when it was first seen to when it was last
 * seen.
 */
async function readDays({
  tx,
  selection,
  now,
}: WalletContext): Promise<readonly (LoanDay & { readonly id: string })[]> {
  const { account, from, to } = selection;
  const today = isoTime(now).slice(0, 10);
  const until = to < today ? to : today;
  const { rows } = await tx.execute<LoanDay & { id: string }>(sql`
    select
      risk_unit_id as id,
      to_char(first_day + later, 'YYYY-MM-DD') as day,
      max(ltv)::text as highest
    from (
      select
        risk_unit_id,
        ltv,
        greatest(${from}::date, (taken_at at time zone 'UTC')::date) as first_day,
        least(${until}::date, (held_until at time zone 'UTC')::date) as last_day
      from ltv_snapshots
      where account = ${account}
        and held_until >= ${`${from}T00:00:00Z`}::timestamptz
        and taken_at < (${until}::date + 1)::timestamp at time zone 'UTC'
    ) as records
    cross join lateral generate_series(0, last_day - first_day) as later
    group by risk_unit_id, first_day + later
    order by risk_unit_id, first_day + later`);
  return rows;
}

async function readCoins({
  tx,
  selection,
}: WalletContext): Promise<readonly (LoanCoin & { readonly id: string })[]> {
  const { rows } = await tx.execute<LoanCoin & { id: string }>(sql`
    select
      risk_unit_id as id,
      coin,
      price::text,
      amount::text,
      converted_usdt_amount::text as converted,
      round(implied_haircut, 6)::text as haircut,
      unpaid_qty::text as debt,
      unpaid_interest::text as interest,
      ((unpaid_qty + coalesce(unpaid_interest, 0)) * price)::text as owed
    from analytics.ltv_history
    where account = ${selection.account}
      and coin is not null
      and (risk_unit_id, taken_at) in (
        select risk_unit_id, max(taken_at)
        from ltv_snapshots
        where account = ${selection.account}
        group by risk_unit_id
      )
    order by risk_unit_id, converted_usdt_amount desc nulls last, coin`);
  return rows;
}

export const highestOf = (decimals: readonly string[]): string | undefined =>
  decimals.reduce<string | undefined>(
    (highest, decimal) =>
      highest !== undefined && isAtMost(decimalOf(decimal), decimalOf(highest)) ? highest : decimal,
    undefined,
  );
