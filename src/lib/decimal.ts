/** An exact decimal number: units × 10^-scale. */
export type Decimal = { readonly units: bigint; readonly scale: number };

export const zero: Decimal = { units: 0n, scale: 0 };

/** @param text a number as Postgres prints it: digits with at most one point, no exponent. */
export function decimalOf(text: string): Decimal {
  const point = text.indexOf(".");
  if (point === -1) return { units: BigInt(text), scale: 0 };
  return {
    units: BigInt(text.slice(0, point) + text.slice(point + 1)),
    scale: text.length - point - 1,
  };
}

/** The decimal as text, without an exponent, with all its decimal places. */
export function decimalText({ units, scale }: Decimal): string {
  if (scale === 0) return String(units);
  const sign = units < 0n ? "-" : "";
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** A decimal's text without zeros at its end, which change nothing. */
export const withoutZeros = (text: string): string =>
  text.includes(".") ? text.replace(/\.?0+$/, "") : text;

export const shortText = (decimal: Decimal): string => withoutZeros(decimalText(decimal));

/** The units of the same number at a larger scale. */
export const unitsAt = ({ units, scale }: Decimal, larger: number): bigint =>
  scale === larger ? units : units * 10n ** BigInt(larger - scale);

export function add(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale);
  return { units: unitsAt(left, scale) + unitsAt(right, scale), scale };
}

export const negate = ({ units, scale }: Decimal): Decimal => ({ units: -units, scale });

export const subtract = (left: Decimal, right: Decimal): Decimal => add(left, negate(right));

export const isZero = ({ units }: Decimal): boolean => units === 0n;

export const magnitude = (decimal: Decimal): Decimal =>
  decimal.units < 0n ? negate(decimal) : decimal;

export const isAtMost = (left: Decimal, right: Decimal): boolean =>
  subtract(left, right).units <= 0n;

/** A decimal's units at exactly this scale; undefined where it has more places than that. */
export function unitsOf(decimal: Decimal, scale: number): bigint | undefined {
  if (decimal.scale <= scale) return unitsAt(decimal, scale);
  const factor = 10n ** BigInt(decimal.scale - scale);
  return decimal.units % factor === 0n ? decimal.units / factor : undefined;
}

/** Whether a number has at most so many digits, not counting trailing zeros. */
export function hasAtMostDigits({ units }: Decimal, digits: number): boolean {
  const limit = 10n ** BigInt(digits);
  if (units < limit && units > -limit) return true;
  return String(units).replace(/^-/, "").replace(/0+$/, "").length <= digits;
}
