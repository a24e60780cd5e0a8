import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { takeVerifyLease } from "../src/db/lease/verify-lease.ts";
import { rollingWindow } from "../src/exchange-server/arrivals.ts";
import { openSandbox, type SandboxOptions } from "../src/sandbox/sandbox.ts";
import { environmentFor, runCli, startCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

const second = 1_000;
// Shorter than the silence after which a client gives up.
const heldMs = 5 * second;
const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));

/** A sandbox that notes who requests bills, and when. Each process is known by its locale. */
async function house(options: Partial<SandboxOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const arrivals: { readonly who: string; readonly at: number }[] = [];
  const of = (locale: string) => arrivals.filter(({ who }) => who === locale).map(({ at }) => at);
  let held: { readonly who: string; readonly until: string } | undefined;
  const heldBack = async (who: string) => {
    const until = performance.now() + heldMs;
    while (held?.who === who && of(held.until).length === 0 && performance.now() < until) {
      await sleep(10);
    }
  };
  const sandbox = stack.use(
    await openSandbox({
      seed: "verify",
      density: 0.2,
      wrapAnswer: (answer) => async (request) => {
        const isBills = request.path.endsWith("/account/bill");
        const who = request.headers["locale"] ?? "";
        if (isBills) arrivals.push({ who, at: performance.now() });
        await heldBack(who);
        return answer(request);
      },
      ...options,
    }),
  );
  const database = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(database.url));
  const envOf = (locale: string) =>
    environmentFor(sandbox, database, { EXCHANGE_LOCALE: locale, LOG_LEVEL: "warn" });
  return {
    sandbox,
    db,
    of,
    run: (...args: readonly string[]) => runCli(args, { env: envOf("en-US") }),
    start: (locale: string, ...args: readonly string[]) => startCli(args, { env: envOf(locale) }),
    async untilArrivals(locale: string, count: number) {
      while (of(locale).length < count) await sleep(10);
    },
    /**
     * Holds one process's answer until the other process sends a request. Otherwise the first might have
     * ended by then.
     */
    holdUntil(who: string, until: string) {
      held = { who, until };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The most that a rolling second held. */
function peakOf(times: readonly number[]): number {
  const window = rollingWindow(second);
  for (const at of times) window.arrive(at);
  return window.peak();
}

describe("a verification and a sync of one account at once", () => {
  const syncLocale = "en-US";
  const verifyLocale = "de-DE";

  const check = ({ sandbox, of }: Awaited<ReturnType<typeof house>>) => {
    const { peaks, refusals } = sandbox.statistics();
    expect(refusals).toEqual({});
    const bills = peaks.find(({ operation }) => operation === "account bills");
    expect(bills?.requests).toBeLessThanOrEqual(10);
    expect(peakOf(of(verifyLocale))).toBeLessThanOrEqual(2);
  };

  test("stay within ten requests a second together and both succeed, where the sync was first", async () => {
    await using at = await house({ density: 2 });
    await using sync = await at.start(syncLocale, ...["sync", "--only", "bills"]);
    await at.untilArrivals(syncLocale, 5);
    at.holdUntil(syncLocale, verifyLocale);
    const span = ["--from", daysAgo(15), "--to", daysAgo(2)];
    await using verify = await at.start(
      verifyLocale,
      ...["verify", ...span, "--product", "USDT-FUTURES", "--heal"],
    );
    const [synced, verified] = await Promise.all([sync.ended, verify.ended]);
    expect(verified, verified.stdout).toMatchObject({ code: 0 });
    expect(synced, synced.stdout).toMatchObject({ code: 0 });
    check(at);
    const [verifyTimes, syncTimes] = [at.of(verifyLocale), at.of(syncLocale)];
    expect(verifyTimes[0]).toBeGreaterThan(syncTimes[0] ?? Number.NaN);
    expect(verifyTimes[0]).toBeLessThan(syncTimes.at(-1) ?? Number.NaN);
    // While verify ran, sync had eight requests a second.
    const beside = syncTimes.filter(
      (time) => time > (verifyTimes[0] ?? 0) && time < (verifyTimes.at(-1) ?? 0),
    );
    expect(beside.length).toBeGreaterThan(0);
    expect(peakOf(beside)).toBeLessThanOrEqual(8);
  });

  test("stay within ten requests a second together and both succeed, where the verification was first", async () => {
    await using at = await house();
    const span = ["--from", daysAgo(30), "--to", daysAgo(2)];
    await using verify = await at.start(
      verifyLocale,
      ...["verify", ...span, "--product", "USDT-FUTURES", "COIN-FUTURES", "--heal"],
    );
    await at.untilArrivals(verifyLocale, 2);
    at.holdUntil(verifyLocale, syncLocale);
    const syncedAt = Date.now();
    await using sync = await at.start(
      syncLocale,
      ...["sync", "--only", "bills", "--product", "USDT-FUTURES"],
    );
    const [synced, verified] = await Promise.all([sync.ended, verify.ended]);
    expect(verified, verified.stdout).toMatchObject({ code: 0 });
    expect(synced, synced.stdout).toMatchObject({ code: 0 });
    check(at);
    const [verifyTimes, syncTimes] = [at.of(verifyLocale), at.of(syncLocale)];
    expect(syncTimes[0]).toBeLessThan(verifyTimes.at(-1) ?? Number.NaN);
    const beside = syncTimes.filter((time) => time < (verifyTimes.at(-1) ?? 0));
    expect(peakOf(beside)).toBeLessThanOrEqual(8);
    expect(await heldAgainstLedger(at.db, at.sandbox, "USDT-FUTURES", syncedAt)).toMatchObject(
      exactly,
    );
  });
});

test("names what differs with code 1, heals it with code 0, and says then that all is equal", async () => {
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
    /^main +compared +missing +changed +extra +rejected +healed\nUSDT-FUTURES +\d+ +1 +1 +0 +0 +0\n\n/,
  );
  expect(text.stdout).toMatch(new RegExp(`\nmain/USDT-FUTURES: missing ${gone} of \\d[^,]+\n`));
  expect(text.stdout).toMatch(
    new RegExp(`\nmain/USDT-FUTURES: changed ${altered} of \\d[^,]+: symbol X → \\w+\n`),
  );
  expect(text.stdout).toMatch(/: NOT equal: 2 differences remain\n$/);

  const json = await at.run("verify", ...span, ...narrow, "--json");
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    wasCut: false,
    differences: 2,
    accounts: [
      {
        account: "main",
        streams: [
          {
            productType: "USDT-FUTURES",
            missing: [{ billId: gone, isHealed: false }],
            changed: [{ billId: altered, fields: [{ field: "symbol", stored: "X" }] }],
            extra: [],
            rejected: [],
          },
        ],
      },
    ],
  });
  const healing = await at.run("verify", ...span, ...narrow, "--heal");
  expect(healing.code).toBe(0);
  expect(healing.stdout).toMatch(/: equal, after 2 bills were healed\n$/);
  const again = await at.run("verify", ...span, ...narrow);
  expect(again.code).toBe(0);
  expect(again.stdout).toMatch(/Z: equal\n$/);
  const { rows } = await at.db.execute(
    sql`select command, outcome from sync_runs order by started_at`,
  );
  expect(rows).toEqual([
    { command: "sync", outcome: "complete" },
    { command: "verify", outcome: "complete" },
  ]);
});

