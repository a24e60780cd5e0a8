import { add, decimalOf, decimalText, zero } from "../../export/decimal.ts";
import type { Day } from "../selection.ts";
import { type Line, type LineName, lines, resultLines } from "./lines.ts";
import type { Stretch } from "./wallet-days.ts";

// Sums of days, exact: decimals as text, and no floats.

export const sumOf = (decimals: readonly string[]): string =>
  decimalText(decimals.map(decimalOf).reduce(add, zero));

export const isZero = (decimal: string): boolean => decimalOf(decimal).units === 0n;

/** Days in a row as one stretch; undefined of none. */
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

/** The same days by month. The first and the last month may be parts of one. */
export const byMonth = (days: readonly Stretch[]): readonly Stretch[] =>
  [...Map.groupBy(days, ({ from }) => monthOf(from)).values()].flatMap(
    (month) => together(month) ?? [],
  );

/** What was earned and lost: without transfers, loans, and coins that change places. */
export const resultOf = ({ moved }: Stretch): string =>
  sumOf(resultLines.map(({ name }) => moved[name]));

/** The lines that any of the stretches has something of. A sum may be zero and its parts not. */
export const linesIn = (stretches: readonly Stretch[]): readonly Line[] =>
  lines.filter(({ name }) => stretches.some(({ moved }) => !isZero(moved[name])));
