// Loan-to-value: NULL stays NULL, an equal record extends the last one, a different one is added.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { readLoanToValue } from "../src/contract/loan-to-value.ts";
import { epochMs, isoTime, minuteMs } from "../src/contract/time.ts";
import { type Database, openDatabase } from "../src/db/connect.ts";
import { ExchangeError, LeaseLostError } from "../src/errors.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import { openSandbox, type SandboxOptions } from "../src/sandbox/sandbox.ts";
import { syncLoanToValue } from "../src/sync/sync-loan-to-value.ts";
import { testDatabase } from "./support/database.ts";
import { openClient } from "./support/exchange-client.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const account = "fund";
const start = Date.UTC(2026, 9, 1, 12, 34, 56, 789);
const at = (minute: number) => epochMs(start + minute * minuteMs);

const sent = {
  ltv: "0.5000",
  subAccountUids: ["4513274870", "4513274871"],
  usdtBalance: "1234567.891234567891234567",
  unpaidUsdtAmount: "617283.945617283945617283",
  unpaidInfo: [
    { coin: "USDT", unpaidQty: "600000", unpaidInterest: "0.000000010" },
    { coin: "BTC", unpaidQty: "0.10", unpaidInterest: "0" },
  ],
  balanceInfo: [
    { coin: "BTC", price: "64250.10", amount: "12.00000000", convertedUsdtAmount: "732451.14" },
  ],
};

