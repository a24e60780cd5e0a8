import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { markMeaningOf } from "../db/days/mark-days.ts";
import { expectedRule } from "../db/sql/expected-rule.ts";
import type { AccountScope } from "./bills-to-check.ts";

type RuleRow = {
  readonly account: string;
  readonly product_type: string;
  /** The category; null where the rule belongs to one type. */
  readonly category: string | null;
  readonly business_type: string | null;
  readonly counts_amount: boolean;
  readonly counts_fee: boolean;
  readonly counts_coupon: boolean;
};

/** The wallet rules of categories and types, as they are at one moment. */
export type KnownRules = ReadonlyMap<string, RuleRow>;

export async function readKnownRules(
  tx: Transaction,
  { account }: AccountScope,
): Promise<KnownRules> {
  const { rows } = await tx.execute<RuleRow>(sql`
    select
      account,
      product_type,
      category,
      null as business_type,
      counts_amount,
      counts_fee,
      counts_coupon
    from wallet_rules
    where account = ${account}
    union all
    select account, product_type, null, business_type, counts_amount, counts_fee, counts_coupon
    from wallet_type_rules
    where account = ${account}`);
  return new Map(rows.map((row) => [keyOf(row), row]));
}

const keyOf = ({ account, product_type, category, business_type }: RuleRow): string =>
  JSON.stringify([account, product_type, category, business_type]);

/** A rule as text. Where none is known, a category has the expected one, and a type none. */
function ruleText(rule: RuleRow | undefined, category: string | null): string {
  if (rule === undefined && category === null) return "";
  const { countsAmount, countsFee, countsCoupon } = expectedRule(category ?? "");
  return JSON.stringify(
    rule === undefined
      ? [countsAmount, countsFee, countsCoupon]
      : [rule.counts_amount, rule.counts_fee, rule.counts_coupon],
  );
}

/** Marks the days of all bills whose wallet rule has changed. */
export async function markChangedRules(
  tx: Transaction,
  scope: AccountScope,
  before: KnownRules,
): Promise<void> {
  const after = await readKnownRules(tx, scope);
  for (const [key, row] of new Map([...before, ...after])) {
    const { account, product_type, category, business_type } = row;
    if (ruleText(before.get(key), category) === ruleText(after.get(key), category)) continue;
    await markMeaningOf(
      tx,
      account,
      sql`
      from bills
      join business_types on code = business_type
      where account = ${account}
        and product_type = ${product_type}
        and (category = ${category} or business_type = ${business_type})`,
    );
  }
}
