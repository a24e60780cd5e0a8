import { secondMs } from "../contract/time.ts";
import { formatCount, formatDuration } from "./format.ts";

/** How far a stream is. */
export type StreamProgress = {
  readonly name: string;
  readonly state: "at work" | "failed" | "stopped";
  /** When it was planned, ms; the same clock as `requestTimes`. */
  readonly startedAt: number;
  /** The time to be walked, and of it what is behind the walks, ms of the ledger. */
  readonly plannedMs: number;
  readonly walkedMs: number;
  readonly pages: number;
  readonly bills: number;
  /** When the latest requests ended: at least those of the last {@link rateSpanMs}. */
  readonly requestTimes: readonly number[];
};

export type ScreenSize = { readonly columns: number; readonly rows: number };

/** The rate is that of the last seconds: a whole run's average hides that it stands still. */
export const rateSpanMs = 5 * secondMs;

const titles = ["", "", "done", "pages", "bills", "req/s", "left"] as const;
// So that columns stand still while their numbers grow.
const widthsMin = [0, 0, 4, 5, 7, 5, 9] as const;
const gap = "  ";
const barMin = 8;
const barMax = 40;

/**
 * A line for each stream, under titles, and one for all of them: none wider than the screen,
 * and no more than fit on it.
 */
export function progressLines(
  streams: readonly StreamProgress[],
  now: number,
  { columns, rows }: ScreenSize,
): readonly string[] {
  if (streams.length === 0) return [];
  const sum = streams.length === 1 ? [] : [sumOf(streams)];
  // Titles, sum, cursor, and the line that says how many are left out.
  const fitting = Math.max(1, rows - 4);
  const shown = streams.slice(0, streams.length > fitting ? fitting : streams.length);
  const hidden = streams.length - shown.length;
  const cells = [...shown, ...sum].map((stream) => ({ stream, texts: textsOf(stream, now) }));
  const widths = widthsMin.map((least, column) =>
    Math.max(
      least,
      titles[column]?.length ?? 0,
      ...cells.map(({ texts }) => texts[column]?.length ?? 0),
    ),
  );
  const [, , ...numbers] = widths;
  const rest = columns - 1 - numbers.reduce((total, width) => total + gap.length + width, 0);
  const nameWidth = Math.min(widths[0] ?? 0, Math.max(1, rest - gap.length - barMin));
  const barWidth = Math.min(barMax, Math.max(barMin, rest - gap.length - nameWidth));
  const line = (name: string, bar: string, texts: readonly string[]) =>
    [
      shortened(name, nameWidth).padEnd(nameWidth),
      bar.padEnd(barWidth),
      ...numbers.map((width, index) => (texts[index + 2] ?? "").padStart(width)),
    ]
      .join(gap)
      .trimEnd()
      .slice(0, Math.max(1, columns - 1));
  const lines = cells.map(({ stream, texts }) =>
    line(stream.name, barOf(shareOf(stream), barWidth), texts),
  );
  return [
    line("", "", titles),
    ...lines.slice(0, shown.length),
    ...(hidden === 0 ? [] : [`and ${hidden} more`]),
    ...lines.slice(shown.length),
  ];
}

function textsOf(stream: StreamProgress, now: number): readonly string[] {
  const { name, startedAt, pages, bills, requestTimes, state } = stream;
  const isOver = state !== "at work" || shareOf(stream) === 1;
  const spanMs = Math.min(rateSpanMs, Math.max(secondMs, now - startedAt));
  const recent = requestTimes.filter((time) => time > now - spanMs).length;
  return [
    name,
    "",
    `${Math.floor(shareOf(stream) * 100)}%`,
    formatCount(pages),
    formatCount(bills),
    isOver ? "" : ((recent * secondMs) / spanMs).toFixed(1),
    leftText(stream, now),
  ];
}

function leftText(stream: StreamProgress, now: number): string {
  const share = shareOf(stream);
  if (stream.state !== "at work") return stream.state;
  if (share === 1) return "done";
  if (share === 0) return "";
  const leftMs = ((now - stream.startedAt) * (1 - share)) / share;
  const seconds = Math.ceil(leftMs / secondMs);
  return seconds < 10 ? `${seconds} s` : formatDuration(seconds * secondMs);
}

/** From 0 to 1; 1 only where nothing is left. */
const shareOf = ({ plannedMs, walkedMs }: StreamProgress): number =>
  plannedMs === 0 ? 1 : walkedMs / plannedMs;

function barOf(share: number, width: number): string {
  const full = Math.floor(share * width);
  return "█".repeat(full) + "░".repeat(width - full);
}

/** The end of a long name tells more than its beginning: there stands the product type. */
const shortened = (name: string, width: number): string =>
  name.length <= width ? name : `…${name.slice(name.length - width + 1)}`;

function sumOf(streams: readonly StreamProgress[]): StreamProgress {
  const sum = (pick: (stream: StreamProgress) => number) =>
    streams.reduce((total, stream) => total + pick(stream), 0);
  const is = (state: StreamProgress["state"]) => streams.some((stream) => stream.state === state);
  const isLeft = streams.some((stream) => stream.state === "at work" && shareOf(stream) < 1);
  return {
    name: "all",
    state: isLeft ? "at work" : is("failed") ? "failed" : is("stopped") ? "stopped" : "at work",
    startedAt: Math.min(...streams.map(({ startedAt }) => startedAt)),
    plannedMs: sum(({ plannedMs }) => plannedMs),
    walkedMs: sum(({ walkedMs }) => walkedMs),
    pages: sum(({ pages }) => pages),
    bills: sum(({ bills }) => bills),
    requestTimes: streams.flatMap(({ requestTimes }) => requestTimes),
  };
}
