// Holds: Honest coverage, One row a bill, Nothing dropped, No false success, Bounded, Nothing shown is dropped

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { readKnownTime } from "../src/core/store/known-time.ts";
import { isComplete } from "../src/core/sync/account-report.ts";
import type { LedgerReport } from "../src/core/sync/ledger-run.ts";
import { DatabaseError, messageOf, StoppedError } from "../src/lib/errors.ts";
import { dayMs, hourMs, minuteMs, secondMs } from "../src/lib/time.ts";
import type { LedgerBill } from "../src/wings/sandbox/entry.ts";
import type { Answer } from "../src/wings/sandbox/exchange/api.ts";
import type { ScheduledFault } from "./exchange/kinds.ts";
import { withBrokenRows } from "./exchange/ledger.ts";
import { faultyExchange } from "./exchange/schedule.ts";
import { fileDatabase } from "./support/database.ts";
import { aMirrorKey, openMirror } from "./support/mirror.ts";
import { type SimulationOptions, simulate } from "./support/simulation.ts";

const productType = "USDT-FUTURES";
const settleLagMs = 10 * minuteMs;

const { db, url } = await fileDatabase();

/** A simulation of one product type. Its name keeps it apart from the others. */
const simulateOne = (name: string, options: Partial<SimulationOptions> = {}) =>
  simulate(url, {
    name,
    seed: 3,
    density: 0.3,
    productTypes: [productType],
    settleLagMs,
    ...options,
  });

type Simulation = ReturnType<typeof simulateOne>;
const known = (name: string) => readKnownTime(db, { account: name, productType });

async function expectExact(simulation: Simulation): Promise<void> {
  const comparisons = await simulation.compare();
  expect(comparisons.reduce((sum, { expected }) => sum + expected, 0)).toBeGreaterThan(100);
  for (const comparison of comparisons)
    expect(comparison).toMatchObject({ missing: [], extra: [], different: [] });
}

const only = ({ ledgers }: { readonly ledgers: readonly LedgerReport[] }): LedgerReport => {
  const [ledger] = ledgers;
  if (ledger === undefined) throw new Error("the run reports no ledger");
  return ledger;
};

describe("a window that cannot be finished", () => {
  test("a run that is stopped goes on at its cursors, and asks for no page twice", async () => {
    await using simulation = simulateOne("stopped", { density: 3, seed: 5 });
    const stop = new AbortController();
    void simulation.time.clock
      .sleep(3 * secondMs)
      .then(() => stop.abort(new StoppedError("enough")));
    const first = only(await simulation.sync(stop.signal));
    expect(first.error).toBeInstanceOf(StoppedError);
    expect(first.pages).toBeGreaterThan(10);
    const { open } = await known("stopped");
    expect(open.some(({ cursor }) => cursor !== undefined)).toBe(true);
    const second = await simulation.sync();
    expect(second).toSatisfy(isComplete);
    await expectExact(simulation);
    // Served twice are only the bills at the edges that windows share, and ten of an overlap.
    expect(only(second).unchanged).toBeLessThan(30 + 10 * open.length);
  });
});

test("a run whose database goes away says what it had stored", async () => {
  let pages = 0;
  const away = () => Promise.reject(new DatabaseError("the database is away"));
  await using simulation = simulateOne("away", {
    wrapStore: (store) => ({
      ...store,
      commitPage: (page) => (++pages > 20 ? away() : store.commitPage(page)),
      knownTimes: (ledgers) => (pages > 20 ? away() : store.knownTimes(ledgers)),
    }),
  });
  const report = await simulation.sync();
  expect(report.error).toBeInstanceOf(DatabaseError);
  const { rows } = await db.execute<{ bills: number }>(
    sql`select count(*)::int as bills from bills where account = 'away'`,
  );
  expect(only(report)).toMatchObject({ new: rows[0]?.bills, pages: 20, lost: [] });
  expect(only(report).new).toBeGreaterThan(20);
});

