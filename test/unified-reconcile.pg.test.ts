// A unified account's balances follow across all its categories, whatever its API does; none is judged before
// all were read (ledgers of every type; a real trade).

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { Bill } from "../src/contract/bill.ts";
import { unifiedProductTypes } from "../src/contract/product-types.ts";
import { epochMs, hourMs } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { decimalText, unifiedPlaces } from "../src/sandbox/money.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { coverLedger } from "./support/small-ledger.ts";
import { storeClosing } from "./support/stored-time.ts";
import {
  storeUnified,
  type UnifiedBill,
  type UnifiedHabits,
  unifiedEnd,
  unifiedLedger,
  unifiedStart,
} from "./support/unified-ledger.ts";

// A unified account has one balance a coin over all of its categories.

const { tables } = await fileDatabase();
const { db } = tables;

const check = (account: string, isFull = false) =>
  reconcile(db, { accounts: [account], productTypes: undefined }, { isFull });

type Moved = { product_type: string; bill_id: string; amount: string; fee: string };

/** What each bill moved by the views, and what it truly moved. */
async function wronglyMoved(account: string, bills: readonly UnifiedBill[]) {
  const { rows } = await db.execute<Moved>(sql`
    select
      product_type,
      bill_id,
      trim_scale(wallet_amount)::text as amount,
      trim_scale(wallet_fee)::text as fee
    from analytics.entries
    where account = ${account}`);
  const shown = new Map(rows.map((row) => [`${row.product_type}/${row.bill_id}`, row]));
  const exact = (units: bigint) => decimalText(units, "needed", unifiedPlaces);
  return bills.flatMap((bill) => {
    const row = shown.get(`${bill.productType}/${bill.billId}`);
    const isRight = row?.amount === exact(bill.movedAmount) && row.fee === exact(bill.movedFee);
    return isRight ? [] : [{ bill, row }];
  });
}

/** The sums of each coin's liquidations without their fees, and of these fees. */
async function liquidated(account: string): Promise<readonly (readonly string[])[]> {
  const { rows } = await db.execute<{ coin: string; amount: string; fee: string }>(sql`
    select
      coin,
      trim_scale(sum(amount + coalesce(swept, 0)))::text as amount,
      trim_scale(sum(fee + coalesce(sweep_fee, 0)))::text as fee
    from analytics.liquidations
    where account = ${account}
    group by coin
    having sum(amount + coalesce(swept, 0) + fee + coalesce(sweep_fee, 0)) = sum(net)
    order by coin collate "C"`);
  return rows.map(({ coin, amount, fee }) => [coin, amount, fee]);
}

function liquidatedOf(bills: readonly UnifiedBill[]): readonly (readonly string[])[] {
  const exact = (units: bigint) => decimalText(units, "needed", unifiedPlaces);
  const own = bills.filter(({ category }) => category === "liquidation");
  return [...Map.groupBy(own, ({ coin }) => coin)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([coin, of]) => [
      coin,
      exact(of.reduce((sum, { movedAmount }) => sum + movedAmount, 0n)),
      exact(of.reduce((sum, { movedFee }) => sum + movedFee, 0n)),
    ]);
}

const habits: Readonly<Record<string, UnifiedHabits>> = {
  "all fees inside the amount": {},
  "fees of futures beside the amount": { feesBeside: ["trade", "liquidation"] },
  "all fees beside the amount": { feesBeside: ["spot", "trade", "liquidation"] },
  "one type with its fee beside the amount": { feesBeside: ["CLOSE_LONG", "OPEN_LONG"] },
  "the exchange's side of a conversion moves nothing": {
    still: [
      "margin",
      "LIQ_CONVERT_SYS_IN",
      "LIQ_CONVERT_SYS_OUT",
      "SMALL_ASSET_SOURCE_TOKEN_SYS_IN",
    ],
  },
  "margin moves leave the balance, of some types": { still: ["MARGIN_BACK", "FIXED_BACK"] },
  "ids of one category are in another one": { areIdsReused: true },
};

describe("a unified account's balances chain over all categories, whatever its habits", () => {
  test.each(Object.entries(habits))("%s", async (name, habit) => {
    const bills = unifiedLedger(seededRandom(name), habit);
    await storeUnified(db, name, bills);
    const { chains, breaks, rules } = await check(name);
    expect(breaks).toEqual([]);
    expect(chains.map(({ wallet, coin }) => `${wallet} ${coin}`)).toEqual([
      "UTA BGB",
      "UTA BTC",
      "UTA USDT",
      "UTA rTOWN",
    ]);
    expect(chains.reduce((sum, chain) => sum + chain.bills, 0)).toBe(bills.length);
    expect(rules.filter(({ isTestable }) => !isTestable)).toEqual([]);
    // A type of at most two bills, or without a fee, may not show which rule it has.
    expect(await wronglyMoved(name, bills)).toEqual([]);
    expect(await liquidated(name)).toEqual(liquidatedOf(bills));
  });
});

