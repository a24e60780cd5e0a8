import { setTimeout as delay } from "node:timers/promises";
import { type EpochMs, epochMs } from "./contract/time.ts";

/** The time that a run lives in. Passed in, so that a test can simulate months. */
export type Clock = {
  /** This machine's idea of the time. It never goes backwards. */
  now(): EpochMs;
  /** @throws the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
};

export const systemClock: Clock = {
  // The monotonic clock: an adjustment of the wall clock cannot reorder a run's times.
  now: () => epochMs(Math.floor(performance.timeOrigin + performance.now())),
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};