test("broken rows are set aside once each, the others are stored, and the run is not complete until they are accepted", async () => {
  await using simulation = simulateOne("broken", {
    // Each run reads everything that is served again.
    settleLagMs: 100 * dayMs,
    alterLedger: (ledger) => withBrokenRows(ledger, { seed: 1, count: 16 }),
  });
  const report = await simulation.sync();
  expect(report).not.toSatisfy(isComplete);
  expect(only(report)).toMatchObject({ rejected: 16, error: undefined });
  await expectExact(simulation);
  const { rows } = await db.execute<{ path: string }>(sql`
    select path from rejected_bills where account = 'broken'`);
  // A row that is null, or only text, counts as the same row each time.
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.map(({ path }) => path)).toEqual(
    expect.arrayContaining(["amount", "billId", "symbol", "cTime"]),
  );
  await db.execute(sql`
    update rejected_bills set closed_at = clock_timestamp() where account = 'broken'`);
  const second = await simulation.sync();
  expect(only(second)).toMatchObject({ rejected: 0, error: undefined });
  expect(second).toSatisfy(isComplete);
});

/** Serves a row beside the first of each page. */
const respelling =
  (respell: (row: string) => string) =>
  (answer: Answer): Answer =>
  async (request) => {
    const answered = await answer(request);
    const respelled = answered.body.replace(/\{"billId"[^}]*\}/, (row) => `${row},${respell(row)}`);
    return { ...answered, body: respelled };
  };

test("a row that breaks the contract is kept as it was written, what parsing drops included", async () => {
  const odd = String.raw`{ "b": 1.0, "7":[{}], "7" :"\u0041\/", "billId":"\u0031", "amount":"?" }`;
  await using simulation = simulateOne("as-written", { wrapAnswer: respelling(() => odd) });
  const report = only(await simulation.sync());
  expect(report).toMatchObject({ error: undefined });
  expect(report.rejected).toBeGreaterThan(1);
  const { rows } = await db.execute(sql`
    select received, bill_id from rejected_bills where account = 'as-written'`);
  expect(rows).toEqual([{ received: odd, bill_id: "1" }]);
});

test("a secret that is repeated in what parsing drops of a broken row is not stored", async () => {
  await using simulation = simulateOne("echo", {
    wrapAnswer: respelling(() => {
      const { apiSecret } = simulation.sandbox.account;
      return `{"billId":"1","note":${JSON.stringify(apiSecret)},"note":"-"}`;
    }),
  });
  expect(only(await simulation.sync()).error).toMatchObject({ kind: "refused-credentials" });
  const { rows } = await db.execute(sql`
    select received from rejected_bills where account = 'echo'`);
  expect(rows).toEqual([]);
});

test("time that an exchange's clock was ahead of is covered by no later run before it has come", async () => {
  const name = "clock-ahead";
  let aheadMs = 3 * hourMs;
  await using simulation = simulateOne(name, { clock: () => simulation.time.now() + aheadMs });
  const key = aMirrorKey(name);
  await using mirror = openMirror(url, { keys: [key], now: simulation.time.now });
  expect(await simulation.sync()).toSatisfy(isComplete);
  aheadMs = 0;
  for (const waitMs of [secondMs, 90 * minuteMs, hourMs]) {
    await simulation.pass(waitMs);
    const report = await simulation.sync();
    expect(report).toSatisfy(isComplete);
    const settledTo = simulation.time.now() - settleLagMs;
    expect(only(report).readThrough).toBeLessThanOrEqual(settledTo);
    expect(only(report).readThrough).toBeGreaterThan(settledTo - minuteMs);
    await expectExact(simulation);
    const { headers } = await mirror.ask(key, accountBills.path, { productType, limit: "1" });
    expect(Date.parse(String(headers["x-read-through"]))).toBeLessThanOrEqual(settledTo);
  }
});

test("time that an exchange's clock calls too old, since it jumped ahead early in a first sync, is read once the clock is right", async () => {
  const ahead = { kind: "clock-jump", offMs: 3 * hourMs, atRequest: 2, times: 1_000 } as const;
  const schedule: ScheduledFault[] = [ahead];
  const faulty = faultyExchange({
    schedule,
    now: () => simulation.time.now(),
    sleep: (delayMs) => simulation.time.clock.sleep(delayMs),
    onFault: () => undefined,
  });
  await using simulation = simulateOne("jump", faulty);
  await simulation.sync();
  schedule.length = 0;
  expect(only(await simulation.sync()).lost).toEqual([]);
  await expectExact(simulation);
});

