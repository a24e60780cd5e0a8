import fc from "fast-check";
import { expect, test } from "vitest";
import { secondMs } from "../src/lib/time.ts";
import { type Job, type JobEnd, keyOf } from "../src/wings/fleet/tasks.ts";
import { type WorkDeps, workOff } from "../src/wings/fleet/work-off.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const silentMaxMs = 14 * secondMs;

type Row = {
  readonly key: string;
  state: "waiting" | "at work" | "done";
  tries: number;
  toldAt: number;
};

/** The queue as it is promised. A try that a later one overtook changes nothing. */
function modelQueue(accounts: readonly string[], now: () => number) {
  const rows = accounts.map((key): Row => ({ key, state: "waiting", tries: 0, toldAt: 0 }));
  const current = ({ id, retryCount }: Job) =>
    rows.find(({ key, tries, state }) => key === id && tries === retryCount && state === "at work");
  const end = (state: Row["state"]) => async (jobs: readonly Job[]) => {
    for (const row of jobs.map(current)) if (row !== undefined) row.state = state;
  };
  const again = (job: Job): void => {
    const row = current(job);
    if (row !== undefined) Object.assign(row, { state: "waiting", tries: row.tries + 1 });
  };
  const queue: WorkDeps["queue"] = {
    async fetch(count) {
      for (const row of rows) {
        if (row.state !== "at work" || now() - row.toldAt < silentMaxMs) continue;
        row.state = "waiting";
        row.tries++;
      }
      const free = rows.filter(({ state }) => state === "waiting").slice(0, count);
      for (const row of free) Object.assign(row, { state: "at work", toldAt: now() });
      return free.map(({ key, tries }) => ({ id: key, retryCount: tries, task: { account: key } }));
    },
    async beat(jobs) {
      for (const row of jobs.map(current)) if (row !== undefined) row.toldAt = now();
    },
    complete: end("done"),
    async giveBack(jobs) {
      for (const job of jobs) again(job);
    },
    fail: async (job) => again(job),
  };
  return { rows, queue };
}

/** The same queue behind a database that is away at times: before a statement, or before its answer. */
function unreliable(queue: WorkDeps["queue"], fault: () => "none" | "refused" | "no answer") {
  const behind =
    <Args extends readonly unknown[], Result>(act: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const kind = fault();
      if (kind === "refused") throw new Error("the database is away");
      const result = await act(...args);
      if (kind === "no answer") throw new Error("the connection was lost");
      return result;
    };
  return {
    fetch: behind(queue.fetch),
    beat: behind(queue.beat),
    complete: behind(queue.complete),
    giveBack: behind(queue.giveBack),
    fail: behind(queue.fail),
  };
}

const accounts = Array.from({ length: 12 }, (_, index) => `fund-${index}`);
const ends: readonly JobEnd[] = [
  { kind: "done" },
  { kind: "failed", why: "it may pass" },
  { kind: "permanent", why: "it will not" },
  { kind: "given-back" },
];

const history = fc.record({
  /** What happens to each statement. The statements after these succeed. */
  faults: fc.array(fc.constantFrom("none", "none", "refused", "no answer"), { maxLength: 150 }),
  /** How long each try takes, and how it ends. The tries after these succeed at once. */
  tries: fc.array(
    fc.record({ seconds: fc.constantFrom(0, 1, 5, 20, 60), end: fc.constantFrom(...ends) }),
    { maxLength: 40 },
  ),
  concurrency: fc.integer({ min: 1, max: 5 }),
  /** When the first worker is killed, and when the second one is stopped and replaced. */
  killedAfterS: fc.constantFrom(1, 7, 30),
  stoppedAfterS: fc.constantFrom(1, 12, 40),
});

test("whatever a database and workers do, each account is done or given up, and none is worked on twice by workers that tell", async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ faults, tries, concurrency, ...times }) => {
      const time = virtualClock(0);
      const { rows, queue } = modelQueue(accounts, time.now);
      const [fates, drawn] = [faults.values(), tries.values()];
      const twice: string[] = [];
      const atWork = new Map<string, Job>();
      const worker = (signal: AbortSignal, killed?: AbortSignal) => {
        const isKilled = () => killed?.aborted === true;
        const never = new Promise<never>(() => undefined);
        const reached = unreliable(queue, () => fates.next().value ?? "none");
        const own = Object.fromEntries(
          Object.entries(reached).map(([name, act]) => [
            name,
            (...args: never[]) =>
              isKilled() ? never : (act as (...all: never[]) => unknown)(...args),
          ]),
        ) as WorkDeps["queue"];
        const work = async (job: Job): Promise<JobEnd> => {
          const key = keyOf(job.task);
          const before = atWork.get(key);
          const row = rows.find((one) => one.key === key);
          // A try is only overtaken if its worker was silent too long.
          if (before !== undefined && (row?.tries ?? 0) <= before.retryCount) twice.push(key);
          atWork.set(key, job);
          const { seconds, end } = drawn.next().value ?? {
            seconds: 0,
            end: { kind: "done" } as const,
          };
          await time.clock.sleep(seconds * secondMs);
          if (isKilled()) return never;
          if (atWork.get(key) === job) atWork.delete(key);
          return end;
        };
        const onTrouble = () => undefined;
        return workOff({ queue: own, concurrency, work, clock: time.clock, signal, onTrouble });
      };
      const kill = new AbortController();
      const stop = new AbortController();
      const last = new AbortController();
      void worker(last.signal, kill.signal);
      const stopped = worker(stop.signal);
      const play = async () => {
        await time.clock.sleep(times.killedAfterS * secondMs);
        kill.abort();
        await time.clock.sleep(times.stoppedAfterS * secondMs);
        stop.abort();
        await stopped;
        const third = worker(last.signal);
        for (let second = 0; second < 3_000; second += 10) {
          if (rows.every(({ state }) => state === "done")) break;
          await time.clock.sleep(10 * secondMs);
        }
        last.abort();
        await third;
      };
      await time.run(play());
      const left = rows.filter(({ state }) => state !== "done");
      expect({ left, twice }).toEqual({ left: [], twice: [] });
    }),
    { numRuns: 60 },
  );
});
