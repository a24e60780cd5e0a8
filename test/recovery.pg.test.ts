// Holds: Recovered is not complete
// Older and lost time is recovered from tax records, each bill once, through stops, lower limits and answers
// that lack records; nothing is merged before records and bills were equal (three years).

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { readFindings } from "../src/check/health/findings.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { asPrinted } from "../src/core/contract/scalars.ts";
import { taxApiOf } from "../src/core/contract/tax-records.ts";
import { analyzeGrown } from "../src/core/store/analyze.ts";
import { isComplete } from "../src/core/sync/account-report.ts";
import { dayMs, epochMs, isoTime, minuteMs, retentionMs } from "../src/lib/time.ts";
import type { Answer } from "../src/wings/sandbox/exchange/api.ts";
import { fileDatabase } from "./support/database.ts";
import { openPageServer } from "./support/page-server.ts";
import {
  type Simulation,
  type SimulationOptions,
  simulate,
  simulationStart,
} from "./support/simulation.ts";

const tables = await fileDatabase();
const { db } = tables;
// It may analyze the bills first, which would leave nothing to do for the program.
await db.execute(sql`alter table bills set (autovacuum_enabled = off)`);
const productType = "USDT-FUTURES";
const recoverFrom = epochMs(simulationStart - 3 * 365 * dayMs);
let accounts = 0;

function recoveryOf(
  options: Partial<SimulationOptions> = {},
): Simulation & AsyncDisposable & { name: string; options: object } {
  accounts += 1;
  const name = `recovery-${accounts}`;
  const whole: SimulationOptions = {
    ...{
      name,
      seed: name,
      density: 0.1,
      days: 3 * 365 + 30,
      recoverFrom,
      productTypes: [productType],
    },
    ...options,
  };
  return Object.assign(simulate(tables.url, whole), { name, options: whole });
}

type Stored = {
  id: string;
  at: number;
  amount: string;
  fee: string;
  balance: string | null;
  source: string | null;
};

const storedOf = async (account: string): Promise<readonly Stored[]> => {
  const { rows } = await db.execute<Stored>(sql`
    select
      bill_id as id, (extract(epoch from c_time) * 1000)::float8 as at, amount::text, fee::text,
      balance::text, source
    from bills
    where account = ${account}
    order by c_time, bill_id::numeric`);
  return rows;
};

const timesOf = async (account: string) => {
  const { rows } = await db.execute<{
    covered: string;
    lost: string;
    recovered: string;
    first: string;
  }>(sql`
    select covered::text, lost::text, recovered::text, lower(covered)::text as first
    from ledgers
    where account = ${account} and product_type = ${productType}`);
  return rows[0];
};

/**
 * Expects what the exchange has of older time than bills go back, each bill once and marked, but those of one
 * millisecond. @returns from when on the bills' own pages go.
 */