type Row = readonly [
  UnifiedBill["productType"],
  string,
  string,
  string,
  string,
  string,
  string,
  number,
];

/** Rows as the exchange served them, with its spelling of numbers. */
const billsOf = (rows: readonly Row[]): readonly (readonly [UnifiedBill["productType"], Bill])[] =>
  rows.map(([productType, billId, businessType, coin, amount, fee, balance, time]) => [
    productType,
    aBill({ billId, symbol: null, amount, fee, businessType, coin, balance, cTime: epochMs(time) }),
  ]);

test("a real spot trade chains with the transfer before it, and shows its principal and its fee", async () => {
  const account = "real";
  const time = 1_790_187_950_042;
  const rows: readonly Row[] = [
    ["UTA-OTHER", "1486721000000000000", "TRANSFER_IN", "USDT", "13", "0", "13", time - 60_000],
    // The two sides of a trade, as an exchange served them.
    [
      "UTA-SPOT",
      "1486721507613851649",
      "ORDER_DEALT_FROZEN_OUT",
      "USDT",
      "-10.1079350372",
      "-0.0100978372",
      "2.8920649628",
      time,
    ],
    ["UTA-SPOT", "1486721507613851648", "ORDER_DEALT_IN", "rTOWN", "0.2783", "0", "0.2783", time],
  ];
  await inTransaction(db, async (tx) => {
    for (const [productType, bill] of billsOf(rows)) {
      await upsertBills(tx, [{ ledger: { account, productType }, bills: [bill] }]);
    }
  });
  expect((await check(account)).breaks).toEqual([]);
  const { rows: shown } = await db.execute(sql`
    select coin, wallet_amount::text, wallet_fee::text
    from analytics.entries
    where account = ${account}
      and product_type = 'UTA-SPOT'
    order by coin`);
  expect(shown).toEqual([
    { coin: "USDT", wallet_amount: "-10.0978372000", wallet_fee: "-0.0100978372" },
    { coin: "rTOWN", wallet_amount: "0.2783", wallet_fee: "0" },
  ]);
});

const isLone = (bills: readonly UnifiedBill[], bill: UnifiedBill): boolean =>
  bills.filter(({ cTime }) => cTime === bill.cTime).length === 1;

describe("a break of a unified account's balance", () => {
  test("names the wallet, and each bill with its category", async () => {
    const account = "lacking";
    const bills = unifiedLedger(seededRandom(account));
    const usdt = bills.filter(({ coin, balance }) => coin === "USDT" && balance !== null);
    const at = usdt.findIndex(
      (bill, index) =>
        index > 20 &&
        usdt.slice(index - 1, index + 2).every((one) => isLone(bills, one)) &&
        bill.movedAmount !== 0n &&
        new Set(usdt.slice(index - 1, index + 2).map((one) => one.productType)).size === 3,
    );
    const [good, lost, bad] = usdt.slice(at - 1, at + 2);
    if (good === undefined || lost === undefined || bad === undefined) throw new Error("none");
    await storeUnified(
      db,
      account,
      bills.filter((bill) => bill !== lost),
    );
    const missing = decimalText(lost.movedAmount + lost.movedFee, "needed", unifiedPlaces);
    const wanted = [
      {
        kind: "chain",
        ledger: "UTA",
        coin: "USDT",
        difference: expect.stringMatching(new RegExp(`^${missing}0*$`)),
        firstBadBill: bad.billId,
        firstBadProductType: bad.productType,
        lastGoodBill: good.billId,
        lastGoodProductType: good.productType,
        state: "open",
      },
    ];
    expect((await check(account)).breaks).toMatchObject(wanted);
    // The check of one category still reads the balances of all.
    const one = { accounts: [account], productTypes: [lost.productType] };
    expect((await reconcile(db, one, { isFull: true })).breaks).toMatchObject(wanted);
    await storeUnified(db, account, [lost], { uncovered: [...unifiedProductTypes] });
    const { breaks, isFull } = await check(account);
    expect(breaks).toEqual([]);
    expect(isFull).toBe(true);
  });

  test("is not told before all categories were read, nor is a day called reconciled", async () => {
    const account = "half";
    const bills = unifiedLedger(seededRandom(account));
    const [early, late] = Map.groupBy(bills, ({ productType }) => productType === "UTA-OTHER")
      .entries()
      .toArray()
      .toSorted(([a], [b]) => Number(a) - Number(b))
      .map(([, some]) => some);
    await storeUnified(db, account, early ?? [], { uncovered: ["UTA-OTHER"] });
    const half = await check(account);
    expect(half.breaks).toEqual([]);
    expect(half.chains.map(({ days }) => days.reconciled + days.broken)).toEqual([0, 0, 0, 0]);
    await inTransaction(db, async (tx) => {
      const ledger = { account, productType: "UTA-OTHER" } as const;
      await upsertBills(tx, [{ ledger, bills: late ?? [] }]);
      await coverLedger(tx, ledger, unifiedStart, unifiedEnd);
    });
    const whole = await check(account);
    expect(whole.breaks).toEqual([]);
    expect(whole.chains.reduce((sum, { days }) => sum + days.reconciled, 0)).toBeGreaterThan(8);
    expect(await wronglyMoved(account, bills)).toEqual([]);
  });

  test("is not told of the time before the last category's first read time", async () => {
    const account = "later";
    const productType = "UTA-OTHER";
    const bills = unifiedLedger(seededRandom(account));
    const from = unifiedStart + (unifiedEnd - unifiedStart) / 2;
    const isRead = (bill: UnifiedBill) => bill.productType !== productType || bill.cTime >= from;
    await storeUnified(db, account, bills.filter(isRead), { uncovered: [productType] });
    await inTransaction(db, (tx) => coverLedger(tx, { account, productType }, from, unifiedEnd));
    expect((await check(account)).breaks).toEqual([]);
  });

  test("is told where the category that lacks is one that the key may not read", async () => {
    const account = "refused";
    const bills = unifiedLedger(seededRandom(account));
    await db.execute(sql`
      insert into ledgers (account, product_type, not_available_since)
      values (${account}, 'UTA-OTHER', now())
      on conflict (account, product_type) do update set not_available_since = excluded.not_available_since`);
    await storeUnified(
      db,
      account,
      bills.filter(({ productType }) => productType !== "UTA-OTHER"),
      { uncovered: ["UTA-OTHER"] },
    );
    const { breaks } = await check(account);
    expect(breaks.length).toBeGreaterThan(20);
  });
});

