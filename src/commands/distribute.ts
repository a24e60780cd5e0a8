import { type ExitCode, type Io, print, tell } from "../app/io.ts";
import type { Config } from "../config/config.ts";
import {
  distributionSteps,
  extensionMissing,
  readDistribution,
  type Step,
  takeStep,
} from "../db/distribution/distribute.ts";
import type { Placement } from "../db/distribution/placement.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";

/**
 * `distribute`: puts all rows of an account on one node of a database that has the extension Citus.
 * Tables that are already distributed stay as they are.
 * @param isDryRun prints the statements and runs none. It needs no extension.
 */
export async function distributeCommand(
  config: Config,
  io: Io,
  { dryRun: isDryRun }: { readonly dryRun: boolean },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const { db } = database;
  const known = await readDistribution(db);
  if (known === undefined && !isDryRun) throw extensionMissing();
  const steps = distributionSteps(known ?? []);
  if (isDryRun) {
    print(io, steps.map(stepText).join("\n"));
    return 0;
  }
  await migrate(database.url.reveal());
  for (const step of steps) {
    io.signal.throwIfAborted();
    await takeStep(db, step);
    print(
      io,
      `${step.table} ${step.statements.length === 0 ? "is" : "is now"} ${where[step.placement]}`,
    );
  }
  return 0;
}

const where: Readonly<Record<Placement, string>> = {
  account: "on the nodes, by account",
  everywhere: "on every node",
  coordinator: "on the coordinator",
};

const stepText = ({ table, placement, statements }: Step): string =>
  [
    `-- public.${table} ${statements.length === 0 ? "is" : "goes"} ${where[placement]}`,
    ...statements.map((statement) => `${statement};`),
  ].join("\n");
