// npm run simulate: see its --help.

import { StoppedError, UsageError } from "../../src/lib/errors.ts";
import { printableLine } from "../../src/lib/printable.ts";
import { dayMs, secondMs } from "../../src/lib/time.ts";
import { type Histories, type Hunt, wantedBy } from "./command-line.ts";
import { openDatabases } from "./databases.ts";
import type { HistoryResult } from "./play.ts";
import { type Broken, promises } from "./verdicts.ts";
import { startWorker, type Worker, workOff } from "./workers.ts";

async function main(): Promise<number> {
  const wanted = wantedBy(process.argv.slice(2));
  if (wanted.kind === "help") {
    process.stdout.write(wanted.text);
    return 0;
  }
  const stopped = untilStopped();
  await using databases = await openDatabases();
  console.log(`on ${databases.server}`);
  const urls = await Promise.all(
    Array.from({ length: wanted.workers }, (_, index) => databases.create(String(index))),
  );
  if (wanted.kind === "mutants") return await hunt(urls, wanted, stopped);
  using scope = new DisposableStack();
  const pool = urls.map((url) => scope.use(startWorker(url)));
  return (await playAll(pool, wanted, stopped)) === 0 ? 0 : 1;
}

/**
 * Plays the histories and reports the totals, even if it is stopped.
 * @returns how many broke a promise.
 */
async function playAll(
  pool: readonly Worker[],
  { seeds, isTraced }: Histories,
  stopped: Promise<never>,
): Promise<number> {
  const startedAt = performance.now();
  const results: HistoryResult[] = [];
  let failed = 0;
  const tasks = seeds.map((seed) => ({ seed, isTraced }));
  const played = workOff(pool, tasks, ({ result, trace }) => {
    results.push(result);
    for (const line of trace) console.log(line);
    if (result.broken.length > 0) {
      failed += 1;
      console.log(
        `seed ${result.seed} breaks a promise; npm run simulate -- --seed ${result.seed} plays it again`,
      );
      for (const { promise, what } of result.broken) console.log(`  ${promise}: ${what}`);
    }
    const line = `${results.length} of ${tasks.length} histories, ${failed} broke a promise`;
    if (process.stdout.isTTY) process.stdout.write(`\r${line}`);
    else if (results.length % 100 === 0) console.log(line);
  });
  try {
    await Promise.race([stopped, played]);
  } finally {
    if (results.length > 0) console.log(`\n${tableOf(results, performance.now() - startedAt)}`);
    else console.log("no history was played to its end");
  }
  if (tasks.length === 1) console.log(`digest ${results[0]?.digest}`);
  return failed;
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
      using plain = startWorker(url);
      let played = 0;
      let caughtBy: Broken | undefined;
      const hunted = async () => {
        for (const seed of seeds) {
          const { broken } = (await worker.work({ seed })).result;
          played += 1;
          // What the program itself breaks in this history catches no mutant.
          const own = broken.length === 0 ? [] : (await plain.work({ seed })).result.broken;
          const caught = broken.filter(({ promise }) =>
            own.every((one) => one.promise !== promise),
          );
          caughtBy = caught.find(isCrash) ?? caught[0];
          if (caughtBy !== undefined) return;
        }
      };
      await Promise.race([stopped, hunted()]);
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
function tableOf(results: readonly HistoryResult[], elapsedMs: number): string {
  const sum = (countOf: (result: HistoryResult) => number): number =>
    results.reduce((all, result) => all + countOf(result), 0);
  const kinds = [...new Set(results.flatMap(({ faults }) => Object.keys(faults)))].toSorted();
  const faults = kinds.map((kind) => [kind, sum((result) => result.faults[kind] ?? 0)] as const);
  return [
    row("histories", results.length),
    ...(["runs", "requests", "bills"] as const).map((name) =>
      row(
        name,
        sum((result) => result[name]),
      ),
    ),
    row("months of exchange time", Math.round(sum((result) => result.simulatedMs) / (30 * dayMs))),
    row(
      "faults",
      faults.reduce((all, [, count]) => all + count, 0),
    ),
    "",
    ...faults.map(([kind, count]) => row(`  ${kind}`, count)),
    "",
    `${"promise".padEnd(nameWidth)}${"looked at".padStart(numberWidth)}${"broken in histories".padStart(22)}`,
    ...promises.map((promise) => {
      const broken = results.filter((result) =>
        result.broken.some((one) => one.promise === promise),
      );
      const checked = sum((result) => result.checked[promise]);
      return `${row(promise, checked)}${String(broken.length).padStart(22)}`;
    }),
    "",
    `${Math.round(elapsedMs / secondMs)} s, ${Math.round(elapsedMs / results.length)} ms a history`,
  ].join("\n");
}

const nameWidth = 36;
const numberWidth = 14;

const row = (name: string, count: number): string =>
  `${name.padEnd(nameWidth)}${count.toLocaleString("en").padStart(numberWidth)}`;

process.exitCode = await main().catch(fail);
