import { sql } from "drizzle-orm";
import type { Transaction } from "../../db/connect.ts";
import { movedBy } from "./chain-scan.ts";
import { candidates, learnRule } from "./wallet-rules.ts";

// What the exchange rounds a balance by: one unit in its eighth place.
export const lastPlace = sql.raw("0.00000001");

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
export async function learnWalletRules(tx: Transaction): Promise<boolean> {
  let isChanged = false;
  for (const row of await readEvidence(tx)) {
    const learned = learnRule({
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
 * How many bills of each category every candidate fits. Of a bill that fits the present rule only
 * the sums by day are there: another candidate fits it too where it says the same.
 */
async function readEvidence(tx: Transaction): Promise<readonly Evidence[]> {
  const isTested = sql`balance is not null and previous is not null`;
  const same = candidates.map((_, index) => sql.raw(`same_${index}`));
  const more = candidates.map((_, index) => sql.raw(`more_${index}`));
  const fits = same.map((name) => sql`sum(${name}) as ${name}`);
  const suspectFits = candidates.map((rule, index) => {
    const by = movedBy(rule);
    return sql`
        count(*) filter (
          where ${isTested} and abs(balance - previous - ${by}) <= ${lastPlace}
        ) - count(*) filter (where ${by} = moved) as ${more[index]}`;
  });
  const fitting = same.map((name, index) => sql`${name} + coalesce(${more[index]}, 0)`);
  const { rows } = await tx.execute<Evidence>(sql`
    with all_bills as (
      select
        account,
        product_type,
        category,
        sum(bills) as bills,
        ${sql.join(fits, sql`, `)}
      from day_sums
      group by account, product_type, category
    ),
    suspected as (
      select
        account,
        product_type,
        category,
        count(*) filter (where not (${isTested})) as untested,
        ${sql.join(suspectFits, sql`,`)}
      from suspects
      group by account, product_type, category
    )
    select
      account,
      product_type,
      category,
      bills - coalesce(untested, 0) as tested,
      array[${sql.join(fitting, sql`, `)}]::text[] as fitting
    from all_bills
    left join suspected using (account, product_type, category)
    order by account, product_type, category`);
  return rows;
}

/** Whether a category was met that no whole check has learned about. */
export async function hasUnlearnedCategory(tx: Transaction): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1
    from day_sums
    left join wallet_rules using (account, product_type, category)
    where learned_at is null
    limit 1`);
  return rows.length > 0;
}
