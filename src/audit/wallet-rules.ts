import {
  amountAlone,
  amountAndFee,
  expectedRule,
  nothing,
  type WalletRule,
} from "../db/sql/expected-rule.ts";

// How a rule is inferred from bills. What a rule then does to a wallet is in src/db/sql/wallet-moves.ts.

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

/** A rule in words, as `reconcile` shows it: "amount + fee". */
export const movesText = ({ countsAmount, countsFee, countsCoupon }: WalletRule): string =>
  [countsAmount && "amount", countsFee && "fee", countsCoupon && "coupon"]
    .filter((part) => part !== false)
    .join(" + ") || "nothing";

/** How often each candidate fits the bills of a category, or of one of its types. */
export type RuleEvidence = {
  /** Bills whose balance and whose predecessor's are known. */
  readonly tested: number;
  /** How many of them each candidate fits, in the order of {@link candidates}. */
  readonly fitting: readonly number[];
};

export type TypeEvidence = RuleEvidence & { readonly businessType: string };

export type TypeRule = WalletRule & {
  readonly businessType: string;
  readonly tested: number;
  readonly fitting: number;
};

export type CategoryRule = WalletRule & {
  /** Does not count the bills of types that have a rule of their own. */
  readonly tested: number;
  readonly fitting: number;
  /** False where no candidate fits: balances are then not checked against the category's bills. */
  readonly isTestable: boolean;
  /** Types whose bills show another rule than the category's. */
  readonly types: readonly TypeRule[];
};

// One or two bills that do not fit may be damaged. Three bills that fit another rule establish that rule.
const evidenceMin = 3;
const fittingShareMin = 0.5;

/**
 * The candidate that fits most of a category's bills, and another one for each type that this one does not
 * fit and that shows its own. The expected rule stands unless another one fits more bills, and more than one
 * or two: a single damaged bill must not become the rule.
 */
export function inferRule(category: string, types: readonly TypeEvidence[]): CategoryRule {
  const rule = mostFitting(sumOf(types), expectedRule(category));
  const own = types.flatMap((type) => typeRule(type, rule));
  const others = sumOf(
    types.filter(({ businessType }) => !own.some((type) => type.businessType === businessType)),
  );
  const fitting = fittingOf(others, rule);
  return {
    ...rule,
    tested: others.tested,
    fitting,
    isTestable: others.tested < evidenceMin || isMost(fitting, others),
    types: own,
  };
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

/** The rule of a type that its category's rule does not fit; none where no candidate fits. */
function typeRule(type: TypeEvidence, ofCategory: WalletRule): readonly TypeRule[] {
  if (isMost(fittingOf(type, ofCategory), type)) return [];
  const rule = mostFitting(type, ofCategory);
  const fitting = fittingOf(type, rule);
  if (rule === ofCategory || !isMost(fitting, type)) return [];
  return [{ ...rule, businessType: type.businessType, tested: type.tested, fitting }];
}

const sumOf = (types: readonly RuleEvidence[]): RuleEvidence => ({
  tested: types.reduce((sum, { tested }) => sum + tested, 0),
  fitting: candidates.map((_, place) =>
    types.reduce((sum, { fitting }) => sum + (fitting[place] ?? 0), 0),
  ),
});
