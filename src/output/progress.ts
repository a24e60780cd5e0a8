import { type Clock, repeatEvery } from "../clock.ts";
import { minuteMs, secondMs } from "../contract/time.ts";
import { messageOf, StoppedError } from "../errors.ts";
import { printable } from "../printable.ts";
import type { Stream } from "../sync/store.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { formatCount, formatDuration, formatTable, streamName, streamNames } from "./format.ts";

/** A stream's progress, or that of all. */
export type StreamProgress = {
  readonly name: string;
  readonly state: "at work" | "failed" | "stopped";
  /** When the stream was planned, ms. */
  readonly startedAt: number;
  /** The time to be walked, and below the part that was walked; ms of the ledger. */
  readonly plannedMs: number;
  readonly walkedMs: number;
  readonly pages: number;
  readonly bills: number;
  readonly requests: number;
};

type Counted = { -readonly [Key in keyof StreamProgress]: StreamProgress[Key] } & {
  readonly walkedMsByWindow: Map<number, number>;
};

/** Counts the progress of a run's streams. */
class RunProgress {
  readonly #streams = new Map<string, Counted>();

  get streams(): readonly StreamProgress[] {
    return [...this.#streams.values()];
  }

  update(progress: BillsProgress, now: number): void {
    const name = streamName(progress.stream);
    if (progress.event === "planned") this.#streams.set(name, begun(name, progress.plannedMs, now));
    const stream = this.#streams.get(name);
    if (stream !== undefined) count(stream, progress);
  }
}

const begun = (name: string, plannedMs: number, startedAt: number): Counted => ({
  ...{ name, state: "at work", startedAt, plannedMs, walkedMs: 0 },
  ...{ pages: 0, bills: 0, requests: 0, walkedMsByWindow: new Map() },
});

function count(stream: Counted, progress: BillsProgress): void {
  const walked = stream.walkedMsByWindow;
  switch (progress.event) {
    case "planned":
    case "doubted":
      break;
    case "request":
      stream.requests += 1;
      break;
    case "page": {
      const { counts, window, walkedMs } = progress;
      walked.set(window.from, Math.max(walked.get(window.from) ?? 0, walkedMs));
      stream.pages += 1;
      stream.bills += counts.new + counts.unchanged + counts.restated;
      break;
    }
    case "failed":
      stream.state = progress.error instanceof StoppedError ? "stopped" : "failed";
      break;
    default:
      progress satisfies never;
  }
  stream.walkedMs = [...walked.values()].reduce((sum, ms) => sum + ms, 0);
}

/** The share that was walked, 0 to 1; 1 only where nothing is left. */
export const shareOf = ({
  plannedMs,
  walkedMs,
}: Pick<StreamProgress, "plannedMs" | "walkedMs">): number =>
  plannedMs === 0 ? 1 : walkedMs / plannedMs;

export function sumOf(streams: readonly StreamProgress[]): StreamProgress {
  const sum = (key: "plannedMs" | "walkedMs" | "pages" | "bills" | "requests") =>
    streams.reduce((total, stream) => total + stream[key], 0);
  const is = (state: StreamProgress["state"]) => streams.some((stream) => stream.state === state);
  const isLeft = streams.some((stream) => stream.state === "at work" && shareOf(stream) < 1);
  return {
    name: "all",
    state: isLeft ? "at work" : is("failed") ? "failed" : is("stopped") ? "stopped" : "at work",
    startedAt: Math.min(...streams.map(({ startedAt }) => startedAt)),
    ...{ plannedMs: sum("plannedMs"), walkedMs: sum("walkedMs") },
    ...{ pages: sum("pages"), bills: sum("bills"), requests: sum("requests") },
  };
}

/** A run's progress over all its product types. */
export type Beat = Pick<StreamProgress, "pages" | "bills" | "requests"> & {
  /** The share of the planned time that was walked, 0 to 1, to three decimals. */
  readonly done: number;
};

type Heartbeat = Disposable & { readonly update: (progress: BillsProgress) => void };

/**
 * Reports a run's progress once a minute until it is disposed of. Otherwise a log would show nothing
 * between the plan of a long run and its end.
 */
export function openHeartbeat(clock: Clock, report: (beat: Beat) => void): Heartbeat {
  const run = new RunProgress();
  const end = new AbortController();
  const beat = () => {
    const { pages, bills, requests, ...time } = sumOf(run.streams);
    const done = run.streams.length === 0 ? 0 : Math.floor(1_000 * shareOf(time)) / 1_000;
    report({ pages, bills, requests, done });
  };
  void repeatEvery(clock, minuteMs, end.signal, beat);
  return {
    update: (progress) => run.update(progress, clock.now()),
    [Symbol.dispose]: () => end.abort(),
  };
}

type Progress = {
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
  // Redrawn without events too: the time left grows while a run stands still.
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

const titles = ["", "", "done", "    bills", "     left"];
const isRight = titles.map((_, column) => column > 1);
/** The width of all columns but name and bar, with their gaps. */
const figuresWidth = 32;
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
  const restWidth = columns - 1 - figuresWidth;
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
    ];
  });
  const lines = formatTable(titles, cells, isRight).split("\n");
  const last = lines.length - sum.length;
  return [
    ...lines.slice(0, last),
    ...(hidden === 0 ? [] : [`and ${hidden} more`]),
    ...lines.slice(last),
  ].map((line) => line.slice(0, Math.max(1, columns - 1)).trimEnd());
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
type LiveLines = {
  /** Draws these lines in place of the previous ones. */
  readonly show: (lines: readonly string[]) => void;
  /** Writes a message above the lines, where it stays. */
  readonly say: (message: string) => void;
  /** Leaves the lines on the screen. Later output appears below them. */
  readonly end: () => void;
};

/** The part of a terminal that is used here. Its size may change at any time. */
type Terminal = {
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
