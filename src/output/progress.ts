import { messageOf, StoppedError } from "../errors.ts";
import type { Stream } from "../sync/store.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { openLiveLines, type Terminal } from "./live-lines.ts";
import { progressLines } from "./progress-lines.ts";
import { streamName, streamNames } from "./stream-names.ts";
import { StreamState } from "./stream-state.ts";

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
  const streams = new Map<string, StreamState>();
  const told = new Set<string>();
  const draw = (...after: readonly string[]) => {
    const { columns, rows } = terminal;
    const size = { columns: columns || 80, rows: rows || 24 };
    const shown = [...streams.values()].map((stream) => stream.at(now()));
    if (shown.length > 0) live.show([...progressLines(shown, now(), size), ...after]);
  };
  // Redrawn without events too, so that the rate shows a run that stands still.
  const drawing = setInterval(draw, redrawMs).unref();
  let isStopped = false;

  /** Prints a failure once: a failure that is retried is reported again and again. */
  const tell = (name: string, error: unknown) => {
    const message = `${name}: ${messageOf(error)}`;
    if (!told.has(message)) live.say(message);
    told.add(message);
  };

  return {
    update(progress) {
      const name = streamName(progress.stream);
      if (progress.event === "planned") {
        streams.set(name, new StreamState(name, progress.plannedMs, now()));
      }
      const failure = failureOf(progress);
      if (failure !== undefined) tell(streamNames(streamsOf(progress)), failure);
      streams.get(name)?.count(progress, now());
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
