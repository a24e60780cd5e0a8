import { expectedRule, type WalletRule } from "../db/sql/expected-rule.ts";
import { isFar } from "./decimals.ts";
import { candidates } from "./wallet-rules.ts";

type Amounts = { readonly amount: bigint; readonly fee: bigint; readonly coupon: bigint };

/** What a bill moves its balance by under a rule. */
export const movedBy = (
  { countsAmount, countsFee, countsCoupon }: WalletRule,
  { amount, fee, coupon }: Amounts,
): bigint => (countsAmount ? amount : 0n) + (countsFee ? fee : 0n) + (countsCoupon ? coupon : 0n);

/** How the bills of one type fare in a check of their product type. */
export type TypeTally = {
  readonly productType: string;
  readonly businessType: string;
  /** Null where the type has none. */
  readonly category: string | null;
  readonly rule: WalletRule;
  /** False where no rule fits: balances are not checked against such bills. */
  readonly isTestable: boolean;
  bills: number;
  /** Bills of which either the balance or the one before was not served. */
  unknown: number;
  /** Whether a bill is off by more than rounding. */
  isDoubted: boolean;
  /** Bills that say something of rules, without those in {@link alike}. */
  telling: number;
  /** How many of them each candidate fits. */
  readonly fitting: number[];
  /** Bills that the rule fits and that no coupon paid, by which of their numbers are equal or 0. */
  readonly alike: number[];
};

export const newTally = (
  of: Pick<TypeTally, "productType" | "businessType" | "category" | "isTestable"> & {
    readonly rule: WalletRule | undefined;
  },
): TypeTally => ({
  ...of,
  rule: of.rule ?? expectedRule(of.category ?? ""),
  bills: 0,
  unknown: 0,
  isDoubted: false,
  telling: 0,
  fitting: candidates.map(() => 0),
  alike: likenesses.map(() => 0),
});

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
  tally.telling++;
  count(tally, (rule) => movedBy(rule, bill) === bill.moved);
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
  const fits = (rule: WalletRule) => !isFar(bill.moved + off, movedBy(rule, bill), tolerance);
  const isDoubted = isFar(off, 0n, tolerance);
  tally.isDoubted ||= isDoubted;
  if (isDoubted && !isAlone && !candidates.some(fits)) return;
  tally.telling++;
  count(tally, fits);
}

function count(tally: TypeTally, fits: (rule: WalletRule) => boolean): void {
  for (const [place, rule] of candidates.entries()) {
    if (fits(rule)) tally.fitting[place] = (tally.fitting[place] ?? 0) + 1;
  }
}

/** How many of a type's bills say something of rules, and how many of these each candidate fits. */
export function evidenceOf({ businessType, rule, alike, telling, fitting }: TypeTally) {
  const sum = (counts: readonly number[]) => counts.reduce((total, some) => total + some, 0);
  const likeRule = (candidate: WalletRule) =>
    likenesses.map(([amount, fee], likeness) => {
      const amounts = { amount, fee, coupon: 0n };
      return movedBy(candidate, amounts) === movedBy(rule, amounts) ? (alike[likeness] ?? 0) : 0;
    });
  return {
    businessType,
    tested: telling + sum(alike),
    fitting: candidates.map((candidate, place) => (fitting[place] ?? 0) + sum(likeRule(candidate))),
  };
}
