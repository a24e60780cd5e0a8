// Holds: No false success
// What a sync's own check proves to be missing is read again by the same run.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { dayMs, epochMs, hourMs, minuteMs } from "../src/lib/time.ts";
import type { Source } from "../src/wings/sandbox/exchange/source.ts";
import type { AccountBills } from "../src/wings/sandbox/ledger.ts";
import type { ScheduledFault } from "./exchange/kinds.ts";
import { faultyExchange } from "./exchange/schedule.ts";
import { openHouse } from "./support/house.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

const productType = "USDT-FUTURES";

/** An exchange that leaves these bills out. */
const without =
  (ids: ReadonlySet<string>) =>
  (source: Source): Source => ({
    ...source,
    async bills(request) {
      const page = await source.bills(request);
      const isServed = (row: unknown) => !ids.has(String(Object(row).billId));
      return "bills" in page ? { ...page, bills: page.bills?.filter(isServed) ?? null } : page;
    },
  });

const healedBy = (stdout: string): number =>
  Number(/^healed: (\d+) bills? of main\/USDT-FUTURES, \d.* read again$/m.exec(stdout)?.[1] ?? 0);

test.concurrent("pages that the exchange left out are read again by the sync that finds the balances broken, and the run says so", async () => {
  const met: ScheduledFault[] = [];
  // The first page of three windows: no known bill should be on it.
  const faulty = faultyExchange({
    schedule: [{ kind: "page-skipped", atRequest: 4, times: 3 }],
    now: Date.now,
    sleep: () => Promise.resolve(),
    onFault: (fault) => met.push(fault),
  });
  await using at = await openHouse({ seed: "skipped", density: 1, ...faulty });
  const { db, sandbox, run } = at;
  const syncedAt = Date.now();
  expect(await run("sync", "--only", "bills", "--no-reconcile")).toMatchObject({ code: 0 });
  expect(met).toHaveLength(3);
  const { missing } = await heldAgainstLedger(db, sandbox, productType, syncedAt);
  expect(missing.length).toBeGreaterThan(200);
  const healing = await run("sync", "--only", "bills");
  expect(healing.code).toBe(0);
  expect(healedBy(healing.stdout)).toBe(missing.length);
  expect(healing.stdout).toMatch(/^complete, after /m);
  expect(await heldAgainstLedger(db, sandbox, productType, syncedAt)).toMatchObject(exactly);
  const { rows } = await db.execute(sql`
    select (counts -> 'healed')::text as healed
    from runs
    where command = 'reconcile'`);
  expect(rows).toEqual([{ healed: String(missing.length) }]);
  const metrics = await run("status", "--format", "prometheus");
  expect(metrics.stdout).toMatch(
    new RegExp(`^bill_sync_last_run_healed_bills ${missing.length}$`, "m"),
  );
  const after = await run("sync", "--only", "bills");
  expect([after.code, healedBy(after.stdout)]).toEqual([0, 0]);
});

test.concurrent("what does not add up and was read again in vain is a break, and is not asked for by the next sync", async () => {
  const gone = new Set<string>();
  await using at = await openHouse({ seed: "in vain", density: 0.2, wrapSource: without(gone) });
  const moving = at.sandbox.account.ledger.bills[productType].filter(
    ({ row, cTime }) => Number(Object(row).amount) !== 0 && cTime < Date.now() - 24 * hourMs,
  );
  gone.add(moving.at(-40)?.billId ?? "");
  const first = await at.run("sync", "--only", "bills");
  expect(first).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/1 break open, 1 of them/),
  });
  const asked = () => at.sandbox.statistics().arrivals[accountBills.name] ?? 0;
  const before = asked();
  expect(before).toBeGreaterThan(30);
  expect(await at.run("sync", "--only", "bills")).toMatchObject({ code: 0 });
  expect(asked() - before).toBeLessThan(10);
  gone.clear();
  const repaired = await at.run("reconcile", "--repair");
  expect([repaired.code, healedBy(repaired.stderr)]).toEqual([0, 1]);
});

test.concurrent.each([
  ["USDT-FUTURES", 6.5],
  ["SPOT", 60],
] as const)(
  "what moves nothing is read again, too, wherever the %s window of a missing bill began",
  async (type, days) => {
    const awayMs = days * dayMs;
    const hidden = new Set<string>();
    const away = type === "SPOT" ? [-1] : [-1, 1];
    // A bill in the middle, and bills that move nothing before and after it.
    const withNothings = (ledger: AccountBills): AccountBills => {
      const bills = [...ledger.bills[type]];
      const at = bills.findIndex(({ cTime }) => cTime > ledger.now - 20 * dayMs);
      const missing = bills[at];
      if (missing === undefined) throw new Error(`${type} has no bill in the last 20 days`);
      hidden.add(missing.billId);
      for (const side of away) {
        const place = bills.findLastIndex(({ cTime }) => cTime < missing.cTime + side * awayMs);
        const like = bills[place];
        if (like === undefined) throw new Error(`${type} has no bill ${days} days beside it`);
        const billId = String(BigInt(like.billId) + 1n);
        const [amount, fee] = type === "SPOT" ? ["size", "fees"] : ["amount", "fee"];
        const row = { ...Object(like.row), billId, [amount]: "0", [fee]: "0" };
        bills.splice(place + 1, 0, { ...like, billId, row });
        hidden.add(billId);
      }
      return { ...ledger, bills: { ...ledger.bills, [type]: bills } };
    };
    const options = { seed: "nothings", wrapSource: without(hidden), alterLedger: withNothings };
    // What the newest few bills show is read anyway: a wallet needs more transfers than that.
    const density = type === "SPOT" ? 1 : 0.2;
    await using at = await openHouse({ density, ...options }, { PRODUCT_TYPES: type });
    expect(await at.run("sync", "--only", "bills", "--no-reconcile")).toMatchObject({ code: 0 });
    const count = hidden.size;
    hidden.clear();
    const syncedAt = Date.now();
    const { stdout } = await at.run("sync", "--only", "bills");
    expect(stdout).toMatch(new RegExp(`^healed: ${count} bills of main/${type}, `, "m"));
    expect(await heldAgainstLedger(at.db, at.sandbox, type, syncedAt)).toMatchObject(exactly);
  },
);

const lagMs = hourMs;

test.concurrent("what a lagging replica hid is read again once a later bill shows that it is missing", async () => {
  let passedMs = 0;
  let isLagging = false;
  // The replica has nothing of the last hour.
  const lagging = (source: Source): Source => ({
    ...source,
    bills(request) {
      const { now, endTime = now } = request;
      const known = epochMs(Math.min(endTime, now - lagMs));
      return source.bills(isLagging ? { ...request, endTime: known } : request);
    },
  });
  const options = { seed: "lagging", density: 30, days: 2, futureDays: 1, wrapSource: lagging };
  await using at = await openHouse({ ...options, now: () => Date.now() + passedMs });
  const codes: (number | null)[] = [];
  let healed = 0;
  for (let hours = 0; hours < 5; hours++) {
    isLagging = hours % 2 === 1;
    const end = await at.run("sync", "--only", "bills");
    codes.push(end.code);
    healed += healedBy(end.stdout);
    passedMs += hourMs + minuteMs;
  }
  expect(codes.at(-1)).toBe(0);
  expect(healed).toBeGreaterThan(0);
  const readTo = Date.now() + passedMs - 3 * hourMs;
  expect(await heldAgainstLedger(at.db, at.sandbox, productType, readTo)).toMatchObject(exactly);
});
