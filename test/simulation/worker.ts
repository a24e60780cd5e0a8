// A process that plays histories on a database of its own, controlled by messages. With the name of
// a mutant it runs that program.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { mutants, mutated } from "./mutants.ts";
import type { HistoryResult } from "./play.ts";

/** A history by its seed, and whether its trace is wanted. */
export type Task = { readonly seed: number; readonly isTraced?: boolean };

export type Done = {
  readonly result: HistoryResult;
  /** The history, and what happened. Empty unless it is wanted. */
  readonly trace: readonly string[];
};

const [url = "", mutantName] = process.argv.slice(2);

if (mutantName !== undefined) {
  const mutant = mutants.find(({ name }) => name === mutantName);
  if (mutant === undefined) throw new Error(`there is no mutant "${mutantName}"`);
  const target = new URL(`../../${mutant.file}`, import.meta.url);
  const source = mutated(readFileSync(fileURLToPath(target), "utf8"), mutant);
  registerHooks({
    load: (loaded, context, next) =>
      loaded === target.href
        ? { format: "module-typescript", source, shortCircuit: true }
        : next(loaded, context),
  });
}

// Imported after the hook: earlier imports would not be the mutant's.
const { openPool } = await import("./databases.ts");
const { play } = await import("./play.ts");
const { drawHistory } = await import("./draw.ts");
const { timeText } = await import("./time-checks.ts");
const pool = openPool(url);

// Milliseconds since the epoch, from 2001 to 2033, that are not part of a longer number.
const times = /(?<![\d.])1\d{12}(?:\.\d+)?(?!\d)/g;

async function work({ seed, isTraced = false }: Task): Promise<Done> {
  const history = drawHistory(seed);
  if (!isTraced) return { result: await play(history, pool), trace: [] };
  const trace = [JSON.stringify(history, undefined, 2)];
  const result = await play(history, pool, (line) =>
    trace.push(line.replaceAll(times, (time) => timeText(Number(time)))),
  );
  return { result, trace };
}

process.on("message", (task: Task) => {
  void work(task).then((done) => process.send?.(done));
});
process.on("disconnect", () => process.exit());
