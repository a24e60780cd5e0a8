import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { type KnownRule, type KnownRules, keyOf } from "./rules.ts";
import { type AccountScope, within } from "./scope.ts";

export async function readKnownRules(tx: Transaction, scope: AccountScope): Promise<KnownRules> {
  const { rows: types } = await tx.execute<{ code: string; category: string | null }>(
    sql`select code, category from business_types`,
  );
  const categories = new Map(types.map(({ code, category }) => [code, category]));
  return { categories, rules: await readRules(tx, scope) };
}

async function readRules(
  tx: Transaction,
  { account, productTypes }: AccountScope,
): Promise<readonly KnownRule[]> {
  const { rows } = await tx.execute<KnownRule>(sql`
    select
      product_type as "productType",
      category,
      business_type as "businessType",
      counts_amount as "countsAmount",
      counts_fee as "countsFee",
      counts_coupon as "countsCoupon",
      tested,
      fitting,
      is_testable as "isTestable"
    from (
      select
        product_type, category, null as business_type, counts_amount, counts_fee, counts_coupon,
        tested, fitting, is_testable
      from wallet_rules
      where account = ${account}
      union all
      select
        product_type, category, business_type, counts_amount, counts_fee, counts_coupon, tested,
        fitting, true
      from wallet_type_rules
      left join business_types on code = business_type
      where account = ${account}
    ) as rules
    where ${within("product_type", productTypes)}
    order by product_type, category, business_type nulls first`);
  return rows.map((row) => ({
    ...row,
    tested: Number(row.tested),
    fitting: Number(row.fitting),
  }));
}

/** Stores what a whole check has learned. */
export async function writeRules(
  tx: Transaction,
  { account }: AccountScope,
  before: readonly KnownRule[],
  after: readonly KnownRule[],
): Promise<void> {
  const left = new Set(after.map(keyOf));
  const gone = before.filter((rule) => rule.businessType !== null && !left.has(keyOf(rule)));
  if (gone.length > 0) {
    await tx.execute(sql`
      delete from wallet_type_rules
      where account = ${account}
        and (product_type, business_type) in (
          select product_type, business_type
          from unnest(
            ${textArray(gone.map(({ productType }) => productType))}::text[],
            ${textArray(gone.map(({ businessType }) => businessType))}::text[]
          ) as gone (product_type, business_type)
        )`);
  }
  const written = after.filter((rule) => !before.includes(rule));
  await writeCategoryRules(
    tx,
    account,
    written.filter(({ businessType }) => businessType === null),
  );
  await writeTypeRules(
    tx,
    account,
    written.filter(({ businessType }) => businessType !== null),
  );
}

const columnOf = (rules: readonly KnownRule[], name: keyof KnownRule): string =>
  textArray(rules.map((rule) => (rule[name] === null ? null : String(rule[name]))));

async function writeCategoryRules(
  tx: Transaction,
  account: string,
  rules: readonly KnownRule[],
): Promise<void> {
  if (rules.length === 0) return;
  await tx.execute(sql`
    insert into wallet_rules (
      account, product_type, category, counts_amount, counts_fee, counts_coupon, is_testable,
      tested, fitting, learned_at
    )
    select ${account}, learned.*, statement_timestamp()
    from unnest(
      ${columnOf(rules, "productType")}::text[],
      ${columnOf(rules, "category")}::text[],
      ${columnOf(rules, "countsAmount")}::boolean[],
      ${columnOf(rules, "countsFee")}::boolean[],
      ${columnOf(rules, "countsCoupon")}::boolean[],
      ${columnOf(rules, "isTestable")}::boolean[],
      ${columnOf(rules, "tested")}::bigint[],
      ${columnOf(rules, "fitting")}::bigint[]
    ) as learned
    on conflict (account, product_type, category) do update
    set
      counts_amount = excluded.counts_amount,
      counts_fee = excluded.counts_fee,
      counts_coupon = excluded.counts_coupon,
      is_testable = excluded.is_testable,
      tested = excluded.tested,
      fitting = excluded.fitting,
      learned_at = excluded.learned_at`);
}

async function writeTypeRules(
  tx: Transaction,
  account: string,
  rules: readonly KnownRule[],
): Promise<void> {
  if (rules.length === 0) return;
  await tx.execute(sql`
    insert into wallet_type_rules (
      account, product_type, business_type, counts_amount, counts_fee, counts_coupon, tested,
      fitting, learned_at
    )
    select ${account}, learned.*, statement_timestamp()
    from unnest(
      ${columnOf(rules, "productType")}::text[],
      ${columnOf(rules, "businessType")}::text[],
      ${columnOf(rules, "countsAmount")}::boolean[],
      ${columnOf(rules, "countsFee")}::boolean[],
      ${columnOf(rules, "countsCoupon")}::boolean[],
      ${columnOf(rules, "tested")}::bigint[],
      ${columnOf(rules, "fitting")}::bigint[]
    ) as learned
    on conflict (account, product_type, business_type) do update
    set
      counts_amount = excluded.counts_amount,
      counts_fee = excluded.counts_fee,
      counts_coupon = excluded.counts_coupon,
      tested = excluded.tested,
      fitting = excluded.fitting,
      learned_at = excluded.learned_at`);
}
