import { decimalOf, decimalText as exactText, shortText, unitsAt } from "../../lib/decimal.ts";
import type { Random } from "./random.ts";

// Of a unified account's amounts. Source: answers of the exchange.
const places = 16;

/** An amount of a coin in units of 1e-16. The sandbox's money never passes through a JavaScript number. */
export type Units = bigint;

/** @param coins a decimal with at most 16 places, such as "0.5". */
export const units = (coins: string): Units => unitsAt(decimalOf(coins), places);

/** Drawn amounts are multiples of it, as in classic bills. */
export const grain = units("0.00000001");

/** The amount as text, with eight places at least or without trailing zeros. */
export function decimalText(amount: Units, zeros: "eight" | "needed" = "needed"): string {
  const decimal = { units: amount, scale: places };
  return zeros === "eight" ? exactText(decimal).replace(/0{1,8}$/, "") : shortText(decimal);
}

/** The product, rounded down as in the exchange's conversions. */
export const product = (left: Units, right: Units): Units => (left * right) / 10n ** BigInt(places);

/** The ratio as a decimal with this many places, rounded half up. Both arguments are positive. */
export function ratioText(part: Units, whole: Units, decimals: number): string {
  const twice = (2n * part * 10n ** BigInt(decimals)) / whole;
  return exactText({ units: (twice + 1n) / 2n, scale: decimals });
}

const randomSteps = 2 ** 32;

/** Draws uniformly from 1 grain to `most`, in whole grains. */
export const drawUnits = (random: Random, most: Units): Units =>
  grain *
  (1n + (BigInt(Math.floor(random() * randomSteps)) * (most / grain)) / BigInt(randomSteps));
