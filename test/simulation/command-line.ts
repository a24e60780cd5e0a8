import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { UsageError } from "../../src/errors.ts";
import type { History } from "./history.ts";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";
import { readHistory } from "./read-history.ts";
import type { Origin } from "./worker.ts";

/** The options of the simulation. */
export type Wanted =
  | { readonly kind: "histories"; readonly seeds: readonly number[]; readonly workers: number }
  | { readonly kind: "one"; readonly origin: Origin; readonly isTraced: boolean }
  | Hunt;

export type Hunt = {
  readonly kind: "mutants";
  readonly mutants: readonly Mutant[];
  readonly seeds: readonly number[];
  readonly workers: number;
};

const about = `
Plays seeded histories: months of an exchange's time, in which syncs run again and again while
the exchange, the database and the process fail in every way that is known. After each run the
tables are held against the ledger that the exchange has, and the promises are checked. What
breaks one is shrunk, and the smaller history is written to a file with its trace.

Real: the whole sync (client, limiter, retries, planning, walks, lease, store), the SQL, and a
Postgres, on TEST_DATABASE_URL, else in Docker, else embedded.
Simulated: the exchange and the way to it; the time, which costs nothing; the death, the freeze
and the sleep of a process; the moment at which a connection to Postgres breaks.

Exit codes: 0 every promise held (with --mutants: every one was caught), 1 otherwise, and where
it was stopped; 2 wrong usage.`;

const seedMax = 999_999_999;
const historiesMax = 1_000_000;
// Each worker takes some 400 MB and most of a core.
const workersMax = 16;

type Typed = {
  readonly seeds?: number;
  readonly from: number;
  readonly workers: number;
  readonly seed?: number;
  readonly history?: History;
  readonly trace?: true;
  readonly mutants?: true;
  readonly only?: string;
};

/**
 * @returns undefined if help was requested; it is passed to `tell`.
 * @throws UsageError of one line that names what was typed.
 */
export function wantedBy(
  args: readonly string[],
  tell: (text: string) => void,
): Wanted | undefined {
  const program = programTelling(tell);
  try {
    return wantedOf(program.parse(args, { from: "user" }));
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    const what = error.message.replace(/^error: /, "").replaceAll("\n", " ");
    throw new UsageError(`${what.replace(/\.$/, "")} (--help shows what there is)`);
  }
}

function wantedOf(program: Command): Wanted {
  const { from, workers, seed, history, trace, mutants: isHunt, ...typed } = program.opts<Typed>();
  const isTraced = trace === true;
  if (seed !== undefined) return { kind: "one", origin: { seed }, isTraced };
  if (history !== undefined) return { kind: "one", origin: { history }, isTraced };
  if (isTraced) program.error("--trace needs --seed or --history");
  const count = typed.seeds ?? (isHunt ? 400 : 1_000);
  const seeds = Array.from({ length: count }, (_, index) => from + index);
  if (isHunt) return { kind: "mutants", mutants: mutantsWith(program, typed.only), seeds, workers };
  if (typed.only !== undefined) program.error(`--only ${typed.only} needs --mutants`);
  return { kind: "histories", seeds, workers };
}

function mutantsWith(program: Command, word = ""): readonly Mutant[] {
  const named = mutants.filter(({ name }) => name.includes(word));
  if (named.length === 0) program.error(`--only ${word} is in no mutant's name: see mutants.ts`);
  return named;
}

function programTelling(tell: (text: string) => void): Command {
  const many = ["seeds", "from", "workers", "mutants", "only"];
  const seed = integerUpTo(0, seedMax);
  return new Command("npm run simulate --")
    .exitOverride()
    .configureOutput({ writeOut: tell, writeErr: () => undefined })
    .addOption(
      new Option(
        "--seeds <count>",
        "how many histories (1,000; with --mutants 400 each)",
      ).argParser(integerUpTo(1, historiesMax)),
    )
    .addOption(new Option("--from <seed>", "the first of their seeds").argParser(seed).default(0))
    .addOption(
      new Option("--workers <count>", "processes that play side by side")
        .argParser(integerUpTo(1, workersMax))
        .default(2),
    )
    .addOption(
      new Option("--seed <seed>", "play this one alone, and print its digest")
        .argParser(seed)
        .conflicts([...many, "history"]),
    )
    .addOption(
      new Option("--history <file>", "play the history in this file alone, likewise")
        .argParser(readHistory)
        .conflicts(many),
    )
    .addOption(new Option("--trace", "of one history: print what happened, and what is stored"))
    .addOption(
      new Option(
        "--mutants",
        "play with programs that are broken on purpose, until each is caught",
      ),
    )
    .addOption(new Option("--only <word>", "of these, those with this word in their name"))
    .addHelpText("after", about)
    .action(() => undefined);
}

const integerUpTo =
  (least: number, most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It is not a whole number from ${least} to ${most}.`);
  };