test("what does not follow behind the end of a closed ledger is told, beside time that was not read", async () => {
  const account = "closed";
  const ledger = { account, productType: "USDT-FUTURES" } as const;
  const bills = [10, 20, 35].map((balance, hour) => ({
    ...(billsOf([
      [
        "UTA-OTHER",
        `${hour}`,
        "trans_from_exchange",
        "USDT",
        "10",
        "0",
        `${balance}`,
        unifiedStart + hour * hourMs,
      ],
    ])[0]?.[1] as Bill),
  }));
  await inTransaction(db, async (tx) => {
    await upsertBills(tx, [{ ledger, bills }]);
    await coverLedger(tx, ledger, unifiedStart, unifiedStart + hourMs + 1);
  });
  const kinds = async () => (await check(account)).breaks.map(({ kind }) => kind);
  expect(await kinds()).toEqual([]);
  await storeClosing(db, { account, productType: "USDT-FUTURES" }, Date.now());
  expect(await kinds()).toEqual(["unread", "lost", "lost"]);
  const { rows } = await db.execute(
    sql`select distinct is_reconciled from analytics.activity where account = ${account}`,
  );
  expect(rows).toEqual([{ is_reconciled: true }]);
});

test("no day is complete while one of its categories was never read", async () => {
  const complete = async () =>
    (
      await db.execute<{ days: number }>(sql`
        select count(*)::int as days
        from analytics.daily_rollforward
        where account = 'complete'
          and is_complete`)
    ).rows[0]?.days;
  await storeUnified(db, "complete", unifiedLedger(seededRandom("complete")));
  expect(await complete()).toBeGreaterThan(8);
  await db.execute(sql`
    update ledgers
    set covered = '{}'
    where account = 'complete'
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
    await inTransaction(db, (tx) => upsertBills(tx, [{ ledger: { account, productType }, bills }]));
    // As reconcile learns it from the balances.
    await db.execute(sql`
      insert into wallet_rules (
        account, product_type, category, business_type, counts_amount, counts_fee, counts_coupon, is_testable,
        tested, fitting
      )
      values (${account}, ${productType}, 'trade', 'CLOSE_LONG', true, ${countsFee}, false, true, 9, 9)`);
    const { rows } = await db.execute<{ told: string }>(sql`
      select unnest(array[
        'profit ' || sum(realised_pnl),
        'fee ' || sum(fees_paid + fee_rebates),
        'funding ' || sum(funding_received + funding_paid)
      ]) as told
      from analytics.by_symbol_day
      where account = ${account}`);
    expect(rows.map(({ told }) => told.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""))).toEqual(
      expected,
    );
  },
);
