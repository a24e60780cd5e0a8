import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../src/lib/clock.ts";
import { Secret } from "../src/lib/secret.ts";
import { Queue } from "../src/wings/fleet/queue.ts";
import type { JobEnd } from "../src/wings/fleet/tasks.ts";
import { workOff } from "../src/wings/fleet/work-off.ts";
import { type FleetCounts, type FleetExchange, startFleetExchange } from "./fleet/exchange.ts";
import { startWorkers } from "./fleet/workers.ts";
import type { Bench } from "./result.ts";
import { type BenchDatabase, type BenchServer, openBenchServer } from "./support/postgres.ts";

/*
 * Workers: how many accounts without new bills one and two of them sync in a second, each with an
 * address of its own and so a whole rate limit; how much CPU that takes; how long the accounts of a
 * killed worker wait; and what the queue alone costs, with jobs that do nothing.
 */

const addresses = ["127.0.0.2", "127.0.0.3"];
const productTypes = ["USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES"];

export const run: Bench = async ({ short }) => {
  const accounts = short ? 150 : 1_000;
  const jobs = short ? 5_000 : 100_000;
  await using server = await openBenchServer();
  await using exchange = await startFleetExchange(accounts);
  const one = await measure(server, exchange, addresses.slice(0, 1));
  const two = await measure(server, exchange, addresses);
  const killed = await measureKill(server, exchange);
  const queue = await measureQueue(server, jobs);
  const counts = await exchange.counts();
  const share = queue.cpuMsAJob / (one.nodeMs + one.postgresMs);
  const row = (name: string, { accountsASecond, nodeMs, postgresMs, requests }: Measured) => [
    ...[name, accountsASecond.toFixed(1), nodeMs.toFixed(1), postgresMs.toFixed(1)],
    requests.toFixed(1),
  ];
  return {
    name: "fleet",
    title: `${accounts.toLocaleString("en")} accounts without new bills, three product types each`,
    rows: [
      ["", "accounts/s", "CPU ms an account: Node", "Postgres", "requests an account"],
      row("one worker", one),
      row("two workers, two addresses", two),
    ],
    notes: [
      `two workers sync ${(two.accountsASecond / one.accountsASecond).toFixed(2)} times as many`,
      `at most ${counts.addressPeak} requests from an address and ${counts.uidPeak} of a user for one operation in a rolling second; ${refused(counts)} refused`,
      `a run takes ${Math.round(one.runBytes).toLocaleString("en")} bytes of the run log`,
      `a worker killed with ${killed.jobs} accounts at work: all of them at work elsewhere after ${killed.seconds.toFixed(1)} s`,
      `${jobs.toLocaleString("en")} jobs that do nothing (no exchange, no account: fetch, heartbeat and settlement alone): enqueued in ${queue.enqueueSeconds.toFixed(1)} s, drained in ${queue.drainSeconds.toFixed(1)} s by one process of ${places} places, ${Math.round(jobs / queue.drainSeconds).toLocaleString("en")} a second`,
      `such a job takes ${queue.cpuMsAJob.toFixed(2)} ms of CPU in Node and Postgres together: ${(100 * share).toFixed(1)}% of an account's`,
    ],
    json: { accounts, one, two, killed, jobs, queue, share, counts },
  };
};

const refused = ({ refusals }: FleetCounts): number =>
  Object.values(refusals).reduce((sum, count) => sum + count, 0);

type Measured = {
  readonly accountsASecond: number;
  readonly nodeMs: number;
  readonly postgresMs: number;
  readonly requests: number;
  /** The size of one run in the run log, including indexes. */
  readonly runBytes: number;
};

/** A database in which all accounts were read up to an hour ago, and are queued. */
async function openFleet(server: BenchServer, exchange: FleetExchange) {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await server.database());
  const folder = await mkdtemp(join(tmpdir(), "bill-sync-fleet-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "accounts.json");
  await writeFile(path, JSON.stringify({ accounts: exchange.accounts }), { mode: 0o600 });
  await database.client.query(
    `insert into ledgers (account, product_type, covered, first_unread_at)
     select
       account, product_type,
       tstzmultirange(tstzrange(now() - interval '90 days', now() - interval '1 hour')),
       now() - interval '1 hour'
     from unnest($1::text[]) as accounts (account)
     cross join unnest($2::text[]) as types (product_type)`,
    [exchange.accounts.map(({ name }) => name), productTypes],
  );
  const queue = stack.use(await openQueue(database));
  const env = {
    DATABASE_URL: database.url,
    EXCHANGE_BASE_URL: exchange.url,
    ACCOUNTS_FILE: path,
    PRODUCT_TYPES: productTypes.join(","),
  };
  const fill = (count = exchange.accounts.length) =>
    queue.enqueue(
      exchange.accounts
        .slice(0, count)
        .map(({ name }) => ({ task: { account: name }, priority: 0, group: name })),
    );
  const kept = stack.move();
  return { database, env, fill, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const openQueue = ({ url }: BenchDatabase): Promise<Queue> =>
  Queue.open({
    url: new Secret(url),
    supervises: false,
    onTrouble: (error) => {
      throw error;
    },
  });

const lookEveryMs = 50;
/** As many as a worker has. */
const places = 18;
/** Long enough that a worker is in the middle of its work. */
const slowMs = 5_000;

const waitedMaxMs = 15 * 60_000;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > waitedMaxMs) throw new Error("waited in vain");
    await sleep(lookEveryMs);
  }
}