async function expectOlder(run: Simulation & { name: string }, from: number, but = 0) {
  const horizon = Date.parse((await timesOf(run.name))?.first ?? "");
  const expected = run.sandbox.account.ledger.bills[productType]
    .filter(({ cTime }) => cTime >= from && cTime < horizon && cTime !== but)
    .map(({ billId, cTime, row }) => {
      const { amount, fee } = row as { amount: string; fee: string };
      return { id: billId, at: cTime, amount: asPrinted(amount), fee: asPrinted(fee) };
    })
    .toSorted((a, b) => a.at - b.at || (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  const older = (await storedOf(run.name)).filter(({ at }) => at < horizon && at !== but);
  expect(older.map(({ balance: _, source: __, ...bill }) => bill)).toEqual(expected);
  // A bill's page may have shown one or two of its last seconds.
  const recovered = older.filter(({ at }) => at < horizon - 10_000);
  expect(new Set(recovered.map(({ source }) => source))).toEqual(new Set(["tax-records"]));
  expect(recovered.filter(({ balance }) => balance !== null)).toEqual([]);
  return { horizon, count: older.length };
}

test("the first sync recovers every older bill from tax records, each once, to the last digit; the ledger adds up", async () => {
  await using run = recoveryOf();
  const report = await run.sync();
  expect(report.error).toBeUndefined();
  expect(report.recovery).toMatchObject([
    { notRecoveredReason: undefined, error: undefined, partlyRecovered: [], rejected: 0 },
  ]);
  const { horizon, count } = await expectOlder(run, recoverFrom);
  expect(simulationStart - horizon).toBeLessThan(retentionMs);
  expect(count).toBeGreaterThan(1_000);
  const [compared] = await run.compare();
  expect(compared).toMatchObject({ missing: [], equal: compared?.expected });
  expect(report.recovery?.[0]?.requests).toBeLessThan(80);
  expect((await run.sync()).recovery).toEqual([]);

  // The ledger adds up with what was recovered, and its page is quick at once.
  const all = { accounts: [run.name], productTypes: undefined };
  const checked = await reconcile(db, all, { isFull: true });
  expect(checked.breaks.filter(({ state }) => state === "open")).toEqual([]);
  // A connection tells Postgres what it changed up to ten seconds later.
  const analyzed = async () => {
    await analyzeGrown(db);
    const { rows } = await db.execute(sql`
        select relname from pg_stat_user_tables where last_analyze is not null and relname like '%bills'`);
    return rows;
  };
  await expect.poll(analyzed, { timeout: 20_000 }).toEqual([{ relname: "bills" }]);
  const { rows: sources } = await db.execute(sql`
      select source, count(*)::int as bills, bool_or(balance_after is null) as is_computed
      from analytics.activity
      where account = ${run.name}
        and running_balance is not null
      group by source
      order by source`);
  expect(sources).toMatchObject([
    { source: "bills" },
    { source: "tax-records", is_computed: true },
  ]);
  await using server = await openPageServer();
  server.show(tables);
  const page = await (await fetch(`${server.url}/?account=${run.name}`)).text();
  expect(page).toMatch(/>100\d d[^<]* recovered</);
});

/** Changes the answers to questions for tax records. */
const taxed =
  (change: (data: unknown[], query: Readonly<Record<string, string>>) => unknown) =>
  (answer: Answer): Answer =>
  async (request) => {
    const given = await answer(request);
    if (!request.path.includes("/tax/")) return given;
    const body = JSON.parse(given.body);
    if (!Array.isArray(body.data)) return given;
    return { ...given, body: JSON.stringify({ ...body, data: change(body.data, request.query) }) };
  };

test("records that differ from stored bills are not believed: nothing is merged, and it is said", async () => {
  await using run = recoveryOf({
    wrapAnswer: taxed((rows) => rows.map((row) => ({ ...Object(row), amount: "1" }))),
  });
  expect((await run.sync()).recovery?.[0]?.notRecoveredReason).toMatch(
    /^tax records differ from (\d+) of \1 stored bills: bill \d+ has another/,
  );
  expect((await storedOf(run.name)).filter(({ source }) => source === "tax-records")).toEqual([]);
  expect((await timesOf(run.name))?.recovered).toBe("{}");
  // Asked again after a day, not by every run.
  expect((await run.sync()).recovery).toEqual([]);
  await run.pass(dayMs);
  expect((await run.sync()).recovery).toHaveLength(1);
});

test("records without the margin moves, which move no money, are believed; a recovered type keeps its record's word", async () => {
  const isMargin = (row: unknown) => /append_margin|reduce_margin/.test(Object(row).futureTaxType);
  await using run = recoveryOf({
    ...{ density: 1, days: 200, recoverFrom: epochMs(simulationStart - 190 * dayMs) },
    wrapAnswer: taxed((rows) => rows.filter((row) => !isMargin(row))),
  });
  const report = await run.sync();
  expect(report.recovery).toMatchObject([{ notRecoveredReason: undefined, error: undefined }]);
  const { rows } = await db.execute<{ served: string; bills: number }>(sql`
    select distinct extra ->> 'futureTaxType' as served
    from bills
    where account = ${run.name}
      and source = 'tax-records'
      and business_type = 'contract_settle_fee'`);
  expect(rows).toEqual([{ served: "contract_main_settle_fee" }]);
});

test("a bill that broke the contract is not missed: its record is no other bill", async () => {
  await using run = recoveryOf({
    ...{ density: 1, days: 200, recoverFrom: epochMs(simulationStart - 100 * dayMs) },
    alterLedger(ledger) {
      const all = ledger.bills[productType];
      const broken = all.findLastIndex(({ cTime }) => cTime < simulationStart - dayMs);
      const bills = all.map((bill, place) => {
        const row = { ...Object(bill.row), symbol: "BTC\0USDT" };
        return place === broken ? { ...bill, row, broken: "symbol" } : bill;
      });
      return { ...ledger, bills: { ...ledger.bills, [productType]: bills } };
    },
    wrapAnswer: taxed((rows) => rows.map((row) => ({ ...Object(row), symbol: "BTCUSDT" }))),
  });
  const report = await run.sync();
  expect(report.ledgers).toMatchObject([{ rejected: 1 }]);
  expect(report.recovery).toMatchObject([{ notRecoveredReason: undefined, error: undefined }]);
});

test("a millisecond with more rows than an answer holds is named as unprovable, and all around it is recovered", async () => {
  const before = simulationStart - 100 * dayMs;
  let full = 0;
  await using run = recoveryOf({
    recoverFrom: epochMs(before - dayMs),
    days: 110,
    density: 0.02,
    alterLedger(ledger) {
      const all = ledger.bills[productType];
      const at = all.findIndex(({ cTime }) => cTime > before);
      const like = all[at];
      if (like === undefined) throw new Error("no bill of that time");
      full = like.cTime;
      const crowd = Array.from({ length: 600 }, (_, index) => {
        const billId = String(BigInt(like.billId) + BigInt(index + 1));
        return { ...like, billId, row: { ...Object(like.row), billId } };
      });
      return {
        ...ledger,
        bills: { ...ledger.bills, [productType]: all.toSpliced(at + 1, 0, ...crowd) },
      };
    },
  });
  const whole = await run.sync();
  const [report] = whole.recovery ?? [];
  expect(isComplete(whole)).toBe(false);
  // A question names the millisecond before and after, too, since nobody knows whether its bounds are included.
  const unprovable = [full + 1, full, full - 1];
  expect(report).toMatchObject({ partlyRecovered: unprovable, error: undefined });
  const partlyRecovered = async () =>
    (await readFindings(db, { accounts: [run.name], now: epochMs(simulationStart) })).flatMap(
      ({ kind, since }) => (kind === "partly-recovered" ? [since] : []),
    );
  expect(await partlyRecovered()).toEqual(unprovable.toReversed());
  const stored = await storedOf(run.name);
  const times = await timesOf(run.name);
  await expectOlder(run, before - dayMs, full);
  // What was shown of it is stored, and its time is not called recovered.
  expect(stored.filter(({ at }) => at === full)).toHaveLength(500);
  const [first, last] = [full - 1, full + 2].map((at) => isoTime(epochMs(at)).replace("T", " "));
  expect(times?.recovered).toContain(`,"${first?.slice(0, -1)}`);
  expect(times?.recovered).toContain(`["${last?.slice(0, -1)}`);
  // The next run asks for that time again, and compares again after a day.
  const [again] = (await run.sync()).recovery ?? [];
  expect(again).toMatchObject({ partlyRecovered: unprovable, requests: 6 });
  await run.pass(dayMs);
  expect((await run.sync()).recovery?.[0]?.requests).toBeGreaterThan(6);
  // Where it is no longer wanted, it is no longer called missing: RECOVER_FROM=none wants nothing of it.
  Object.assign(run.options, { recoverFrom: "none" });
  expect(isComplete(await run.sync())).toBe(true);
  expect(await partlyRecovered()).toEqual([]);
});

test("a key without the right gets one notice a day, and no failure", async () => {
  await using run = recoveryOf({
    alterCredential: (credential) => ({
      ...credential,
      permissions: credential.permissions.filter((one) => one !== "tax"),
    }),
  });
  const report = await run.sync();
  expect(report.recovery).toMatchObject([
    {
      error: undefined,
      notRecoveredReason: expect.stringMatching(/^the key may not read tax records/),
    },
  ]);
  expect(isComplete(report)).toBe(true);
  expect((await run.sync()).recovery).toEqual([]);
});

describe("answers that lack records", () => {
  const older = {
    days: 200,
    recoverFrom: epochMs(simulationStart - 190 * dayMs),
    density: 1,
  };
  test.each<[string, (answers: number) => number]>([
    ["have at most 200 from the fourth on", (answers) => (answers < 4 ? 500 : 200)],
    ["are empty once in a while", (answers) => (answers % 3 === 1 ? 0 : 500)],
  ])("and %s hide none", async (_, mostOf) => {
    let answers = 0;
    await using run = recoveryOf({
      ...older,
      wrapAnswer: taxed((rows) => {
        answers += 1;
        return rows.slice(0, mostOf(answers));
      }),
    });
    const report = await run.sync();
    expect(report.recovery).toMatchObject([
      { notRecoveredReason: undefined, error: undefined, partlyRecovered: [] },
    ]);
    expect(report.recovery?.[0]?.requests).toBeLessThan(150);
    await expectOlder(run, older.recoverFrom);
  });
});

describe("a fault that every answer has is seen by the comparison, wherever it strikes", () => {
  type Row = { futureTaxType: string; ts: string };
  type Query = Readonly<Record<string, string>>;
  const secondOf = (ms: string | undefined, round: (seconds: number) => number) =>
    round(Number(ms) / 1_000) * 1_000;
  test.each<[string, number, (rows: readonly Row[], query: Query) => readonly Row[]]>([
    ["the last record is left out", 1, (rows) => rows.slice(0, -1)],
    ["the first record is left out", 1, (rows) => rows.slice(1)],
    [
      "bounds are rounded inward to seconds",
      1,
      (rows, { startTime, endTime }) =>
        rows.filter(
          ({ ts }) =>
            Number(ts) >= secondOf(startTime, Math.ceil) &&
            Number(ts) <= secondOf(endTime, Math.floor),
        ),
    ],
    [
      "a span is served for its newest week",
      0.1,
      (rows, { endTime }) => rows.filter(({ ts }) => Number(ts) > Number(endTime) - 7 * dayMs),
    ],
    [
      "of a millisecond the first record is served alone",
      1,
      (rows) => rows.filter(({ ts }, place) => ts !== rows[place - 1]?.ts),
    ],
    [
      "a type is left out that was last seen two months ago",
      1,
      (rows) => rows.filter(({ futureTaxType }) => futureTaxType !== "rare_type"),
    ],
    [
      "a coin is left out that was last seen two months ago",
      1,
      (rows) => rows.filter((row) => Object(row).marginCoin !== "RARE"),
    ],
  ])("%s", async (_, density, fault) => {
    await using run = recoveryOf({
      ...{ days: 200, recoverFrom: epochMs(simulationStart - 190 * dayMs), density },
      alterLedger: withRareBills,
      wrapAnswer: taxed((rows, query) => fault(rows as Row[], query)),
    });
    const report = await run.sync();
    expect(report.recovery).toMatchObject([
      { error: undefined, notRecoveredReason: expect.stringMatching(/differ|contradict/) },
    ]);
    expect((await storedOf(run.name)).filter(({ source }) => source !== null)).toEqual([]);
  });
});

/**
 * The newest bills of settled time and those of a week before have a margin move at their millisecond, whose record is not
 * compared; a bill of two months ago is the only one of its type, and one of its coin.
 */
const withRareBills: NonNullable<SimulationOptions["alterLedger"]> = (ledger) => {
  const all = ledger.bills[productType];
  const newest = all.findLast(({ cTime }) => cTime < simulationStart - 15 * minuteMs);
  const rare = all.findIndex(({ cTime }) => cTime > simulationStart - 60 * dayMs);
  if (newest === undefined || rare < 1) throw new Error("too few bills");
  const margins = [newest.cTime, newest.cTime - 7 * dayMs].map((at, index) => {
    const billId = String(BigInt(newest.billId) + BigInt(index + 1));
    const type = { businessType: "reduce_margin" };
    const row = {
      ...Object(newest.row),
      ...type,
      billId,
      cTime: String(at),
      amount: "1",
      fee: "0",
    };
    return { ...newest, ...type, billId, cTime: epochMs(at), row };
  });
  const named = all.map((bill, place) => {
    const name =
      place === rare ? { businessType: "rare_type" } : place === rare - 1 ? { coin: "RARE" } : {};
    return { ...bill, ...name, row: { ...Object(bill.row), ...name } };
  });
  const bills = [...named, ...margins].toSorted((a, b) => a.cTime - b.cTime);
  return { ...ledger, bills: { ...ledger.bills, [productType]: bills } };
};

test.each([
  ["once", (answers: number) => answers === 20],
  ["always", (answers: number) => answers >= 20],
])(
  "a record that is in one answer twice, with other content, %s, is asked for again, and then named",
  async (often, isTwice) => {
    let answers = 0;
    await using run = recoveryOf({
      ...{ days: 200, recoverFrom: epochMs(simulationStart - 190 * dayMs), density: 1 },
      wrapAnswer: taxed((rows) => {
        answers += 1;
        return isTwice(answers) ? [...rows, { ...Object(rows[0]), amount: "99" }] : rows;
      }),
    });
    const [recovery] = (await run.sync()).recovery ?? [];
    expect((await storedOf(run.name)).filter(({ amount }) => amount === "99")).toEqual([]);
    if (often === "once") expect(recovery?.error).toBeUndefined();
    else expect(String(recovery?.error)).toMatch(/have record \d+ twice, with other content/);
  },
);

test("three quiet years are no end: what is older and wanted is recovered, too", async () => {
  const quiet = { from: simulationStart - 1_350 * dayMs, to: simulationStart - 95 * dayMs };
  const from = epochMs(simulationStart - 1_400 * dayMs);
  await using run = recoveryOf({
    ...{ recoverFrom: from, days: 1_400, density: 0.02 },
    alterLedger(ledger) {
      const all = ledger.bills[productType];
      const bills = all.filter(({ cTime }) => cTime < quiet.from || cTime > quiet.to);
      return { ...ledger, bills: { ...ledger.bills, [productType]: bills } };
    },
  });
  expect(await run.sync()).toSatisfy(isComplete);
  const { count } = await expectOlder(run, from);
  expect(count).toBeGreaterThan(20);
});

test("lost time is recovered, and lost no more", async () => {
  await using run = recoveryOf({ recoverFrom: epochMs(simulationStart - 100 * dayMs), days: 101 });
  await run.sync();
  await run.pass(retentionMs + 5 * dayMs);
  const report = await run.sync();
  expect(report.recovery?.[0]?.recovered).not.toEqual([]);
  expect((await timesOf(run.name))?.lost).toBe("{}");
  expect(report).toSatisfy(isComplete);
});

const spotFrom = epochMs(simulationStart - 290 * dayMs);
const withSpot: Partial<SimulationOptions> = {
  ...{ productTypes: [productType, "SPOT"], density: 0.6, days: 300, recoverFrom: spotFrom },
};

test("the spot wallet's older bills are recovered with their types and balances, and add up", async () => {
  await using run = recoveryOf(withSpot);
  const report = await run.sync();
  expect(
    report.recovery?.map(({ ledger, error, notRecoveredReason }) => [
      ledger.productType,
      error,
      notRecoveredReason,
    ]),
  ).toEqual([
    [productType, undefined, undefined],
    ["SPOT", undefined, undefined],
  ]);
  const { rows } = await db.execute(sql`
    select bill_id as id, amount::text, fee::text, balance::text, business_type as type, source
    from bills
    where account = ${run.name} and product_type = 'SPOT'
    order by c_time, bill_id`);
  const served = run.sandbox.account.ledger.bills.SPOT.filter(
    ({ cTime }) => cTime >= spotFrom && cTime < simulationStart,
  ).toSorted((a, b) => a.cTime - b.cTime || (a.billId < b.billId ? -1 : 1));
  const older = rows.filter(({ source }) => source === "tax-records");
  expect(older.length).toBeGreaterThan(9);
  expect(rows.map(({ source: _, ...bill }) => bill)).toEqual(
    served.map(({ billId: id, businessType: type, row }) => {
      const { size, fees, balance } = row as Record<string, string>;
      const [amount, fee] = [asPrinted(size ?? ""), asPrinted(fees ?? "")];
      return { id, amount, fee, balance: asPrinted(balance ?? ""), type };
    }),
  );
  const all = { accounts: [run.name], productTypes: undefined };
  const checked = await reconcile(db, all, { isFull: true });
  expect(checked.breaks.filter(({ state }) => state === "open")).toEqual([]);
});

test("spot records with another balance than their bills are not believed, and futures prove nothing of an empty spot wallet", async () => {
  const reasons = async (options: Partial<SimulationOptions>) => {
    await using run = recoveryOf({ ...withSpot, density: 0.2, ...options });
    const { recovery = [] } = await run.sync();
    return recovery.map(({ ledger, notRecoveredReason }) => [
      ledger.productType,
      notRecoveredReason,
    ]);
  };
  const wrong = taxed((rows) =>
    rows.map((row) => ("spotTaxType" in Object(row) ? { ...Object(row), balance: "1" } : row)),
  );
  expect(await reasons({ wrapAnswer: wrong })).toEqual([
    [productType, undefined],
    ["SPOT", expect.stringMatching(/bill \d+ has another balance$/)],
  ]);
  const empty: SimulationOptions["alterLedger"] = (ledger) => ({
    ...ledger,
    bills: { ...ledger.bills, SPOT: [] },
  });
  expect(await reasons({ alterLedger: empty })).toEqual([
    [productType, undefined],
    ["SPOT", expect.stringMatching(/^no stored bill can be compared/)],
  ]);
});

test("a spot record has its word's type and keeps the word; one that is not listed has no group", () => {
  const row = {
    ...{ id: "1260617742759391277", coin: "XRP", spotTaxType: "Ordinary Withdrawal" },
    ...{ amount: "-899.8", fee: "-0.2", balance: "200.000000008", ts: "1736280611695" },
    bizOrderId: "1333",
  };
  const read = (changed: object) => taxApiOf("SPOT")?.read({ ...row, ...changed });
  expect(read({})).toMatchObject({
    bill: {
      ...{ amount: "-899.8", fee: "-0.2", balance: "200.000000008", source: "tax-records" },
      businessType: "withdraw/withdraw",
      extra: { spotTaxType: "Ordinary Withdrawal", bizOrderId: "1333" },
    },
  });
  expect(read({ spotTaxType: "Interest" })).toMatchObject({ bill: { businessType: "/Interest" } });
  expect(taxApiOf("UTA-FUNDING")).toBeUndefined();
});
