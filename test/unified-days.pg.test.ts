import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { businessTypes } from "../src/contract/business-types.ts";
import { type ProductType, unifiedProductTypes } from "../src/contract/product-types.ts";
import { epochMs } from "../src/contract/time.ts";
import { inTransaction, type Transaction } from "../src/db/connect.ts";
import { findDifferingDays } from "../src/ledger/differing-days.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { pick, seededRandom } from "../src/sandbox/random.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { smallLedger, smallLedgerEnd, smallLedgerStart } from "./support/small-ledger.ts";
import { storeTime } from "./support/stored-time.ts";

// One ledger stored twice: as the bills of one classic product type, and spread over the categories of a
// unified account. It has one balance, so everything that depends on balances must be the same.

const { tables } = await fileDatabase();
const { db } = tables;

const spot = new Set(
  businessTypes.filter(({ category }) => category === "spot").map(({ code }) => code),
);

async function cover(tx: Transaction, account: string, productType: ProductType): Promise<void> {
  const span = { from: epochMs(smallLedgerStart), to: epochMs(smallLedgerEnd) };
  await storeTime(tx, { account, productType }, { covered: [span] });
}

await inTransaction(db, async (tx) => {
  const random = seededRandom("unified");
  // The coin of a spot trade's fee differs between the two kinds of account.
  const bills = smallLedger(random, { rounds: true, missingPercent: 20 })
    .filter(({ businessType }) => !spot.has(businessType))
    .map(({ moved: _, ...bill }) => ({
      ...bill,
      coin: pick(random, ["USDT", "USDT", "BTC"]),
      symbol: pick(random, [null, "BTCUSDT"]),
    }));
  await upsertBills(tx, [{ stream: { account: "classic", productType: "USDT-FUTURES" }, bills }]);
  await cover(tx, "classic", "USDT-FUTURES");
  const spread = Map.groupBy(bills, () => pick(random, unifiedProductTypes));
  for (const productType of unifiedProductTypes) {
    const own = spread.get(productType) ?? [];
    await upsertBills(tx, [{ stream: { account: "unified", productType }, bills: own }]);
    await cover(tx, "unified", productType);
  }
});

/** A view's rows of an account, without the columns that name the two. */
async function rowsOf(query: string, account: string): Promise<readonly string[]> {
  const { rows } = await db.execute<{ row: string }>(sql`
    select (to_jsonb(shown) - 'account' - 'product_type' - 'wallet')::text as row
    from (${sql.raw(query)}) as shown
    where account = ${account}
    order by 1`);
  return rows.map(({ row }) => row);
}

const symbolDays = (name: string, columns: string): string => `
  select account, coin, day, symbol, ${columns}
  from analytics.${name}
  group by account, coin, day, symbol`;

const queries = {
  activity: "select * from analytics.activity",
  "activity, a day": "select * from analytics.activity where day = '2026-03-03'",
  daily_rollforward: "select * from analytics.daily_rollforward",
  monthly_rollforward: "select * from analytics.monthly_rollforward",
  bonuses: "select account, coin, bill_id, event, amount from analytics.bonuses",
  fees: symbolDays("fees_by_symbol_day", "sum(net) as net, sum(bills) as bills"),
  funding: symbolDays("funding_by_symbol_day", "sum(net) as net, sum(bills) as bills"),
  profit: symbolDays("realised_pnl_by_symbol_day", "sum(net) as net, sum(bills) as bills"),
  data_quality: `
    select account, "check", sum(rows) as rows, min(first_on) as first_on, max(last_on) as last_on
    from analytics.data_quality
    where "check" <> 'time that was not read'
    group by account, "check"`,
};

async function expectSame(): Promise<void> {
  for (const [name, query] of Object.entries(queries)) {
    const [unified, classic] = [await rowsOf(query, "unified"), await rowsOf(query, "classic")];
    expect(classic.length, name).toBeGreaterThan(0);
    expect(unified, name).toEqual(classic);
  }
}

test("a unified account's balance goes over all its categories", async () => {
  await expectSame();
  expect(await findDifferingDays(db, "unified")).toEqual([]);
});

test("its rollforward names the wallet, its bills the category that they were read from", async () => {
  const typesOf = async (view: string) =>
    (
      await db.execute<{ product_type: string }>(
        sql.raw(
          `select distinct product_type from analytics.${view} where account = 'unified' order by 1`,
        ),
      )
    ).rows.map(({ product_type }) => product_type);
  expect(await typesOf("daily_rollforward")).toEqual(["UTA"]);
  expect(await typesOf("activity")).toEqual([...unifiedProductTypes].sort());
});

test("no day is complete while one of its categories was never read", async () => {
  const complete = async () =>
    (
      await db.execute<{ days: number }>(sql`
        select count(*)::int as days
        from analytics.daily_rollforward
        where account = 'unified'
          and is_complete`)
    ).rows[0]?.days;
  expect(await complete()).toBeGreaterThan(10);
  await db.execute(sql`
    update streams
    set covered = '{}'
    where account = 'unified'
      and product_type = 'UTA-MARGIN'`);
  expect(await complete()).toBe(0);
});

test.each([
  ["contains", false, ["profit -2", "fee -0.3", "funding 1.5"]],
  ["does not contain", true, ["profit -2.3", "fee -0.3", "funding 1.5"]],
] as const)(
  "a contract's result has no fee in it where the amount %s it",
  async (_, countsFee, expected) => {
    const [account, productType] = [`fee beside ${countsFee}`, "UTA-USDT-FUTURES"] as const;
    const trade = { symbol: "BTCUSDT", businessType: "CLOSE_LONG", coin: "USDT", balance: null };
    const funding = { ...trade, businessType: "CONTRACT_MAIN_SETTLE_FEE_USER_IN" };
    const bills = [
      aBill({ ...trade, billId: "1", amount: "-2.3", fee: "-0.3" }),
      aBill({ ...funding, billId: "2", amount: "1.5", fee: "0" }),
    ];
    await inTransaction(db, (tx) => upsertBills(tx, [{ stream: { account, productType }, bills }]));
    // As reconcile learns it from the balances.
    await db.execute(sql`
      insert into wallet_rules (
        account, product_type, category, business_type, counts_amount, counts_fee, counts_coupon, is_testable,
        tested, fitting
      )
      values (${account}, ${productType}, 'trade', 'CLOSE_LONG', true, ${countsFee}, false, true, 9, 9)`);
    const { rows } = await db.execute<{ told: string }>(sql`
      select 'profit ' || net as told from analytics.realised_pnl_by_symbol_day
      where account = ${account}
      union all
      select 'fee ' || net from analytics.fees_by_symbol_day where account = ${account}
      union all
      select 'funding ' || net from analytics.funding_by_symbol_day where account = ${account}`);
    expect(rows.map(({ told }) => told.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""))).toEqual(
      expected,
    );
  },
);
