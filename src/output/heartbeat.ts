import { type Clock, repeatEvery } from "../clock.ts";
import { minuteMs } from "../contract/time.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { streamName } from "./stream-names.ts";
import { StreamState } from "./stream-state.ts";

/** A run's progress over all its product types. */
export type Beat = {
  readonly pages: number;
  readonly bills: number;
  readonly requests: number;
  /** The share of the planned time that was walked, 0 to 1, to three decimals. */
  readonly done: number;
};

export type Heartbeat = Disposable & { readonly update: (progress: BillsProgress) => void };

/**
 * Reports a run's progress once a minute until it is disposed of. Otherwise a log would show nothing
 * between the plan of a long run and its end.
 */
export function openHeartbeat(clock: Clock, tell: (beat: Beat) => void): Heartbeat {
  const streams = new Map<string, StreamState>();
  const end = new AbortController();
  void repeatEvery(clock, minuteMs, end.signal, () => tell(beatOf([...streams.values()])));
  return {
    update(progress) {
      const name = streamName(progress.stream);
      if (progress.event === "planned") {
        streams.set(name, new StreamState(name, progress.plannedMs, clock.now()));
      }
      streams.get(name)?.count(progress, clock.now());
    },
    [Symbol.dispose]: () => end.abort(),
  };
}

function beatOf(streams: readonly StreamState[]): Beat {
  const counts = streams.map((stream) => stream.counted());
  const sum = (name: keyof (typeof counts)[number]) =>
    counts.reduce((total, count) => total + count[name], 0);
  const plannedMs = sum("plannedMs");
  return {
    pages: sum("pages"),
    bills: sum("bills"),
    requests: sum("requests"),
    done: plannedMs === 0 ? 0 : Math.floor((1_000 * sum("walkedMs")) / plannedMs) / 1_000,
  };
}
