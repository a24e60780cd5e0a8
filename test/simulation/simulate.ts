// npm run simulate: see its --help.
import { dayMs, secondMs } from "../../src/contract/time.ts";
import { StoppedError, UsageError } from "../../src/errors.ts";
import { printableLine } from "../../src/printable.ts";
import { type Hunt, wantedBy } from "./command-line.ts";
import { openDatabases } from "./databases.ts";
import type { HistoryResult } from "./play.ts";
import { saveShrunk } from "./shrink.ts";
import { type Broken, type PromiseName, promises } from "./verdicts.ts";
import type { Task } from "./worker.ts";
import { startWorker, type Worker, workOff } from "./workers.ts";

const shrunkMax = 3;

async function main(): Promise<number> {
  const wanted = wantedBy(process.argv.slice(2));
  if (wanted.kind === "help") {
    process.stdout.write(wanted.text);
    return 0;
  }
  const stopped = untilStopped();
  await using databases = await openDatabases();
  console.log(`on ${databases.server}`);
  const workers = wanted.kind === "one" ? 1 : wanted.workers;
  const urls = await Promise.all(
    Array.from({ length: workers }, (_, index) => databases.create(String(index))),
  );
  if (wanted.kind === "mutants") return await hunt(urls, wanted, stopped);
  using scope = new DisposableStack();
  const pool = urls.map((url) => scope.use(startWorker(url)));
  const tasks: readonly Task[] =
    wanted.kind === "one"
      ? [{ kind: "play", ...wanted.origin, isTraced: wanted.isTraced }]
      : wanted.seeds.map((seed) => ({ kind: "play", seed }));
  const failed = await playAll(pool, tasks, stopped);
  for (const task of failed.slice(0, shrunkMax)) await shrinkOne(pool[0], task, stopped);
  return failed.length === 0 ? 0 : 1;
}

/**
 * Plays the histories and reports the totals, even if it is stopped.
 * @returns what broke a promise.
 */
async function playAll(
  pool: readonly Worker[],
  tasks: readonly Task[],
  stopped: Promise<never>,
): Promise<readonly Task[]> {
  const startedAt = performance.now();
  const totals = new Totals();
  const failed: Task[] = [];
  let digest = "";
  const played = workOff(pool, tasks, ({ result, trace }, task) => {
    totals.add(result);
    digest = result.digest;
    for (const line of trace) console.log(line);
    if (result.broken.length > 0) {
      failed.push(task);
      const how = "seed" in task ? `; npm run simulate -- --seed ${task.seed} plays it again` : "";
      tellBroken(`the history of seed ${result.seed} breaks a promise${how}`, result.broken);
    }
    tellProgress(totals, tasks.length);
    return "go on";
  });
  try {
    await Promise.race([stopped, played]);
  } finally {
    if (totals.histories > 0) console.log(`\n${totals.table(performance.now() - startedAt)}`);
    else console.log("no history was played to its end");
  }
  if (tasks.length === 1 && digest !== "") console.log(`digest ${digest}`);
  return failed;
}

