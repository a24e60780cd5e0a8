import { type Clock, repeatEvery } from "../clock.ts";
import { minuteMs } from "../contract/time.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { RunProgress, type StreamProgress, shareOf, sumOf } from "./run-progress.ts";

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
