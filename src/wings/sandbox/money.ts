import { decimalOf, decimalText as exactText, shortText, unitsAt } from "../../lib/decimal.ts";
import type { Random } from "./random.ts";

const classicPlaces = 8;

/** The decimal places of a unified account's amounts. Source: answers of the exchange. */
export const unifiedPlaces = 16;

/**
 * An amount of a coin in units of 1e-8, or of 1e-16 in a unified account. The sandbox's money never
 * passes through a JavaScript number.
 */
export type Units = bigint;

/** @param coins a decimal with at most `scale` places, such as "0.5". */
export function units(coins: string, scale = classicPlaces): Units {
  return unitsAt(decimalOf(coins), scale);
}

/** The amount as text, with all places or without trailing zeros. */
export function decimalText(
  amount: Units,
  places: "all" | "needed" = "needed",
  scale = classicPlaces,
): string {
  return (places === "all" ? exactText : shortText)({ units: amount, scale });
}

/** The product, rounded down as in the exchange's conversions. */
export const product = (left: Units, right: Units, scale = classicPlaces): Units =>
  (left * right) / 10n ** BigInt(scale);

/** The ratio as a decimal with this many places, rounded half up. Both arguments are positive. */
export function ratioText(part: Units, whole: Units, places: number): string {
  const twice = (2n * part * 10n ** BigInt(places)) / whole;
  return exactText({ units: (twice + 1n) / 2n, scale: places });
}

const randomSteps = 2 ** 32;

/** Draws uniformly from 1 unit to `most`. */
export const drawUnits = (random: Random, most: Units): Units =>
  1n + (BigInt(Math.floor(random() * randomSteps)) * most) / BigInt(randomSteps);