function tellProgress({ histories, failures }: Totals, of: number): void {
  const line = `${histories} of ${of} histories, ${failures.length} broke a promise`;
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`);
  else if (histories % 100 === 0) console.log(line);
}

function tellBroken(title: string, broken: readonly Broken[]): void {
  console.log(title);
  for (const { promise, what } of broken) console.log(`  ${promise}: ${what}`);
}

async function shrinkOne(
  worker: Worker | undefined,
  task: Task,
  stopped: Promise<never>,
): Promise<void> {
  const done = await Promise.race([stopped, worker?.work({ ...task, kind: "shrink" })]);
  if (done?.kind !== "shrunk") return;
  const { history, trace, result } = done;
  const saved = saveShrunk(history, trace);
  console.log(`\nseed ${history.seed} shrinks to ${JSON.stringify(history, undefined, 2)}`);
  tellBroken(`npm run simulate -- --history ${saved.history} plays it again`, result.broken);
  console.log(`digest ${result.digest}, trace ${saved.trace}`);
}

/** Whether the program crashed: this proves that its change is wrong, not that the histories notice its fault. */
const isCrash = ({ what }: Broken): boolean => /\b(Reference|Syntax|Type)Error\b/.test(what);

/** How many histories it takes to catch each mutant. */
async function hunt(
  urls: readonly string[],
  { mutants, seeds }: Hunt,
  stopped: Promise<never>,
): Promise<number> {
  const left = [...mutants];
  let caught = 0;
  console.log(`\n${"mutant".padEnd(72)}${"histories".padStart(10)}  caught by`);
  const next = async (url: string): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      using worker = startWorker(url, mutant.name);
      let played = 0;
      let caughtBy: Broken | undefined;
      const tasks = seeds.map((seed) => ({ kind: "play", seed }) as const);
      const hunted = workOff([worker], tasks, ({ result }) => {
        played += 1;
        caughtBy = result.broken.find(isCrash) ?? result.broken[0];
        return caughtBy === undefined ? "go on" : "stop";
      });
      await Promise.race([stopped, hunted]);
      const isCaught = caughtBy !== undefined && !isCrash(caughtBy);
      if (isCaught) caught += 1;
      const count = String(played).padStart(10);
      const why = isCaught ? caughtBy?.promise : `nothing: ${caughtBy?.what ?? "it survived"}`;
      console.log(`${mutant.name.padEnd(72)}${count}  ${why}`);
    }
  };
  try {
    await Promise.all(urls.map(next));
  } finally {
    console.log(`\n${caught} of ${mutants.length} mutants caught`);
  }
  return caught === mutants.length ? 0 : 1;
}

// npm passes on a Ctrl-C that the terminal has sent to this process already.
const sameKeyMs = 300;

/**
 * Rejects at the first Ctrl-C, so that every scope ends: workers, databases, the embedded Postgres.
 * A second one ends the process at once, and leaves these behind.
 */
function untilStopped(): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  let firstAt: number | undefined;
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      firstAt ??= performance.now();
      reject(new StoppedError(`stopped by ${name}`));
      if (performance.now() - firstAt > sameKeyMs) process.exit(1);
    });
  }
  // A reader such as head has read all that it wanted.
  process.stdout.on("error", (error) => reject(new StoppedError(`stopped: ${error.message}`)));
  return promise;
}

function fail(error: unknown): number {
  if (!(error instanceof UsageError || error instanceof StoppedError)) throw error;
  console.error(printableLine(error.message));
  return error instanceof UsageError ? 2 : 1;
}

/** The totals of many histories. */
class Totals {
  histories = 0;
  runs = 0;
  requests = 0;
  bills = 0;
  simulatedMs = 0;
  readonly faults = new Map<string, number>();
  readonly checked = new Map<PromiseName, number>();
  readonly broken = new Map<PromiseName, number>();
  readonly failures: HistoryResult[] = [];

  add(result: HistoryResult): void {
    this.histories += 1;
    this.runs += result.runs;
    this.requests += result.requests;
    this.bills += result.bills;
    this.simulatedMs += result.simulatedMs;
    for (const [kind, count] of Object.entries(result.faults)) sum(this.faults, kind, count);
    for (const promise of promises) sum(this.checked, promise, result.checked[promise] ?? 0);
    for (const promise of new Set(result.broken.map((broken) => broken.promise))) {
      sum(this.broken, promise, 1);
    }
    if (result.broken.length > 0) this.failures.push(result);
  }

  table(elapsedMs: number): string {
    const months = this.simulatedMs / (30 * dayMs);
    const faults = [...this.faults].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const injected = faults.reduce((all, [, count]) => all + count, 0);
    return [
      row("histories", this.histories),
      row("runs", this.runs),
      row("requests", this.requests),
      row("bills at the end", this.bills),
      row("months of exchange time", Math.round(months)),
      row("faults", injected),
      "",
      ...faults.map(([kind, count]) => row(`  ${kind}`, count)),
      "",
      `${"promise".padEnd(nameWidth)}${"looked at".padStart(numberWidth)}${"broken in histories".padStart(22)}`,
      ...promises.map((promise) => {
        const broken = String(this.broken.get(promise) ?? 0).padStart(22);
        return `${row(promise, this.checked.get(promise) ?? 0)}${broken}`;
      }),
      "",
      `${Math.round(elapsedMs / secondMs)} s, ${Math.round(elapsedMs / this.histories)} ms a history`,
    ].join("\n");
  }
}

const nameWidth = 36;
const numberWidth = 14;

const row = (name: string, count: number): string =>
  `${name.padEnd(nameWidth)}${count.toLocaleString("en").padStart(numberWidth)}`;

const sum = <Key>(counts: Map<Key, number>, key: Key, count: number): void =>
  void counts.set(key, (counts.get(key) ?? 0) + count);

process.exitCode = await main().catch(fail);
