import { type Html, html } from "../html.ts";
import { percent } from "./plot.ts";

/** The range of values that a column of bars shows. */
export type Span = { readonly low: number; readonly high: number };

const height = 14;
// The margin at both ends, as a share of the width: bars and marks at the ends stay inside.
const edge = 0.01;

const placeOf = (value: number, { low, high }: Span): number =>
  high === low ? 0.5 : edge + ((value - low) / (high - low)) * (1 - 2 * edge);

/** A bar from one value to another. */
export function floatingBar(before: number, after: number, span: Span): Html {
  const [from, to] = [placeOf(before, span), placeOf(after, span)].toSorted((a, b) => a - b);
  const [x = 0, end = 0] = [from, to];
  const tone = after === before ? "none" : after < before ? "out" : "in";
  return html`<svg width="100%" height="${height}"><rect class="bar-${tone}" x="${percent(x)}" width="${percent(end - x)}" y="2" height="${height - 4}"/></svg>`;
}

/** A mark at a balance. */
export const markAt = (value: number, span: Span): Html =>
  html`<svg width="100%" height="${height}"><line class="mark" x1="${percent(placeOf(value, span))}" x2="${percent(placeOf(value, span))}" y1="0" y2="${height}"/></svg>`;
