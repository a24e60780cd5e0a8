// Loan-to-value: NULL stays NULL, an equal record extends the last one, a different one is added.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { readLoanToValue } from "../src/core/contract/loan-to-value.ts";
import type { Database } from "../src/core/postgres/connect.ts";
import { Refusal } from "../src/core/server/answer.ts";
import { openStore } from "../src/core/store/ledger-store.ts";
import { commitLoanToValue } from "../src/core/store/reference/stored-loan-to-value.ts";
import { syncLoanToValue } from "../src/core/sync/sync-loan-to-value.ts";
import { ExchangeError, LeaseLostError } from "../src/lib/errors.ts";
import { epochMs, minuteMs } from "../src/lib/time.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { openTestDatabase } from "./support/database.ts";
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
  const database = await openTestDatabase();
  const { db } = database;
  await db.execute(sql`
    insert into leases (account, holder, epoch, expires_at)
    values (${account}, 'test', 1, clock_timestamp() + interval '1 hour')`);
  const store = openStore(db, { account, epoch: 1 });
  const bring = (minute: number, data: unknown, riskUnitId?: string) => {
    const reading = readLoanToValue(data);
    if ("fault" in reading) throw new Error(reading.fault.reason);
    const { record } = reading;
    const commit = { account, riskUnitId, readAt: at(minute), record };
    return store.write((tx) => commitLoanToValue(tx, commit));
  };
  return { ...database, store, bring };
}

/** From and to in minutes, and the rate as Postgres prints it. */
async function snapshots(db: Database, riskUnitId = "") {
  const { rows } = await db.execute<Record<"from" | "to" | "ltv", string>>(sql`
    select
      extract(epoch from first_seen_at) * 1000 as from,
      extract(epoch from last_seen_at) * 1000 as to,
      ltv::text
    from ltv_snapshots
    where risk_unit_id = ${riskUnitId}
    order by first_seen_at`);
  const minute = (time: string) => (Number(time) - start) / minuteMs;
  return rows.map(({ from, to, ltv }) => [minute(from), minute(to), ltv]);
}

/** All rows of the three tables as text, without their times. */
async function written(db: Database) {
  const { rows } = await db.execute<{ text: string }>(sql`
    select array_to_string(array[
      account, risk_unit_id, ltv::text, sub_account_uids::text, usdt_balance::text,
      unpaid_usdt_amount::text, extra::text
    ], ' ', '-') as text
    from ltv_snapshots
    union all
    select concat_ws(' ', 'owes', array_to_string(array[
      coin, unpaid_qty::text, unpaid_interest::text, extra::text
    ], ' ', '-'))
    from ltv_debts
    union all
    select concat_ws(' ', 'has', array_to_string(array[
      coin, price::text, amount::text, converted_usdt_amount::text, extra::text
    ], ' ', '-'))
    from ltv_collateral
    order by 1`);
  return rows.map(({ text }) => text);
}

test("a record is stored to the last digit, its lists in tables of their own, and what is missing is NULL", async () => {
  await using to = await house();
  await to.bring(0, sent);
  const balance = { coin: "ETH", price: "", note: 1 };
  await to.bring(0, { unpaidInfo: [{ coin: null, unpaidQty: null }], balanceInfo: [balance] }, "7");
  // A coin without a name is the empty text, since it is a key.
  expect(await written(to.db)).toEqual([
    "fund  0.5000 {4513274870,4513274871} 1234567.891234567891234567 617283.945617283945617283 -",
    "fund 7 - - - - -",
    "has BTC 64250.10 12.00000000 732451.14 -",
    'has ETH - - - {"note":1}',
    "owes  - - -",
    "owes BTC 0.10 0 -",
    "owes USDT 600000 0.000000010 -",
  ]);
});

