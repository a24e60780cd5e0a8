// A process that plays histories on a database of its own, controlled by messages. With the name of
// a mutant it runs that program.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type { History } from "./history.ts";
import { mutants, mutated } from "./mutants.ts";
import type { HistoryResult } from "./play.ts";

/** The history of a seed, or one from a file. */
export type Origin = { readonly seed: number } | { readonly history: History };

export type Task = Origin & {
  readonly kind: "play" | "shrink";
  /** Whether the trace is wanted. A shrunk history always has one. */
  readonly isTraced?: boolean;
};

type Played = {
  readonly result: HistoryResult;
  /** Empty unless it is wanted. */
  readonly trace: readonly string[];
};

export type Done =
  | (Played & { readonly kind: "played" })
  | (Played & { readonly kind: "shrunk"; readonly history: History });

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
const { readable, shrink } = await import("./shrink.ts");
const pool = openPool(url);

async function playTraced(history: History): Promise<Played> {
  const trace: string[] = [];
  const result = await play(history, pool, (line) => trace.push(readable(line)));
  return { result, trace };
}

async function work(task: Task): Promise<Done> {
  const history = "history" in task ? task.history : drawHistory(task.seed);
  const played = task.isTraced
    ? await playTraced(history)
    : { result: await play(history, pool), trace: [] };
  const promise = played.result.broken[0]?.promise;
  if (task.kind === "play" || promise === undefined) return { kind: "played", ...played };
  const breaks = async (candidate: History) =>
    (await play(candidate, pool)).broken.some((broken) => broken.promise === promise);
  const smallest = await shrink(history, breaks);
  return { kind: "shrunk", history: smallest, ...(await playTraced(smallest)) };
}

process.on("message", (task: Task) => {
  void work(task).then((done) => process.send?.(done));
});
process.on("disconnect", () => process.exit());
