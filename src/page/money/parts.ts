import { type EpochMs, isoTime } from "../../contract/time.ts";
import { formatCounted } from "../../terminal/format.ts";
import { discrepancy, movement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { icon } from "../icons.ts";
import type { PageSelection } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import type { Line } from "./lines.ts";
import { isOff, isZero, sumOf } from "./stretches.ts";
import type { Stretch } from "./wallet-days.ts";

// Parts that several sections share.

/** A line's amount. A difference that no bill explains is neither a gain nor a loss. */
export const figureOf = ({ name }: Line, moved: string | null, selection: PageSelection): Html =>
  name === "difference" || name === "unsettled"
    ? discrepancy(moved, selection)
    : movement(moved, selection);

/** Names a day, a month, or a part of a month. */
export const stretchName = ({ from, to }: Pick<Stretch, "from" | "to">): string => {
  if (from === to) return from;
  return from.endsWith("-01") && isLastOfMonth(to) && from.slice(0, 7) === to.slice(0, 7)
    ? from.slice(0, 7)
    : `${from} to ${to}`;
};

const isLastOfMonth = (day: string): boolean => {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return next.getUTCDate() === 1;
};

/** Says by an icon and a word whether all of the stretch was read. */
export const readText = (known: Pick<Stretch, "isComplete"> | undefined): Html =>
  known?.isComplete === true
    ? html`<span class="is-read" title="all of it was read">${icon("good")}<span class="unseen">read</span></span>`
    : html`<span class="not-read" title="not all of it was read">${icon("warn")}<span class="unseen">not all read</span></span>`;

/**
 * The number of days before today that were not read completely. Today does not count: it has not
 * ended.
 */
export const unreadDays = (days: readonly Stretch[], now: EpochMs): number => {
  const today = isoTime(now).slice(0, 10);
  return days.filter(({ from, isComplete }) => !isComplete && from < today).length;
};

/**
 * Says that balances do not follow from their bills, which figures of bills cannot show.
 */
export const offNote = (off: Off, selection: PageSelection): Html => {
  const { days, difference, above, below } = off;
  if (days === 0) return html``;
  const address = billsAddress(selection, { pieces: ["difference"] });
  const figure = (decimal: string) => linked(discrepancy(decimal, selection), address);
  const onDays = html`${selection.coin} on ${formatCounted(days, "day")}`;
  const parts = html`${figure(above)} and ${figure(below)}`;
  const text = isZero(difference)
    ? html`${parts} ${onDays}, which cancel out`
    : isZero(above) || isZero(below)
      ? html`${figure(difference)} ${onDays}`
      : html`${figure(difference)} ${onDays}, the sum of ${parts}`;
  return html`<span class="is-off">${icon("bad")} unexplained: ${text}</span>`;
};

/** How far balances do not follow from their bills. */
export type Off = {
  /** The number of days with a difference. */
  readonly days: number;
  readonly difference: string;
  /** The sum of the days' positive differences, and of the negative ones. */
  readonly above: string;
  readonly below: string;
};

export function offOf(days: readonly Stretch[]): Off {
  const off = days.filter(isOff).map(({ moved }) => moved.difference);
  const isBelow = (decimal: string) => decimal.startsWith("-");
  return {
    days: off.length,
    difference: sumOf(off),
    above: sumOf(off.filter((decimal) => !isBelow(decimal))),
    below: sumOf(off.filter(isBelow)),
  };
}

/** A folded table of the figures that a chart is drawn from. */
export const figureTable = (
  summary: string,
  titles: readonly string[],
  rows: readonly Html[],
): Html => html`
<details class="data"><summary>${summary}</summary>
<div class="scroll tall" tabindex="0" role="region" aria-label="${summary}"><table><thead><tr>${titles.map(
  (title, index) => html`<th scope="col" class="${index === 1 ? "figure" : ""}">${title}</th>`,
)}</tr></thead><tbody>${rows}</tbody></table></div></details>`;