describe("a bill that the first question of a run was served", () => {
  /** Leaves a bill out of each page that is asked for by time, or of all pages. */
  const hiding =
    (billId: () => string | undefined, isEverywhere = false) =>
    (answer: Answer): Answer =>
    async (request) => {
      const given = await answer(request);
      const body = JSON.parse(given.body);
      const isAsked = isEverywhere || request.query["startTime"] !== undefined;
      if (!isAsked || !body.data?.bills) return given;
      const bills = body.data.bills.filter(({ billId: id }: { billId: string }) => id !== billId());
      return { ...given, body: JSON.stringify({ ...body, data: { ...body.data, bills } }) };
    };
  // Not `expectExact`: the altered pages have lost the spelling of their numbers.
  const missingIn = async (simulation: Simulation) =>
    (await simulation.compare()).flatMap(({ missing }) => missing);
  const newestOf = (simulation: Simulation): LedgerBill | undefined =>
    simulation.sandbox.account.ledger.bills[productType]
      .filter(({ visibleAt }) => visibleAt < simulation.time.now() - hourMs)
      .toSorted((a, b) => a.cTime - b.cTime)
      .at(-3);

  test("and that its time lacks keeps that time unread, and is named", async () => {
    let hidden: string | undefined;
    await using simulation = simulateOne("left-out", { wrapAnswer: hiding(() => hidden) });
    const bill = newestOf(simulation);
    hidden = bill?.billId;
    const report = await simulation.sync();
    expect(report).not.toSatisfy(isComplete);
    expect(messageOf(only(report).error)).toMatch(`served bill ${hidden} first, and left it out`);
    const { coverage, open } = await known("left-out");
    // A cursor below the bill would keep the next run from it.
    expect(open.map(({ cursor }) => cursor)).toEqual([undefined]);
    expect(coverage.every(({ from, to }) => !bill || bill.cTime < from || bill.cTime >= to)).toBe(
      true,
    );
    hidden = undefined;
    expect(await simulation.sync()).toSatisfy(isComplete);
    expect(await missingIn(simulation)).toEqual([]);
  });

  test("and that covered time lacks is stored by that run", async () => {
    let hidden: string | undefined;
    await using simulation = simulateOne("booked-late", {
      wrapAnswer: hiding(() => hidden, true),
    });
    hidden = newestOf(simulation)?.billId;
    expect(await simulation.sync()).toSatisfy(isComplete);
    hidden = undefined;
    await simulation.pass(minuteMs);
    const second = await simulation.sync();
    expect(second).toSatisfy(isComplete);
    expect(only(second).new).toBeGreaterThan(0);
    expect(await missingIn(simulation)).toEqual([]);
  });

  test("and that covered time has with other content is stored anew by that run", async () => {
    let restated: string | undefined;
    await using simulation = simulateOne("restated-late", {
      wrapAnswer: (answer) => async (request) => {
        const given = await answer(request);
        const symbol = new RegExp(`("billId":"${restated}","symbol":)"[^"]*"`);
        return { ...given, body: given.body.replace(symbol, '$1"RESTATED"') };
      },
    });
    expect(await simulation.sync()).toSatisfy(isComplete);
    restated = newestOf(simulation)?.billId;
    await simulation.pass(minuteMs);
    const second = await simulation.sync();
    expect(second).toSatisfy(isComplete);
    expect(only(second).restated).toBe(1);
    await simulation.pass(minuteMs);
    expect(only(await simulation.sync()).restated).toBe(0);
  });
});

test("covered time is not asked for again", async () => {
  await using simulation = simulateOne("again");
  await simulation.sync();
  await simulation.pass(minuteMs);
  const second = only(await simulation.sync());
  expect(second).toMatchObject({ windowsPlanned: 1, windowsRead: 1 });
  // One request by probeAccount, one for what is new, and two that find the window's end.
  expect(second.requests).toBeLessThanOrEqual(4);
});
