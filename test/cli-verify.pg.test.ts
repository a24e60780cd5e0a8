import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { dayMs, epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { openSandbox, type SandboxOptions } from "../src/sandbox/sandbox.ts";
import { environmentFor, runCli, startCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

const second = 1_000;
// Shorter than the silence after which a client gives up.
const heldMs = 5 * second;
const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));

/** A sandbox that notes who requests bills, and when. Each process is known by its locale. */
async function house(options: Partial<SandboxOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const arrivals: { readonly who: string; readonly at: number }[] = [];
  const of = (locale: string) => arrivals.filter(({ who }) => who === locale).map(({ at }) => at);
  let held: { readonly who: string; readonly until: Promise<void> } | undefined;
  const sandbox = stack.use(
    await openSandbox({
      seed: "verify",
      density: 0.2,
      wrapAnswer: (answer) => async (request) => {
        const isBills = request.path.endsWith("/account/bill");
        const who = request.headers["locale"] ?? "";
        if (isBills) arrivals.push({ who, at: performance.now() });
        // No longer than until a client gives up.
        if (held?.who === who) await Promise.race([held.until, sleep(heldMs)]);
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
    /** Holds a process's answers back. */
    holdUntil(who: string, until: Promise<void>) {
      held = { who, until };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe("of a verification and a sync of one account, the second is refused with code 3", () => {
  const syncLocale = "en-US";
  const verifyLocale = "de-DE";
  const sync = ["sync", "--only", "bills", "--product", "USDT-FUTURES"];
  const verify = ["verify", "--from", daysAgo(15), "--to", daysAgo(2), "--product", "USDT-FUTURES"];
  const bySince = String.raw`another run holds account main \(\S+ process \d+, since 2\S+ \S+Z\)`;

  test.each([
    ["the verification", syncLocale, sync, verifyLocale, verify],
    ["the sync", verifyLocale, verify, syncLocale, sync],
  ])("where %s comes second", async (_, locale, first, otherLocale, second) => {
    await using at = await house();
    const held = Promise.withResolvers<void>();
    at.holdUntil(locale, held.promise);
    await using running = await at.start(locale, ...first);
    await at.untilArrivals(locale, 1);
    await using refused = await at.start(otherLocale, ...second);
    const { code, stdout } = await refused.ended;
    expect(code).toBe(3);
    expect(stdout).toMatch(new RegExp(bySince));
    expect(at.of(otherLocale)).toEqual([]);
    held.resolve();
    const end = await running.ended;
    expect(end, end.stdout).toMatchObject({ code: first === sync ? 0 : 1 });
    await using again = await at.start(otherLocale, ...second);
    expect((await again.ended).code).toBe(0);
  });
});

test("names what differs with code 1, repairs it with code 0, and says then that all is equal", async () => {
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
    /^main +compared +missing +changed +extra +rejected +repaired\nUSDT-FUTURES +\d+ +1 +1 +0 +0 +0\n\n/,
  );
  expect(text.stdout).toMatch(new RegExp(`^main/USDT-FUTURES +missing +${gone} +\\d`, "m"));
  expect(text.stdout).toMatch(
    new RegExp(`^main/USDT-FUTURES +changed +${altered} .* symbol X → \\w+$`, "m"),
  );
  expect(text.stdout).toMatch(/: NOT equal: 2 differences remain\n$/);

  const json = await at.run("verify", ...span, ...narrow, "--json");
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    wasCut: false,
    differences: 2,
    accounts: [{ account: "main" }],
    streams: [{ productType: "USDT-FUTURES", missing: 1, changed: 1, extra: 0, rejected: 0 }],
    findings: [
      { kind: "missing", billId: gone, isRepaired: false },
      { kind: "changed", billId: altered, fields: [{ field: "symbol", stored: "X" }] },
    ],
  });
  const repairing = await at.run("verify", ...span, ...narrow, "--repair");
  expect(repairing.code).toBe(0);
  expect(repairing.stdout).toMatch(/: equal, after 2 bills were repaired\n$/);
  const again = await at.run("verify", ...span, ...narrow);
  expect(again.code).toBe(0);
  expect(again.stdout).toMatch(/Z: equal\n$/);
  const { rows } = await at.db.execute(
    sql`select command, outcome from sync_runs order by started_at`,
  );
  expect(rows).toEqual([
    { command: "sync", outcome: "complete" },
    { command: "reconcile", outcome: "complete" },
    { command: "verify", outcome: "complete" },
  ]);
});

test("refuses a span that ends in the future or before the 90 days, by the exchange's clock where it is known", async () => {
  await using at = await house();
  const verify = (from: string, to: string) =>
    at.run("verify", "--from", from, "--to", to, "--product", "SUSDT-FUTURES");
  expect(await verify("2020-01-01", "9999-01-01")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^--to 9999-01-01T\S+ lies in the future; give a time/),
  });
  expect(await verify("2019-01-01", "2020-01-01")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^--to 2020-01-01T\S+ is more than 90/),
  });
  const inTwoHours = new Date(Date.now() + 2 * hourMs).toISOString();
  expect(await verify(daysAgo(1), inTwoHours)).toMatchObject({ code: 2 });
  await at.db.execute(sql`
    insert into streams (account, product_type, bills, planned_at, planned_clock)
    values ('main', 'USDT-FUTURES', 0, clock_timestamp() + interval '3 hours', clock_timestamp())`);
  expect(await verify(daysAgo(1), inTwoHours)).toMatchObject({ stderr: "" });
});

test("cuts off what lies behind the 90 days, and says so", async () => {
  await using at = await house();
  const span = ["--from", "2020-01-01", "--to", daysAgo(89)];
  const end = await at.run("verify", ...span, "--product", "SUSDT-FUTURES", "--repair");
  expect(end.code).toBe(0);
  expect(end.stdout).toMatch(
    /Z \(from 20\d\d-[^ ]+ [^ ]+Z on; the exchange no longer has what is older\): equal(, after \d+ bills? w\w+ repaired)?\n$/,
  );
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
  // Once for the bills, and once for whose key it is.
  expect(at.sandbox.statistics().refusals).toEqual({ 40014: 2 });
});
