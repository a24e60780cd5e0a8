import { type Html, html } from "../html.ts";
import type { Day } from "../selection.ts";
import { dayTicks } from "./day-axis.ts";
import type { ValueAxis } from "./value-axis.ts";

// A chart over days, as wide as the page allows. Horizontal positions are percentages, so that text
// keeps its size on every screen and no script has to measure.

/** A stretch of the chart: one day or several. */
export type PlotPoint = {
  readonly from: Day;
  /** The text that is read out when a pointer or the keyboard is on it. */
  readonly text: string;
  /** Whether some of the stretch's time was not read. */
  readonly isUnread: boolean;
};

/** A vertical line at a stretch, with a text above it. */
export type Flag = { readonly index: number; readonly text: string; readonly isOpen: boolean };

export type Plot = {
  readonly id: string;
  /** The chart's description for screen readers. */
  readonly label: string;
  readonly points: readonly PlotPoint[];
  readonly axis: ValueAxis;
  readonly flags?: readonly Flag[];
  /** The line or the bars, between {@link plotTop} and the chart's foot. */
  readonly shapes: Html;
};

/** In pixels. Above it is room for flags; below the chart's foot is room for days. */
export const plotTop = 22;
export const plotHeight = 145;
const foot = plotTop + plotHeight;
const height = foot + 24;

/** A share of the width, as a percentage. */
export const percent = (share: number): string => `${Math.round(share * 1e5) / 1e3}%`;

/** A vertical position in pixels, from a share of the height: 0 at the top, 1 at the bottom. */
export const pixels = (share: number): number =>
  Math.round((plotTop + share * plotHeight) * 10) / 10;

export function plot({ id, label, points, axis, flags = [], shapes }: Plot): Html {
  const left = (index: number) => percent(index / points.length);
  const middle = (index: number) => percent((index + 0.5) / points.length);
  const width = left(1);
  const unread = points.flatMap(({ isUnread }, index) => (isUnread ? [index] : []));
  return html`<div class="plot">
${valuesOf(axis)}
<svg class="days" width="100%" height="${height}" role="img" aria-label="${label}">
<defs><pattern id="${id}-unread" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" class="hatch"/></pattern></defs>
${unread.map((index) => html`<rect class="unread" x="${left(index)}" y="${plotTop}" width="${width}" height="${plotHeight}" fill="url(#${id}-unread)"/>`)}
${axis.ticks.map(({ height: at }) => html`<line class="grid" x1="0" x2="100%" y1="${pixels(at)}" y2="${pixels(at)}"/>`)}
${shapes}
${dayTicks(points.map(({ from }) => from)).map(({ index, text }) => html`<line class="notch" x1="${middle(index)}" x2="${middle(index)}" y1="${foot}" y2="${foot + 4}"/><text class="tick" x="${middle(index)}" y="${foot + 17}" text-anchor="${anchorAt(index / points.length)}">${text}</text>`)}
${flags.map((flag) => flagAt(flag, middle(flag.index), flag.index / points.length))}
${points.map(({ text }, index) => html`<rect class="cell" x="${left(index)}" y="${plotTop}" width="${width}" height="${plotHeight}"><title>${text}</title></rect>`)}
</svg>
<output class="reading" aria-live="off"></output>
</div>`;
}

// The width of a digit in the page's font, at the size of the ticks.
const digitPixels = 7.5;

/** The values of the horizontal lines, left of the chart. */
function valuesOf({ ticks }: ValueAxis): Html {
  const width = Math.ceil(Math.max(0, ...ticks.map(({ text }) => text.length)) * digitPixels) + 8;
  return html`<svg class="values" width="${width}" height="${height}" aria-hidden="true">${ticks.map(
    ({ height: at, text }) =>
      html`<text class="tick" x="${width - 8}" y="${pixels(at) + 4}" text-anchor="end">${text}</text>`,
  )}</svg>`;
}

const flagAt = ({ text, isOpen }: Flag, x: string, share: number): Html => html`
<g class="${isOpen ? "flag open" : "flag"}"><line x1="${x}" x2="${x}" y1="${plotTop - 6}" y2="${foot}"/><text x="${x}" y="${plotTop - 9}" text-anchor="${anchorAt(share)}">${text}</text></g>`;

/** Keeps a text at the chart's left or right edge inside it. */
const anchorAt = (share: number): string =>
  share < 0.05 ? "start" : share > 0.93 ? "end" : "middle";
