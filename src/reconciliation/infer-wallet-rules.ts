import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { movedBy, movedByRule } from "./bills-to-check.ts";
import { candidates, inferRule, type WalletRule } from "./wallet-rules.ts";

// What the exchange rounds a balance by: one unit in its eighth place.
export const lastPlace = sql.raw("0.00000001");

const isDoubted = sql`abs(balance - previous - moved) > ${lastPlace}`;

const fits = (rule: WalletRule) => sql`abs(balance - previous - ${movedBy(rule)}) <= ${lastPlace}`;
const fitsAny = sql`(${sql.join(candidates.map(fits), sql` or `)})`;

// Bills that share their millisecond with others, or follow such, may only be out of order: one
// of them that fits no rule says nothing.
const isAlone = sql`(
  select count(*) = 2
  from bills
  where bills.account = suspects.account
    and bills.product_type = suspects.product_type
    and bills.coin = suspects.coin
    and bills.c_time in (
      suspects.c_time,
      (
        select c_time
        from bills as before
        where before.account = suspects.account
          and before.product_type = suspects.product_type
          and before.bill_id = suspects.previous_bill_id
      )
    )
)`;

// Before one that fits no rule, in time that was not read to its end, a late bill may still come up.
const isSettled = sql`(settled_to is null or suspects.c_time < settled_to)`;

type Evidence = {
  readonly account: string;
  readonly product_type: string;
  readonly category: string;
  readonly tested: string;
  readonly fitting: readonly string[];
};

/**
 * Learns from a whole check what each category moves the wallet by.
 * @returns whether that is now another than what the check went by.
 */
export async function inferWalletRules(tx: Transaction): Promise<boolean> {
  await confirmUndoubted(tx);
  let isChanged = false;
  for (const row of await readEvidence(tx)) {
    const learned = inferRule({
      category: row.category,
      tested: Number(row.tested),
      fitting: row.fitting.map(Number),
    });
    const { rows } = await tx.execute<{ is_new: boolean }>(sql`
      with known as (
        select counts_amount, counts_fee, counts_coupon, is_testable
        from wallet_rules
        where account = ${row.account}
          and product_type = ${row.product_type}
          and category = ${row.category}
      ),
      written as (
        insert into wallet_rules (
          account, product_type, category, counts_amount, counts_fee, counts_coupon, is_testable,
          tested, fitting, learned_at
        )
        values (
          ${row.account}, ${row.product_type}, ${row.category}, ${learned.countsAmount},
          ${learned.countsFee}, ${learned.countsCoupon}, ${learned.isTestable}, ${learned.tested},
          ${learned.fitting}, clock_timestamp()
        )
        on conflict (account, product_type, category) do update
        set
          counts_amount = excluded.counts_amount,
          counts_fee = excluded.counts_fee,
          counts_coupon = excluded.counts_coupon,
          is_testable = excluded.is_testable,
          tested = excluded.tested,
          fitting = excluded.fitting,
          learned_at = excluded.learned_at
      )
      select
        (${learned.countsAmount}, ${learned.countsFee}, ${learned.countsCoupon}, ${learned.isTestable})
          is distinct from (counts_amount, counts_fee, counts_coupon, is_testable) as is_new
      from (values (1)) as always (one)
      left join known on true`);
    isChanged ||= rows[0]?.is_new === true;
  }
  return isChanged;
}

/**
 * How many bills of each category every candidate fits, where some bill does not fit the present
 * rule; elsewhere the present rule stands.
 */
async function readEvidence(tx: Transaction): Promise<readonly Evidence[]> {
  // Most of the time there is none, and the bills need not be read once more.
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
          and (not ${isDoubted} or ${fitsAny} or (${isAlone} and ${isSettled})) as is_telling
      from suspects
      left join covered_streams using (account, product_type)
    ),
    doubted as (
      select
        account,
        product_type,
        category,
        count(*) filter (where not is_telling) as untested,
        array[${sql.join(alike, sql`, `)}] as alike,
        array[${sql.join(fitting, sql`, `)}] as fitting
      from telling
      group by account, product_type, category
      having bool_or(${isDoubted})
    ),
    counted as (
      select
        doubted.account,
        doubted.product_type,
        doubted.category,
        count(*) as bills,
        array[${sql.join(alike, sql`, `)}] as alike
      from doubted
      join business_types using (category)
      cross join lateral (
        select
          amount,
          fee,
          fee_by_coupon,
          ${movedByRule} as moved
        from bills
        left join wallet_rules
          on wallet_rules.account = doubted.account
          and wallet_rules.product_type = doubted.product_type
          and wallet_rules.category = doubted.category
        where bills.account = doubted.account
          and bills.product_type = doubted.product_type
          and bills.business_type = business_types.code
      ) as entries
      group by doubted.account, doubted.product_type, doubted.category
    )
    select
      account,
      product_type,
      category,
      bills - untested as tested,
      array(
        select counted.alike[place] - doubted.alike[place] + doubted.fitting[place]
        from generate_series(1, ${candidates.length}) as place
        order by place
      )::text[] as fitting
    from doubted
    join counted using (account, product_type, category)
    order by account, product_type, category`);
  return rows;
}

/** Rules that nothing speaks against stay, with the number of bills that they fit by now. */
async function confirmUndoubted(tx: Transaction): Promise<void> {
  await tx.execute(sql`
    with met as (
      select account, product_type, category, sum(bills) as bills
      from day_sums
      join business_types on code = business_type
      group by account, product_type, category
      union all
      -- All of its bills have another category by now.
      select account, product_type, category, 0
      from wallet_rules
      where (account, product_type) in (select account, product_type from day_sums)
        and (account, product_type, category) not in (
          select account, product_type, category
          from day_sums
          join business_types on code = business_type
        )
    ),
    suspected as (
      select
        account,
        product_type,
        category,
        count(*) filter (where previous is null or balance is null) as untested,
        coalesce(bool_or(${isDoubted}), false) as is_doubted
      from suspects
      group by account, product_type, category
    )
    insert into wallet_rules (
      account, product_type, category, counts_amount, counts_fee, counts_coupon, is_testable,
      tested, fitting, learned_at
    )
    select
      account,
      product_type,
      category,
      category <> 'margin',
      category <> 'margin',
      false,
      true,
      bills - coalesce(untested, 0),
      bills - coalesce(untested, 0),
      clock_timestamp()
    from met
    left join suspected using (account, product_type, category)
    where not coalesce(is_doubted, false)
    on conflict (account, product_type, category) do update
    set
      is_testable = true,
      tested = excluded.tested,
      fitting = excluded.fitting,
      learned_at = excluded.learned_at`);
}

/**
 * Whether a category was met that no whole check has learned about, or that no rule was found to
 * fit: its new bills may be those that show one. Or a type has another category since.
 */
export async function hasUnlearnedCategory(tx: Transaction): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1
    from day_sums
    join business_types on code = business_type
    left join wallet_rules using (account, product_type, category)
    where learned_at is null
      or not is_testable
    union all
    select 1
    from chains_to_check
    join reconciled_chains using (account, product_type, coin)
    where ingested_before = '-infinity'
    limit 1`);
  return rows.length > 0;
}
