import { dayMs, epochMs, isoTime } from "../../../lib/time.ts";
import { type Html, html } from "../../../output/html.ts";
import { allDigits, daysText, dayText } from "../../../output/html-figures.ts";
import { monthsOf, type Period } from "./periods.ts";
import { type Days, daysAfter } from "./selection.ts";

// One picture: the balance as a stepped line, and below it the result of each day as bars. Places along the time
// are in percent, so that the picture fills any width, and its texts keep their size.

const height = 236;
const balanceArea = { top: 16, bottom: 150 };
const resultArea = { top: 164, bottom: 212 };
// More bars than this would be thinner than a pixel on a phone.
const barsMax = 100;

type Area = typeof balanceArea;

type Marks = {
  /** The days of open breaks. */
  readonly breaks: readonly string[];
  /** Days that are not wholly read. */
  readonly unread: readonly Days[];
};

/**
 * @param days all selected days that are known, oldest first.
 * @param span the selected days.
 * @param addressOf the address of the bills of some days.
 */
export function chart(
  days: readonly Period[],
  { coin, ...span }: Days & { readonly coin: string },
  { breaks, unread }: Marks,
  addressOf: (days: Days) => string,
): Html {
  const first = Date.parse(days[0]?.from ?? span.from);
  const whole = Math.max(1, (Date.parse(span.to) - first) / dayMs + 1);
  const placeOf = (day: string) => ((Date.parse(day) - first) / dayMs / whole) * 100;
  const balances = days.flatMap(({ closing }) => (closing === null ? [] : Number(closing)));
  const balanceAxis = axisOf(balances);
  const bars = days.length > barsMax ? monthsOf(days) : days;
  const resultAxis = axisOf([0, ...bars.map(({ figures }) => Number(figures.result))], 2);
  const balanceAt = scaled(balanceAxis, balanceArea);
  const resultAt = scaled(resultAxis, resultArea);
  const endOf = ({ to }: Days) => placeOf(daysAfter(to, 1));
  const areas = bars.map((bar) => {
    const [left, right] = [placeOf(bar.from), endOf(bar)];
    const [value, zero] = [resultAt(Number(bar.figures.result)), resultAt(0)];
    const text = `${daysText(bar)}: balance ${bar.closing === null ? "unknown" : allDigits(bar.closing)}, result ${allDigits(bar.figures.result, "+")} ${coin}${bar.isComplete ? "" : ", not all read"}`;
    return html`<a href="${addressOf(bar)}" aria-label="${text}"><title>${text}</title>${rect("hit", left, right, 0, resultArea.bottom)}${rect(value > zero ? "out" : "in", left + (right - left) * 0.15, right - (right - left) * 0.15, value, zero)}</a>`;
  });
  const shaded = unread.map((period) =>
    rect("unread", placeOf(period.from), endOf(period), 0, resultArea.bottom),
  );
  const broken = breaks
    .filter((day) => placeOf(day) >= 0 && placeOf(day) < 100)
    .map(
      (day) =>
        html`<g class="break"><title>${`${dayText(day)}: a break`}</title>${rect("", placeOf(day), placeOf(daysAfter(day, 1)), 0, resultArea.bottom)}</g>`,
    );
  return html`<svg class="chart" height="${height}" role="group" aria-label="Balance and result in ${coin} by ${bars === days ? "day" : "month"}" data-rove="1">
${shaded}${broken}
${balanceAxis.map((value) => html`<line x1="0" x2="100%" y1="${at(balanceAt(value))}" y2="${at(balanceAt(value))}"/>`)}
${line(days, (day) => unread.some(({ from, to }) => from <= day && day <= to), placeOf, balanceAt)}
${balanceAxis.map((value) => html`<text x="100%" y="${at(balanceAt(value) - 4)}" text-anchor="end">${shortNumber(value, balanceAxis)}</text>`)}
<line x1="0" x2="100%" y1="${at(resultAt(0))}" y2="${at(resultAt(0))}"/>
${areas}
${daysBelow(first, whole).map((day) => html`<text x="${at(placeOf(day))}%" y="${height - 6}">${dayText(day)}</text>`)}
</svg>
<p class="legend quiet">${key("balance-key", "balance")}${key("in", `result of a ${bars === days ? "day" : "month"}`)}${key("out", "a loss")}${broken.length === 0 ? "" : key("break-key", "a break")}${unread.length === 0 ? "" : key("unread", "not read")}</p>`;
}

const key = (name: string, text: string): Html =>
  html`<span><svg aria-hidden="true"><rect class="${name}" width="12" height="8"/></svg>${text}</span>`;

const rect = (name: string, left: number, right: number, top: number, bottom: number): Html =>
  html`<rect class="${name}" x="${at(left)}%" width="${at(Math.max(right - left, 0.1))}%" y="${at(Math.min(top, bottom))}" height="${at(Math.abs(bottom - top))}"/>`;

/** A path has no percents: it is drawn in a frame of its own, 1,000 wide. */
function line(
  days: readonly Period[],
  isUnread: (day: string) => boolean,
  placeOf: (day: string) => number,
  heightOf: (value: number) => number,
): Html {
  let [path, isDrawing] = ["", false];
  for (const { from, closing } of days) {
    const isKnown = closing !== null && !isUnread(from);
    if (isKnown) {
      const [left, y] = [at(placeOf(from) * 10), at(heightOf(Number(closing)))];
      path += `${isDrawing ? `H${left}V${y}` : `M${left} ${y}`}H${at(placeOf(daysAfter(from, 1)) * 10)}`;
    }
    isDrawing = isKnown;
  }
  return html`<svg x="0" y="0" width="100%" height="${balanceArea.bottom}" viewBox="0 0 1000 ${balanceArea.bottom}" preserveAspectRatio="none" aria-hidden="true"><path class="balance" d="${path}"/></svg>`;
}

const at = (pixels: number): string => String(Math.round(pixels * 100) / 100);

/** Round numbers around the values, lowest first. */
export function axisOf(values: readonly number[], count = 4): readonly number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (!Number.isFinite(least)) return [0, 1];
  const range = most - least || Math.abs(most) || 1;
  const power = 10 ** Math.floor(Math.log10(range / count));
  const step = power * ([1, 2, 5].find((times) => range / (power * times) <= count) ?? 10);
  const [low, high] = [Math.floor(least / step), Math.ceil(most / step)];
  return Array.from(
    { length: Math.max(high, low + 1) - low + 1 },
    (_, index) => (low + index) * step,
  );
}

const scaled =
  (axis: readonly number[], { top, bottom }: Area) =>
  (value: number): number => {
    const [low = 0, high = 1] = [axis[0], axis.at(-1)];
    return bottom - ((value - low) / (high - low)) * (bottom - top);
  };

/** 265,000 as `265k`; as many digits as tell the axis's numbers apart. */
function shortNumber(value: number, axis: readonly number[]): string {
  const digits = Math.max(
    3,
    Math.ceil(Math.log10(Math.abs(value) / ((axis[1] ?? 1) - (axis[0] ?? 0)) || 1)) + 1,
  );
  return new Intl.NumberFormat("en-US", {
    notation: "compact",
    maximumSignificantDigits: Math.min(15, digits),
  })
    .format(value)
    .replace("-", "−");
}

/** Four days at even distances. */
const daysBelow = (first: number, days: number): readonly string[] =>
  [...new Set([0, 1, 2, 3].map((part) => Math.floor((days * (part + 0.1)) / 4)))].map((offset) =>
    isoTime(epochMs(first + offset * dayMs)).slice(0, 10),
  );
