import { type Clock, repeatEvery } from "../../lib/clock.ts";
import { secondMs } from "../../lib/time.ts";
import { beatMs, type Queue } from "./queue.ts";
import type { Job, JobEnd } from "./tasks.ts";

export type WorkDeps = {
  readonly queue: Pick<Queue, "fetch" | "beat" | "complete" | "fail" | "giveBack">;
  /** How many jobs run side by side. */
  readonly concurrency: number;
  /** Does one job. Never throws. */
  readonly work: (job: Job) => Promise<JobEnd>;
  readonly clock: Clock;
  /** Stops fetching. Jobs at work are waited for. */
  readonly signal: AbortSignal;
  /** Called with errors of the queue, which is retried. */
  readonly onTrouble: (error: unknown) => void;
};

/** How often a worker with free places looks for jobs. */
const lookEveryMs = secondMs;
/**
 * How often a stopping worker tries to report its last jobs. After that, its silence tells the
 * queue.
 */
const lastTriesMax = 5;

/**
 * Works off the queue: fetches a job for each free place, sends heartbeats while jobs run, and
 * reports how each ended. While the queue's database is away it keeps trying. A worker that was
 * silent too long has lost its jobs, and its reports about them are ignored.
 */
export async function workOff(deps: WorkDeps): Promise<void> {
  const { queue, concurrency, work, clock, signal, onTrouble } = deps;
  /** Jobs that were fetched and are not settled yet. */
  const held = new Map<string, Job>();
  let wake = Promise.withResolvers<void>();
  const settlement = new Settlement(deps, (settled) => {
    for (const { id } of settled) held.delete(id);
    // Wakes early only when half the places are free: a fetch costs as much for one job as for
    // many.
    if (2 * held.size <= concurrency) wake.resolve();
  });
  const begin = async (job: Job): Promise<void> => {
    held.set(job.id, job);
    settlement.add({ job, end: await work(job) });
  };
  const over = new AbortController();
  const beat = () => queue.beat([...held.values()]).catch(onTrouble);
  const beating = repeatEvery(clock, beatMs, over.signal, beat);
  const stop = () => wake.resolve();
  signal.addEventListener("abort", stop);
  while (!signal.aborted) {
    wake = Promise.withResolvers();
    const free = concurrency - held.size;
    const fetched = free === 0 ? [] : await queue.fetch(free).catch(troubled(onTrouble));
    for (const job of fetched) void begin(job);
    await untilWoken(clock, wake.promise);
  }
  signal.removeEventListener("abort", stop);
  while (held.size > 0) {
    wake = Promise.withResolvers();
    await wake.promise;
  }
  over.abort();
  await beating;
}

const troubled =
  (onTrouble: (error: unknown) => void) =>
  (error: unknown): readonly Job[] => {
    onTrouble(error);
    return [];
  };

async function untilWoken(clock: Clock, woken: Promise<void>): Promise<void> {
  const enough = new AbortController();
  await Promise.race([clock.sleep(lookEveryMs, enough.signal).catch(() => undefined), woken]);
  enough.abort();
}

type Ended = { readonly job: Job; readonly end: JobEnd };

/**
 * Reports to the queue how jobs ended. Jobs that end during a report are reported together by the
 * next one.
 */
class Settlement {
  readonly #deps: WorkDeps;
  readonly #onSettled: (jobs: readonly Job[]) => void;
  #waiting: Ended[] = [];
  #isTelling = false;

  constructor(deps: WorkDeps, onSettled: (jobs: readonly Job[]) => void) {
    this.#deps = deps;
    this.#onSettled = onSettled;
  }

  add(ended: Ended): void {
    this.#waiting.push(ended);
    if (!this.#isTelling) void this.#tellAll();
  }

  async #tellAll(): Promise<void> {
    this.#isTelling = true;
    while (this.#waiting.length > 0) {
      const all = this.#waiting;
      this.#waiting = [];
      await this.#tellUntilHeard(all);
      this.#onSettled(all.map(({ job }) => job));
    }
    this.#isTelling = false;
  }

  /** Never throws. A stopping worker gives up after {@link lastTriesMax} tries. */
  async #tellUntilHeard(all: readonly Ended[]): Promise<void> {
    const { signal, clock, onTrouble } = this.#deps;
    for (let lastTries = 0; lastTries < lastTriesMax; lastTries += signal.aborted ? 1 : 0) {
      try {
        return await this.#tell(all);
      } catch (error) {
        onTrouble(error);
        await clock.sleep(lookEveryMs);
      }
    }
  }

  /** Repeating a report is harmless: the queue no longer knows that try. */
  async #tell(all: readonly Ended[]): Promise<void> {
    const { queue } = this.#deps;
    const those = (...ends: readonly JobEnd["kind"][]) =>
      all.filter(({ end }) => ends.includes(end.kind)).map(({ job }) => job);
    await queue.complete(those("done", "permanent"));
    await queue.giveBack(those("given-back"));
    for (const { job, end } of all) if (end.kind === "failed") await queue.fail(job, end.why);
  }
}
