import { reachableToRead } from "../../app/accounts-to-read.ts";
import { type ExitCode, type Io, printSummary, tell } from "../../app/io.ts";
import { migratedText } from "../../app/migrated-text.ts";
import type { Config } from "../../config/config.ts";
import type { Unreachable } from "../../db/distribution/reachable.ts";
import { readUsers } from "../../db/lease/users.ts";
import { migrate } from "../../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../../db/open.ts";
import { messageOf } from "../../errors.ts";
import { Queue } from "../../fleet/queue.ts";
import { queuedChecks, queuedTasks } from "../../fleet/queued-tasks.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { unreachableLines } from "../../terminal/unreachable-text.ts";

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
