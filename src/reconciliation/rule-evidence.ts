import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import type { WalletRule } from "../db/sql/expected-rule.ts";
import { productTypesOf } from "../db/sql/wallet.ts";
import { joinRules, walletMoves } from "../db/sql/wallet-moves.ts";
import { type AccountScope, movedBy } from "./bills-to-check.ts";
import { candidates } from "./wallet-rules.ts";

// The exchange rounds balances to eight decimal places.
export const lastPlace = sql.raw("0.00000001");

export const isDoubted = sql`abs(balance - previous - moved) > ${lastPlace}`;

const fits = (rule: WalletRule) => sql`abs(balance - previous - ${movedBy(rule)}) <= ${lastPlace}`;
const fitsAny = sql`(${sql.join(candidates.map(fits), sql` or `)})`;

// Only a bill that neither shares its time with others nor follows such bills contradicts a rule: others
// may merely be out of order.
const isAlone = (account: string): SQL => sql`(
  select count(distinct (bills.product_type, bills.bill_id)) = 2
  from bills as before
  cross join lateral unnest(array[before.c_time, suspects.c_time]) as times (at)
  join bills
    on bills.account = ${account}
    and bills.product_type = any(${productTypesOf("suspects.wallet")})
    and bills.coin = suspects.coin
    and bills.c_time between times.at - ${bookedMaxOf("suspects.wallet")}
      and times.at + ${bookedMaxOf("suspects.wallet")}
  where before.account = ${account}
    and before.product_type = suspects.previous_product_type
    and before.bill_id = suspects.previous_bill_id
)`;

// Only a bill in settled time contradicts a rule: elsewhere, a late bill may still appear before it.
const isSettled = sql`(settled_to is null or suspects.c_time < settled_to)`;

export type Evidence = {
  readonly account: string;
  readonly product_type: string;
  readonly category: string;
  readonly business_type: string;
  readonly tested: string;
  readonly fitting: readonly string[];
};

/**
 * How many bills of each type every candidate fits, in the categories where some bill does not fit the
 * present rule. Other categories keep theirs.
 */
export async function readEvidence(
  tx: Transaction,
  { account }: AccountScope,
): Promise<readonly Evidence[]> {
  // Usually there is no such bill, which saves reading the bills once more.
  const { rowCount: doubts } = await tx.execute(sql`
    select 1
    from suspects
    where ${isDoubted}
    limit 1`);
  if (doubts === 0) return [];
  const alike = candidates.map((rule) => sql`count(*) filter (where ${movedBy(rule)} = moved)`);
  const fitting = candidates.map(
    (rule) => sql`count(*) filter (where is_telling and ${fits(rule)})`,
  );
  const { rows } = await tx.execute<Evidence>(sql`
    with telling as (
      select
        suspects.*,
        previous is not null
          and balance is not null
          and (not ${isDoubted} or ${fitsAny} or (${isAlone(account)} and ${isSettled})) as is_telling
      from suspects
      left join covered_wallets using (account, wallet)
    ),
    suspected as (
      select
        account,
        product_type,
        business_type,
        count(*) filter (where not is_telling) as untested,
        array[${sql.join(alike, sql`, `)}] as alike,
        array[${sql.join(fitting, sql`, `)}] as fitting
      from telling
      group by account, product_type, business_type
    ),
    doubted as (
      select account, product_type, category
      from suspects
      group by account, product_type, category
      having bool_or(${isDoubted})
    ),
    counted as (
      select
        doubted.account,
        doubted.product_type,
        doubted.category,
        doubted_types.code as business_type,
        count(*) as bills,
        array[${sql.join(alike, sql`, `)}] as alike
      from doubted
      join business_types as doubted_types using (category)
      cross join lateral (
        select
          amount,
          fee,
          fee_by_coupon,
          ${walletMoves("bills").moved} as moved
        from bills
        ${joinRules("bills", account)}
        where bills.account = ${account}
          and bills.product_type = doubted.product_type
          and bills.business_type = doubted_types.code
      ) as entries
      group by 1, 2, 3, 4
    )
    select
      account,
      product_type,
      category,
      business_type,
      bills - coalesce(untested, 0) as tested,
      array(
        select
          counted.alike[place]
            - coalesce(suspected.alike[place], 0)
            + coalesce(suspected.fitting[place], 0)
        from generate_series(1, ${candidates.length}) as place
        order by place
      )::text[] as fitting
    from counted
    left join suspected using (account, product_type, business_type)
    order by account, product_type, category, business_type`);
  return rows;
}
