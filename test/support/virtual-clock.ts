import { setTimeout as realDelay, setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../src/lib/clock.ts";
import { type EpochMs, epochMs } from "../../src/lib/time.ts";

type Sleeper = { readonly wakeAt: number; readonly wake: () => void };

const stalledAfterMs = 30_000;

export type VirtualClock = ReturnType<typeof virtualClock>;

/**
 * A clock that costs no time: once nothing is left to do but to sleep, it jumps to the moment
 * when the first sleeper wakes. Sleepers of one moment wake in the order they went to sleep.
 *
 * Real I/O is not seen by it: wrap that in `hold`, or time may pass before it is over.
 */
export function virtualClock(start: number) {
  const sleepers: Sleeper[] = [];
  let time = start;
  let held = 0;
  let released = Promise.withResolvers<void>();
  let running = false;

  function add(sleeper: Sleeper): void {
    const before = sleepers.findLastIndex(({ wakeAt }) => wakeAt <= sleeper.wakeAt);
    sleepers.splice(before + 1, 0, sleeper);
  }

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const giveUp = () => {
        sleepers.splice(sleepers.indexOf(sleeper), 1);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      };
      const sleeper = { wakeAt: time + Math.max(0, ms), wake };
      signal?.addEventListener("abort", giveUp, { once: true });
      add(sleeper);
    });
  }

  /** @returns whether there was anybody to wake. */
  function wakeFirst(): boolean {
    const sleeper = sleepers.shift();
    if (sleeper === undefined) return false;
    time = sleeper.wakeAt;
    sleeper.wake();
    return true;
  }

  async function pump(isSettled: () => boolean, settled: Promise<void>, settleTurns: number) {
    let stalledMs = 0;
    while (stalledMs < stalledAfterMs) {
      for (let turns = 0; turns < settleTurns; turns++) await turn();
      if (isSettled()) return;
      if (held > 0) await Promise.race([released.promise, settled]);
      else if (wakeFirst()) stalledMs = 0;
      else {
        await realDelay(1);
        stalledMs += 1;
      }
    }
    throw new Error("the work waits for something that neither sleeps on this clock nor is held");
  }

  const clock: Clock = { now: (): EpochMs => epochMs(Math.floor(time)), sleep };
  return {
    clock,
    /** Milliseconds since the Unix epoch, with the fraction that `clock.now` omits. */
    now: () => time,

    /**
     * Lets time pass until the work has settled. Only one at a time.
     * @param settleTurns how many turns of the event loop pass before time moves on.
     */
    async run<T>(work: Promise<T>, { settleTurns = 3 } = {}): Promise<T> {
      if (running) throw new Error("this clock is running already");
      running = true;
      let isSettled = false;
      const done = () => {
        isSettled = true;
      };
      try {
        await pump(() => isSettled, work.then(done, done), settleTurns);
      } finally {
        running = false;
      }
      return work;
    },

    /** Time stands still until this real I/O is over. The I/O must not sleep on this clock. */
    async hold<T>(io: () => Promise<T>): Promise<T> {
      held += 1;
      try {
        return await io();
      } finally {
        held -= 1;
        if (held === 0) {
          released.resolve();
          released = Promise.withResolvers<void>();
        }
      }
    },
  };
}
