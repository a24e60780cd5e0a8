import { StoppedError } from "../errors.ts";
import type { BillsProgress } from "../sync/stream-run.ts";
import { rateSpanMs, type StreamProgress } from "./progress-lines.ts";

export type StreamCounts = Pick<StreamProgress, "plannedMs" | "walkedMs" | "pages" | "bills"> & {
  readonly requests: number;
};

/** Counts one stream's progress. */
export class StreamState {
  readonly #name: string;
  readonly #plannedMs: number;
  readonly #startedAt: number;
  readonly #walkedMsByWindow = new Map<number, number>();
  #requestTimes: number[] = [];
  #state: StreamProgress["state"] = "at work";
  #pages = 0;
  #requests = 0;
  #bills = 0;

  constructor(name: string, plannedMs: number, startedAt: number) {
    this.#name = name;
    this.#plannedMs = plannedMs;
    this.#startedAt = startedAt;
  }

  count(progress: BillsProgress, now: number): void {
    switch (progress.event) {
      case "planned":
      case "doubted":
        break;
      case "request":
        this.#requestTimes = this.#requestTimes.filter((time) => time > now - rateSpanMs);
        this.#requestTimes.push(now);
        this.#requests += 1;
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
        // All that was walked so far is in the part that is kept. The other parts start at 0.
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

  /** Times are ms of the ledger. */
  counted(): StreamCounts {
    return {
      plannedMs: this.#plannedMs,
      walkedMs: [...this.#walkedMsByWindow.values()].reduce((sum, ms) => sum + ms, 0),
      pages: this.#pages,
      bills: this.#bills,
      requests: this.#requests,
    };
  }

  at(now: number): StreamProgress {
    const { requests: _, ...counts } = this.counted();
    return {
      name: this.#name,
      state: this.#state,
      startedAt: this.#startedAt,
      ...counts,
      requestTimes: this.#requestTimes.filter((time) => time > now - rateSpanMs),
    };
  }
}
