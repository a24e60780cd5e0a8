import { secondMs } from "../contract/time.ts";
import { formatCount, formatDuration } from "./format.ts";

/** A stream's progress. */
export type StreamProgress = {
  readonly name: string;
  readonly state: "at work" | "failed" | "stopped";
  /** When the stream was planned, ms; of the same clock as `requestTimes`. */
  readonly startedAt: number;
  /** The time to be walked, and below the part that was walked; ms of the ledger. */
  readonly plannedMs: number;
  readonly walkedMs: number;
  readonly pages: number;
  readonly bills: number;
  /** When the latest requests ended: at least those of the last {@link rateSpanMs}. */
  readonly requestTimes: readonly number[];
};

export type ScreenSize = { readonly columns: number; readonly rows: number };

/** The rate is that of the last seconds: a whole run's average would hide that the run stands still. */
export const rateSpanMs = 5 * secondMs;

type Column = {
  readonly title: string;
  /** Keeps columns in place while their numbers grow, up to 10 million bills. */
  readonly widthMin: number;
  readonly textOf: (stream: StreamProgress, now: number) => string;
  /** Left out on a narrow terminal, where name, bar and time left matter more. */
  readonly isExtra?: boolean;
};

const allColumns: readonly Column[] = [
  { title: "done", widthMin: 4, textOf: (stream) => `${Math.floor(shareOf(stream) * 100)}%` },
  { title: "pages", widthMin: 6, textOf: ({ pages }) => formatCount(pages), isExtra: true },
  { title: "bills", widthMin: 9, textOf: ({ bills }) => formatCount(bills) },
  { title: "req/s", widthMin: 5, textOf: rateText, isExtra: true },
  { title: "left", widthMin: 9, textOf: leftText },
];
const extrasFrom = 72;
const gap = "  ";
const barMin = 8;
const barMax = 40;

/**
 * A line for each stream, under titles, and one for the sum. No line is wider than the screen, and there
 * are no more than fit on it.
 */
export function progressLines(
  streams: readonly StreamProgress[],
  now: number,
  { columns, rows }: ScreenSize,
): readonly string[] {
  if (streams.length === 0) return [];
  const sum = streams.length === 1 ? [] : [sumOf(streams)];
  // 4 rows are for the titles, the sum, the cursor, and the line that says how many are left out.
  const room = Math.max(1, rows - 4);
  // Where there is no room for all, streams at work come first.
  const ordered =
    streams.length > room ? streams.toSorted((a, b) => rankOf(a) - rankOf(b)) : streams;
  const shown = ordered.slice(0, room);
  const hidden = streams.length - shown.length;
  const [titles = "", ...lines] = table([...shown, ...sum], now, columns - 1);
  return [
    titles,
    ...lines.slice(0, shown.length),
    ...(hidden === 0 ? [] : [`and ${hidden} more`]),
    ...lines.slice(shown.length),
  ].map((line) => line.slice(0, Math.max(1, columns - 1)));
}

/** Rows of name, bar and numbers. The bar takes the remaining width, and long names are cut to make room. */
function table(streams: readonly StreamProgress[], now: number, width: number): readonly string[] {
  const numbers = allColumns
    .filter(({ isExtra = false }) => !isExtra || width >= extrasFrom)
    .map(({ title, widthMin, textOf }) => {
      const texts = [title, ...streams.map((stream) => textOf(stream, now))];
      const columnWidth = Math.max(widthMin, ...texts.map((text) => text.length));
      return texts.map((text) => gap + text.padStart(columnWidth));
    });
  const rest = width - numbers.reduce((sum, [title = ""]) => sum + title.length, 0) - gap.length;
  const longest = Math.max(...streams.map(({ name }) => name.length));
  const nameWidth = Math.min(longest, Math.max(1, rest - barMin));
  const barWidth = Math.min(barMax, Math.max(barMin, rest - nameWidth));
  const heads = [
    " ".repeat(nameWidth + gap.length + barWidth),
    ...streams.map((stream) => {
      const name = shortened(stream.name, nameWidth).padEnd(nameWidth);
      return name + gap + barOf(shareOf(stream), barWidth);
    }),
  ];
  return heads.map((head, row) =>
    `${head}${numbers.map((texts) => texts[row]).join("")}`.trimEnd(),
  );
}

function rateText(stream: StreamProgress, now: number): string {
  if (stream.state !== "at work" || shareOf(stream) === 1) return "";
  const spanMs = Math.min(rateSpanMs, Math.max(secondMs, now - stream.startedAt));
  const recent = stream.requestTimes.filter((time) => time > now - spanMs).length;
  return ((recent * secondMs) / spanMs).toFixed(1);
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

/** The share that was walked, 0 to 1; 1 only where nothing is left. */
const shareOf = ({ plannedMs, walkedMs }: StreamProgress): number =>
  plannedMs === 0 ? 1 : walkedMs / plannedMs;

/** Sorts streams at work before failed or stopped ones, and these before those done. */
const rankOf = (stream: StreamProgress): number =>
  stream.state !== "at work" ? 1 : shareOf(stream) === 1 ? 2 : 0;

function barOf(share: number, width: number): string {
  const full = Math.floor(share * width);
  return "█".repeat(full) + "░".repeat(width - full);
}

/** Cuts a long name at its beginning, since its end has the product type. */
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
