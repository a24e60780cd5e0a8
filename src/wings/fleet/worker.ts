import { InvalidArgumentError } from "commander";
import type { Config } from "../../accounts/config.ts";
import { accountsToRead, everyLedger } from "../../accounts/roster.ts";
import { duration } from "../../accounts/settings.ts";
import { errorText } from "../../commands/exit-code.ts";
import { type Log, openLog } from "../../commands/log.ts";
import { openCommandDatabase } from "../../commands/open.ts";
import { type Define, numberFrom, type Program, selectedConfig } from "../../commands/options.ts";
import { openSyncSession, type SyncSession } from "../../commands/sync.ts";
import { logReporter, type Reporter } from "../../commands/sync-reporter.ts";
import type { Target } from "../../commands/sync-targets.ts";
import type { Database } from "../../core/postgres/connect.ts";
import { readSharedUsers } from "../../core/store/accounts/shared-users.ts";
import { type Clock, repeatEvery, systemClock } from "../../lib/clock.ts";
import {
  AccountHeldError,
  firstThrown,
  isPermanent,
  messageOf,
  ReportableError,
  StoppedError,
  UsageError,
} from "../../lib/errors.ts";
import { minuteMs } from "../../lib/time.ts";
import { done, type Result } from "../../output/result.ts";
import { formatCount, formatCounted } from "../../output/text.ts";
import { Queue } from "./queue.ts";
import { type JobEnd, queuedTasks, type Task, taskName } from "./tasks.ts";
import { workOff } from "./work-off.ts";

type WorkerOptions = {
  readonly concurrency: number;
  readonly address?: string;
  /** How often it queues every account, in ms. Undefined if it queues none. */
  readonly every?: number;
};

/** `worker`: works off the queued syncs and checks of accounts, until Ctrl-C. */
async function workerCommand(
  program: Program,
  { concurrency, address, every: everyMs }: WorkerOptions,
): Promise<Result> {
  const { io, config: readConfig } = program;
  const config = readConfig();
  const log = openLog(config.logLevel, io);
  const notice = (message: string) => log.info(message);
  const stop = new AbortController();
  const signal = AbortSignal.any([io.signal, stop.signal]);
  await using database = await openCommandDatabase(config.database, {
    ...{ notify: notice, wings: io.wings },
  });
  await using session = await openSyncSession(database, notice, address);
  const onTrouble = (error: unknown) => log.warn(`the queue: ${messageOf(error)}; trying again`);
  await using queue = await Queue.open({ url: database.url, supervises: true, onTrouble });
  using workerLog = openWorkerLog(log, systemClock);
  const work = async ({ task }: { readonly task: Task }): Promise<JobEnd> => {
    using reporter = workerLog.reporter();
    const end = await runTask({ session, program, reporter, signal }, task);
    if (session.ban() !== undefined) {
      // The exchange would refuse the next account as well. Workers at other addresses go on.
      stop.abort(new StoppedError("this address is banned"));
      return { kind: "given-back" };
    }
    workerLog.count(task, end);
    return end;
  };
  log.info(
    { concurrency, address },
    everyMs ? "working off the queue" : "working off the queue, which a worker with --every fills",
  );
  io.signal.addEventListener("abort", () => notice("stopping after the pages in hand"));
  let failure: unknown;
  const beRefused = (error: unknown) => {
    if (!(error instanceof StoppedError)) failure = error;
    stop.abort(new StoppedError("nothing can be queued"));
  };
  const { db } = database;
  const rounds =
    everyMs && queueRounds({ db, queue, readConfig, everyMs, notice, signal }).catch(beRefused);
  await workOff({ queue, concurrency, work, clock: systemClock, signal, onTrouble });
  await rounds;
  const error = failure ?? session.ban();
  if (error !== undefined) throw error;
  notice("stopped; other workers take the jobs that were not done");
  return done();
}

/** A worker's log: failures, and each minute the number of jobs since the start. */
function openWorkerLog(log: Log, clock: Clock) {
  // Ordinary events of each run are logged at the level debug.
  const quiet: Log = Object.assign(Object.create(log), { info: log.debug.bind(log) });
  const over = new AbortController();
  const counts = { done: 0, failed: 0, permanent: 0, "given-back": 0 };
  const tellCounts = (): void => {
    if (Object.values(counts).some((count) => count > 0)) log.info(counts, "jobs since the start");
  };
  void repeatEvery(clock, minuteMs, over.signal, tellCounts);
  return {
    /** For one run. */
    reporter: () => logReporter(quiet, clock),
    count(task: Task, end: JobEnd) {
      counts[end.kind]++;
      if (end.kind === "permanent")
        log.error(`${taskName(task)}: given up until the next round: ${end.why}`);
      if (end.kind === "failed") log.warn(`${taskName(task)}: to be tried again: ${end.why}`);
    },
    [Symbol.dispose]() {
      over.abort();
      tellCounts();
    },
  };
}

