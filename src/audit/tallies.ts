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
  /** Bills that say something of rules, without those in {@link alike}. */
  tested: number;
  /** How many of them each candidate fits. */
  readonly fitting: number[];
  /** Bills that the rule fits and that no coupon paid, by which of their numbers are equal or 0. */
  readonly alike: number[];
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
  alike: likenesses.map(() => 0),
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

/** An amount and a fee of each likeness: whether a rule moves such bills as another one does, these show. */
const likenesses: readonly (readonly [amount: bigint, fee: bigint])[] = [
  [0n, 0n],
  [0n, 1n],
  [1n, 0n],
  [1n, -1n],
  [1n, 1n],
  [2n, 3n],
];

function likenessOf(amount: bigint, fee: bigint): number {
  if (amount === 0n) return fee === 0n ? 0 : 1;
  if (fee === 0n) return 2;
  if (amount === -fee) return 3;
  return amount === fee ? 4 : 5;
}

/** Counts a bill that moved its balance exactly as its rule says. Nearly all bills do. */
export function tallyFitting(tally: TypeTally, bill: Amounts & { readonly moved: bigint }): void {
  if (bill.coupon === 0n) {
    const likeness = likenessOf(bill.amount, bill.fee);
    tally.alike[likeness] = (tally.alike[likeness] ?? 0) + 1;
    return;
  }
  count(tally, (candidate) => movedBy(candidate, bill) === bill.moved);
}

/**
 * Counts a bill that moved its balance by something else.
 * @param isAlone whether it can contradict a rule, since no bill can have changed places with it.
 */
export function tallyOff(
  tally: TypeTally,
  bill: Amounts & { readonly moved: bigint },
  off: bigint,
  { tolerance, isAlone }: { readonly tolerance: bigint; readonly isAlone: boolean },
): void {
  const fits = (candidate: WalletRule) =>
    !isFar(bill.moved + off, movedBy(candidate, bill), tolerance);
  if (isAlone || !isFar(off, 0n, tolerance) || candidates.some(fits)) count(tally, fits);
}

function count(tally: TypeTally, fits: (rule: WalletRule) => boolean): void {
  tally.tested++;
  for (const [place, candidate] of candidates.entries()) {
    if (fits(candidate)) tally.fitting[place] = (tally.fitting[place] ?? 0) + 1;
  }
}

/** How often each candidate fits the bills of a category, or of one of its types. */
export type RuleEvidence = {
  /** Bills whose balance and whose predecessor's are known. */
  readonly tested: number;
  /** How many of them each candidate fits, in the order of {@link candidates}. */
  readonly fitting: readonly number[];
};

export type TypeEvidence = RuleEvidence & { readonly businessType: string };

export const sum = (counts: readonly number[]): number =>
  counts.reduce((total, some) => total + some, 0);

/** How many of a type's bills say something of rules, and how many of these each candidate fits. */
export function evidenceOf({
  businessType,
  rule,
  alike,
  tested,
  fitting,
}: TypeTally): TypeEvidence {
  const alikeUnder = (candidate: WalletRule) =>
    likenesses.map(([amount, fee], likeness) => {
      const amounts = { amount, fee, coupon: 0n };
      return movedBy(candidate, amounts) === movedBy(rule, amounts) ? (alike[likeness] ?? 0) : 0;
    });
  return {
    businessType,
    tested: tested + sum(alike),
    fitting: candidates.map(
      (candidate, place) => (fitting[place] ?? 0) + sum(alikeUnder(candidate)),
    ),
  };
}
