import { messageOf, StoppedError } from "../errors.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { openLiveLines, type Terminal } from "./live-lines.ts";
import { progressLines, rateSpanMs, type StreamProgress } from "./progress-lines.ts";
import { streamName } from "./stream-names.ts";

export type Progress = {
  readonly update: (progress: BillsProgress) => void;
  readonly notice: (message: string) => void;
  /** Draws the last state and leaves it on the screen. */
  readonly stop: () => void;
};

const redrawMs = 200;

/** A bar per stream: the share of the planned time that is behind the walks. */
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
  // Without an event too: a run that stands still shows it by its rate.
  const drawing = setInterval(draw, redrawMs).unref();
  let isStopped = false;

  /** Says a failure once: one that is retried comes again and again. */
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
      if (failure !== undefined) tell(name, failure);
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

function failureOf(progress: BillsProgress): unknown {
  if (progress.event === "request") return progress.failure;
  if (progress.event !== "failed" || progress.error instanceof StoppedError) return undefined;
  return progress.error;
}

/** What was counted of one stream so far. */
class StreamState {
  readonly #name: string;
  readonly #plannedMs: number;
  readonly #startedAt: number;
  readonly #walkedMsByWindow = new Map<number, number>();
  #requestTimes: number[] = [];
  #state: StreamProgress["state"] = "at work";
  #pages = 0;
  #bills = 0;

  constructor(name: string, plannedMs: number, startedAt: number) {
    this.#name = name;
    this.#plannedMs = plannedMs;
    this.#startedAt = startedAt;
  }

  count(progress: BillsProgress, now: number): void {
    switch (progress.event) {
      case "planned":
        break;
      case "request":
        this.#requestTimes = this.#requestTimes.filter((time) => time > now - rateSpanMs);
        this.#requestTimes.push(now);
        break;
      case "page": {
        const { counts, window, walkedMs } = progress;
        const before = this.#walkedMsByWindow.get(window.from) ?? 0;
        this.#walkedMsByWindow.set(window.from, Math.max(before, walkedMs));
        this.#pages += 1;
        this.#bills += counts.new + counts.unchanged + counts.restated;
        break;
      }
      case "divided": {
        // What was walked so far lies in the part that is kept; the others begin at nothing.
        const { window, kept } = progress;
        this.#walkedMsByWindow.set(kept.from, this.#walkedMsByWindow.get(window.from) ?? 0);
        this.#walkedMsByWindow.delete(window.from);
        break;
      }
      case "failed":
        this.#state = progress.error instanceof StoppedError ? "stopped" : "failed";
        break;
      default:
        progress satisfies never;
    }
  }

  at(now: number): StreamProgress {
    return {
      name: this.#name,
      state: this.#state,
      startedAt: this.#startedAt,
      plannedMs: this.#plannedMs,
      walkedMs: [...this.#walkedMsByWindow.values()].reduce((sum, ms) => sum + ms, 0),
      pages: this.#pages,
      bills: this.#bills,
      requestTimes: this.#requestTimes.filter((time) => time > now - rateSpanMs),
    };
  }
}
