// The queue gives no account and no user of the exchange to two workers, and loses none (drawn histories of two
// workers).

import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { PgBoss } from "pg-boss";
import { describe, expect, test } from "vitest";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { DatabaseError } from "../src/lib/errors.ts";
import { Secret } from "../src/lib/secret.ts";
import { dayMs, minuteMs } from "../src/lib/time.ts";
import { Queue } from "../src/wings/fleet/queue.ts";
import { readQueue } from "../src/wings/fleet/queue-status.ts";
import { type Job, keyOf, type QueuedTask, queuedTasks } from "../src/wings/fleet/tasks.ts";
import { openTestDatabase } from "./support/database.ts";
import { coverUpTo, ledgerOf } from "./support/stored-ledger.ts";

const raise = (error: unknown) => {
  throw error;
};

/** A database, its queue as two processes use it, and the library's maintenance, called by hand. */
async function openQueues() {
  await using stack = new AsyncDisposableStack();
  const { db, url } = stack.use(await openTestDatabase());
  const open = () => Queue.open({ url: new Secret(url), supervises: false, onTrouble: raise });
  const queues = [stack.use(await open()), stack.use(await open())] as const;
  const { $client: pool } = db;
  const library = new PgBoss({
    db: { executeSql: (text, values) => pool.query(text, values) },
    ...{ schema: "fleet", supervise: false, schedule: false, migrate: false },
    monitorIntervalSeconds: 1,
  });
  library.on("error", raise);
  await library.start();
  stack.defer(() => library.stop({ graceful: false, close: false }));
  const kept = stack.move();
  return {
    db,
    queues,
    /** Moves all times of the queue back by this much, then runs the maintenance. */
    async pass(seconds: number) {
      await db.execute(sql`
        update fleet.job
        set
          heartbeat_on = heartbeat_on - ${seconds} * interval '1 s',
          start_after = start_after - ${seconds} * interval '1 s'
        where state <= 'active'`);
      await db.execute(sql`update fleet.queue set monitor_claim_on = null, monitor_on = null`);
      await library.supervise("sync");
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const task = (account: string, { priority = 0, group = account } = {}): QueuedTask => ({
  task: { account },
  priority,
  group,
});
const names = (jobs: readonly Job[]) => jobs.map((job) => keyOf(job.task));

describe("a job", () => {
  test("is in the queue once while it waits or is at work, and the greatest priority goes first", async () => {
    await using at = await openQueues();
    const [queue, other] = at.queues;
    const tasks = [task("a", { priority: 1 }), task("b", { priority: 3 }), task("c")];
    expect(await queue.enqueue(tasks)).toBe(3);
    expect(await other.enqueue(tasks)).toBe(0);
    const first = [...(await other.fetch(1)), ...(await queue.fetch(1))];
    expect(names(first)).toEqual(["b", "a"]);
    expect(await queue.enqueue(tasks)).toBe(0);
    await other.complete(first);
    expect(await queue.enqueue(tasks)).toBe(2);
  });

  test("of a silent worker goes to another, whose try alone counts then; one of a worker that tells stays its own", async () => {
    await using at = await openQueues();
    const [silent, other] = at.queues;
    await silent.enqueue([task("a")]);
    const jobs = await silent.fetch(1);
    for (let beats = 0; beats < 4; beats++) {
      await at.pass(13);
      await silent.beat(jobs);
    }
    await at.pass(13);
    expect(await other.fetch(1)).toEqual([]);
    expect(await readQueue(at.db)).toMatchObject({ atWork: 1 });
    await at.pass(1.5);
    expect(await other.fetch(1)).toEqual([]);
    const [lost] = jobs;
    if (lost === undefined) throw new Error("nothing was fetched");
    await at.pass(3);
    const again = await other.fetch(1);
    expect(again).toEqual([{ ...lost, retryCount: 1 }]);
    await silent.complete([lost]);
    await silent.giveBack([lost]);
    await silent.fail(lost, "too late");
    expect(await readQueue(at.db)).toEqual({ waiting: 0, atWork: 1 });
    // One that is given back can be fetched at once.
    await other.giveBack(again);
    expect(names(await silent.fetch(1))).toEqual(["a"]);
  });

  test("that failed is tried again eight times, ever later, and queued again by the next round", async () => {
    await using at = await openQueues();
    const [queue] = at.queues;
    await queue.enqueue([task("a"), task("b")]);
    const b = await queue.fetch(2).then((jobs) => jobs.filter((job) => keyOf(job.task) === "b"));
    await queue.complete(b);
    await at.pass(16);
    for (let tries = 1; tries <= 8; tries++) {
      const waitedMax = Math.min(300, 2 ** tries);
      await at.pass(waitedMax);
      const [job] = await queue.fetch(1);
      if (job === undefined) throw new Error(`no try ${tries}`);
      expect(job.retryCount).toBe(tries);
      await queue.fail(job, `try ${tries}`);
      expect(await queue.fetch(1)).toEqual([]);
    }
    await at.pass(16);
    expect(await queue.fetch(1)).toEqual([]);
    expect(await queue.enqueue([task("a")])).toBe(1);
    expect(names(await queue.fetch(1))).toEqual(["a"]);
  });
});

test("what the database refuses is told with its remedy, by the queue and by its work in the background", async () => {
  await using database = await openTestDatabase();
  const trouble = Promise.withResolvers<unknown>();
  await using queue = await Queue.open({
    ...{ url: new Secret(database.url), supervises: true, onTrouble: trouble.resolve },
  });
  await database.db.execute(sql`alter schema fleet rename to elsewhere`);
  const failure = /(42P01|3F000)\): its tables are of an older version/;
  const job = { id: randomUUID(), retryCount: 0, task: { account: "a" } };
  for (const work of [
    () => queue.enqueue([task("a")]),
    () => queue.fetch(1),
    () => queue.beat([job]),
    () => queue.complete([job]),
    () => queue.fail(job, "why"),
    () => queue.giveBack([job]),
  ]) {
    await expect(work()).rejects.toThrow(DatabaseError);
    await expect(work()).rejects.toThrow(failure);
  }
  expect(await trouble.promise).toMatchObject({ message: expect.stringMatching(failure) });
});

test("a session that only reads holds no lock for which a fetch waits", async () => {
  await using at = await openQueues();
  await at.queues[0].enqueue([task("one")]);
  await inTransaction(at.db, async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('fleet', 0))`);
    const jobs = at.queues[0].fetch(1).then(names);
    const late = new Promise((resolve) => setTimeout(resolve, 10_000, "waits"));
    expect(await Promise.race([jobs, late])).toEqual(["one"]);
  });
});

test("accounts of one user are at work one after the other, however many fetch at once", async () => {
  await using at = await openQueues();
  await at.queues[0].enqueue(
    Array.from({ length: 40 }, (_, index) => task(`a${index}`, { group: `uid ${index % 4}` })),
  );
  for (let round = 0; round < 5; round++) {
    const fetched = await Promise.all(
      [...at.queues, ...at.queues, ...at.queues].map(async (queue) => ({
        queue,
        jobs: await queue.fetch(3),
      })),
    );
    const users = fetched.flatMap(({ jobs }) =>
      names(jobs).map((name) => Number(name.slice(1)) % 4),
    );
    expect(users.toSorted()).toEqual([0, 1, 2, 3]);
    for (const { queue, jobs } of fetched) await queue.complete(jobs);
  }
});

test("what the exchange forgets first goes first: lists, accounts never read, then by their oldest unread time", async () => {
  await using at = await openQueues();
  const now = Date.now();
  await coverUpTo(at.db, ledgerOf("an-hour"), now - 60 * minuteMs);
  await coverUpTo(at.db, ledgerOf("days"), now - 20 * minuteMs);
  await coverUpTo(at.db, ledgerOf("days", "COIN-FUTURES"), now - 3 * dayMs);
  await coverUpTo(at.db, ledgerOf("retired-part"), now - 20 * minuteMs);
  await coverUpTo(at.db, ledgerOf("retired-part", "COIN-FUTURES"), now - 50 * dayMs);
  await at.db.execute(sql`
    insert into ledgers (account, product_type, retired_at)
    values ('retired-part', 'COIN-FUTURES', clock_timestamp())
    on conflict (account, product_type) do update set retired_at = excluded.retired_at`);
  const wanted = ["an-hour", "retired-part", "days", "new"].map((name) => ({ name }));
  const [queue] = at.queues;
  await queue.enqueue(await queuedTasks(at.db, wanted));
  const order = [];
  for (let place = 0; place < 5; place++) order.push(...names(await queue.fetch(1)));
  expect(order).toEqual([":lists", "new", "days", "an-hour", "retired-part"]);
});