const untilDrained = ({ client }: BenchDatabase): Promise<void> =>
  until(async () => {
    const { rows } = await client.query(
      "select 1 from fleet.job where name = 'sync' and state <= 'active' limit 1",
    );
    return rows.length === 0;
  });

async function measure(
  server: BenchServer,
  exchange: FleetExchange,
  from: readonly string[],
): Promise<Measured> {
  await using fleet = await openFleet(server, exchange);
  await using workers = await startWorkers(from, fleet.env);
  // The first round learns an account's kind and its product types.
  await fleet.fill();
  await untilDrained(fleet.database);
  const before = (await exchange.counts()).requests;
  const nodeBefore = workers.cpuSeconds();
  const serverBefore = (await server.cpuSeconds()) ?? Number.NaN;
  const startedAt = performance.now();
  await fleet.fill();
  await untilDrained(fleet.database);
  const seconds = (performance.now() - startedAt) / 1_000;
  const accounts = exchange.accounts.length;
  const anAccount = (cpuSeconds: number) => (1_000 * cpuSeconds) / accounts;
  const { rows } = await fleet.database.client.query(
    `select
       count(*)::int as complete,
       pg_total_relation_size('runs') / count(*)::float8 as bytes
     from runs
     where outcome = 'complete'`,
  );
  if (rows[0]?.complete !== 2 * accounts) {
    throw new Error(`${rows[0]?.complete} of ${2 * accounts} runs are complete`);
  }
  return {
    accountsASecond: accounts / seconds,
    nodeMs: anAccount(workers.cpuSeconds() - nodeBefore),
    postgresMs: anAccount(((await server.cpuSeconds()) ?? Number.NaN) - serverBefore),
    requests: ((await exchange.counts()).requests - before) / accounts,
    runBytes: Number(rows[0]?.bytes),
  };
}

/**
 * The time from a worker's death until another one, which has room, has begun with all of its
 * accounts.
 */
async function measureKill(server: BenchServer, exchange: FleetExchange) {
  await using fleet = await openFleet(server, exchange);
  const { client } = fleet.database;
  const [first = "", second = ""] = addresses;
  const held = async () => {
    const { rows } = await client.query<{ account: string }>(
      "select account from leases where holder like '%via ' || $1",
      [first],
    );
    return rows.length;
  };
  exchange.delay(slowMs);
  await using killed = await startWorkers([first], fleet.env);
  await fleet.fill(places);
  await until(async () => (await held()) === places);
  await using _other = await startWorkers([second], fleet.env);
  const killedAt = performance.now();
  await killed.killFirst();
  const jobs = await held();
  await until(async () => (await held()) === 0);
  exchange.delay(0);
  return { jobs, seconds: (performance.now() - killedAt) / 1_000 };
}

async function measureQueue(server: BenchServer, jobs: number) {
  await using database = await server.database();
  await using queue = await openQueue(database);
  const tasks = Array.from({ length: jobs }, (_, index) => ({
    ...{ task: { account: `fund-${index}` }, priority: index % 60, group: `fund-${index}` },
  }));
  const cpu = async () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000 + 1_000 * ((await server.cpuSeconds()) ?? Number.NaN);
  };
  const cpuBefore = await cpu();
  const startedAt = performance.now();
  await queue.enqueue(tasks);
  const enqueuedAt = performance.now();
  const done = new AbortController();
  let left = jobs;
  await workOff({
    queue,
    concurrency: places,
    work: () => {
      left -= 1;
      if (left === 0) done.abort();
      return Promise.resolve<JobEnd>({ kind: "done" });
    },
    clock: systemClock,
    signal: done.signal,
    onTrouble: (error) => {
      throw error;
    },
  });
  return {
    enqueueSeconds: (enqueuedAt - startedAt) / 1_000,
    drainSeconds: (performance.now() - enqueuedAt) / 1_000,
    cpuMsAJob: ((await cpu()) - cpuBefore) / jobs,
  };
}
