import { parseArgs } from "node:util";
import { messageOf, UsageError } from "../../src/lib/errors.ts";
import { type Mutant, mutants } from "./mutants.ts";

/** The options of the simulation. */
type Wanted = { readonly kind: "help"; readonly text: string } | Histories | Hunt;

export type Histories = {
  readonly kind: "histories";
  readonly seeds: readonly number[];
  readonly workers: number;
  readonly isTraced: boolean;
};

export type Hunt = {
  readonly kind: "mutants";
  readonly mutants: readonly Mutant[];
  readonly seeds: readonly number[];
  readonly workers: number;
};

const help = `npm run simulate -- [options]

  --seeds COUNT    how many histories (1,000; with --mutants 400 each)
  --from SEED      the first of their seeds (0)
  --workers COUNT  processes that play side by side (2)
  --seed SEED      play this one alone, and print its digest
  --trace          print the history, what happened, and what is stored
  --mutants        play with programs that are broken on purpose, until each is caught
  --only WORD      of these, those with this word in their name

Plays seeded histories: months of an exchange's time, in which syncs run again and again while
the exchange, the database and the process fail in every way that is known. After each run the
tables are held against the ledger that the exchange has, and the promises are checked.

Real: the whole sync (client, limiter, retries, planning, walks, lease, store), the SQL, and a
Postgres, on TEST_DATABASE_URL, else in Docker, else embedded.
Simulated: the exchange and the way to it; the time, which costs nothing; the death, the freeze
and the sleep of a process; the moment at which a connection to Postgres breaks.

Exit codes: 0 every promise held (with --mutants: every one was caught), 1 otherwise, and where
it was stopped; 2 wrong usage.
`;

const options = {
  seeds: { type: "string" },
  from: { type: "string", default: "0" },
  workers: { type: "string", default: "2" },
  seed: { type: "string" },
  trace: { type: "boolean", default: false },
  mutants: { type: "boolean", default: false },
  only: { type: "string", default: "" },
  help: { type: "boolean", default: false },
} as const;

const seedMax = 999_999_999;
const historiesMax = 1_000_000;
// Each worker takes some 400 MB and most of a core.
const workersMax = 16;

/** @throws UsageError of one line that names what was typed. */
export function wantedBy(args: readonly string[]): Wanted {
  const { values } = parsed(args);
  if (values.help) return { kind: "help", text: help };
  const isTraced = values.trace;
  if (values.seed !== undefined)
    return {
      ...{ kind: "histories", workers: 1, isTraced },
      seeds: [integer("seed", values.seed, 0, seedMax)],
    };
  const { seeds: count = values.mutants ? "400" : "1000" } = values;
  const from = integer("from", values.from, 0, seedMax);
  const seeds = Array.from(
    { length: integer("seeds", count, 1, historiesMax) },
    (_, index) => from + index,
  );
  const workers = integer("workers", values.workers, 1, workersMax);
  if (!values.mutants) return { kind: "histories", seeds, workers, isTraced };
  const chosen = mutants.filter(({ name }) => name.includes(values.only));
  if (chosen.length === 0)
    throw new UsageError(`--only ${values.only} is in no mutant's name: see mutants.ts`);
  return { kind: "mutants", mutants: chosen, seeds, workers };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options });
  } catch (error) {
    throw new UsageError(`${messageOf(error).split("\n")[0]} (--help shows what there is)`);
  }
}

function integer(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`--${name} ${text} is not a whole number from ${least} to ${most}`);
}
