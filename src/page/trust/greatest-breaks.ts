import { type Decimal, decimalOf, isAtMost, magnitude, zero } from "../../export/decimal.ts";
import { amountKinds } from "../../reconciliation/breaks.ts";
import type { ListedBreak } from "../../reconciliation/sign-off.ts";
import { formatCounted } from "../../terminal/format.ts";
import { allDigits } from "../format.ts";
import { type Html, html, joined } from "../html.ts";

const coinsMax = 3;

/**
 * The break that is off by most, of each coin: amounts of different coins cannot be compared. Coins
 * with most breaks come first. Empty if no break is off by an amount.
 */
export function greatestText(open: readonly ListedBreak[]): Html {
  // What the others are off by is no amount, but rows, milliseconds or a ratio.
  const ofAmounts = open.filter(
    ({ kind, difference }) => amountKinds.includes(kind) && difference !== null,
  );
  // A hole explains the breaks beside it.
  const own = ofAmounts.filter(({ kind }) => kind !== "unread");
  const counted = own.length > 0 ? own : ofAmounts;
  const coins = [...Map.groupBy(counted, ({ coin }) => coin).values()]
    .toSorted((a, b) => b.length - a.length)
    .map(greatestOf);
  if (coins.length === 0) return html``;
  const rest = coins.length - coinsMax;
  const others =
    rest > 0 ? html`, and <a href="#breaks">${formatCounted(rest, "coin")} more</a>` : "";
  return html` ${counted.length > coins.length ? "The greatest of each coin: " : ""}${joined(coins.slice(0, coinsMax).map(offText), ", ")}${others}.`;
}

/**
 * The coins with most breaks first, and of each coin the break that is off by most. What the others
 * are off by is no amount: they keep their order, and come last.
 */
export const greatestFirst = (breaks: readonly ListedBreak[]): readonly ListedBreak[] =>
  [...Map.groupBy(breaks, ({ coin }) => coin).values()]
    .toSorted((a, b) => b.length - a.length)
    .flatMap((ofCoin) => ofCoin.toSorted(bySize));

const bySize = (a: ListedBreak, b: ListedBreak): number => {
  const [one, other] = [amountOf(a), amountOf(b)];
  if (isAtMost(one, other)) return isAtMost(other, one) ? 0 : 1;
  return -1;
};

const amountOf = (entry: ListedBreak): Decimal =>
  amountKinds.includes(entry.kind) ? sizeOf(entry) : zero;

const greatestOf = (ofCoin: readonly ListedBreak[]): ListedBreak =>
  ofCoin.reduce((most, entry) => (isAtMost(sizeOf(entry), sizeOf(most)) ? most : entry));

const sizeOf = ({ difference }: ListedBreak): Decimal => magnitude(decimalOf(difference ?? "0"));

const offText = ({ breakId, difference, coin }: ListedBreak): Html =>
  html`<a href="#break-${breakId}">#${breakId}</a> is off by ${allDigits(difference ?? "0", "+")} ${coin}`;
