import type { Category } from "../contract/business-types.ts";

/** Which of a bill's numbers its balance moves by. */
export type WalletRule = {
  readonly countsAmount: boolean;
  readonly countsFee: boolean;
  readonly countsCoupon: boolean;
};

const rule = (countsAmount: boolean, countsFee: boolean, countsCoupon: boolean): WalletRule => ({
  countsAmount,
  countsFee,
  countsCoupon,
});

const amountAndFee = rule(true, true, false);
const nothing = rule(false, false, false);

/** All that a category may do to the wallet, the likelier first. */
export const candidates: readonly WalletRule[] = [
  amountAndFee,
  nothing,
  rule(true, false, false),
  rule(false, true, false),
  rule(true, true, true),
  rule(false, true, true),
];

/** What is expected of a category before the ledger was asked: a margin move stays in the account. */
export const expectedRule = (category: string): WalletRule =>
  category === ("margin" satisfies Category) ? nothing : amountAndFee;

export type RuleEvidence = {
  readonly category: string;
  /** Bills whose balance and whose predecessor's are known. */
  readonly tested: number;
  /** How many of them each candidate fits, in the order of {@link candidates}. */
  readonly fitting: readonly number[];
};

export type InferredRule = WalletRule & {
  readonly tested: number;
  readonly fitting: number;
  /** False where no candidate fits: the category's bills then say nothing about the ledger. */
  readonly isTestable: boolean;
};

// One or two bills that do not fit may be damaged; three that fit another rule show that the category has it.
const evidenceMin = 3;
const fittingShareMin = 0.5;

/**
 * The candidate that fits most of a category's bills. The expected one stands unless another
 * fits more, and on more than a bill or two: a single damaged bill must not become the rule.
 */
export function inferRule({ category, tested, fitting }: RuleEvidence): InferredRule {
  const expected = expectedRule(category);
  const expectedFitting = fitting[candidates.indexOf(expected)] ?? 0;
  const best = Math.max(0, ...fitting);
  const learned = candidates[fitting.indexOf(best)];
  const isLearned = learned !== undefined && best > expectedFitting && best >= evidenceMin;
  const fits = isLearned ? best : expectedFitting;
  return {
    ...(isLearned ? learned : expected),
    tested,
    fitting: fits,
    isTestable: tested < evidenceMin || fits >= tested * fittingShareMin,
  };
}