type TaskDeps = {
  readonly session: SyncSession;
  readonly program: Program;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
};

/** Does one task as the command `sync` would. Never throws. */
async function runTask(
  { session, program, reporter, signal }: TaskDeps,
  task: Task,
): Promise<JobEnd> {
  try {
    const isAccount = "account" in task;
    const which = isAccount ? { account: [task.account] } : {};
    // The configuration is read anew, so that new accounts are found.
    const { config, selection } = selectedConfig(program, isAccount, which);
    const targets = new Set<Target>(isAccount ? ["bills", "ltv"] : ["spot-pairs", "contracts"]);
    const { wings } = program.io;
    const run = { targets, selection, reporter, wings, signal };
    const { errors } = await session.run(config, run);
    return jobEndOf(errors);
  } catch (error) {
    return jobEndOf([error]);
  }
}

/**
 * How a sync's job ends. Two cases without success count as done: an account that another run
 * holds, since that run syncs it, and a run without errors that left something open, which `status`
 * reports.
 */
function jobEndOf(thrown: readonly unknown[]): JobEnd {
  const errors = thrown.map(firstThrown).filter((error) => !(error instanceof AccountHeldError));
  if (errors.some((error) => error instanceof StoppedError)) return { kind: "given-back" };
  const why = errorText(errors);
  if (why === null) return { kind: "done" };
  return { kind: errors.every(isPermanent) ? "permanent" : "failed", why };
}

const help = `
With --every, a worker queues every account, and syncs them; workers without it
take accounts from the same queue. A failed job is tried again, later each time.
If a worker is killed, others take its accounts within 20 s.

The exchange limits an address: run one process on each, and give every further
worker of a machine an --address of its own.`;

/** Twice as many accounts as use up the limit of an address. */
const concurrencyUsual = 18;

export const define: Define = (worker, program) => {
  worker
    .option(
      "--concurrency <number>",
      "how many accounts to sync at once",
      numberFrom(1, 1_000),
      concurrencyUsual,
    )
    .option("--every <duration>", "queue every account once in each such period: 1h", periodOf)
    .option("--address <local-ip>", "send from this address of this machine")
    .addHelpText("after", help)
    .action(program.runs((options: WorkerOptions) => workerCommand(program, options)));
};

/** @returns milliseconds. */
function periodOf(text: string): number {
  const ms = duration.pattern.test(text) ? duration.msOf(text) : 0;
  if (ms > 0) return ms;
  throw new InvalidArgumentError(`It is not ${duration.form}.`);
}

/**
 * Queues the configured accounts that are not retired, and the public lists.
 * @returns what to say of it.
 */
export async function enqueueAccounts(db: Database, queue: Queue, config: Config): Promise<string> {
  const { accounts } = await accountsToRead(db, config, everyLedger);
  const users = await readSharedUsers(db);
  const named = accounts.map(({ name, uid = users.get(name) }) => ({ name, uid }));
  const tasks = await queuedTasks(db, named);
  const queued = await queue.enqueue(tasks);
  const rest = tasks.length - queued;
  return (
    `queued ${formatCount(queued)} of ${formatCounted(tasks.length, "job")}` +
    (rest === 0 ? "" : `; ${formatCount(rest)} wait already, or are at work`)
  );
}

/** How long to wait after a round that could not be queued. */
const againMs = minuteMs;

type RoundsDeps = {
  readonly db: Database;
  readonly queue: Queue;
  /** Read anew for each round. */
  readonly readConfig: () => Config;
  readonly everyMs: number;
  readonly notice: (message: string) => void;
  readonly signal: AbortSignal;
};

/**
 * Queues every account once in each period. An account that still waits or is at work is not queued again.
 * @throws StoppedError once the signal aborts; UsageError for a wrong configuration.
 */
async function queueRounds(deps: RoundsDeps): Promise<never> {
  const { db, queue, readConfig, everyMs, notice, signal } = deps;
  let dueAt: number = systemClock.now();
  for (;;) {
    let waitMs = againMs;
    try {
      notice(await enqueueAccounts(db, queue, readConfig()));
      // Rounds keep the first round's times, however long each takes. Rounds missed during sleep are skipped.
      while (dueAt <= systemClock.now()) dueAt += everyMs;
      waitMs = dueAt - systemClock.now();
    } catch (error) {
      if (!(error instanceof ReportableError) || error instanceof UsageError) throw error;
      notice(`nothing was queued; trying again in a minute: ${messageOf(error)}`);
    }
    await systemClock.sleep(waitMs, signal);
  }
}
