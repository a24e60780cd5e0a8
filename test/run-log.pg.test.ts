// One rule decides every exit code and every outcome in the run log; a failed look-up never improves one.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { Leases } from "../src/db/lease/leases.ts";
import { forgetOldRuns } from "../src/db/run-log.ts";
import type { SandboxOptions } from "../src/sandbox/sandbox.ts";
import { withLatency } from "./faults/network.ts";
import { testDatabase } from "./support/database.ts";
import { openHouse } from "./support/house.ts";

async function house(options: Partial<SandboxOptions> = {}, delayMs = 0) {
  let arrivals = 0;
  const there = () => {
    arrivals += 1;
    return delayMs;
  };
  const wrapAnswer: SandboxOptions["wrapAnswer"] = (answer) =>
    withLatency(answer, { there, back: () => 0 });
  const at = await openHouse({ seed: "run-log", wrapAnswer, ...options });
  return {
    ...at,
    async untilArrivals(count: number) {
      while (arrivals < count) await new Promise((resolve) => setTimeout(resolve, 10));
    },
    async runs() {
      const { rows } = await at.db.execute<Record<string, unknown>>(sql`
        select command, outcome, finished_at is not null as finished, error
        from sync_runs
        order by started_at`);
      return rows;
    },
  };
}

const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));
const repair = ["verify", "--from", daysAgo(60), "--to", daysAgo(1), "--repair"];

test.concurrent("a verification that repairs and is stopped is logged as stopped", async () => {
  await using at = await house({}, 100);
  await using verify = await at.start(...repair);
  await at.untilArrivals(3);
  verify.kill("SIGINT");
  expect((await verify.ended).code).toBe(1);
  expect(await at.runs()).toEqual([
    { command: "verify", outcome: "stopped", finished: true, error: null },
  ]);
});

test.concurrent("a verification that could read nothing is logged as failed, and one that met another as held", async () => {
  await using at = await house({
    alterCredential: (credential) => ({ ...credential, permissions: [] }),
  });
  expect((await at.run(...repair)).code).toBe(1);
  const { signal } = new AbortController();
  await using lease = await new Leases(at.db).take("main", { signal });
  expect((await at.run(...repair)).code).toBe(3);
  lease.assertHeld();
  expect(await at.runs()).toEqual([
    { command: "verify", outcome: "failed", finished: true, error: expect.stringMatching(/40014/) },
    { command: "verify", outcome: "held", finished: true, error: expect.stringMatching(/another/) },
  ]);
});

test.concurrent("a reconcile and a verification that only compares are logged, and do not hide how the last sync ended", async () => {
  await using at = await house();
  expect((await at.run("reconcile")).code).toBe(0);
  expect((await at.run("sync", "--only", "bills")).code).toBe(0);
  expect((await at.run("reconcile")).code).toBe(0);
  await at.db.execute(sql`
    delete from bills
    where bill_id = (select bill_id from bills where amount <> 0 order by c_time offset 20 limit 1)`);
  expect((await at.run("reconcile", "--full")).code).toBe(1);
  const compare = ["verify", "--from", daysAgo(60), "--to", daysAgo(1)];
  expect((await at.run(...compare)).code).toBe(0);
  expect((await at.runs()).map(({ command, outcome }) => [command, outcome])).toEqual([
    ["reconcile", "complete"],
    ["sync", "complete"],
    // With which the sync ends.
    ["reconcile", "complete"],
    ["reconcile", "complete"],
    ["reconcile", "incomplete"],
    ["verify", "complete"],
  ]);
  const status = await at.run("status", "--json");
  expect(JSON.parse(status.stdout)).toMatchObject({
    lastRun: { command: "sync", outcome: "complete" },
  });
});

test.concurrent("a command that throws is logged as failed, with what it threw", async () => {
  await using at = await house();
  await at.db.execute(sql`alter table ledger_breaks rename to elsewhere`);
  expect((await at.run("reconcile")).code).toBe(1);
  expect(await at.runs()).toEqual([
    {
      command: "reconcile",
      outcome: "failed",
      finished: true,
      error: expect.stringMatching(/ledger_breaks/),
    },
  ]);
});

