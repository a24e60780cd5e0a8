import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { epochMs, isoTime } from "../src/lib/time.ts";
import type { Bench, BenchResult } from "./result.ts";

/*
 *   npm run bench                    all of them, one after the other
 *   npm run bench -- NAME...         these only
 *   npm run bench -- --short         the small form of each
 *   npm run bench -- NAME --only WORD --only WORD    the cases of one that have these words in their name
 *
 * Prints a table for each and writes its figures to bench/results/NAME.json.
 */

const benches: Readonly<Record<string, () => Promise<{ readonly run: Bench }>>> = {
  backfill: () => import("./backfill.ts"),
  distance: () => import("./distance.ts"),
  limiter: () => import("./limiter.ts"),
  reconcile: () => import("./reconcile.ts"),
  changed: () => import("./changed.ts"),
  views: () => import("./views.ts"),
  export: () => import("./export.ts"),
  throughput: () => import("./throughput.ts"),
  memory: () => import("./memory.ts"),
  growth: () => import("./growth.ts"),
  start: () => import("./start.ts"),
  page: () => import("./page.ts"),
  serve: () => import("./serve.ts"),
  fleet: () => import("./fleet.ts"),
};

const { values, positionals } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
  },
  allowPositionals: true,
});
const names = positionals.length === 0 ? Object.keys(benches) : positionals;
for (const name of names) {
  if (benches[name] === undefined) {
    console.error(`no benchmark is called ${name}: there are ${Object.keys(benches).join(", ")}`);
    process.exit(2);
  }
}
for (const name of names) await runOne(name);

async function runOne(name: string): Promise<void> {
  const bench = await benches[name]?.();
  if (bench === undefined) return;
  const loadBefore = loadavg()[0];
  const result = await bench.run(values);
  print(result);
  for (const failure of result.failures ?? []) {
    console.error(failure);
    process.exitCode = 1;
  }
  const file = fileURLToPath(new URL(`results/${name}.json`, import.meta.url));
  await mkdir(fileURLToPath(new URL("results", import.meta.url)), { recursive: true });
  const machine = {
    cpus: availableParallelism(),
    model: cpus()[0]?.model,
    node: process.version,
    // Above zero, the machine has other work, so timings are too long.
    loadBefore,
  };
  const at = isoTime(epochMs(Date.now()));
  const record = { name, at, short: values.short, machine, figures: result.json };
  await writeFile(file, `${JSON.stringify(record, undefined, 2)}\n`);
}

/** A table whose first column has names and whose other columns have figures. */
function print({ title, rows, notes = [] }: BenchResult): void {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((text, column) =>
        (column === 0 ? text.padEnd : text.padStart).call(text, widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  console.log(["", title, "", ...rows.map(line), ...notes, ""].join("\n"));
}
