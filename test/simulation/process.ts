import type { Clock } from "../../src/lib/clock.ts";
import { StoppedError } from "../../src/lib/errors.ts";
import { epochMs } from "../../src/lib/time.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import type { ProcessFault } from "./history.ts";

export type SimulatedProcess = ReturnType<typeof startProcess>;

/**
 * A process that may be killed, stopped, frozen or suspended at any of its effects: before and
 * after each of its requests and statements. Nothing interrupts it in between.
 * @param aheadMs how far the machine's clock is ahead of the exchange's.
 * @param onFault called for each fault when it strikes.
 */
export function startProcess(
  time: VirtualClock,
  aheadMs: number,
  faults: readonly ProcessFault[],
  onFault: (fault: ProcessFault) => void,
) {
  const stop = new AbortController();
  const death = Promise.withResolvers<void>();
  let isDead = false;
  let frozen: PromiseWithResolvers<void> | undefined;
  let effects = 0;
  let sleptMs = 0;

  function meet(fault: ProcessFault): void {
    switch (fault.kind) {
      case "kill":
        isDead = true;
        death.resolve();
        break;
      case "stop":
        stop.abort(new StoppedError("the process was told to stop"));
        break;
      case "freeze":
      case "suspend":
        frozen = Promise.withResolvers();
        if (fault.kind === "suspend") sleptMs += fault.forMs;
        break;
      case "second":
      case "verify":
        break;
      default:
        fault satisfies never;
    }
    onFault(fault);
  }

  /** Continues when the process does. */
  async function pass(): Promise<void> {
    while (!isDead && frozen !== undefined) await frozen.promise;
    if (isDead) await new Promise(() => undefined);
  }

  function count(): void {
    if (isDead) return;
    effects += 1;
    for (const fault of faults) if (fault.at === effects) meet(fault);
  }

  async function point(): Promise<void> {
    count();
    await pass();
  }

  /** This machine's clock: it stands still while the machine sleeps, and never goes back. */
  const clock: Clock = {
    now: () => epochMs(Math.floor(time.now() + aheadMs - sleptMs)),
    sleptMs: () => sleptMs,
    async sleep(ms, signal) {
      try {
        await time.clock.sleep(ms, signal);
      } finally {
        await pass();
      }
    },
  };

  return {
    clock,
    signal: stop.signal,
    isDead: () => isDead,
    /** Resolves when the process is killed. */
    died: death.promise,
    /** Runs an effect on the outside world, with a point before it and one after it. */
    async effect<T>(act: () => Promise<T>): Promise<T> {
      await point();
      try {
        return await act();
      } finally {
        await point();
      }
    },
    /**
     * The same for an effect that is handed to the operating system at once. A process that is
     * frozen at that moment has finished it, with all code that runs synchronously.
     */
    async send<T>(act: () => Promise<T>): Promise<T> {
      count();
      if (isDead) await pass();
      try {
        return await act();
      } finally {
        await point();
      }
    },
    thaw(): void {
      frozen?.resolve();
      frozen = undefined;
    },
  };
}
