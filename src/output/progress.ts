import { secondMs } from "../contract/time.ts";
import { messageOf, StoppedError } from "../errors.ts";
import { printable } from "../printable.ts";
import type { Stream } from "../sync/store.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { formatCount, formatDuration, formatTable } from "./format.ts";
import { RunProgress, rateSpanMs, type StreamProgress, shareOf, sumOf } from "./run-progress.ts";
import { streamNames } from "./stream-names.ts";

export type Progress = {
  readonly update: (progress: BillsProgress) => void;
  readonly notice: (message: string) => void;
  /** Draws the last state and leaves it on the screen. */
  readonly stop: () => void;
};

const redrawMs = 200;

/** A bar for each stream: the share of the planned time that was walked. */
export function openProgress(terminal: Terminal, now: () => number): Progress {
  const live = openLiveLines(terminal);
  const run = new RunProgress();
  const said = new Set<string>();
  const draw = (...after: readonly string[]) => {
    const { columns, rows } = terminal;
    const size = { columns: columns || 80, rows: rows || 24 };
    if (run.streams.length > 0) live.show([...progressLines(run.streams, now(), size), ...after]);
  };
  // Redrawn without events too, so that the rate shows a run that stands still.
  const drawing = setInterval(draw, redrawMs).unref();
  let isStopped = false;
  return {
    update(progress) {
      run.update(progress, now());
      const failure = failureOf(progress);
      if (failure === undefined) return;
      // A failure that is retried is reported again and again.
      const message = `${streamNames(streamsOf(progress))}: ${messageOf(failure)}`;
      if (!said.has(message)) live.say(message);
      said.add(message);
    },
    notice: live.say,
    stop() {
      clearInterval(drawing);
      if (!isStopped) draw("");
      isStopped = true;
      live.end();
    },
  };
}

/** The streams that an event concerns: a failure may concern several of the account. */
function streamsOf(progress: BillsProgress): readonly Stream[] {
  const { stream } = progress;
  const also = progress.event === "failed" ? (progress.also ?? []) : [];
  return [stream, ...also.map((productType) => ({ ...stream, productType }))];
}

function failureOf(progress: BillsProgress): unknown {
  if (progress.event === "doubted") return progress.what;
  if (progress.event === "request") return progress.failure;
  if (progress.event !== "failed" || progress.error instanceof StoppedError) return undefined;
  return progress.error;
}

const titles = ["", "", "done", "    bills", "     left", "req/s"];
const isRight = titles.map((_, column) => column > 1);
/** The width of all columns but name and bar, with their gaps, and of the last one of them. */
const figuresWidth = 39;
const rateWidth = 7;
/** A narrower terminal shows no rate: name, bar and the time left matter more. */
const rateFrom = 72;
const barMin = 8;
const barMax = 40;

/**
 * A line for each stream, under titles, and one for the sum. No line is wider than the screen, and there
 * are no more than fit on it.
 */
export function progressLines(
  streams: readonly StreamProgress[],
  now: number,
  { columns, rows }: Pick<Terminal, "columns" | "rows">,
): readonly string[] {
  // 4 rows are for the titles, the sum, the cursor, and the line that says how many are left out.
  const room = Math.max(1, rows - 4);
  const sum = streams.length === 1 ? [] : [sumOf(streams)];
  // Where there is no room for all, streams at work come first.
  const ordered =
    streams.length > room ? streams.toSorted((a, b) => rankOf(a) - rankOf(b)) : streams;
  const hidden = Math.max(0, streams.length - room);
  const isNarrow = columns < rateFrom;
  const restWidth = columns - 1 - figuresWidth + (isNarrow ? rateWidth : 0);
  const longest = Math.max(...streams.map(({ name }) => name.length));
  const nameWidth = Math.max(barMin, Math.min(longest, restWidth - barMin));
  const barWidth = Math.min(barMax, Math.max(barMin, restWidth - nameWidth));
  const cells = [...ordered.slice(0, room), ...sum].map((stream) => {
    const share = shareOf(stream);
    const full = Math.floor(share * barWidth);
    return [
      shortened(stream.name, nameWidth).padEnd(nameWidth),
      "█".repeat(full) + "░".repeat(barWidth - full),
      `${Math.floor(share * 100)}%`,
      formatCount(stream.bills),
      leftText(stream, now),
      ...(isNarrow ? [] : [rateText(stream, now)]),
    ];
  });
  const lines = formatTable(titles.slice(0, isNarrow ? -1 : undefined), cells, isRight).split("\n");
  const last = lines.length - sum.length;
  return [
    ...lines.slice(0, last),
    ...(hidden === 0 ? [] : [`and ${hidden} more`]),
    ...lines.slice(last),
  ].map((line) => line.slice(0, Math.max(1, columns - 1)).trimEnd());
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

/** Sorts streams at work before failed or stopped ones, and these before those done. */
const rankOf = (stream: StreamProgress): number =>
  stream.state !== "at work" ? 1 : shareOf(stream) === 1 ? 2 : 0;

/** Cuts a long name at its beginning, since its end has the product type. */
const shortened = (name: string, width: number): string =>
  name.length <= width ? name : `…${name.slice(name.length - width + 1)}`;

/** Lines at the bottom of a terminal. */
export type LiveLines = {
  /** Draws these lines in place of the previous ones. */
  readonly show: (lines: readonly string[]) => void;
  /** Writes a message above the lines, where it stays. */
  readonly say: (message: string) => void;
  /** Leaves the lines on the screen. Later output appears below them. */
  readonly end: () => void;
};

/** The part of a terminal that is used here. Its size may change at any time. */
export type Terminal = {
  readonly columns: number;
  readonly rows: number;
  readonly write: (text: string) => unknown;
};

const clearToEndOfLine = "\x1b[K";
const clearToEndOfScreen = "\x1b[J";

/**
 * Lines at the bottom of a terminal that are redrawn in place. The cursor stays below them and visible, so
 * that a process that is killed leaves the terminal in order.
 */
export function openLiveLines(terminal: Pick<Terminal, "columns" | "write">): LiveLines {
  let shown: readonly string[] = [];

  // A terminal that was made narrower has wrapped the lines that it shows.
  const rowsOf = (line: string) => Math.max(1, Math.ceil(line.length / (terminal.columns || 80)));
  const toFirstLine = () => {
    const rows = shown.reduce((sum, line) => sum + rowsOf(line), 0);
    return rows === 0 ? "" : `\r\x1b[${rows}A`;
  };
  const drawn = (lines: readonly string[]) =>
    `${lines.map((line) => `${line}${clearToEndOfLine}\n`).join("")}${clearToEndOfScreen}`;

  return {
    show(lines) {
      // One write a frame: a frame in parts would flicker.
      terminal.write(`${toFirstLine()}${drawn(lines)}`);
      shown = lines;
    },
    say(message) {
      terminal.write(`${toFirstLine()}${clearToEndOfScreen}${printable(message)}\n${drawn(shown)}`);
    },
    end() {
      shown = [];
    },
  };
}
