import { type Clock, repeatEvery } from "../clock.ts";
import { minuteMs, secondMs } from "../contract/time.ts";
import { StoppedError } from "../errors.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { streamName } from "./stream-names.ts";

/** A stream's progress, or that of all. */
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
  readonly requests: number;
  /** When the requests of the last {@link rateSpanMs} ended. */
  readonly requestTimes: readonly number[];
};

/** The rate is that of the last seconds: a whole run's average would hide that the run stands still. */
export const rateSpanMs = 5 * secondMs;

type Counted = { -readonly [Key in keyof StreamProgress]: StreamProgress[Key] } & {
  readonly walkedMsByWindow: Map<number, number>;
};

/** Counts the progress of a run's streams. */
export class RunProgress {
  readonly #streams = new Map<string, Counted>();

  get streams(): readonly StreamProgress[] {
    return [...this.#streams.values()];
  }

  update(progress: BillsProgress, now: number): void {
    const name = streamName(progress.stream);
    if (progress.event === "planned") this.#streams.set(name, begun(name, progress.plannedMs, now));
    const stream = this.#streams.get(name);
    if (stream !== undefined) count(stream, progress, now);
  }
}

const begun = (name: string, plannedMs: number, startedAt: number): Counted => ({
  ...{ name, state: "at work", startedAt, plannedMs, walkedMs: 0 },
  ...{ pages: 0, bills: 0, requests: 0, requestTimes: [], walkedMsByWindow: new Map() },
});

function count(stream: Counted, progress: BillsProgress, now: number): void {
  const walked = stream.walkedMsByWindow;
  switch (progress.event) {
    case "planned":
    case "doubted":
      break;
    case "request":
      stream.requests += 1;
      stream.requestTimes = [...stream.requestTimes.filter((time) => time > now - rateSpanMs), now];
      break;
    case "page": {
      const { counts, window, walkedMs } = progress;
      walked.set(window.from, Math.max(walked.get(window.from) ?? 0, walkedMs));
      stream.pages += 1;
      stream.bills += counts.new + counts.unchanged + counts.restated;
      break;
    }
    case "divided":
      // All that was walked so far is in the part that is kept. The other parts start at 0.
      walked.set(progress.kept.from, walked.get(progress.window.from) ?? 0);
      walked.delete(progress.window.from);
      break;
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
    requestTimes: streams.flatMap(({ requestTimes }) => requestTimes),
  };
}

/** A run's progress over all its product types. */
export type Beat = Pick<StreamProgress, "pages" | "bills" | "requests"> & {
  /** The share of the planned time that was walked, 0 to 1, to three decimals. */
  readonly done: number;
};

export type Heartbeat = Disposable & { readonly update: (progress: BillsProgress) => void };

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