test.concurrent("a sync that could not look for rejected rows is not complete, and says why", async () => {
  let isThere = true;
  await using at = await house({
    alterLedger: (ledger) => ({ ...ledger, bills: { ...ledger.bills, "USDT-FUTURES": [] } }),
    // Its first window is asked for after the rejected rows of earlier runs were tried again.
    wrapAnswer: (answer) => async (request) => {
      if (isThere && request.query["startTime"] !== undefined) {
        isThere = false;
        await at.db.execute(sql`alter table rejected_bills rename to elsewhere`);
      }
      return answer(request);
    },
  });
  const end = await at.run("sync", "--only", "bills", "--json");
  expect(end.code).toBe(1);
  expect(JSON.parse(end.stdout)).toMatchObject({
    outcome: "incomplete",
    rejected: null,
    errors: [expect.stringMatching(/rejected_bills/)],
    ledgers: [{ windows: { planned: 13, walked: 13 } }],
  });
  expect(await at.runs()).toEqual([
    {
      command: "sync",
      outcome: "incomplete",
      finished: true,
      error: expect.stringMatching(/rejected_bills/),
    },
    { command: "reconcile", outcome: "complete", finished: true, error: null },
  ]);
});

test.concurrent("a run forgets those that are too old, but for the last of each end", async () => {
  await using database = await testDatabase();
  await using opened = openDatabase(database.url);
  const { db } = opened;
  const run = async (command: string, outcome: string, age: number) => {
    const { rows } = await db.execute<{ run_id: string }>(sql`
      insert into sync_runs (run_id, command, started_at, outcome)
      values (
        gen_random_uuid(), ${command}, clock_timestamp() - ${age} * interval '1 day', ${outcome}
      )
      returning run_id`);
    return rows[0]?.run_id ?? "";
  };
  const kept = [
    await run("reconcile", "complete", 900),
    await run("sync", "failed", 700),
    await run("sync", "complete", 399),
    await run("sync", "complete", 0),
  ];
  for (const age of [401, 500, 950]) await run("sync", "complete", age);
  await run("sync", "failed", 701);
  expect(await forgetOldRuns(db)).toBe(4);
  const { rows } = await db.execute<{ run_id: string }>(sql`select run_id from sync_runs`);
  expect(rows.map(({ run_id }) => run_id).toSorted()).toEqual(kept.toSorted());
});

test.concurrent("a sync whose end cannot be written into the run log exits with 1, and says so", async () => {
  await using at = await openHouse({ seed: "run-log" });
  await at.db.execute(sql`
    create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'the log is full'; end
    $$`);
  await at.db.execute(sql`
    create trigger refuse before update on sync_runs for each row execute function refuse()`);
  const end = await at.run("sync", "--only", "symbols");
  expect(end).toMatchObject({ code: 1, stdout: expect.stringContaining("\ncomplete, after ") });
  expect(end.stderr).toMatch(/could not be written into the run log: .*the log is full/);
});

test.concurrent("a sync exits with 1 for a break that is new, and with 0 for one that an earlier run has told", async () => {
  await using at = await openHouse({ seed: "new-break", density: 0.3 });
  expect((await at.run("sync", "--only", "bills", "--no-reconcile")).code).toBe(0);
  await at.db.execute(sql`
    update bills set amount = amount + 1
    where bill_id = (select bill_id from bills where amount <> 0 order by c_time offset 40 limit 1)`);
  const first = await at.run("sync", "--only", "bills");
  expect(first.code, first.stdout).toBe(1);
  expect(first.stdout).toMatch(/\n\d breaks? open, \d of them new: /);
  const second = await at.run("sync", "--only", "bills");
  expect(second.code, second.stdout).toBe(0);
  expect(second.stdout).toMatch(
    /\n\d breaks? open, none of them new: .*\neverything is read, after /,
  );
  expect((await at.run("status", "--check")).code).toBe(1);
});
