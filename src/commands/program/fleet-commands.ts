import { type Command, InvalidArgumentError } from "commander";
import { type Config, narrowed, readConfig } from "../../config/config.ts";
import { minuteMs } from "../../contract/time.ts";
import type { EnqueueOptions } from "../fleet/enqueue.ts";
import type { WorkerOptions } from "../fleet/worker.ts";
import { distributeHelp, workerHelp } from "./help.ts";
import { durationOf, type ExitWith, type ProgramDeps } from "./options.ts";

/** Twice as many accounts as use up the limit of an address. */
const concurrencyUsual = 18;

/** `worker`, and the commands that give it work. */
export function addFleetCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const all = () => readConfig(readEnvironment(), { credentials: false });
  const of = (account: string) =>
    narrowed(readConfig(readEnvironment(), { credentials: true, accounts: [account] }), {
      accounts: [account],
      productTypes: [],
    });
  const worker = async (options: WorkerOptions) => {
    const { workerCommand } = await import("../fleet/worker.ts");
    return workerCommand({ all, of }, io, options);
  };
  const enqueue = async (options: EnqueueOptions) => {
    const { enqueueCommand } = await import("../fleet/enqueue.ts");
    return enqueueCommand(all(), io, options);
  };
  const schedule = async ({ every }: { readonly every: number }) => {
    const { scheduleCommand } = await import("../fleet/enqueue.ts");
    return scheduleCommand(all, io, { everyMs: every });
  };
  program
    .command("worker")
    .description("sync queued accounts until Ctrl-C; may run on any number of machines")
    .option(
      "--concurrency <number>",
      "how many accounts to sync at once",
      countOf,
      concurrencyUsual,
    )
    .option("--address <local-ip>", "send from this address of this machine")
    .option("--egress <name>", "share one rate limit with all workers of this name", egressOf)
    .addHelpText("after", workerHelp)
    .action(exitWith(worker));
  program
    .command("enqueue")
    .description("queue every account once, for the workers; run it from cron")
    .option("--reconcile", "queue checks, as reconcile does them, instead of syncs", false)
    .action(exitWith(enqueue));
  program
    .command("schedule")
    .description("queue every account once in each period, until Ctrl-C")
    .requiredOption("--every <duration>", "the period, such as 30m or 1h", periodOf)
    .action(exitWith(schedule));
  addDistribute(program, { io, all }, exitWith);
}

function addDistribute(
  program: Command,
  { io, all }: Pick<ProgramDeps, "io"> & { readonly all: () => Config },
  exitWith: ExitWith,
): void {
  const distribute = async (options: { readonly dryRun: boolean }) => {
    const { distributeCommand } = await import("../distribute.ts");
    return distributeCommand(all(), io, options);
  };
  program
    .command("distribute")
    .description("put each account's rows on one node of a database that has Citus")
    .option("--dry-run", "print the statements without running them", false)
    .addHelpText("after", distributeHelp)
    .action(exitWith(distribute));
}

function countOf(text: string): number {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= 1_000) return count;
  throw new InvalidArgumentError("It is not a number from 1 to 1000.");
}

function egressOf(text: string): string {
  if (/^[\w.:-]{1,32}$/.test(text)) return text;
  throw new InvalidArgumentError("It is not 1 to 32 letters, digits, dots, colons or hyphens.");
}

function periodOf(text: string): number {
  const ms = durationOf(text);
  if (ms >= minuteMs) return ms;
  throw new InvalidArgumentError("It is shorter than a minute.");
}
