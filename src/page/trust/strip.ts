import { type EpochMs, isoTime } from "../../contract/time.ts";
import type { StreamStatus } from "../../reports/status.ts";
import type { Interval } from "../../sync/intervals.ts";
import { horizonAt } from "../../sync/plan.ts";
import { type Html, html } from "../html.ts";
import { lostOf, missingOf } from "./facts.ts";

/** The scale that all strips share: it maps time to places from 0 to {@link stripWidth}. */
export type Scale = {
  readonly now: EpochMs;
  /** The start of what the exchange still serves. */
  readonly horizon: EpochMs;
  /** The start of the oldest known time; the horizon if nothing is older. */
  readonly start: EpochMs;
  readonly placeOf: (time: EpochMs) => number;
};

export const stripWidth = 800;
const height = 16;
// Where a strip shows older time too, the exchange's 90 days get three quarters of it.
const olderShare = 0.25;
// Unread and lost time is at least this wide, so that it is seen however short it is.
const narrowest = 4;
// So many days of breaks are named.
const daysMax = 3;

/**
 * The scale of the last 90 days. If older time is known, it is compressed into the part left of a
 * line.
 */
export function scaleOf(streams: readonly StreamStatus[], now: EpochMs): Scale {
  const horizon = horizonAt(now);
  const known = streams.flatMap(({ coverage, lost }) => [...coverage, ...lost]);
  const oldest = known.reduce((least, { from }) => (from < least ? from : least), horizon);
  // A first sync reads slightly more than 90 days: that alone counts as no older time.
  const isOlder = horizon - oldest > (now - horizon) / 90;
  const start = isOlder ? oldest : horizon;
  const line = isOlder ? stripWidth * olderShare : 0;
  const along = (time: number, from: number, to: number) =>
    Math.min(1, Math.max(0, (time - from) / (to - from)));
  const placeOf = (time: EpochMs) =>
    time < horizon
      ? line * along(time, start, horizon)
      : line + (stripWidth - line) * along(time, horizon, now);
  return { now, horizon, start, placeOf };
}

/**
 * A ledger's time as a picture. Read time is a full bar, unread time an empty box, lost time a line
 * with two ends, a break a cross. All other time is blank. The list below says the same in words.
 */
export function strip(stream: StreamStatus, scale: Scale, breaks: readonly EpochMs[]): Html {
  const { coverage, settling, unread } = stream;
  const { placeOf, horizon, start } = scale;
  const boxes = (intervals: readonly Interval[], least: number) =>
    intervals.map(({ from, to }) => {
      const [left, right] = [placeOf(from), placeOf(to)];
      const width = Math.max(right - left, least);
      return { left: Math.min(left, stripWidth - width), width };
    });
  const read = boxes([...coverage, ...settling], 0);
  const missing = [...boxes(missingOf(stream), narrowest), ...boxes(unread, 0)];
  const lost = boxes(lostOf(stream), narrowest);
  const line = placeOf(horizon);
  return html`<svg class="strip" viewBox="0 0 ${stripWidth} ${height}" preserveAspectRatio="none" role="img" aria-label="${labelOf(stream, breaks)}">
${read.map(({ left, width }) => html`<rect class="read" x="${at(left)}" width="${at(width)}" y="1" height="14"/>`)}
${missing.map(({ left, width }) => html`<rect class="ground" x="${at(left)}" width="${at(width)}" y="0" height="16"/><rect class="missing" x="${at(left)}" width="${at(width)}" y="2" height="12"/>`)}
${lost.map(({ left, width }) => html`<rect class="ground" x="${at(left)}" width="${at(width)}" y="0" height="16"/><path class="lost" d="M${at(left + 1)} 0v16 M${at(left + 1)} 8h${at(width - 2)} M${at(left + width - 1)} 0v16"/>`)}
${start < horizon ? html`<path class="horizon" d="M${at(line)} 0v16"/>` : ""}
${breaks.map((time) => crossAt(placeOf(time)))}</svg>`;
}

// The picture is drawn narrower than it is here, about by this factor: a cross is as wide as tall.
const narrowing = 2;

/** A cross on a ground of its own, so that it is seen on every bar. */
function crossAt(place: number): Html {
  const half = 4;
  const wide = half * narrowing;
  const middle = Math.min(stripWidth - wide, Math.max(wide, place));
  const [left, right] = [at(middle - wide), at(middle + wide)];
  const lines = `M${left} ${8 - half}L${right} ${8 + half} M${right} ${8 - half}L${left} ${8 + half}`;
  return html`<path class="halo" d="${lines}"/><path class="break" d="${lines}"/>`;
}

/** The strip of a ledger of which nothing was read. */
export const emptyStrip = html`<svg class="strip" viewBox="0 0 ${stripWidth} ${height}" preserveAspectRatio="none" role="img" aria-label="nothing was read"><rect class="missing" x="1" width="${stripWidth - 2}" y="2" height="12"/></svg>`;

const at = (pixels: number): string => String(Math.round(pixels * 100) / 100);

function labelOf(stream: StreamStatus, breaks: readonly EpochMs[]): string {
  const days = [...new Set(breaks.map(dayOf))];
  const spans = (name: string, intervals: readonly Interval[]) =>
    intervals.length === 0
      ? []
      : [`${name} ${intervals.length === 1 ? spanOf(intervals) : `${intervals.length} stretches`}`];
  return (
    [
      ...spans("read", stream.coverage),
      ...spans("not read", missingOf(stream)),
      ...spans("lost", lostOf(stream)),
      ...(days.length === 0 ? [] : [`does not add up on ${daysText(days)}`]),
    ].join("; ") || "nothing was read"
  );
}

const daysText = (days: readonly string[]): string =>
  days.length <= daysMax ? days.join(", ") : `${days.length} days`;

const spanOf = ([first]: readonly Interval[]): string =>
  first === undefined ? "" : `${dayOf(first.from)} to ${dayOf(first.to)}`;

const dayOf = (time: EpochMs): string => isoTime(time).slice(0, 10);
