import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { expectedRuleText } from "../db/sql/expected-rule.ts";
import type { AccountScope } from "./bills-to-check.ts";
import { isDoubted } from "./rule-evidence.ts";

const expected = expectedRuleText("category");

/** Keeps the rules that no bill contradicts, and updates how many bills they fit. */
export async function confirmUndoubted(tx: Transaction, { account }: AccountScope): Promise<void> {
  await confirmCategories(tx, account);
  await confirmTypes(tx, account);
}

async function confirmCategories(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`
    with met as (
      -- Types that have a rule of their own are not counted.
      select
        day_sums.account,
        day_sums.product_type,
        category,
        coalesce(sum(bills) filter (where learned_at is null), 0) as bills
      from day_sums
      join business_types on code = day_sums.business_type
      left join wallet_type_rules
        on wallet_type_rules.account = ${account}
        and wallet_type_rules.product_type = day_sums.product_type
        and wallet_type_rules.business_type = day_sums.business_type
      group by day_sums.account, day_sums.product_type, category
      union all
      -- Rules of categories that no bill has any more.
      select account, product_type, category, 0
      from wallet_rules
      where account = ${account}
        and product_type in (select product_type from day_sums)
        and (product_type, category) not in (
          select product_type, category
          from day_sums
          join business_types on code = business_type
        )
    ),
    suspected as (
      select
        suspects.account,
        suspects.product_type,
        category,
        count(*) filter (where (previous is null or balance is null) and learned_at is null)
          as untested,
        coalesce(bool_or(${isDoubted}), false) as is_doubted
      from suspects
      left join wallet_type_rules
        on wallet_type_rules.account = ${account}
        and wallet_type_rules.product_type = suspects.product_type
        and wallet_type_rules.business_type = suspects.business_type
      group by suspects.account, suspects.product_type, category
    )
    insert into wallet_rules (
      account, product_type, category, counts_amount, counts_fee, counts_coupon, is_testable,
      tested, fitting, learned_at
    )
    select
      account,
      product_type,
      category,
      ${sql.raw(expected.countsAmount)},
      ${sql.raw(expected.countsFee)},
      false,
      true,
      bills - coalesce(untested, 0),
      bills - coalesce(untested, 0),
      statement_timestamp()
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

async function confirmTypes(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`
    with met as (
      select account, product_type, business_type, sum(bills) as bills
      from day_sums
      group by account, product_type, business_type
    ),
    suspected as (
      select
        account,
        product_type,
        business_type,
        count(*) filter (where previous is null or balance is null) as untested
      from suspects
      group by account, product_type, business_type
    )
    update wallet_type_rules
    set
      tested = bills - coalesce(untested, 0),
      fitting = bills - coalesce(untested, 0),
      learned_at = statement_timestamp()
    from met
    left join suspected using (account, product_type, business_type)
    where wallet_type_rules.account = ${account}
      and met.product_type = wallet_type_rules.product_type
      and met.business_type = wallet_type_rules.business_type
      and not exists (
        select 1
        from suspects
        where suspects.account = met.account
          and suspects.product_type = met.product_type
          and suspects.business_type = met.business_type
          and ${isDoubted}
      )`);
}
