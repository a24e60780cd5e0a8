import {
  amountAlone,
  amountAndFee,
  expectedRule,
  nothing,
  type WalletRule,
} from "../db/sql/expected-rule.ts";
import { isFar } from "./decimals.ts";

// Counts what bills say of the rule by which their type moves the wallet.

const rule = (countsAmount: boolean, countsFee: boolean, countsCoupon: boolean): WalletRule => ({
  countsAmount,
  countsFee,
  countsCoupon,
});

/** All rules that a category may have, the likelier first. */
export const candidates: readonly WalletRule[] = [
  amountAndFee,
  nothing,
  amountAlone,
  rule(false, true, false),
  rule(true, true, true),
  rule(false, true, true),
];

type Amounts = { readonly amount: bigint; readonly fee: bigint; readonly coupon: bigint };

/** What a bill moves its balance by under a rule. */
export const movedBy = (
  { countsAmount, countsFee, countsCoupon }: WalletRule,
  { amount, fee, coupon }: Amounts,
): bigint => (countsAmount ? amount : 0n) + (countsFee ? fee : 0n) + (countsCoupon ? coupon : 0n);

/** The rule of a category, or of a type that differs from its category's. */
export type LearnedRule = WalletRule & {
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
  /** By type: see src/contract/business-types.ts. */
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
  readonly #tallies = new Map<string, Map<string, TypeTally>>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  get all(): readonly TypeTally[] {
    return [...this.#tallies.values()].flatMap((tallies) => [...tallies.values()]);
  }

  of(productType: string, businessType: string): TypeTally {
    const tally = this.#tallies.get(productType)?.get(businessType);
    return tally ?? this.#add(productType, businessType);
  }

  #add(productType: string, businessType: string): TypeTally {
    const category = this.#rules.categories.get(businessType) ?? null;
    const tally = newTally({
      productType,
      businessType,
      category,
      ...effectiveRule(this.#rules.rules, { productType, businessType, category }),
    });
    const ofProduct = this.#tallies.get(productType) ?? new Map<string, TypeTally>();
    this.#tallies.set(productType, ofProduct);
    ofProduct.set(businessType, tally);
    return tally;
  }
}

type TypeName = Pick<TypeTally, "productType" | "businessType" | "category">;

export const newTally = (
  type: Pick<TypeTally, keyof TypeName | "rule" | "isTestable">,
): TypeTally => ({
  ...type,
  tested: 0,
  fitting: candidates.map(() => 0),
});

export const rulesFor = (
  rules: readonly LearnedRule[],
  { productType, businessType, category }: TypeName,
) => {
  const ofProduct = rules.filter((one) => one.productType === productType);
  return {
    ofType: ofProduct.find((one) => one.businessType === businessType),
    ofCategory: ofProduct.find((one) => one.businessType === "" && one.category === category),
  };
};

export function effectiveRule(
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
 * Counts a bill whose balance is off by so much under its rule; nearly always by nothing.
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
  for (const [place, doesFit] of fits.entries())
    if (doesFit) tally.fitting[place] = (tally.fitting[place] ?? 0) + 1;
}

/** How often each candidate fits the bills of a category, or of one of its types. */
export type RuleEvidence = {
  /** Bills whose balance and whose predecessor's are known. */
  readonly tested: number;
  /** How many of them each candidate fits, in the order of {@link candidates}. */
  readonly fitting: readonly number[];
};

export type TypeEvidence = RuleEvidence & { readonly businessType: string };
