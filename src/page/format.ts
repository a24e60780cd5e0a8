import { type EpochMs, hourMs, isoTime, minuteMs } from "../contract/time.ts";
import { type Decimal, decimalOf, decimalText } from "../export/decimal.ts";
import { formatMinute } from "../terminal/format.ts";
import { type Html, html } from "./html.ts";

// How the page writes figures. Numbers are decimals as text all the way from Postgres to the
// reader.

const minus = "−";
const nothing = "–";
const unknown = html`<i class="unknown">unknown</i>`;

/** How an amount is written. */
export type AmountStyle = {
  readonly coin: string;
  /** Shows all stored digits instead of the coin's usual number of places. */
  readonly isExact: boolean;
};

/** A balance: `1,234.56`, with all digits where the pointer rests. */
export const amount = (decimal: string | null, style: AmountStyle): Html =>
  figure(decimal, style, { plus: "", tone: () => "" });

/** What a balance moved by: `+1,234.56` or `−1,234.56`. In a table, no movement is a dash. */
export const movement = (decimal: string | null, style: AmountStyle): Html =>
  decimal !== null && isZero(decimal)
    ? html`<span class="zero">${nothing}</span>`
    : netMovement(decimal, style);

/** A sum of movements in a sentence: `+1,234.56`, `−1,234.56` or `0.00`. */
export const netMovement = (decimal: string | null, style: AmountStyle): Html =>
  decimal !== null && isZero(decimal)
    ? amount(decimal, style)
    : figure(decimal, style, { plus: "+", tone: toneOf });

/** A number with all its digits, grouped, and with a plus where one is given. */
export const allDigits = (decimal: string, plus = ""): string =>
  signed(decimal, grouped(decimal.replace("-", "")), plus);

type Writing = { readonly plus: string; readonly tone: (decimal: string) => string };

function figure(
  decimal: string | null,
  { coin, isExact }: AmountStyle,
  { plus, tone }: Writing,
): Html {
  if (decimal === null) return unknown;
  const exact = allDigits(decimal, plus);
  const rounded = roundedTo(decimalOf(decimal), placesOf(coin));
  const short = signed(decimal, grouped(decimalText(rounded).replace("-", "")), plus);
  return html`<data class="${tone(decimal)}" value="${decimal}" title="${exact}">${isExact ? exact : short}</data>`;
}

/** A ratio such as 0.1673 as `16.73 %`. */
export function percentage(ratio: string | null, isExact: boolean): Html {
  if (ratio === null) return unknown;
  const exact = allDigits(hundredfold(ratio));
  const rounded = roundedTo(decimalOf(hundredfold(ratio)), 2);
  return html`<data value="${ratio}" title="${exact} %">${isExact ? exact : allDigits(decimalText(rounded))} %</data>`;
}

/** A ratio in percent, with all its digits. */
export function hundredfold(ratio: string): string {
  const { units, scale } = decimalOf(ratio);
  return decimalText(
    scale >= 2
      ? { units, scale: scale - 2 }
      : { units: units * 10n ** BigInt(2 - scale), scale: 0 },
  );
}

const isZero = (decimal: string): boolean => /^-?[0.]+$/.test(decimal);

const toneOf = (decimal: string): string => (decimal.startsWith("-") ? "out" : "in");

/** By how much something is off: never in the colour of a gain. */
export const discrepancy = (decimal: string | null, style: AmountStyle): Html =>
  decimal !== null && isZero(decimal)
    ? movement(decimal, style)
    : figure(decimal, style, { plus: "+", tone: () => "is-off" });

/**
 * A sentence of a report as the page writes it: true minus signs, grouped digits, and times to the
 * minute.
 */
export const asWritten = (text: string): string =>
  text
    .replaceAll(/\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d+Z/g, "$1 $2Z")
    .replaceAll(/(?<![\w.])-(?=\d)/g, minus)
    .replaceAll(/(?<![\w.])\d{4,}\.\d+\b/g, grouped);

/** Decimals with the same number of places, so that their digits stand below each other. */
export function padded<Value extends string | null>(decimals: readonly Value[]): readonly Value[] {
  const known = decimals.flatMap((decimal) => (decimal === null ? [] : [decimalOf(decimal)]));
  const scale = Math.max(0, ...known.map((decimal) => decimal.scale));
  return decimals.map((decimal) =>
    decimal === null ? decimal : (decimalText(roundedTo(decimalOf(decimal), scale)) as Value),
  );
}

// No line ends between a number and its unit.
const noBreak = "\u00a0";

/**
 * How long something is, in its two largest units: "25 min", "3 h 10 min", "7 days". Hours are whole
 * from one day on, so that 7 days less a second are 7 days.
 */
export function lengthText(ms: number): string {
  if (ms < minuteMs) return "less than a minute";
  const minutes = Math.round(ms / minuteMs);
  const hours = minutes < 24 * 60 ? Math.floor(minutes / 60) : Math.round(ms / hourMs);
  const units: readonly (readonly [number, string])[] =
    hours < 24
      ? [
          [hours, "h"],
          [minutes % 60, "min"],
        ]
      : [
          [Math.floor(hours / 24), hours % 24 > 0 ? "d" : hours === 24 ? "day" : "days"],
          [hours % 24, "h"],
        ];
  return units.flatMap(([count, unit]) => (count === 0 ? [] : [count, unit])).join(noBreak);
}

/** Takes the sign from the number itself: a number that rounds to zero keeps its sign. */
const signed = (decimal: string, digits: string, plus: string): string =>
  `${decimal.startsWith("-") ? minus : plus}${digits}`;

/** Groups the digits of a number without a sign: 1234567.891 becomes 1,234,567.891 */
function grouped(digits: string): string {
  const [whole = "", ...places] = digits.split(".");
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ","), ...places].join(".");
}

const dollarCoins = new Set(["USD", "USDT", "USDC", "USDE", "USDS", "DAI", "FDUSD", "TUSD"]);

/**
 * How many places a coin is usually written with. A demo coin's name is the coin's with an S before
 * it.
 */
export function placesOf(coin: string): number {
  const names = [coin, coin.replace(/^S/, "")];
  if (names.some((name) => dollarCoins.has(name))) return 2;
  return names.some((name) => name === "BTC" || name === "ETH") ? 6 : 4;
}

/** Rounds to exactly this many places, halves away from zero. */
export function roundedTo({ units, scale }: Decimal, places: number): Decimal {
  if (scale <= places) return { units: units * 10n ** BigInt(places - scale), scale: places };
  const factor = 10n ** BigInt(scale - places);
  const half = (factor / 2n) * (units < 0n ? -1n : 1n);
  return { units: (units + half) / factor, scale: places };
}

/** A decimal as a float, for positions in a chart only. */
export const forPixels = (decimal: string): number => Number(decimal);

/** 2026-11-22 01:09Z, or *unknown*. */
export const timeTag = (time: EpochMs | undefined): Html =>
  time === undefined
    ? unknown
    : html`<time datetime="${isoTime(time)}">${formatMinute(time)}</time>`;
