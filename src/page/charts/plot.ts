import { type Html, html } from "../html.ts";
import type { Day } from "../selection.ts";
import { dayTicks } from "./day-axis.ts";
import type { ValueAxis } from "./value-axis.ts";

// A picture over days, as wide as the page lets it be. Places along it are shares of its width, so that
// texts keep their size on every screen, and no script has to measure.

/** A day, or several, of a picture. */
export type PlotPoint = {
  readonly from: Day;
  /** What is read out where a pointer or the keyboard rests on it. */
  readonly text: string;
  /** Whether some of its time was not read. */
  readonly isUnread: boolean;
};

/** A place that a line is drawn through. */
export type Flag = { readonly index: number; readonly text: string; readonly isOpen: boolean };

export type Plot = {
  readonly id: string;
  /** What the picture shows, for whoever does not see it. */
  readonly label: string;
  readonly points: readonly PlotPoint[];
  readonly axis: ValueAxis;
  readonly flags?: readonly Flag[];
  /** The line or the bars, between {@link plotTop} and the plot's foot. */
  readonly shapes: Html;
};

/** In pixels: room for flags above, and for days below. */
export const plotTop = 22;
export const plotHeight = 190;
const foot = plotTop + plotHeight;
const height = foot + 24;

/** A share of the width. */
export const percent = (share: number): string => `${Math.round(share * 1e5) / 1e3}%`;

/** A place in pixels, from a height between 0 and 1. */
export const pixels = (share: number): number =>
  Math.round((plotTop + share * plotHeight) * 10) / 10;

export function plot({ id, label, points, axis, flags = [], shapes }: Plot): Html {
  const share = (index: number) => percent(index / points.length);
  const middle = (index: number) => percent((index + 0.5) / points.length);
  const width = share(1);
  const unread = points.flatMap(({ isUnread }, index) => (isUnread ? [index] : []));
  return html`<div class="plot">
${valuesOf(axis)}
<svg class="days" width="100%" height="${height}" role="img" aria-label="${label}">
<defs><pattern id="${id}-unread" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" class="hatch"/></pattern></defs>
${unread.map((index) => html`<rect class="unread" x="${share(index)}" y="${plotTop}" width="${width}" height="${plotHeight}" fill="url(#${id}-unread)"/>`)}
${axis.ticks.map(({ height: at }) => html`<line class="grid" x1="0" x2="100%" y1="${pixels(at)}" y2="${pixels(at)}"/>`)}
${shapes}
${dayTicks(points.map(({ from }) => from)).map(({ index, text }) => html`<line class="notch" x1="${middle(index)}" x2="${middle(index)}" y1="${foot}" y2="${foot + 4}"/><text class="tick" x="${middle(index)}" y="${foot + 17}" text-anchor="${anchorAt(index / points.length)}">${text}</text>`)}
${flags.map((flag) => flagAt(flag, middle(flag.index), flag.index / points.length))}
${points.map(({ text }, index) => html`<rect class="cell" x="${share(index)}" y="${plotTop}" width="${width}" height="${plotHeight}"><title>${text}</title></rect>`)}
</svg>
<output class="reading" aria-live="off"></output>
</div>`;
}

// Of a digit of the page's font, at the size of the ticks.
const digitPixels = 7.5;

/** What the lines stand for, left of the picture. */
function valuesOf({ ticks }: ValueAxis): Html {
  const width = Math.ceil(Math.max(0, ...ticks.map(({ text }) => text.length)) * digitPixels) + 8;
  return html`<svg class="values" width="${width}" height="${height}" aria-hidden="true">${ticks.map(
    ({ height: at, text }) =>
      html`<text class="tick" x="${width - 8}" y="${pixels(at) + 4}" text-anchor="end">${text}</text>`,
  )}</svg>`;
}

const flagAt = ({ text, isOpen }: Flag, x: string, share: number): Html => html`
<g class="${isOpen ? "flag open" : "flag"}"><line x1="${x}" x2="${x}" y1="${plotTop - 6}" y2="${foot}"/><text x="${x}" y="${plotTop - 9}" text-anchor="${anchorAt(share)}">${text}</text></g>`;

/** A text at an edge stays inside. */
const anchorAt = (share: number): string =>
  share < 0.05 ? "start" : share > 0.93 ? "end" : "middle";
