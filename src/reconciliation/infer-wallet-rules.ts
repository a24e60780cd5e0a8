import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import type { AccountScope } from "./bills-to-check.ts";
import { confirmUndoubted } from "./confirm-wallet-rules.ts";
import { type Evidence, readEvidence } from "./rule-evidence.ts";
import { type CategoryRule, inferRule, type TypeRule } from "./wallet-rules.ts";

/**
 * Learns from a whole check by which rule each category moves the wallet, and which types differ from
 * their category.
 * @returns whether any rule differs from the one that the check used.
 */
export async function inferWalletRules(tx: Transaction, scope: AccountScope): Promise<boolean> {
  await confirmUndoubted(tx, scope);
  const byCategory = Map.groupBy(await readEvidence(tx, scope), (row) =>
    JSON.stringify([row.account, row.product_type, row.category]),
  );
  let isChanged = false;
  for (const types of byCategory.values()) {
    const [first] = types;
    if (first === undefined) continue;
    const rule = inferRule(
      first.category,
      types.map(({ business_type, tested, fitting }) => ({
        businessType: business_type,
        tested: Number(tested),
        fitting: fitting.map(Number),
      })),
    );
    const isNew = await writeCategoryRule(tx, first, rule);
    const areTypesNew = await writeTypeRules(tx, types, rule.types);
    isChanged ||= isNew || areTypesNew;
  }
  return isChanged;
}

/** @returns whether the rule has changed. */
async function writeCategoryRule(
  tx: Transaction,
  { account, product_type, category }: Evidence,
  learned: CategoryRule,
): Promise<boolean> {
  const { countsAmount, countsFee, countsCoupon, isTestable, tested, fitting } = learned;
  const { rows } = await tx.execute<{ is_new: boolean }>(sql`
    with known as (
      select counts_amount, counts_fee, counts_coupon, is_testable
      from wallet_rules
      where account = ${account}
        and product_type = ${product_type}
        and category = ${category}
    ),
    written as (
      insert into wallet_rules (
        account, product_type, category, counts_amount, counts_fee, counts_coupon, is_testable,
        tested, fitting, learned_at
      )
      values (
        ${account}, ${product_type}, ${category}, ${countsAmount}, ${countsFee}, ${countsCoupon},
        ${isTestable}, ${tested}, ${fitting}, statement_timestamp()
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
      (${countsAmount}, ${countsFee}, ${countsCoupon}, ${isTestable})
        is distinct from (counts_amount, counts_fee, counts_coupon, is_testable) as is_new
    from (values (1)) as always (one)
    left join known on true`);
  return rows[0]?.is_new === true;
}

/**
 * Writes the rules of a category's types, and removes the rules of its other types.
 * @returns whether any rule has changed.
 */
async function writeTypeRules(
  tx: Transaction,
  types: readonly Evidence[],
  rules: readonly TypeRule[],
): Promise<boolean> {
  const [first] = types;
  if (first === undefined) return false;
  const { account, product_type } = first;
  const codes = types.map(({ business_type }) => business_type);
  const own = rules.map(({ businessType }) => businessType);
  const removed = await tx.execute(sql`
    delete from wallet_type_rules
    where account = ${account}
      and product_type = ${product_type}
      and business_type = any(${textArray(codes)}::text[])
      and not business_type = any(${textArray(own)}::text[])`);
  let isChanged = (removed.rowCount ?? 0) > 0;
  for (const rule of rules) {
    const { countsAmount, countsFee, countsCoupon, tested, fitting, businessType } = rule;
    const { rowCount: known } = await tx.execute(sql`
      select 1
      from wallet_type_rules
      where account = ${account}
        and product_type = ${product_type}
        and business_type = ${businessType}
        and (counts_amount, counts_fee, counts_coupon)
          = (${countsAmount}, ${countsFee}, ${countsCoupon})`);
    isChanged ||= known === 0;
    await tx.execute(sql`
      insert into wallet_type_rules (
        account, product_type, business_type, counts_amount, counts_fee, counts_coupon, tested,
        fitting, learned_at
      )
      values (
        ${account}, ${product_type}, ${businessType}, ${countsAmount}, ${countsFee},
        ${countsCoupon}, ${tested}, ${fitting}, statement_timestamp()
      )
      on conflict (account, product_type, business_type) do update
      set
        counts_amount = excluded.counts_amount,
        counts_fee = excluded.counts_fee,
        counts_coupon = excluded.counts_coupon,
        tested = excluded.tested,
        fitting = excluded.fitting,
        learned_at = excluded.learned_at`);
  }
  return isChanged;
}

// Bills that fit several rules tip the balance where others contradict each other, as long as these are few.
const firmMin = 100;

/**
 * Whether a whole check has something to learn from the changed bills: their category is new, or no rule fits
 * it so far, or their category or type has few bills, which do not all fit one rule.
 */
export async function hasUnlearnedCategory(
  tx: Transaction,
  { account }: AccountScope,
): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1
    from day_sums
    join business_types on code = business_type
    left join wallet_rules
      on wallet_rules.account = ${account}
      and wallet_rules.product_type = day_sums.product_type
      and wallet_rules.category = business_types.category
    left join wallet_type_rules
      on wallet_type_rules.account = ${account}
      and wallet_type_rules.product_type = day_sums.product_type
      and wallet_type_rules.business_type = day_sums.business_type
    where wallet_rules.learned_at is null
      or not is_testable
      or (wallet_rules.fitting < wallet_rules.tested and wallet_rules.tested < ${firmMin})
      or wallet_type_rules.tested < ${firmMin}
    limit 1`);
  return rows.length > 0;
}
