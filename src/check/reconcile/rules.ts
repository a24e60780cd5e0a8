import { eq, getTableColumns, sql } from "drizzle-orm";
import type { Transaction } from "../../core/postgres/connect.ts";
import { walletRules } from "../../core/postgres/schema/reconciliation-schema.ts";
import {
  amountAlone,
  amountAndFee,
  expectedRule,
  nothing,
  ruleOf,
  type WalletRule,
} from "../../core/views/wallet-moves.ts";
import { isFar } from "./bill-numbers.ts";

// By which rule a bill moves its wallet is learned from balances; src/core/views/wallet-moves.ts says what it does then.

/** All rules that a category may have, the likelier first. */
export const candidates: readonly WalletRule[] = [
  amountAndFee,
  nothing,
  amountAlone,
  ruleOf(false, true),
  ruleOf(true, true, true),
  ruleOf(false, true, true),
];

type Amounts = { readonly amount: bigint; readonly fee: bigint; readonly coupon: bigint };

/** What a bill moves its balance by under a rule. */
export const movedBy = (
  { countsAmount, countsFee, countsCoupon }: WalletRule,
  { amount, fee, coupon }: Amounts,
): bigint => (countsAmount ? amount : 0n) + (countsFee ? fee : 0n) + (countsCoupon ? coupon : 0n);

/** The rule of a category, or of a type that differs from its category's. */
type LearnedRule = WalletRule & {
  readonly productType: string;
  readonly category: string;
  /** Empty for the rule of a category, which holds for types without a rule of their own. */
  readonly businessType: string;
  /** Bills whose balance and whose predecessor's are known, and how many of them the rule fits. */
  readonly tested: number;
  readonly fitting: number;
  /** False where no candidate fits: balances are not checked against such bills. */
  readonly isTestable: boolean;
};

/** What each bill of an account moves its wallet by, as far as earlier checks have learned it. */
export type Rules = {
  /** By type: see src/core/contract/business-types.ts. */
  readonly categories: ReadonlyMap<string, string | null>;
  readonly rules: readonly LearnedRule[];
};

/** The bills of one type in a check, and what they say of its rule. */
export type TypeTally = {
  readonly productType: string;
  readonly businessType: string;
  /** Null where the type has none. */
  readonly category: string | null;
  readonly rule: WalletRule;
  readonly isTestable: boolean;
  /** Bills that say something of rules. */
  tested: number;
  /** How many of them each candidate fits. */
  readonly fitting: number[];
};

/** The tallies of all types that a check meets. */
export class Tallies {
  readonly #rules: Rules;
  readonly #tallies = new Map<string, TypeTally>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  get all(): readonly TypeTally[] {
    return [...this.#tallies.values()];
  }

