import { createServer } from "node:net";
import { InvalidArgumentError } from "commander";
import { type Clock, repeatEvery, systemClock } from "../../clock.ts";
import { minuteMs } from "../../contract/time.ts";
import type { Egress } from "../../db/lease/holders.ts";
import { openCommandDatabase } from "../../db/open.ts";
import { messageOf, StoppedError, UsageError } from "../../errors.ts";
import { Queue } from "../../fleet/queue.ts";
import { type JobEnd, type Task, taskName } from "../../fleet/tasks.ts";
import { workOff } from "../../fleet/work-off.ts";
import { workerSessionName } from "../../fleet/worker-sessions.ts";
import { type Log, openLog } from "../../log.ts";
import { narrowed, readConfig } from "../../roster/config.ts";
import type { ExitCode, Io } from "../io.ts";
import { type Define, durationOf } from "../options.ts";
import { logReporter, type Reporter } from "../sync/reporter.ts";
import { openSyncSession } from "../sync/sync.ts";
import { queueRounds } from "./rounds.ts";
import { type ReadConfigs, runTask } from "./run-task.ts";

export type WorkerOptions = {
  readonly concurrency: number;
  readonly address?: string;
  readonly egress?: string;
  /** How often it queues every account, in ms. Undefined if it queues none. */
  readonly every?: number;
};

/** `worker`: works off the queued syncs and checks of accounts, until Ctrl-C. */
export async function workerCommand(
  configs: ReadConfigs,
  io: Io,
  { concurrency, address, egress: name, every: everyMs }: WorkerOptions,
): Promise<ExitCode> {
  if (address !== undefined) await refuseForeign(address);
  const egress: Egress = {
    ...(address !== undefined && { localAddress: address }),
    ...(name !== undefined && { name }),
  };
  const config = configs.all();
  const log = openLog(config.logLevel, io);
  for (const warning of config.warnings) log.warn(warning);
  const notice = (message: string) => log.info(message);
  const stop = new AbortController();
  const signal = AbortSignal.any([io.signal, stop.signal]);
  await using database = await openCommandDatabase(config.database, notice);
  await using session = await openSyncSession({ database, notice, egress });
  const onTrouble = (error: unknown) => log.warn(`the queue: ${messageOf(error)}; trying again`);
  const applicationName = workerSessionName(egress);
  const { url } = database;
  await using queue = await Queue.open({ url, supervises: true, onTrouble, applicationName });
  using told = openWorkerLog(log, systemClock);
  const work = async ({ task }: { readonly task: Task }): Promise<JobEnd> => {
    using reporter = told.reporter();
    const end = await runTask({ session, configs, reporter, signal }, task);
    if (session.ban() !== undefined) {
      // The exchange would refuse the next account as well. Workers at other addresses go on.
      stop.abort(new StoppedError("this address is banned"));
      return { is: "given back" };
    }
    told.count(task, end);
    return end;
  };
  log.info({ concurrency, ...egress }, "working off the queue");
  io.signal.addEventListener("abort", () => notice("stopping after the pages in hand"));
  let failure: unknown;
  const beRefused = (error: unknown) => {
    if (!(error instanceof StoppedError)) failure = error;
    stop.abort(new StoppedError("nothing can be queued"));
  };
  const { db } = database;
  const rounds =
    everyMs &&
    queueRounds({ db, queue, readConfig: configs.all, everyMs, notice, signal }).catch(beRefused);
  await workOff({ queue, concurrency, work, clock: systemClock, signal, onTrouble });
  await rounds;
  if (failure !== undefined) throw failure;
  const ban = session.ban();
  if (ban !== undefined) throw ban;
  notice("stopped; other workers take the jobs that were not done");
  return 0;
}

/** @throws UsageError if no connection can start from this address. */
async function refuseForeign(address: string): Promise<void> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(0, address, resolve);
  await promise.catch((error: unknown) => {
    throw new UsageError(
      `--address ${address} is not an address of this machine (${messageOf(error)}); ` +
        "ip address shows them",
    );
  });
  server.close();
}

/** A worker's log: failures, and each minute the number of jobs since the start. */
export type WorkerLog = Disposable & {
  /** A reporter for one run. Ordinary events are logged at the level debug. */
  readonly reporter: () => Reporter;
  readonly count: (task: Task, end: JobEnd) => void;
};

export function openWorkerLog(log: Log, clock: Clock): WorkerLog {
  const quiet: Log = {
    debug: log.debug.bind(log),
    info: log.debug.bind(log),
    warn: log.warn.bind(log),
    error: log.error.bind(log),
  };
  const over = new AbortController();
  const counts = { done: 0, failed: 0, hopeless: 0, "given back": 0 };
  const tellCounts = (): void => {
    if (Object.values(counts).some((count) => count > 0)) log.info(counts, "jobs since the start");
  };
  void repeatEvery(clock, minuteMs, over.signal, tellCounts);
  return {
    reporter: () => logReporter(quiet, clock),
    count(task, end) {
      counts[end.is]++;
      if (end.is === "hopeless")
        log.error(`${taskName(task)}: given up until the next round: ${end.why}`);
      if (end.is === "failed") log.warn(`${taskName(task)}: to be tried again: ${end.why}`);
    },
    [Symbol.dispose]() {
      over.abort();
      tellCounts();
    },
  };
}

const help = `
With --every, a worker queues every account, and syncs them: alone, it does all
the work. Workers without --every take accounts from the same queue. Each
account is synced as sync does it. A job that failed in a way that may pass is
tried again, each time a little later. If it still fails, status lists it as
failed until a later round syncs the account. If a worker is killed, others take
its accounts within 20 s. Ctrl-C and SIGTERM finish the pages in hand and give
the jobs back; a second one ends at once. Both are safe.

Workers that send from one address must share its rate limit. Workers of one
machine do, unless each has an --address of its own. Workers of several machines
behind one address do if each is given the same --egress. doctor names workers
that seem to share an address without sharing its limit.`;

/** Twice as many accounts as use up the limit of an address. */
const concurrencyUsual = 18;

export const define: Define = (worker, { io, readEnvironment }, exitWith) => {
  const configs: ReadConfigs = {
    all: () => readConfig(readEnvironment(), { credentials: false }),
    of: (account) =>
      narrowed(readConfig(readEnvironment(), { credentials: true, accounts: [account] }), {
        accounts: [account],
        productTypes: [],
      }),
  };
  worker
    .option(
      "--concurrency <number>",
      "how many accounts to sync at once",
      countOf,
      concurrencyUsual,
    )
    .option("--every <duration>", "queue every account once in each such period: 1h", periodOf)
    .option("--address <local-ip>", "send from this address of this machine")
    .option("--egress <name>", "share one rate limit with all workers of this name", egressOf)
    .addHelpText("after", help)
    .action(exitWith((options: WorkerOptions) => workerCommand(configs, io, options)));
};

function countOf(text: string): number {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= 1_000) return count;
  throw new InvalidArgumentError("It is not a number from 1 to 1000.");
}

function periodOf(text: string): number {
  const ms = durationOf(text);
  if (ms >= minuteMs) return ms;
  throw new InvalidArgumentError("It is shorter than a minute.");
}

function egressOf(text: string): string {
  if (/^[\w.:-]{1,32}$/.test(text)) return text;
  throw new InvalidArgumentError("It is not 1 to 32 letters, digits, dots, colons or hyphens.");
}
