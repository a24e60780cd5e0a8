// One rule decides every exit code and every outcome in the run log; a failed look-up never improves one.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { Database } from "../src/core/postgres/connect.ts";
import { forgetOldRuns } from "../src/core/postgres/run-log.ts";
import { Leases } from "../src/core/store/lease.ts";
import { dayMs, epochMs, isoTime } from "../src/lib/time.ts";
import type { SandboxOptions } from "./exchange/sandbox.ts";
import { openTestDatabase } from "./support/database.ts";
import { openHouse } from "./support/house.ts";

async function runsOf({ db }: { readonly db: Database }) {
  const { rows } = await db.execute<Record<string, unknown>>(sql`
    select command, outcome, finished_at is not null as finished, error
    from runs
    order by started_at`);
  return rows;
}

const houseOf = (options: Partial<SandboxOptions> = {}) =>
  openHouse({ seed: "run-log", ...options });

const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));
const repair = ["verify", "--from", daysAgo(60), "--to", daysAgo(1), "--repair"];

test.concurrent("a verification that could read nothing is logged as failed, and one that met another as held", async () => {
  await using at = await houseOf({
    alterCredential: (credential) => ({ ...credential, permissions: [] }),
  });
  expect((await at.run(...repair)).code).toBe(1);
  const { signal } = new AbortController();
  await using lease = await new Leases(at.db).take("main", { signal });
  expect((await at.run(...repair)).code).toBe(3);
  lease.assertHeld();
  const told = (error: RegExp) => ({ finished: true, error: expect.stringMatching(error) });
  expect(await runsOf(at)).toEqual([
    { command: "verify", outcome: "failed", ...told(/40014/) },
    { command: "verify", outcome: "held", ...told(/another/) },
  ]);
});

test.concurrent("a reconcile and a verification that only compares are logged, also as what they threw, and do not hide how the last sync ended", async () => {
  await using at = await houseOf();
  expect((await at.run("sync", "--only", "bills")).code).toBe(0);
  await at.db.execute(sql`
    delete from bills
    where bill_id = (select bill_id from bills where amount <> 0 order by c_time offset 20 limit 1)`);
  expect((await at.run("reconcile", "--full")).code).toBe(1);
  expect((await at.run("verify", "--from", daysAgo(60), "--to", daysAgo(1))).code).toBe(0);
  await at.db.execute(sql`alter table ledger_breaks rename to elsewhere`);
  expect((await at.run("reconcile")).code).toBe(1);
  await at.db.execute(sql`alter table elsewhere rename to ledger_breaks`);
  const runs = await runsOf(at);
  expect(runs.map(({ command, outcome }) => `${command} ${outcome}`)).toEqual([
    ...["sync complete", "reconcile complete", "reconcile incomplete", "verify complete"],
    "reconcile failed",
  ]);
  expect(runs.at(-1)).toMatchObject({
    ...{ finished: true, error: expect.stringMatching(/ledger_breaks/) },
  });
  const status = await at.run("status", "--json");
  expect(JSON.parse(status.stdout).lastRun).toMatchObject({ command: "sync", outcome: "complete" });
});

test.concurrent("a sync that could not look for rejected rows is not complete, and says why", async () => {
  let isThere = true;
  await using at = await houseOf({
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
    ledgers: [{ windowsPlanned: 13, windowsRead: 13 }],
  });
  expect((await runsOf(at))[0]).toEqual({
    ...{ command: "sync", outcome: "incomplete", finished: true },
    error: expect.stringMatching(/rejected_bills/),
  });
});

test.concurrent("a run forgets those that are too old, but for the last of each end", async () => {
  await using database = await openTestDatabase();
  const { db } = database;
  const runs = [
    "reconcile complete 900",
    "sync failed 700",
    "sync complete 399",
    "sync complete 0",
  ];
  const old = [...[401, 500, 950].map((age) => `sync complete ${age}`), "sync failed 701"];
  for (const run of [...runs, ...old]) {
    const [command, outcome, age] = run.split(" ");
    await db.execute(sql`
      insert into runs (run_id, command, started_at, outcome)
      values (
        gen_random_uuid(), ${command}, clock_timestamp() - ${age} * interval '1 day', ${outcome}
      )`);
  }
  expect(await forgetOldRuns(db)).toBe(4);
  const { rows } = await db.execute(sql`
    select concat_ws(
      ' ', command, outcome, extract(day from clock_timestamp() - started_at)
    ) as run
    from runs
    order by started_at`);
  expect(rows.map(({ run }) => run)).toEqual(runs);
});

test.concurrent("a sync whose end cannot be written into the run log exits with 1, and says so", async () => {
  await using at = await openHouse({ seed: "run-log" });
  await at.db.execute(sql`
    create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'the log is full'; end
    $$`);
  await at.db.execute(sql`
    create trigger refuse before update on runs for each row execute function refuse()`);
  const end = await at.run("sync", "--only", "spot-pairs");
  expect(end).toMatchObject({ code: 1, stdout: expect.stringContaining("\ncomplete, after ") });
  expect(end.stderr).toMatch(/could not be written into the run log: .*the log is full/);
});

test.concurrent("a sync exits with 1 for a break that is new, and with 0 for one that an earlier run has told", async () => {
  await using at = await openHouse({ seed: "new-break", density: 0.3 });
  expect((await at.run("sync", "--only", "bills", "--no-reconcile")).code).toBe(0);
  // The exchange does not serve this bill, so a sync cannot heal it.
  await at.db.execute(sql`
    insert into bills
    select (jsonb_populate_record(served, jsonb_build_object('bill_id', (bill_id::numeric + 1)::text, 'amount', 1))).*
    from bills as served
    where amount <> 0
    order by c_time
    offset 40
    limit 1`);
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
