import { InvalidArgumentError } from "commander";
import { reachableToRead } from "../../app/accounts-to-read.ts";
import { type ExitCode, type Io, printSummary, tell } from "../../app/io.ts";
import { migratedText } from "../../app/migrated-text.ts";
import { systemClock } from "../../clock.ts";
import { type Config, readConfig } from "../../config/config.ts";
import { minuteMs } from "../../contract/time.ts";
import type { Unreachable } from "../../db/distribution/reachable.ts";
import { readUsers } from "../../db/lease/leased-accounts.ts";
import { migrate } from "../../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../../db/open.ts";
import { messageOf, ReportableError, StoppedError, UsageError } from "../../errors.ts";
import { Queue } from "../../fleet/queue.ts";
import { queuedChecks, queuedTasks } from "../../fleet/tasks.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { unreachableLines } from "../../terminal/unreachable-text.ts";
import { type Define, durationOf } from "../options.ts";

/** Whether to queue a check of each account instead of its sync. */
export type EnqueueOptions = { readonly reconcile: boolean };

/** `enqueue`: queues every account once, for the workers. */
export async function enqueueCommand(
  config: Config,
  io: Io,
  options: EnqueueOptions,
): Promise<ExitCode> {
  const notify = (message: string) => tell(io, message);
  await using database = await openCommandDatabase(config.database, notify);
  await using queue = await openFilledQueue(database, notify);
  const enqueued = await enqueueAccounts(database, queue, config, options);
  printSummary(io, enqueuedText(enqueued));
  return enqueued.unreachable.length === 0 ? 0 : 1;
}

/** The queue for commands that add jobs and take none. Migrates the tables first. */
export async function openFilledQueue(
  database: CommandDatabase,
  notify: (message: string) => void,
): Promise<Queue> {
  const { url } = database;
  const migrated = migratedText(await migrate(url.reveal()));
  if (migrated !== undefined) notify(migrated);
  const onTrouble = (error: Error) => notify(`the queue: ${messageOf(error)}`);
  return Queue.open({ url, supervises: false, onTrouble });
}

export type Enqueued = {
  readonly wanted: number;
  readonly queued: number;
  /** Accounts that were left out. */
  readonly unreachable: readonly Unreachable[];
};

/**
 * Queues the configured accounts that are neither retired nor paused. With syncs it also queues the
 * public lists.
 */
export async function enqueueAccounts(
  { db }: CommandDatabase,
  queue: Queue,
  given: Config,
  { reconcile }: EnqueueOptions,
): Promise<Enqueued> {
  const { config, unreachable } = await reachableToRead(db, given);
  const users = await readUsers(db);
  const accounts = config.accounts.map(({ name, uid = users.get(name) }) => ({ name, uid }));
  const tasks = reconcile
    ? queuedChecks(accounts)
    : await queuedTasks(db, accounts, { areAll: unreachable.length === 0 });
  const queued = await queue.enqueue(tasks);
  const names = [...accounts.map(({ name }) => name), ...unreachable.map(({ account }) => account)];
  await queue.forgetOthers(new Set(names));
  return { wanted: tasks.length, queued, unreachable };
}

export const enqueuedText = ({ wanted, queued, unreachable }: Enqueued): string =>
  [
    `queued ${formatCount(queued)} of ${formatCounted(wanted, "job")}` +
      (queued === wanted ? "" : `; ${formatCount(wanted - queued)} wait already, or are at work`),
    ...unreachableLines(unreachable).map((line) => `not queued: ${line}`),
  ].join("\n");

/** How long to wait after a round that could not be queued. */
const againMs = minuteMs;

/**
 * `schedule`: queues every account once in each period, until Ctrl-C. Reads the configuration anew
 * for each round. An account that still waits or is at work is not queued again.
 */
export async function scheduleCommand(
  readConfig: () => Config,
  io: Io,
  { everyMs }: { readonly everyMs: number },
): Promise<ExitCode> {
  const notify = (message: string) => tell(io, message);
  await using database = await openCommandDatabase(readConfig().database, notify);
  await using queue = await openFilledQueue(database, notify);
  let dueAt: number = systemClock.now();
  try {
    for (;;) {
      let waitMs = againMs;
      try {
        const enqueued = await enqueueAccounts(database, queue, readConfig(), { reconcile: false });
        printSummary(io, enqueuedText(enqueued));
        // Rounds keep the first round's schedule, however long each takes. Rounds missed during
        // sleep are skipped.
        while (dueAt <= systemClock.now()) dueAt += everyMs;
        waitMs = dueAt - systemClock.now();
      } catch (error) {
        if (!(error instanceof ReportableError) || error instanceof UsageError) throw error;
        notify(`nothing was queued; trying again in a minute: ${messageOf(error)}`);
      }
      await systemClock.sleep(waitMs, io.signal);
    }
  } catch (error) {
    if (error instanceof StoppedError) return 0;
    throw error;
  }
}

export const define: Define = (enqueue, { io, readEnvironment }, exitWith) => {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  enqueue
    .option("--reconcile", "queue checks, as reconcile does them, instead of syncs", false)
    .action(exitWith((options: EnqueueOptions) => enqueueCommand(configOf(), io, options)));
};

export const defineSchedule: Define = (schedule, { io, readEnvironment }, exitWith) => {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  schedule
    .requiredOption("--every <duration>", "the period, such as 30m or 1h", periodOf)
    .action(
      exitWith(({ every: everyMs }: { readonly every: number }) =>
        scheduleCommand(configOf, io, { everyMs }),
      ),
    );
};

function periodOf(text: string): number {
  const ms = durationOf(text);
  if (ms >= minuteMs) return ms;
  throw new InvalidArgumentError("It is shorter than a minute.");
}
