// A withdrawal from a unified account's funding wallet has its fee in its record alone.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { readFindings } from "../src/check/health/findings.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { unifiedProductTypes } from "../src/core/contract/product-types.ts";
import { withdrawalOperations } from "../src/core/contract/withdrawals.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { isComplete } from "../src/core/sync/account-report.ts";
import { dayMs, epochMs, hourMs } from "../src/lib/time.ts";
import type { Answer } from "../src/wings/sandbox/exchange/api.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { exported } from "./support/export.ts";
import { type SimulationOptions, simulate, verifyIn } from "./support/simulation.ts";

const { db, url } = await fileDatabase();

const { path, name: operation } = withdrawalOperations.unified;

function house(account: string, options: Partial<SimulationOptions> = {}) {
  const simulation = simulate(url, {
    ...{ name: account, seed: "UTA-FUNDING 1", density: 0.6 },
    ...{ productTypes: [...unifiedProductTypes, "UTA-FUNDING"] },
    modes: [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }],
    ...options,
  });
  const list = async (text: string) => (await db.execute(sql.raw(text))).rows;
  return {
    ...simulation,
    asked: () => simulation.sandbox.statistics().arrivals[operation] ?? 0,
    check: (isFull = false) =>
      reconcile(db, { accounts: [account], productTypes: undefined }, { isFull }),
    bills: () =>
      list(`
        select business_type, bills.amount::float8, bills.fee::float8, order_id, transaction_id
        from bills
        left join withdrawals using (account, product_type, bill_id)
        where account = '${account}' and business_type = 'withdraw/withdraw'`),
    revisions: () => list(`select 1 from bill_revisions where account = '${account}'`),
    findings: async () => {
      const now = simulation.time.clock.now();
      return readFindings(db, { now, accounts: [account] });
    },
    [Symbol.asyncDispose]: () => simulation[Symbol.asyncDispose](),
  };
}

/** As in the exchange's own example: the coin is in lower case, and the fee has no sign. */
const asInTheExample =
  (answer: Answer): Answer =>
  async (request) => {
    const given = await answer(request);
    if (request.path !== path) return given;
    const body = JSON.parse(given.body);
    const data = body.data.map((row: { coin: string; fee: string }) => ({
      ...{ ...row, coin: row.coin.toLowerCase(), fee: row.fee.replace("-", "") },
    }));
    return { ...given, body: JSON.stringify({ ...body, data }) };
  };

test.each([
  ["recorded", {}],
  ["as in the example", { wrapAnswer: asInTheExample }],
])(
  "its fee and its transaction come from its record, so that it is tested like any other bill: %s",
  async (account, options) => {
    await using at = house(account, options);
    expect(isComplete(await at.sync())).toBe(true);
    const { breaks, unexplained, rules } = await at.check(true);
    expect([breaks, unexplained]).toEqual([[], []]);
    expect(rules.filter(({ category }) => category === "withdrawal")).toMatchObject([
      { productType: "UTA-FUNDING", moves: "amount + fee", businessType: null },
    ]);
    const bills = await at.bills();
    expect(bills.length).toBeGreaterThan(3);
    for (const { fee, order_id, transaction_id } of bills) {
      expect(fee).toBeLessThan(0);
      expect(transaction_id).toBe(`tx-${order_id}`);
    }
    const asked = at.asked();
    await at.pass(hourMs);
    await at.sync();
    expect(await at.revisions()).toEqual([]);
    expect(at.asked() - asked).toBeLessThan(2);
    const now = at.time.clock.now();
    const span = { from: epochMs(now - 80 * dayMs), to: now };
    const { differences } = await verifyIn(db, at, { span, productTypes: ["UTA-FUNDING"] });
    expect(differences).toEqual([]);
    const koinly = String(await exported(db, "koinly", { accounts: [account] }));
    const ofFees = koinly
      .split("\n")
      .filter((line) => line.includes("UTA-FUNDING") && line.includes("/fee"));
    expect(ofFees.length).toBe(bills.length);
    for (const line of ofFees) expect(line).toContain(",cost,");
    const compared = await at.compare();
    for (const each of compared)
      expect(each).toMatchObject({ missing: [], extra: [], different: [] });
  },
);

test("without the right to read records it is no break: what is unexplained is told with its amount, until the right comes", async () => {
  let isRefused = true;
  const told: string[] = [];
  const refusing =
    (answer: Answer): Answer =>
    (request) =>
      isRefused && request.path === path
        ? Promise.resolve({
            ...{ status: 400, headers: {} },
            body: JSON.stringify({ code: "40014", msg: "Incorrect permissions", data: null }),
          })
        : answer(request);
  await using at = house("refused", {
    wrapAnswer: refusing,
    onFailure: (failure) => told.push(failure.message),
  });
  expect(isComplete(await at.sync())).toBe(true);
  expect(told).toEqual([
    expect.stringMatching(/^the fees of withdrawals of refused are not known: .*40014/),
  ]);
  const { breaks, unexplained } = await at.check();
  expect(breaks).toEqual([]);
  const [sum] = unexplained;
  expect(sum).toMatchObject({ wallet: "UTA-FUNDING", higher: "0", types: "withdraw/withdraw" });
  // Nothing is said of the first bill, and of the newest.
  const fees = at.sandbox.account.ledger.bills["UTA-FUNDING"]
    .filter(({ coin }) => coin === sum?.coin)
    .reduce((all, { withdrawal }) => all - Number(withdrawal?.record["fee"] ?? 0), 0);
  expect(Number(sum?.lower)).toBeLessThanOrEqual(fees);
  expect(Number(sum?.lower)).toBeGreaterThan(0);
  expect((await at.findings()).map(({ kind }) => kind)).toContain("unexplained");
  await at.pass(hourMs);
  await at.sync();
  expect(told).toHaveLength(1);
  isRefused = false;
  await at.pass(dayMs);
  await at.sync();
  const after = await at.check();
  expect(after.unexplained).toEqual([]);
  expect(after.breaks.map(({ kind }) => kind)).toEqual(["restated"]);
});

test("what a unified account sends for a withdrawal and its funding wallet receives is one transfer", async () => {
  const account = "paired";
  const at = epochMs(Date.UTC(2026, 7, 28, 10));
  const leg = (billId: string, businessType: string, amount: string, afterMs: number) =>
    aBill({ billId, businessType, amount, fee: "0", coin: "USDT", cTime: epochMs(at + afterMs) });
  await inTransaction(db, (tx) =>
    upsertBills(tx, [
      {
        ledger: { account, productType: "UTA-OTHER" },
        bills: [leg("1", "WITHDRAW_TRANSFER_OUT", "-30", 0)],
      },
      {
        ledger: { account, productType: "UTA-FUNDING" },
        bills: [leg("2", "withdraw/", "30", 115), leg("3", "withdraw/withdraw", "-28.5", 161_907)],
      },
    ]),
  );
  const { rows } = await db.execute(sql`
    select bill_id, counter_bill_id from analytics.transfers where account = ${account} order by 1`);
  expect(rows).toEqual([
    { bill_id: "1", counter_bill_id: "2" },
    { bill_id: "2", counter_bill_id: "1" },
  ]);
});
