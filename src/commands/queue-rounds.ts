import { systemClock } from "../clock.ts";
import { minuteMs } from "../contract/time.ts";
import type { Database } from "../db/connect.ts";
import { readUsers } from "../db/lease/leased-accounts.ts";
import { messageOf, ReportableError, UsageError } from "../errors.ts";
import type { Queue } from "../fleet/queue.ts";
import { queuedTasks } from "../fleet/tasks.ts";
import { unreachableLines } from "../output/account-remarks.ts";
import { formatCount, formatCounted } from "../output/format.ts";
import type { Config } from "../roster/config.ts";
import { reachableToRead } from "../roster/to-read.ts";

/**
 * Queues the configured accounts that are neither retired nor paused, and the public lists.
 * @returns what to say of it.
 */
export async function enqueueAccounts(db: Database, queue: Queue, given: Config): Promise<string> {
  const { config, unreachable } = await reachableToRead(db, given);
  const users = await readUsers(db);
  const accounts = config.accounts.map(({ name, uid = users.get(name) }) => ({ name, uid }));
  const tasks = await queuedTasks(db, accounts, { areAll: unreachable.length === 0 });
  const queued = await queue.enqueue(tasks);
  const rest = tasks.length - queued;
  return [
    `queued ${formatCount(queued)} of ${formatCounted(tasks.length, "job")}` +
      (rest === 0 ? "" : `; ${formatCount(rest)} wait already, or are at work`),
    ...unreachableLines(unreachable).map((line) => `not queued: ${line}`),
  ].join("\n");
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
export async function queueRounds(deps: RoundsDeps): Promise<never> {
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
