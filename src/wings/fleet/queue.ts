import { sql } from "drizzle-orm";
import { fromDrizzle, PgBoss } from "pg-boss";
import {
  type Database,
  inTransaction,
  type OpenDatabase,
  openDatabase,
} from "../../core/postgres/connect.ts";
import { explained, withDatabaseErrors } from "../../core/postgres/database-errors.ts";
import { leaseTiming, usableMs } from "../../core/store/lease.ts";
import type { Secret } from "../../lib/secret.ts";
import { dayMs, hourMs, minuteMs, secondMs } from "../../lib/time.ts";
import { queueSchema, syncQueue } from "./queue-status.ts";
import { type Job, keyOf, type QueuedTask, taskOf } from "./tasks.ts";

export const beatMs = secondMs;
/**
 * After this silence a worker's jobs are tried elsewhere: a killed worker stops beating. A worker
 * that stood still for as long has lost its leases too, since none was renewed later than its next
 * beat was due.
 */
const silentMaxMs = beatMs + usableMs(leaseTiming);

const queueOptions = {
  policy: "exclusive",
  partition: true,
  heartbeatSeconds: silentMaxMs / secondMs,
  // Retries after 1, 2, 4 s and so on, each up to twice as long: some eight minutes in all.
  retryLimit: 8,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: (5 * minuteMs) / secondMs,
  // A first backfill may take hours. A worker that dies is noticed by its missing heartbeat.
  expireInSeconds: dayMs / secondMs - 1,
  retentionSeconds: (7 * dayMs) / secondMs,
  // Finished jobs need not be kept: runs has them. A small table is fetched from and analyzed
  // quickly.
  deleteAfterSeconds: minuteMs / secondMs,
} as const;

/** The number of jobs that one statement inserts. */
const insertedAtOnce = 10_000;
/**
 * After inserting this many jobs the table is analyzed, for the planner's sake. Without that 10
 * jobs a second were fetched, with it 5,351.
 */
const analyzedFrom = 500;

type QueueDeps = {
  /**
   * The database's address. The queue has its own connections, so that it never waits for a page.
   */
  readonly url: Secret;
  /** Whether this process maintains the queue: jobs of silent workers, and old jobs. */
  readonly supervises: boolean;
  /** Called with errors of background work, which is retried. */
  readonly onTrouble: (error: unknown) => void;
};

/** The queue of accounts to sync: pg-boss, in a schema of its own beside the tables. */
export class Queue implements AsyncDisposable {
  readonly #database: OpenDatabase;
  readonly #boss: PgBoss;

  private constructor(database: OpenDatabase, boss: PgBoss) {
    this.#database = database;
    this.#boss = boss;
  }

  get #db(): Database {
    return this.#database.db;
  }

  /** Creates the queue's tables if they do not exist. */
  static async open({ url, supervises, onTrouble }: QueueDeps): Promise<Queue> {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(openDatabase(url.reveal()));
    const pool = database.db.$client;
    const boss = new PgBoss({
      // Failures as they are: pg-boss looks at their codes.
      db: { executeSql: (text, values) => pool.query(text, values) },
      schema: queueSchema,
      schedule: false,
      supervise: supervises,
      superviseIntervalSeconds: 1,
      monitorIntervalSeconds: 1,
      maintenanceIntervalSeconds: minuteMs / secondMs,
      queueCacheIntervalSeconds: hourMs / secondMs,
      persistWarnings: false,
    });
    boss.on("error", (error) => onTrouble(explained(error)));
    stack.defer(() => stopped(boss));
    await withDatabaseErrors(async () => {
      await boss.start();
      await boss.createQueue(syncQueue, queueOptions);
    });
    stack.move();
    return new Queue(database, boss);
  }

  /**
   * @returns how many tasks were added. A task that already waits or is at work is not added again.
   */
  async enqueue(tasks: readonly QueuedTask[]): Promise<number> {
    let count = 0;
    for (let at = 0; at < tasks.length; at += insertedAtOnce) {
      const jobs = tasks.slice(at, at + insertedAtOnce).map(({ task, priority, group }) => ({
        singletonKey: keyOf(task),
        data: { key: keyOf(task) },
        priority,
        group: { id: group },
      }));
      const inserting = () => this.#boss.insert(syncQueue, jobs, { returnId: true });
      const ids = await withDatabaseErrors(inserting);
      count += ids?.length ?? 0;
    }
    if (count >= analyzedFrom) await this.#db.execute(sql`analyze fleet.job`);
    return count;
  }

  /** Takes up to `count` jobs, highest priority first, and none of a group that is at work. */
  async fetch(count: number): Promise<readonly Job[]> {
    const jobs = await inTransaction(this.#db, async (tx) => {
      // One fetch at a time: two at once do not see each other's groups. pg-boss's own `work` has no such
      // lock: of 480 jobs that two processes took with it, 52 pairs of one group ran at the same time. It
      // is a row's lock: whoever may connect can hold an advisory one, and stop all workers.
      await tx.execute(sql`
        select name
        from fleet.queue
        where name = ${syncQueue}
        for no key update`);
      const options = { batchSize: count, groupConcurrency: 1, db: fromDrizzle(tx, sql) };
      return this.#boss.fetch<{ readonly key: string }>(syncQueue, options);
    });
    return jobs.map(({ id, retryCount, data }) => ({ id, retryCount, task: taskOf(data.key) }));
  }

  /** Tells the queue that these jobs are still being worked on. */
  async beat(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    await withDatabaseErrors(() => this.#boss.touch(syncQueue, attempts(jobs)));
  }

  async complete(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    await withDatabaseErrors(() => this.#boss.complete(syncQueue, attempts(jobs)));
  }

  /** Fails a job: it is retried later, or given up after its last try. */
  async fail(job: Job, why: string): Promise<void> {
    await withDatabaseErrors(() => this.#boss.fail(syncQueue, attempts([job]), { why }));
  }

  /** Puts the jobs back into the queue, as if nobody had fetched them. */
  async giveBack(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    await inTransaction(this.#db, async (tx) => {
      const db = fromDrizzle(tx, sql);
      await this.#boss.cancel(syncQueue, attempts(jobs), { db });
      const ids = jobs.map(({ id }) => id);
      await this.#boss.resume(syncQueue, ids, { db });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stopped(this.#boss);
    await this.#database[Symbol.asyncDispose]();
  }
}

const stopped = (boss: PgBoss): Promise<void> => boss.stop({ graceful: false, close: false });

/** The ids by which a try is known. A try that a later one overtook changes nothing. */
const attempts = (jobs: readonly Job[]) => jobs.map(({ id, retryCount }) => ({ id, retryCount }));
