import { add, decimalOf, decimalText, zero } from "../../export/decimal.ts";
import type { Day } from "../selection.ts";
import { type Line, type LineName, lines, resultLines } from "./lines.ts";
import type { Stretch } from "./wallet-days.ts";

// Exact sums of days: decimals as text, no floats.

export const sumOf = (decimals: readonly string[]): string =>
  decimalText(decimals.map(decimalOf).reduce(add, zero));

export const isZero = (decimal: string): boolean => decimalOf(decimal).units === 0n;

/** Adjacent days as one stretch; undefined if there are none. */
export function together(days: readonly Stretch[]): Stretch | undefined {
  const [first] = days;
  const last = days.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const sums = lines.map(({ name }) => [name, sumOf(days.map(({ moved }) => moved[name]))]);
  return {
    from: first.from,
    to: last.to,
    opening: first.opening,
    closing: last.closing,
    moved: Object.fromEntries(sums) as Record<LineName, string>,
    bills: days.reduce((sum, { bills }) => sum + bills, 0),
    isComplete: days.every(({ isComplete }) => isComplete),
  };
}

const monthOf = (day: Day): string => day.slice(0, 7);

/** The days summed by month. The first and the last month may be partial. */
export const byMonth = (days: readonly Stretch[]): readonly Stretch[] =>
  [...Map.groupBy(days, ({ from }) => monthOf(from)).values()].flatMap(
    (month) => together(month) ?? [],
  );

/** Whether its balances do not follow from its bills. Errors of several days may cancel out. */
export const isOff = ({ moved }: Stretch): boolean => !isZero(moved.difference);

/** What was earned and lost: without transfers, loans and conversions between coins. */
export const resultOf = ({ moved }: Stretch): string =>
  sumOf(resultLines.map(({ name }) => moved[name]));

/** The lines that are not zero in some stretch. Their sum over all stretches may still be zero. */
export const linesIn = (stretches: readonly Stretch[]): readonly Line[] =>
  lines.filter(({ name }) => stretches.some(({ moved }) => !isZero(moved[name])));
