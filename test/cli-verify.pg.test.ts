// Holds: Within the limit

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { Leases } from "../src/core/store/lease.ts";
import { dayMs, epochMs, isoTime } from "../src/lib/time.ts";
import type { SandboxOptions } from "./exchange/sandbox.ts";
import { openHouse } from "./support/house.ts";

const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));

const house = (options: Partial<SandboxOptions> = {}) =>
  openHouse({ seed: "verify", density: 0.2, ...options }, { PRODUCT_TYPES: "", LOG_LEVEL: "warn" });

test.concurrent("a sync, and a verification, of an account that another process holds is refused with code 3, and asks for no bill", async () => {
  await using at = await house();
  const lease = await new Leases(at.db).take("main", { signal: AbortSignal.timeout(60_000) });
  const verify = ["verify", "--from", daysAgo(15), "--to", daysAgo(2), "--product", "USDT-FUTURES"];
  for (const [command, end] of [
    [["sync", "--only", "bills", "--product", "USDT-FUTURES"], "no account was synced, after"],
    [verify, "Z: nothing was compared"],
  ] as const) {
    const { code, stdout } = await at.run(...command);
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /another run holds account main \(\S+ process \d+, since 2\S+ \S+Z\); wait until it has/,
    );
    expect(stdout.trimEnd().split("\n").at(-1)).toContain(end);
  }
  expect(at.sandbox.statistics().arrivals[accountBills.name]).toBeUndefined();
  await lease[Symbol.asyncDispose]();
  expect((await at.run(...verify)).code).toBe(1);
});

test.concurrent("names what differs with code 1, repairs it with code 0, and says then that all is equal", async () => {
  await using at = await house();
  const narrow = ["--product", "USDT-FUTURES"];
  expect((await at.run("sync", "--only", "bills", ...narrow)).code).toBe(0);
  const inside = at.sandbox.account.ledger.bills["USDT-FUTURES"].filter(
    ({ cTime }) => cTime > Date.now() - 5 * dayMs && cTime < Date.now() - 3 * dayMs,
  );
  const [gone = "", altered = ""] = inside.map(({ billId }) => billId);
  await at.db.execute(sql`delete from bills where bill_id = ${gone}`);
  await at.db.execute(sql`update bills set symbol = 'X' where bill_id = ${altered}`);
  const span = ["--from", daysAgo(6), "--to", daysAgo(2)];

  const text = await at.run("verify", ...span, ...narrow);
  expect(text).toMatchObject({ code: 1, stderr: "" });
  expect(text.stdout).toMatch(
    /^main +compared +missing +changed +unserved +rejected +repaired\nUSDT-FUTURES +\d+ +1 +1 +0 +0 +0\n\n/,
  );
  expect(text.stdout).toMatch(new RegExp(`^main/USDT-FUTURES +missing +${gone} +\\d`, "m"));
  expect(text.stdout).toMatch(
    new RegExp(`^main/USDT-FUTURES +changed +${altered} .* symbol X → \\w+$`, "m"),
  );
  expect(text.stdout).toMatch(/: NOT equal: 2 differences remain\n$/);

  expect(JSON.parse((await at.run("verify", ...span, ...narrow, "--json")).stdout)).toMatchObject({
    ...{ wasCut: false, remaining: 2 },
    ledgers: [{ productType: "USDT-FUTURES", missing: 1, changed: 1, unserved: 0, rejected: 0 }],
    differences: [
      { kind: "missing", billId: gone, isRepaired: false },
      { kind: "changed", billId: altered, fields: [{ field: "symbol", stored: "X" }] },
    ],
  });
  const repairing = await at.run("verify", ...span, ...narrow, "--repair");
  expect(repairing.code).toBe(0);
  expect(repairing.stdout).toMatch(
    /: equal, after 2 bills were repaired; bill-sync reconcile says whether the ledger adds up now\n$/,
  );
  const again = await at.run("verify", ...span, ...narrow);
  expect(again.code).toBe(0);
  expect(again.stdout).toMatch(/Z: equal\n$/);
});

test.concurrent("refuses a span in the future, by the exchange's clock where it is known, or before the 90 days, and cuts off what lies behind them", async () => {
  await using at = await house();
  const verify = (from: string, to: string, ...options: readonly string[]) =>
    at.run("verify", "--from", from, "--to", to, "--product", "SUSDT-FUTURES", ...options);
  for (const [from, to, message] of [
    ["2020-01-01", "9999-01-01", /^--to 9999-01-01T\S+ lies in the future; give a time/],
    ["2019-01-01", "2020-01-01", /^--to 2020-01-01T\S+ is more than 90/],
    [daysAgo(1), daysAgo(-1 / 12), /lies in the future/],
  ] as const)
    expect(await verify(from, to)).toMatchObject({
      ...{ code: 2, stderr: expect.stringMatching(message) },
    });
  await at.db.execute(sql`
    insert into ledgers (account, product_type, bills, planned_at, planned_clock)
    values ('main', 'USDT-FUTURES', 0, clock_timestamp() + interval '3 hours', clock_timestamp())`);
  expect(await verify(daysAgo(1), daysAgo(-1 / 12))).toMatchObject({ stderr: "" });
  expect(await verify("2020-01-01", daysAgo(89), "--repair")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /Z \(from 20\d\d-[^ ]+ [^ ]+Z on; the exchange no longer has what is older\): equal(, after \d+ bills? w\w+ repaired; .*)?\n$/,
    ),
  });
});
