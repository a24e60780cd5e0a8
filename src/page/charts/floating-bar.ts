import { type Html, html } from "../html.ts";
import { percent } from "./plot.ts";

/** The values that a column of bars has room for. */
export type Span = { readonly low: number; readonly high: number };

const height = 14;
// So that the thinnest bar and the marks at the edges are inside.
const edge = 0.01;

const placeOf = (value: number, { low, high }: Span): number =>
  high === low ? 0.5 : edge + ((value - low) / (high - low)) * (1 - 2 * edge);

/** From one value to another; the thinnest is still seen. */
export function floatingBar(before: number, after: number, span: Span): Html {
  const [from, to] = [placeOf(before, span), placeOf(after, span)].toSorted((a, b) => a - b);
  const [x = 0, end = 0] = [from, to];
  const tone = after === before ? "none" : after < before ? "out" : "in";
  return html`<svg width="100%" height="${height}"><rect class="bar-${tone}" x="${percent(x)}" width="${percent(end - x)}" y="2" height="${height - 4}"/></svg>`;
}

/** A balance, as a mark. */
export const markAt = (value: number, span: Span): Html =>
  html`<svg width="100%" height="${height}"><line class="mark" x1="${percent(placeOf(value, span))}" x2="${percent(placeOf(value, span))}" y1="0" y2="${height}"/></svg>`;
