import { uptime } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { type EpochMs, epochMs, secondMs } from "./time.ts";

/** The time that a run lives in. Passed in, so that a test can simulate months. */
export type Clock = {
  /** This machine's idea of the time. It never goes backwards. */
  now(): EpochMs;
  /** How long the machine slept in all, in ms: `now` stood still meanwhile. Default 0. */
  sleptMs?(): number;
  /** @throws the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
};

/** Acts every `everyMs` until the signal aborts, the first time after the first pause. Throws what `act` does. */
export async function repeatEvery(
  clock: Clock,
  everyMs: number,
  signal: AbortSignal,
  act: () => void | Promise<void>,
): Promise<void> {
  for (;;) {
    await clock.sleep(everyMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    await act();
  }
}

const uptimeAtStart = uptime() * secondMs - performance.now();

/** The time by a clock that goes on while the machine sleeps, in ms. */
export const asleepOrAwake = (clock: Clock): number => clock.now() + (clock.sleptMs?.() ?? 0);

export const systemClock: Clock = {
  // The monotonic clock: an adjustment of the wall clock cannot reorder a run's times.
  now: () => epochMs(Math.floor(performance.timeOrigin + performance.now())),
  // Linux and macOS count the time since their start asleep or awake.
  sleptMs: () => Math.max(0, uptime() * secondMs - performance.now() - uptimeAtStart),
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};