  of(productType: string, businessType: string): TypeTally {
    const key = `${productType} ${businessType}`;
    const tally = this.#tallies.get(key);
    if (tally !== undefined) return tally;
    const category = this.#rules.categories.get(businessType) ?? null;
    const type = { productType, businessType, category };
    const emptyTally = newTally({ ...type, ...effectiveRule(this.#rules.rules, type) });
    this.#tallies.set(key, emptyTally);
    return emptyTally;
  }
}

/** The tally of a bill that moves its wallet by a number that is not known: it says nothing of rules. */
export const untestable = ({ productType, businessType, category, rule }: TypeTally): TypeTally =>
  newTally({ productType, businessType, category, rule, isTestable: false });

type TypeName = Pick<TypeTally, "productType" | "businessType" | "category">;

export const newTally = (
  type: Pick<TypeTally, keyof TypeName | "rule" | "isTestable">,
): TypeTally => ({
  ...type,
  tested: 0,
  fitting: candidates.map(() => 0),
});

const rulesFor = (
  rules: readonly LearnedRule[],
  { productType, businessType, category }: TypeName,
) => {
  const ofProduct = rules.filter((one) => one.productType === productType);
  return {
    ofType: ofProduct.find((one) => one.businessType === businessType),
    ofCategory: ofProduct.find((one) => one.businessType === "" && one.category === category),
  };
};

function effectiveRule(
  rules: readonly LearnedRule[],
  type: TypeName,
): { readonly rule: WalletRule; readonly isTestable: boolean } {
  const { ofType, ofCategory } = rulesFor(rules, type);
  const learned = ofType ?? ofCategory;
  return {
    rule: learned ?? expectedRule(type.category ?? ""),
    isTestable: learned?.isTestable ?? true,
  };
}

/**
 * Counts a bill with its discrepancy under its rule, which is nearly always zero.
 * @param isAlone whether it can contradict a rule, since no bill can have changed places with it.
 */
export function tallyBill(
  tally: TypeTally,
  bill: Amounts & { readonly moved: bigint },
  off: bigint,
  { tolerance, isAlone }: { readonly tolerance: bigint; readonly isAlone: boolean },
): void {
  const rounding = off === 0n ? 0n : tolerance;
  const fits = candidates.map((one) => !isFar(bill.moved + off, movedBy(one, bill), rounding));
  if (!isAlone && isFar(off, 0n, tolerance) && !fits.includes(true)) return;
  tally.tested++;
  for (const [index, doesFit] of fits.entries())
    if (doesFit) tally.fitting[index] = (tally.fitting[index] ?? 0) + 1;
}

/** How often each candidate fits the bills of a category, or of one of its types. */
type RuleEvidence = Pick<TypeTally, "tested"> & { readonly fitting: readonly number[] };
type TypeEvidence = RuleEvidence & { readonly businessType: string };

/** A rule in words, as `reconcile` shows it: "amount + fee". */
export const movesText = ({ countsAmount, countsFee, countsCoupon }: WalletRule): string =>
  [countsAmount && "amount", countsFee && "fee", countsCoupon && "coupon"]
    .filter((part) => part !== false)
    .join(" + ") || "nothing";

/** The rules of the categories and types that a whole check met. */
export const learnRules = (tallies: readonly TypeTally[]): readonly LearnedRule[] =>
  [
    ...Map.groupBy(tallies, ({ productType, category }) =>
      JSON.stringify([productType, category]),
    ).values(),
  ]
    .flatMap((types): readonly LearnedRule[] => {
      const [{ productType, category } = { productType: "", category: null }] = types;
      if (category === null) return [];
      const inferred = inferRules(category, types);
      return inferred.map((one) => ({ ...one, productType, category }));
    })
    .toSorted(inNames);

export const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const inNames = (a: LearnedRule, b: LearnedRule): number =>
  compare(a.productType, b.productType) ||
  compare(a.category, b.category) ||
  compare(a.businessType, b.businessType);

// One or two bills that do not fit may be damaged. Three bills that fit another rule establish that rule.
const evidenceMin = 3;
const fittingShareMin = 0.5;

/**
 * The candidate that fits most of a category's bills, and a rule of its own for each type that this one does not
 * fit: another candidate, or none, so that it cannot be tested. The expected rule stands unless another one fits
 * more bills, and more than one or two: a single damaged bill must not become the rule.
 */
export function inferRules(
  category: string,
  types: readonly TypeEvidence[],
): readonly Omit<LearnedRule, "productType" | "category">[] {
  const rule = mostFitting(sumOf(types), expectedRule(category));
  const exceptions = types.flatMap((type) => {
    if (isMost(fittingOf(type, rule), type)) return [];
    const { businessType, tested } = type;
    if (tested < evidenceMin) return [];
    const typeRule = mostFitting(type, rule);
    const fitting = fittingOf(type, typeRule);
    return [{ ...typeRule, businessType, tested, fitting, isTestable: isMost(fitting, type) }];
  });
  const exceptional = new Set(exceptions.map(({ businessType }) => businessType));
  const others = sumOf(types.filter(({ businessType }) => !exceptional.has(businessType)));
  const { tested } = others;
  const fitting = fittingOf(others, rule);
  return [{ ...rule, businessType: "", tested, fitting, isTestable: true }, ...exceptions];
}

const fittingOf = ({ fitting }: RuleEvidence, rule: WalletRule): number =>
  fitting[candidates.indexOf(rule)] ?? 0;

const isMost = (fitting: number, { tested }: RuleEvidence): boolean =>
  fitting >= tested * fittingShareMin;

/** @returns one of {@link candidates}. */
function mostFitting(evidence: RuleEvidence, expected: WalletRule): WalletRule {
  const best = Math.max(0, ...evidence.fitting);
  const learned = candidates[evidence.fitting.indexOf(best)];
  const isLearned = best > fittingOf(evidence, expected) && best >= evidenceMin;
  return isLearned && learned !== undefined ? learned : expected;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, some) => total + some, 0);

const sumOf = (types: readonly RuleEvidence[]): RuleEvidence => ({
  tested: sum(types.map(({ tested }) => tested)),
  fitting: candidates.map((_, index) => sum(types.map(({ fitting }) => fitting[index] ?? 0))),
});

/** Whether a check under these rules would compute the same balances as the one that made the tallies. */
export const areSameRules = (
  rules: readonly LearnedRule[],
  tallies: readonly TypeTally[],
): boolean =>
  tallies.every((tally) => {
    const { rule, isTestable } = effectiveRule(rules, tally);
    return isTestable === tally.isTestable && movesText(rule) === movesText(tally.rule);
  });

// Bills that fit several rules tip the balance where others contradict each other, as long as these are few.
const firmMin = 100;

/**
 * Whether a whole check has something to learn from the changed bills: their category is new, or no rule fits
 * their type so far, or their category or type has few bills, which do not all fit one rule.
 */
export const isAnyUnlearned = (
  rules: readonly LearnedRule[],
  tallies: readonly TypeTally[],
): boolean =>
  tallies.some((tally) => {
    if (tally.category === null) return false;
    const { ofType, ofCategory } = rulesFor(rules, tally);
    if (ofCategory === undefined || !(ofType ?? ofCategory).isTestable) return true;
    const { tested, fitting } = ofCategory;
    return (fitting < tested && tested < firmMin) || (ofType?.tested ?? firmMin) < firmMin;
  });

export async function readRules(tx: Transaction, account: string): Promise<Rules> {
  const { rows: types } = await tx.execute<{ code: string; category: string | null }>(
    sql`select code, category from business_types`,
  );
  const categories = new Map(types.map(({ code, category }) => [code, category]));
  const { account: _, ...columns } = getTableColumns(walletRules);
  const rules = await tx.select(columns).from(walletRules).where(eq(walletRules.account, account));
  return { categories, rules };
}

/** Stores what a whole check has learned, in place of what earlier ones had. */
export async function writeRules(
  tx: Transaction,
  account: string,
  rules: readonly LearnedRule[],
): Promise<void> {
  await tx.delete(walletRules).where(eq(walletRules.account, account));
  if (rules.length > 0)
    await tx.insert(walletRules).values(rules.map((one) => ({ ...one, account })));
}

/** A rule as `reconcile` tells it. */
export type RuleSummary = Omit<LearnedRule, keyof WalletRule | "businessType"> & {
  readonly account: string;
  readonly businessType: string | null;
  readonly moves: string;
};

export const ruleSummaries = (
  account: string,
  rules: readonly LearnedRule[],
): readonly RuleSummary[] =>
  rules.map(({ countsAmount, countsFee, countsCoupon, businessType, ...one }) => ({
    account,
    ...one,
    businessType: businessType === "" ? null : businessType,
    moves: movesText({ countsAmount, countsFee, countsCoupon }),
  }));
