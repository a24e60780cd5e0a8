import { decimalText } from "../../export/decimal.ts";
import { allDigits } from "../format.ts";

/** The vertical axis of a chart: where values stand, and its ticks. */
export type ValueAxis = {
  /** From 0 at the top to 1 at the bottom. */
  readonly heightOf: (value: number) => number;
  readonly hasZero: boolean;
  readonly ticks: readonly { readonly height: number; readonly text: string }[];
};

const ticksMax = 5;
const margin = 0.06;
// The axis includes zero if the value nearest to zero is less than this share of the farthest one.
const nearZero = 0.4;

/** @param values floats, exact enough for positions. The text of the ticks is computed exactly. */
export function valueAxis(values: readonly number[]): ValueAxis {
  const { low, high } = spanOf(values);
  const heightOf = (value: number) => (high - value) / (high - low);
  return {
    heightOf,
    hasZero: low <= 0 && high >= 0,
    ticks: ticksOf(low, high).map(({ value, text }) => ({ height: heightOf(value), text })),
  };
}

function spanOf(values: readonly number[]): { readonly low: number; readonly high: number } {
  const lowest = Math.min(...values);
  const highest = Math.max(...values);
  if (values.length === 0 || (lowest === 0 && highest === 0)) return { low: -1, high: 1 };
  const range = highest - lowest || Math.abs(highest) / 10;
  const low =
    lowest >= 0 && lowest < nearZero * highest ? 0 : lowest - (lowest === 0 ? 0 : margin * range);
  const high =
    highest <= 0 && highest > nearZero * lowest
      ? 0
      : highest + (highest === 0 ? 0 : margin * range);
  return { low, high };
}

/** Ticks at whole multiples of 1, 2 or 5 times a power of ten. */
function ticksOf(
  low: number,
  high: number,
): readonly { readonly value: number; readonly text: string }[] {
  const atLeast = (high - low) / ticksMax;
  const decade = Math.floor(Math.log10(atLeast));
  const times = [1, 2, 5].find((each) => each * 10 ** decade >= atLeast);
  const [factor, power] = times === undefined ? [1, decade + 1] : [times, decade];
  const step = factor * 10 ** power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, index) => {
    const units = BigInt(first + index) * BigInt(factor);
    const text =
      power < 0
        ? decimalText({ units, scale: -power })
        : decimalText({ units: units * 10n ** BigInt(power), scale: 0 });
    return { value: (first + index) * step, text: allDigits(text) };
  });
}