/** A database of its own, whose account this run holds, and a function that stores a record. */
async function house() {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(url));
  await db.execute(sql`
    insert into leases (account, holder, epoch, expires_at)
    values (${account}, 'test', 1, clock_timestamp() + interval '1 hour')`);
  const store = openStore(db, { account, epoch: 1 });
  const bring = (minute: number, data: unknown, riskUnitId?: string) => {
    const reading = readLoanToValue(data);
    if ("fault" in reading) throw new Error(reading.fault.reason);
    const { record } = reading;
    return store.commitLoanToValue({ account, riskUnitId, takenAt: at(minute), record });
  };
  return { db, store, bring, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** From and to in minutes, and the rate as Postgres prints it. */
async function snapshots(db: Database, riskUnitId = "") {
  const { rows } = await db.execute<Record<"from" | "to" | "ltv", string>>(sql`
    select
      extract(epoch from taken_at) * 1000 as from,
      extract(epoch from held_until) * 1000 as to,
      ltv::text
    from ltv_snapshots
    where account = ${account}
      and risk_unit_id = ${riskUnitId}
    order by taken_at`);
  const minute = (time: string) => (Number(time) - start) / minuteMs;
  return rows.map(({ from, to, ltv }) => [minute(from), minute(to), ltv]);
}

async function coins(db: Database) {
  const { rows: debts } = await db.execute(sql`
    select coin, unpaid_qty::text, unpaid_interest::text, extra::text
    from ltv_debts
    order by taken_at, coin`);
  const { rows: collateral } = await db.execute(sql`
    select coin, price::text, amount::text, converted_usdt_amount::text, extra::text
    from ltv_collateral
    order by taken_at, coin`);
  return { debts, collateral };
}

test("a record is stored to the last digit, its lists in tables of their own", async () => {
  await using to = await house();
  expect(await to.bring(0, sent)).toBe("first");
  const { rows } = await to.db.execute(sql`
    select
      account, risk_unit_id, ltv::text, sub_account_uids, usdt_balance::text,
      unpaid_usdt_amount::text, extra, extract(epoch from taken_at)::text as taken_at
    from ltv_snapshots`);
  expect(rows).toEqual([
    {
      account,
      risk_unit_id: "",
      ltv: "0.5000",
      sub_account_uids: ["4513274870", "4513274871"],
      usdt_balance: "1234567.891234567891234567",
      unpaid_usdt_amount: "617283.945617283945617283",
      extra: null,
      taken_at: (start / 1_000).toFixed(6),
    },
  ]);
  expect(await coins(to.db)).toEqual({
    debts: [
      { coin: "BTC", unpaid_qty: "0.10", unpaid_interest: "0", extra: null },
      { coin: "USDT", unpaid_qty: "600000", unpaid_interest: "0.000000010", extra: null },
    ],
    collateral: [
      {
        coin: "BTC",
        price: "64250.10",
        amount: "12.00000000",
        converted_usdt_amount: "732451.14",
        extra: null,
      },
    ],
  });
});

describe("nulls and missing fields", () => {
  test("are NULL in its lists, where a coin without a name is the empty text, since it is a key", async () => {
    await using to = await house();
    const debt = { coin: null, unpaidQty: null };
    await to.bring(0, { unpaidInfo: [debt], balanceInfo: [{ coin: "BTC", price: "", note: 1 }] });
    const none = { unpaid_qty: null, unpaid_interest: null, extra: null };
    expect(await coins(to.db)).toEqual({
      debts: [{ coin: "", ...none }],
      collateral: [
        {
          coin: "BTC",
          price: null,
          amount: null,
          converted_usdt_amount: null,
          extra: '{"note":1}',
        },
      ],
    });
  });
});

describe("a record that is equal to the last", () => {
  test("makes it hold longer and adds nothing; one that differs is kept beside it, and so is one that is as before", async () => {
    await using to = await house();
    const changed = { ...sent, ltv: "0.51" };
    const changes = [];
    for (const [minute, data] of [sent, sent, changed, sent, sent].entries()) {
      changes.push(await to.bring(minute, data));
    }
    expect(changes).toEqual(["first", "unchanged", "changed", "changed", "unchanged"]);
    expect(await snapshots(to.db)).toEqual([
      [0, 1, "0.5000"],
      [2, 2, "0.51"],
      [3, 4, "0.5000"],
    ]);
    const { debts, collateral } = await coins(to.db);
    expect([debts.length, collateral.length]).toEqual([6, 3]);
  });

  const [usdt, btc] = sent.unpaidInfo;
  test.each<[string, object, object, string]>([
    ["in another order of coins", sent, { ...sent, unpaidInfo: [btc, usdt] }, "unchanged"],
    ["with a spelling kept in extra", { ltv: "5E-1" }, { ltv: "5E-1" }, "unchanged"],
    ["with a field that nobody listed", { n: 1.5, m: 1 }, { m: 1, n: 1.5 }, "unchanged"],
    ["but for a digit", { ltv: "0.5" }, { ltv: "0.50" }, "changed"],
    ["but for a spelling", { ltv: "0.5" }, { ltv: "5E-1" }, "changed"],
    ["but for a coin", sent, { ...sent, unpaidInfo: [usdt] }, "changed"],
    [
      "but for a digit of a coin",
      sent,
      { ...sent, unpaidInfo: [usdt, { ...btc, unpaidQty: "0.1" }] },
      "changed",
    ],
    ["but for a null", { subAccountUids: [] }, {}, "changed"],
  ])("is one %s", async (_, first, second, change) => {
    await using to = await house();
    await to.bring(0, first);
    expect(await to.bring(1, second)).toBe(change);
    expect(await to.bring(2, second)).toBe("unchanged");
  });
});

test("a record that is older than the last, or of its moment and different, is left out", async () => {
  await using to = await house();
  await to.bring(5, sent);
  await to.bring(7, sent);
  for (const minute of [4, 6, 7]) {
    expect(await to.bring(minute, { ...sent, ltv: "9" })).toBe("outdated");
  }
  expect(await snapshots(to.db)).toEqual([[5, 7, "0.5000"]]);
});

test("risk units have records of their own, and an account's own is apart from those it names", async () => {
  await using to = await house();
  expect(await to.bring(0, sent)).toBe("first");
  expect(await to.bring(0, sent, "12")).toBe("first");
  expect(await to.bring(1, { ltv: "1" }, "12")).toBe("changed");
  expect(await snapshots(to.db)).toEqual([[0, 0, "0.5000"]]);
  expect(await snapshots(to.db, "12")).toEqual([
    [0, 0, "0.5000"],
    [1, 1, "1"],
  ]);
});

test("a run that lost the account writes nothing, nor makes a record hold longer", async () => {
  await using to = await house();
  await to.bring(0, sent);
  await to.db.execute(sql`update leases set epoch = 2`);
  await expect(to.bring(1, sent)).rejects.toThrow(LeaseLostError);
  await expect(to.bring(2, { ltv: "1" }, "12")).rejects.toThrow(LeaseLostError);
  expect(await snapshots(to.db)).toEqual([[0, 0, "0.5000"]]);
  expect(await snapshots(to.db, "12")).toEqual([]);
});

describe("a sync", () => {
  /** Syncs these risk units of a sandbox's account with the real client. */
  async function syncOf(
    options: Partial<SandboxOptions>,
    riskUnitIds: (own: readonly string[]) => readonly string[],
  ) {
    await using to = await house();
    const time = virtualClock(start);
    const queries: Readonly<Record<string, string>>[] = [];
    await using sandbox = await openSandbox({
      seed: 1,
      density: 0,
      now: time.now,
      ...options,
      wrapAnswer: (answer) => (request) => {
        queries.push(request.query);
        return (options.wrapAnswer?.(answer) ?? answer)(request);
      },
    });
    await using asking = openClient(sandbox.url, { account: sandbox.account, time });
    const commitLoanToValue: typeof to.store.commitLoanToValue = (commit) =>
      time.hold(() => to.store.commitLoanToValue(commit));
    const reports = await time.run(
      syncLoanToValue(
        {
          client: asking.client,
          held: { store: { commitLoanToValue }, assertHeld: () => undefined },
          signal: new AbortController().signal,
          onFailure: () => undefined,
        },
        account,
        riskUnitIds(sandbox.account.riskUnitIds),
      ),
    );
    const stored = [];
    for (const { riskUnitId, stored: kept } of reports) {
      const [last] = await snapshots(to.db, riskUnitId);
      stored.push(kept === undefined ? undefined : [isoTime(kept.takenAt), last?.[2]]);
    }
    return { reports, stored, queries, units: sandbox.account.riskUnitIds };
  }

  const text = expect.any(String);

  test("of a parent account names each unit, and one that is wrong leaves the others alone", async () => {
    const { stored, queries, reports, units } = await syncOf({ isParent: true }, (own) => [
      "0",
      ...own,
    ]);
    expect(queries).toEqual([{ riskUnitId: "0" }, { riskUnitId: units[0] }]);
    expect(stored).toEqual([undefined, [text, text]]);
    expect(reports.map(({ error }) => error)).toEqual([expect.any(ExchangeError), undefined]);
  });
});
