import { type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../core/postgres/connect.ts";
import { isOneOf } from "../../core/postgres/values.ts";

/** What is unexplained of a chain. Amounts are decimals as text, without a sign. */
export type UnexplainedSum = {
  readonly account: string;
  readonly wallet: string;
  readonly coin: string;
  readonly balances: number;
  /** By how much balances are higher than their bills explain, and by how much others are lower, in all. */
  readonly higher: string;
  readonly lower: string;
  readonly types: string;
  /** The same in words. */
  readonly detail: string;
};

/**
 * The sums of what is unexplained, a row a chain, in parentheses.
 * @param isWithin which of the times `at`.
 */
export const unexplainedSums = (
  accounts: readonly string[] | undefined,
  isWithin: SQL = sql`true`,
): SQL => sql`(
      select
        account,
        wallet,
        coin,
        min(at) as since,
        max(at) + interval '1 ms' as until,
        count(*) as balances,
        trim_scale(sum(greatest(difference, 0))) as higher,
        trim_scale(sum(greatest(-difference, 0))) as lower,
        (
          select string_agg(distinct type, ', ')
          from jsonb_array_elements(jsonb_agg(types)) as lists (list),
            jsonb_array_elements_text(list) as type
        ) as types
      from reconciled_chains
      cross join jsonb_to_recordset(unexplained) as one (at timestamptz, difference numeric, types jsonb)
      where ${isOneOf(accounts)}
        and ${isWithin}
      group by account, wallet, coin
    )`;

/** What is unexplained, in words, of a row of {@link unexplainedSums}. */
export const unexplainedDetail = sql`(
      concat_ws(
        ' and ',
        case when higher > 0 then higher || ' ' || coin || ' higher' end,
        case when lower > 0 then lower || ' ' || coin || ' lower' end
      ) || ' in all than the bills explain, beside bills of ' || types || ': what these move is not known'
    )`;

export async function readUnexplained(
  db: Queryable,
  account: string,
): Promise<readonly UnexplainedSum[]> {
  const { rows } = await db.execute<UnexplainedSum>(sql`
    select
      account, wallet, coin, balances::int, higher::text, lower::text, types, ${unexplainedDetail} as detail
    from ${unexplainedSums([account])} as sums
    order by wallet, coin`);
  return rows;
}
