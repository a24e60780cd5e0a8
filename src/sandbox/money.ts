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
  const [whole = "0", fraction = ""] = coins.split(".");
  const magnitude = BigInt(whole.replace("-", "") + fraction.padEnd(scale, "0"));
  return coins.startsWith("-") ? -magnitude : magnitude;
}

/** The amount as text, with all places or without trailing zeros. */
export function decimalText(
  amount: Units,
  places: "all" | "needed" = "needed",
  scale = classicPlaces,
): string {
  const unitsPerCoin = 10n ** BigInt(scale);
  const magnitude = amount < 0n ? -amount : amount;
  const whole = magnitude / unitsPerCoin;
  const fraction = String(magnitude % unitsPerCoin).padStart(scale, "0");
  const shown = places === "all" ? fraction : fraction.replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${whole}${shown === "" ? "" : `.${shown}`}`;
}

/** The product, rounded down as in the exchange's conversions. */
export const product = (left: Units, right: Units, scale = classicPlaces): Units =>
  (left * right) / 10n ** BigInt(scale);

/** The ratio as a decimal with this many places, rounded half up. Both arguments are positive. */
export function ratioText(part: Units, whole: Units, places: number): string {
  const twice = (2n * part * 10n ** BigInt(places)) / whole;
  const digits = String((twice + 1n) / 2n).padStart(places + 1, "0");
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

const randomSteps = 2 ** 32;

/** Draws uniformly from 1 unit to `most`. */
export const drawUnits = (random: Random, most: Units): Units =>
  1n + (BigInt(Math.floor(random() * randomSteps)) * most) / BigInt(randomSteps);
