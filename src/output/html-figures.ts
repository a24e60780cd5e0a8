import { type Decimal, decimalOf, decimalText } from "../lib/decimal.ts";
import { dayMs, type EpochMs, isoTime } from "../lib/time.ts";
import { type Html, html } from "./html.ts";
import { formatMinute } from "./text.ts";

// How the page writes figures. Numbers are decimals as text all the way from Postgres to the reader.

const minus = "−";
const unknown = html`<i>unknown</i>`;
export const none = html`<span class="quiet">–</span>`;

/** How an amount is written. */
type AmountStyle = {
  readonly coin: string;
  /** Shows all stored digits instead of the coin's usual number of places. */
  readonly isExact: boolean;
};

/** A balance: `1,234.56`. */
export const amount = (decimal: string | null, style: AmountStyle): Html =>
  decimal === null ? unknown : figure(decimal, style, "");

/** What a balance moved by: `+1,234.56`, `−1,234.56`, or a dash. */
export const movement = (decimal: string, style: AmountStyle): Html =>
  isZero(decimal) ? none : figure(decimal, style, "+");

/** The value is exact, whatever is shown. */
const figure = (decimal: string, style: AmountStyle, plus: string): Html =>
  html`<data value="${decimal}">${digitsOf(decimal, style, plus)}</data>`;

/** A number as it is read: grouped, with the coin's usual places or with all. */
export const digitsOf = (decimal: string, { coin, isExact }: AmountStyle, plus = ""): string =>
  isExact ? allDigits(decimal, plus) : rounded(decimal, placesOf(coin), plus);

/** A number with all its digits, grouped, and with a plus where one is given. */
export const allDigits = (decimal: string, plus = ""): string => signed(decimal, decimal, plus);

const rounded = (decimal: string, places: number, plus = ""): string =>
  signed(decimal, decimalText(roundedTo(decimalOf(decimal), places)), plus);

/** Takes the sign from the number itself: a number that rounds to zero keeps its sign. */
function signed(decimal: string, digits: string, plus: string): string {
  const [whole = "", ...places] = digits.replace("-", "").split(".");
  const grouped = [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ","), ...places].join(".");
  return `${decimal.startsWith("-") ? minus : plus}${grouped}`;
}

export const isZero = (decimal: string): boolean => /^-?[0.]+$/.test(decimal);

/** A ratio such as 0.1673 as `16.73 %`. */
export const percentage = (ratio: string): string => {
  const { units, scale } = decimalOf(ratio);
  return `${rounded(decimalText({ units: units * 100n, scale }), 2)} %`;
};

const dollarCoins = new Set(["USD", "USDT", "USDC", "USDE", "USDS", "DAI", "FDUSD", "TUSD"]);

/** Whether a coin is worth about a dollar; a demo coin counts as the one that it is named after. */
const isDollarCoin = (coin: string): boolean =>
  dollarCoins.has(coin) || dollarCoins.has(coin.replace(/^S/, ""));

/** How many places a coin is usually written with. A demo coin's name is the coin's with an S before it. */
function placesOf(coin: string): number {
  if (isDollarCoin(coin)) return 2;
  return ["BTC", "ETH", "SBTC", "SETH"].includes(coin) ? 6 : 4;
}

/** Rounds to exactly this many places, halves away from zero. */
function roundedTo({ units, scale }: Decimal, places: number): Decimal {
  if (scale <= places) return { units: units * 10n ** BigInt(places - scale), scale: places };
  const factor = 10n ** BigInt(scale - places);
  const half = (factor / 2n) * (units < 0n ? -1n : 1n);
  return { units: (units + half) / factor, scale: places };
}

/** 2026-11-22 01:09Z, or *unknown*. */
export const timeTag = (time: EpochMs | undefined): Html =>
  time === undefined
    ? unknown
    : html`<time datetime="${isoTime(time)}">${formatMinute(time)}</time>`;

// An error may quote an exchange's answer, which may be a page of HTML.
const lengthMax = 300;

/** The start of a text that may be long. */
export const shortened = (text: string): string =>
  text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;

const monthNames = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const monthName = (day: string): string => monthNames[Number(day.slice(5, 7)) - 1] ?? "";

/** 2026-11-22 as `22 Nov`. */
export const dayText = (day: string): string => `${Number(day.slice(8))} ${monthName(day)}`;

/** `28 Aug – 25 Nov 2026`, `26 – 31 Aug 2026`, `Aug 2026` for a whole month, or `25 Nov 2026`. */
export function daysText({ from, to }: { readonly from: string; readonly to: string }): string {
  const year = to.slice(0, 4);
  if (from === to) return `${dayText(from)} ${year}`;
  if (from.slice(0, 7) === to.slice(0, 7)) {
    if (from.endsWith("-01") && isLastOfMonth(to)) return `${monthName(to)} ${year}`;
    return `${Number(from.slice(8))} – ${dayText(to)} ${year}`;
  }
  return `${dayText(from)}${from.startsWith(year) ? "" : ` ${from.slice(0, 4)}`} – ${dayText(to)} ${year}`;
}

const isLastOfMonth = (day: string): boolean =>
  isoTime((Date.parse(day) + dayMs) as EpochMs).slice(8, 10) === "01";
