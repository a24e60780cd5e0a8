import type { Clock } from "../../src/clock.ts";
import { epochMs } from "../../src/contract/time.ts";
import { StoppedError } from "../../src/errors.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import type { ProcessFault } from "./history.ts";

export type ProcessOptions = {
  readonly time: VirtualClock;
  /** How far the machine's clock is ahead of the exchange's, ms. */
  readonly aheadMs: number;
  readonly faults: readonly ProcessFault[];
  /** Called for each fault when it strikes. */
  readonly onFault: (fault: ProcessFault) => void;
};

/**
 * A process that may be killed, stopped, frozen or suspended at any of its effects: before and
 * after each of its requests and statements. Nothing interrupts it in between.
 */
export type SimulatedProcess = {
  /** This machine's clock: it stands still while the machine sleeps, and never goes back. */
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly isDead: () => boolean;
  /** Resolves when the process is killed. */
  readonly died: Promise<void>;
  readonly effects: () => number;
  /** Runs an effect on the outside world, with a point before it and one after it. */
  effect<T>(act: () => Promise<T>): Promise<T>;
  /**
   * The same for an effect that is handed to the operating system at once. A process that is frozen
   * at that moment has finished it, with all code that runs synchronously.
   */
  send<T>(act: () => Promise<T>): Promise<T>;
  thaw(): void;
};

export function startProcess(options: ProcessOptions): SimulatedProcess {
  const { time, aheadMs, faults, onFault } = options;
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

  return {
    clock: {
      now: () => epochMs(Math.floor(time.now() + aheadMs - sleptMs)),
      sleptMs: () => sleptMs,
      async sleep(ms, signal) {
        try {
          await time.clock.sleep(ms, signal);
        } finally {
          await pass();
        }
      },
    },
    signal: stop.signal,
    isDead: () => isDead,
    died: death.promise,
    effects: () => effects,
    async effect(act) {
      await point();
      try {
        return await act();
      } finally {
        await point();
      }
    },
    async send(act) {
      count();
      if (isDead) await pass();
      try {
        return await act();
      } finally {
        await point();
      }
    },
    thaw() {
      frozen?.resolve();
      frozen = undefined;
    },
  };
}
