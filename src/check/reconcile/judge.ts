import { bookedMaxMsOf } from "../../core/contract/product-types.ts";
import type { Unexplained } from "../../core/postgres/schema/reconciliation-schema.ts";
import { shortText, withoutZeros } from "../../lib/decimal.ts";
import { epochMs, isoTime } from "../../lib/time.ts";
import { isFar } from "./bill-numbers.ts";
import type { FoundBreak, Row } from "./breaks.ts";
import type { Chain, Residual } from "./check-chain.ts";
import { type Coverage, unreadPart } from "./coverage.ts";

// A ledger that rounds does so in one bill of five. Less than one bill in a hundred is no habit.
export const roundingShareMin = 0.01;
export const roundingMin = 3;

/** Whether a chain rounds, judged from all of its bills. */
export const doesRound = ({ tested, rounded }: { tested: number; rounded: number }): boolean =>
  rounded >= roundingMin && rounded >= tested * roundingShareMin;

export type Judged = {
  readonly coverage: Coverage | undefined;
  readonly doesRound: boolean;
  /** How many decimal places the check computed with. */
  readonly decimals: number;
};

/** Whether a balance is certainly wrong: one that is not judged yet, or only rounded, may be right. */
const isCertain = ({ bill, isSmall }: Residual, { coverage, doesRound }: Judged): boolean =>
  !(isSmall && doesRound) && bill.time < (coverage?.reconciledThrough ?? Number.POSITIVE_INFINITY);

/**
 * Whether a balance is wrong that is not a stored break. Only a check of all bills can tell whether it is a
 * new break, or shows another rule or a habit of rounding.
 */
export function isAnythingNew(
  chains: readonly { readonly chain: Chain; readonly judged: Judged }[],
  stored: readonly Pick<Row, "ledger" | "coin" | "anchor" | "difference">[],
): boolean {
  const nameOf = (...parts: readonly (string | null)[]) => JSON.stringify(parts);
  const names = new Set(
    stored.map(({ ledger, coin, anchor, difference }) =>
      nameOf(ledger, coin, anchor, withoutZeros(difference ?? "")),
    ),
  );
  return chains.some(({ chain, judged }) =>
    chain.residuals.some((residual) => {
      const difference = shortText({ units: residual.off, scale: judged.decimals });
      const anchor = anchorOf(chain.wallet, residual);
      return (
        isCertain(residual, judged) &&
        !names.has(nameOf(chain.wallet, chain.coin, anchor, difference))
      );
    }),
  );
}

/** What must be explained: a balance that is certainly wrong, of time when all product types of the wallet were read. */
const isJudged = (residual: Residual, judged: Judged): boolean =>
  isCertain(residual, judged) &&
  residual.base.time >= (judged.coverage?.sharedFrom ?? Number.NEGATIVE_INFINITY);

/** The balances of a chain that neither bills nor a break explain. */
export const unexplainedOf = (
  { residuals }: Pick<Chain, "residuals">,
  judged: Judged,
): readonly Unexplained[] =>
  residuals
    .filter((residual) => residual.untestable.length > 0 && isJudged(residual, judged))
    .map(({ bill, off, untestable }) => ({
      at: timeTextOf(bill.time),
      difference: shortText({ units: off, scale: judged.decimals }),
      types: untestable,
    }));

/** The breaks of a chain, with what the data can say about why. */
export function breaksOf(chain: Chain, judged: Judged): readonly FoundBreak[] {
  const tolerance = 10n ** BigInt(judged.decimals - 8);
  const undoes = (earlier: Residual | undefined, later: Residual | undefined): boolean =>
    earlier !== undefined &&
    later !== undefined &&
    !earlier.isSmall &&
    !later.isSmall &&
    earlier.bill.billId === later.base.billId &&
    earlier.bill.productType === later.base.productType &&
    !isFar(earlier.off + later.off, 0n, BigInt(earlier.steps + later.steps) * tolerance);
  return chain.residuals.flatMap((residual, index) => {
    if (residual.untestable.length > 0 || !isJudged(residual, judged)) return [];
    if (undoes(chain.residuals[index - 1], residual)) return [];
    const isUndone = undoes(residual, chain.residuals[index + 1]);
    return [breakOf(chain, residual, isUndone, judged)];
  });
}

function breakOf(
  { wallet, coin }: Chain,
  residual: Residual,
  isUndone: boolean,
  { coverage, decimals }: Judged,
): FoundBreak {
  const { bill, base } = residual;
  const text = (units: bigint) => shortText({ units, scale: decimals });
  const lateMs = bookedMaxMsOf(wallet);
  const between = {
    from: Math.min(base.time, bill.time) - lateMs,
    to: Math.max(base.time, bill.time),
  };
  const unread = unreadPart(coverage?.read ?? [], between.from, between.to);
  const difference = text(residual.off);
  const opposite = text(-residual.off);
  return {
    kind: unread === undefined ? "balance" : "unread",
    ledger: wallet,
    coin,
    anchor: anchorOf(wallet, residual),
    happenedAt: timeTextOf(bill.time),
    expected: text(residual.expected),
    observed: text(residual.balance),
    difference,
    firstBadBill: bill.billId,
    firstBadProductType: bill.productType === wallet ? null : bill.productType,
    lastGoodBill: base.billId,
    lastGoodProductType: base.productType === wallet ? null : base.productType,
    explanation: explanationOf(residual, { isUndone, unread, difference, opposite }),
  };
}

const timeTextOf = (ms: number): string => isoTime(epochMs(ms));

/** Two categories of a unified account may have the same id. */
const anchorOf = (wallet: string, { bill }: Residual): string =>
  bill.productType === wallet ? bill.billId : `${bill.productType}/${bill.billId}`;

type Seen = {
  readonly isUndone: boolean;
  readonly unread: ReturnType<typeof unreadPart>;
  readonly difference: string;
  readonly opposite: string;
};

/** What the data says about a balance that does not follow. */
function explanationOf(
  { isSmall }: Residual,
  { isUndone, unread, difference, opposite }: Seen,
): string {
  if (unread !== undefined)
    return `not all time between the two bills was read: ${timeTextOf(unread.from)} to ${timeTextOf(unread.to)}`;
  if (isUndone) return "this bill's balance is wrong; the next one is right again";
  if (isSmall)
    return "a discrepancy of one unit in the last place; the other balances of this ledger are exact";
  return (
    `one of three: bills that add up to ${difference} are missing before this one; bills before it that add up ` +
    `to ${opposite} do not belong there; the amount, the fee or the balance of this one is wrong by as much`
  );
}