test("cuts off what lies behind the 90 days, and says so", async () => {
  await using at = await house();
  const span = ["--from", "2020-01-01", "--to", daysAgo(89)];
  const end = await at.run("verify", ...span, "--product", "SUSDT-FUTURES", "--heal");
  expect(end.code).toBe(0);
  expect(end.stdout).toMatch(
    /Z \(from 20\d\d-[^ ]+ [^ ]+Z on; the exchange no longer has what is older\): equal(, after \d+ bills? w\w+ healed)?\n$/,
  );
});

test("is refused with code 3 where another verification is there", async () => {
  await using at = await house();
  const { signal } = new AbortController();
  await using lease = await takeVerifyLease(at.db, "main", { signal });
  const span = ["--from", daysAgo(3), "--to", daysAgo(2)];
  const end = await at.run("verify", ...span, "--product", "USDT-FUTURES");
  expect(end.code).toBe(3);
  expect(end.stdout).toMatch(/^main: another verify reads account main \(.+\); wait until it has/);
  expect(at.of("en-US")).toEqual([]);
  lease.assertHeld();
});

test("says that not all was read where the exchange refuses, with code 1, and asks once", async () => {
  await using at = await house({
    alterCredential: (credential) => ({ ...credential, permissions: [] }),
  });
  const span = ["--from", daysAgo(3), "--to", daysAgo(2)];
  const end = await at.run("verify", ...span, "--product", "USDT-FUTURES");
  expect(end.code).toBe(1);
  expect(end.stdout).toMatch(/USDT-FUTURES: not read to its end: .*40014/);
  expect(end.stdout).toMatch(/NOT everything was read/);
  expect(at.sandbox.statistics().refusals).toEqual({ 40014: 1 });
});
