// npm run simulate: see its --help.
import { parseArgs } from "node:util";
import { openDatabases } from "./databases.ts";
import { mutants } from "./mutants.ts";
import type { HistoryResult } from "./play.ts";
import { Totals } from "./totals.ts";
import { playSeeds, startWorker } from "./workers.ts";

const help = `npm run simulate -- [--seeds N] [--from S] [--workers W]
npm run simulate -- --seed S
npm run simulate -- --mutants [--only WORD] [--seeds N]

Plays seeded histories: months of an exchange's time, in which syncs run again and again while
the exchange, the database and the process fail in every way that is known. After each run the
tables are held against the ledger that the exchange has, and the promises are checked.

Real: the whole sync (client, limiter, retries, planning, walks, lease, store), the SQL, and a
Postgres, on TEST_DATABASE_URL, else in Docker, else embedded.
Simulated: the exchange and the way to it; the time, which costs nothing; the death, the freeze
and the sleep of a process; the moment at which a connection to Postgres breaks.

  --seeds N     how many histories (1,000; with --mutants at most so many each, 400)
  --from S      the first of their seeds (0)
  --workers W   processes that play side by side (2)
  --seed S      plays this one, and shrinks it where it breaks a promise
  --mutants     plays histories with programs that are broken on purpose, until each is caught
  --only WORD   of these, those with this word in their name

Exit codes: 0 every promise held (with --mutants: every one was caught), 1 otherwise.`;

const shrunkMax = 3;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean" },
      seeds: { type: "string" },
      from: { type: "string", default: "0" },
      workers: { type: "string", default: "2" },
      seed: { type: "string" },
      mutants: { type: "boolean", default: false },
      only: { type: "string", default: "" },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const number = (name: string, text: string): number => {
    if (/^\d{1,9}$/.test(text)) return Number(text);
    throw new Error(`--${name} takes a whole number, not "${text}"`);
  };
  const from = number("from", values.seed ?? values.from);
  const count = number(
    "seeds",
    values.seed ? "1" : (values.seeds ?? (values.mutants ? "400" : "1000")),
  );
  const workers = number("workers", values.seed ? "1" : values.workers);
  await using databases = await openDatabases();
  console.log(`on ${databases.server}`);
  const urls = await Promise.all(
    Array.from({ length: Math.max(1, workers) }, (_, index) => databases.create(String(index))),
  );
  const seeds = Array.from({ length: count }, (_, index) => from + index);
  return await (values.mutants ? hunt(urls, seeds, values.only) : simulate(urls, seeds));
}

async function simulate(urls: readonly string[], seeds: readonly number[]): Promise<number> {
  const startedAt = performance.now();
  const totals = new Totals();
  const pool = urls.map((url) => startWorker(url));
  try {
    await playSeeds(pool, seeds, (done) => {
      totals.add(done.result);
      report(done.result);
      sayProgress(totals, seeds.length);
      return "go on";
    });
    console.log(`\n${totals.table(performance.now() - startedAt)}`);
    if (seeds.length === 1 && totals.failures.length === 0) return 0;
    for (const { seed } of totals.failures.slice(0, shrunkMax)) {
      const done = await pool[0]?.work({ kind: "shrink", seed });
      if (done?.kind !== "shrunk") continue;
      console.log(`\nseed ${seed} shrinks to ${JSON.stringify(done.history, undefined, 2)}`);
      report(done.result);
    }
  } finally {
    for (const worker of pool) worker[Symbol.dispose]();
  }
  return totals.failures.length === 0 ? 0 : 1;
}

function sayProgress({ histories, failures }: Totals, of: number): void {
  const line = `${histories} of ${of} histories, ${failures.length} broke a promise`;
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`);
  else if (histories % 100 === 0) console.log(line);
}

function report({ seed, broken }: HistoryResult): void {
  if (broken.length === 0) return;
  console.log(`seed ${seed} breaks a promise; npm run simulate -- --seed ${seed} plays it again`);
  for (const { promise, what } of broken) console.log(`  ${promise}: ${what}`);
}

/** How many histories each mutant takes until it is caught. */
async function hunt(urls: readonly string[], seeds: readonly number[], only: string) {
  const hunted = mutants.filter(({ name }) => name.includes(only));
  const left = [...hunted];
  const survivors: string[] = [];
  console.log(`\n${"mutant".padEnd(72)}${"histories".padStart(10)}  caught by`);
  const next = async (url: string): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      using worker = startWorker(url, mutant.name);
      let played = 0;
      let caughtBy: string | undefined;
      await playSeeds([worker], seeds, ({ result }) => {
        played += 1;
        caughtBy = result.broken[0]?.promise;
        return caughtBy === undefined ? "go on" : "stop";
      });
      if (caughtBy === undefined) survivors.push(mutant.name);
      const count = String(played).padStart(10);
      console.log(`${mutant.name.padEnd(72)}${count}  ${caughtBy ?? "nothing: it survived"}`);
    }
  };
  await Promise.all(urls.map(next));
  console.log(`\n${hunted.length - survivors.length} of ${hunted.length} mutants caught`);
  return hunted.length > 0 && survivors.length === 0 ? 0 : 1;
}

process.exitCode = await main();