describe("a record that is equal to the last", () => {
  test("makes it hold longer and adds nothing; one that differs is kept beside it, and so is one that is as before", async () => {
    await using to = await house();
    const changed = { ...sent, ltv: "0.51" };
    const changes = [];
    for (const [minute, data] of [sent, sent, changed, sent, sent].entries())
      changes.push(await to.bring(minute, data));
    expect(changes).toEqual(["first", "unchanged", "changed", "changed", "unchanged"]);
    expect(await snapshots(to.db)).toEqual([
      [0, 1, "0.5000"],
      [2, 2, "0.51"],
      [3, 4, "0.5000"],
    ]);
    expect(await written(to.db)).toHaveLength(3 + 6 + 3);
  });

  const [usdt, btc] = sent.unpaidInfo;
  const cases: readonly [string, object, object, string][] = [
    ["in another order of coins", sent, { ...sent, unpaidInfo: [btc, usdt] }, "unchanged"],
    ["with a spelling kept in extra", { ltv: "5E-1" }, { ltv: "5E-1" }, "unchanged"],
    ["with a field that nobody listed", { n: 1.5, m: 1 }, { m: 1, n: 1.5 }, "unchanged"],
    ["but for a digit", { ltv: "0.5" }, { ltv: "0.50" }, "changed"],
    ["but for a spelling", { ltv: "0.5" }, { ltv: "5E-1" }, "changed"],
    ["but for a coin", sent, { ...sent, unpaidInfo: [usdt] }, "changed"],
    ["but for a null", { subAccountUids: [] }, {}, "changed"],
  ];
  test("is one in another order or with a kept spelling, and not one but for a digit, a spelling, a coin or a null", async () => {
    await using to = await house();
    for (const [title, first, second, change] of cases) {
      await to.bring(0, first, title);
      expect(await to.bring(1, second, title), title).toBe(change);
      expect(await to.bring(2, second, title), title).toBe("unchanged");
    }
  });
});

test("a record that is older than the last, or of its moment and different, is left out", async () => {
  await using to = await house();
  await to.bring(5, sent);
  await to.bring(7, sent);
  for (const minute of [4, 6, 7])
    expect(await to.bring(minute, { ...sent, ltv: "9" })).toBe("outdated");
  expect(await snapshots(to.db)).toEqual([[5, 7, "0.5000"]]);
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

test("a sync of a parent account names each unit, and one that is wrong leaves the others alone", async () => {
  await using to = await house();
  const time = virtualClock(start);
  const queries: Readonly<Record<string, string>>[] = [];
  await using sandbox = await openSandbox({
    ...{ seed: 1, density: 0, now: time.now },
    wrapSource: (source) => ({
      ...source,
      loanToValue: async (request) =>
        request.riskUnitId === undefined
          ? new Refusal(400, "40019", "Parameter riskUnitId cannot be empty")
          : source.loanToValue(request),
    }),
    wrapAnswer: (answer) => (request) => {
      queries.push(request.query);
      return answer(request);
    },
  });
  await using asking = openClient(sandbox.url, { account: sandbox.account, time });
  const write: typeof to.store.write = (work) => time.hold(() => to.store.write(work));
  const [unit = ""] = sandbox.account.riskUnitIds;
  const reports = await time.run(
    syncLoanToValue(
      {
        client: asking.client,
        leased: { store: { write }, assertHeld: () => undefined },
        signal: new AbortController().signal,
        onFailure: () => undefined,
      },
      "classic",
      account,
      ["0", unit],
    ),
  );
  expect(queries).toEqual([{ riskUnitId: "0" }, { riskUnitId: unit }]);
  expect(reports).toMatchObject([
    { riskUnitId: "0", error: expect.any(ExchangeError), stored: undefined },
    { riskUnitId: unit, error: undefined, stored: { change: "first" } },
  ]);
  expect(await snapshots(to.db, unit)).toMatchObject([[expect.any(Number), 0, expect.any(String)]]);
});

test.each(["40054", "25559"])(
  "an account without a loan, as the exchange says it with %s, is no failure",
  async (code) => {
    const time = virtualClock(start);
    const failures: unknown[] = [];
    await using sandbox = await openSandbox({
      ...{ seed: 1, density: 0, now: time.now },
      wrapSource: (source) => ({
        ...source,
        loanToValue: async () => new Refusal(400, code, "No data"),
      }),
    });
    await using asking = openClient(sandbox.url, { account: sandbox.account, time });
    const deps = {
      client: asking.client,
      leased: { store: { write: () => Promise.reject() }, assertHeld: () => undefined },
      signal: new AbortController().signal,
      onFailure: (failure: ExchangeError) => failures.push(failure),
    };
    const reports = await time.run(syncLoanToValue(deps, "classic", account, []));
    expect(reports).toEqual([
      { account, riskUnitId: undefined, stored: undefined, error: undefined },
    ]);
    expect(failures).toEqual([]);
  },
);
