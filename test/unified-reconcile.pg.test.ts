// A unified account's balances follow across all its categories, whatever its API does; none is judged before
// all were read (ledgers of every type; a real trade). Its rows may be dated seconds before they are booked, with
// others of the same coin in between: they are one trail, or one is missing.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { unifiedProductTypes } from "../src/core/contract/product-types.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { epochMs, hourMs } from "../src/lib/time.ts";
import { snowflake } from "../src/wings/sandbox/entry.ts";
import { decimalText, units } from "../src/wings/sandbox/money.ts";
import { pick, seededRandom } from "../src/wings/sandbox/random.ts";
import { aBill, billAt } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { coverLedger, storeBills, storeEnd } from "./support/stored-ledger.ts";
import {
  storeUnified,
  type UnifiedBill,
  type UnifiedHabits,
  unifiedEnd,
  unifiedLedger,
  unifiedStart,
} from "./support/unified-ledger.ts";
import { unproven } from "./support/unproven.ts";

const { db } = await fileDatabase();

/** A check, after which each balance that does not follow is one that it found. */
async function check(account: string, isFull = false) {
  const checked = await reconcile(db, { accounts: [account], productTypes: undefined }, { isFull });
  for (const from of [undefined, unifiedStart + 3 * hourMs, (unifiedStart + unifiedEnd) / 2])
    expect(await unproven(db, [account], { from })).toEqual([]);
  return checked;
}

const uncovered = { uncovered: [...unifiedProductTypes] };

/** What each bill moved by the views, and what it truly moved. */
async function wronglyMoved(account: string, bills: readonly UnifiedBill[]) {
  const { rows } = await db.execute<
    Record<"product_type" | "bill_id" | "amount" | "fee", string>
  >(sql`
    select
      product_type,
      bill_id,
      trim_scale(wallet_amount)::text as amount,
      trim_scale(wallet_fee)::text as fee
    from analytics.entries
    where account = ${account}`);
  const shown = new Map(rows.map((row) => [`${row.product_type}/${row.bill_id}`, row]));
  return bills.flatMap((bill) => {
    const row = shown.get(`${bill.productType}/${bill.billId}`);
    const isRight =
      row?.amount === decimalText(bill.movedAmount) && row.fee === decimalText(bill.movedFee);
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
  const own = bills.filter(({ category }) => category === "liquidation");
  return [...Map.groupBy(own, ({ coin }) => coin)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([coin, of]) => [
      coin,
      decimalText(of.reduce((sum, { movedAmount }) => sum + movedAmount, 0n)),
      decimalText(of.reduce((sum, { movedFee }) => sum + movedFee, 0n)),
    ]);
}

const conversions = [
  ...["LIQ_CONVERT_SYS_IN", "LIQ_CONVERT_SYS_OUT", "SMALL_ASSET_SOURCE_TOKEN_SYS_IN"],
];
const habits: Readonly<Record<string, UnifiedHabits>> = {
  "all fees inside the amount": {},
  "fees of futures beside the amount": { feesBeside: ["trade", "liquidation"] },
  "all fees beside the amount": { feesBeside: ["spot", "trade", "liquidation"] },
  "one type with its fee beside the amount": { feesBeside: ["CLOSE_LONG", "OPEN_LONG"] },
  "the exchange's side of a conversion moves nothing": { still: ["margin", ...conversions] },
  "margin moves leave the balance, of some types": { still: ["MARGIN_BACK", "FIXED_BACK"] },
  "ids of one category are in another one": { areIdsReused: true },
};

test.each(Object.entries(habits))(
  "a unified account's balances chain over all categories, whatever its habits: %s",
  async (name, habit) => {
    const bills = unifiedLedger(seededRandom(name), habit);
    await storeUnified(db, name, bills);
    const { chains, breaks, rules } = await check(name);
    expect(breaks).toEqual([]);
    expect(chains.map(({ wallet, coin }) => `${wallet} ${coin}`)).toEqual([
      ...["UTA BGB", "UTA BTC", "UTA USDT", "UTA rTOWN"],
    ]);
    expect(chains.reduce((sum, chain) => sum + chain.bills, 0)).toBe(bills.length);
    expect(rules.filter(({ isTestable }) => !isTestable)).toEqual([]);
    // A type of at most two bills, or without a fee, may not show which rule it has.
    expect(await wronglyMoved(name, bills)).toEqual([]);
    expect(await liquidated(name)).toEqual(liquidatedOf(bills));
  },
);

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
    const missing = decimalText(lost.movedAmount + lost.movedFee);
    const wanted = [
      {
        ...{ kind: "balance", ledger: "UTA", coin: "USDT", state: "open" },
        difference: expect.stringMatching(new RegExp(`^${missing}0*$`)),
        ...{ firstBadBill: bad.billId, firstBadProductType: bad.productType },
        ...{ lastGoodBill: good.billId, lastGoodProductType: good.productType },
      },
    ];
    expect((await check(account)).breaks).toMatchObject(wanted);
    // The check of one category still reads the balances of all.
    const one = { accounts: [account], productTypes: [lost.productType] };
    expect((await reconcile(db, one, { isFull: true })).breaks).toMatchObject(wanted);
    await storeUnified(db, account, [lost], uncovered);
    const { breaks, isFull } = await check(account);
    expect(breaks).toEqual([]);
    expect(isFull).toBe(true);
  });

  test("is not told before all categories were read, nor is a day called reconciled", async () => {
    const account = "half";
    const bills = unifiedLedger(seededRandom(account));
    const isOther = ({ productType }: UnifiedBill) => productType === "UTA-OTHER";
    const early = bills.filter((bill) => !isOther(bill));
    await storeUnified(db, account, early, { uncovered: ["UTA-OTHER"] });
    const half = await check(account);
    expect(half.breaks).toEqual([]);
    expect(half.chains.map(({ days }) => days.reconciled + days.broken)).toEqual([0, 0, 0, 0]);
    await inTransaction(db, async (tx) => {
      const ledger = { account, productType: "UTA-OTHER" } as const;
      await upsertBills(tx, [{ ledger, bills: bills.filter(isOther) }]);
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
    await coverLedger(db, { account, productType }, from, unifiedEnd);
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
    expect((await check(account)).breaks.length).toBeGreaterThan(20);
  });
});

test("what does not follow behind the end of an ended ledger is told, beside time that was not read", async () => {
  const account = "ended";
  const ledger = { account, productType: "USDT-FUTURES" } as const;
  const bills = [10, 20, 35].map((balance, hour) =>
    billAt(unifiedStart + hour * hourMs, 0, { amount: "10", fee: "0", balance: `${balance}` }),
  );
  await storeBills(db, ledger, bills);
  await coverLedger(db, ledger, unifiedStart, unifiedStart + hourMs + 1);
  const kinds = async () => (await check(account)).breaks.map(({ kind }) => kind);
  expect(await kinds()).toEqual([]);
  await storeEnd(db, { account, productType: "USDT-FUTURES" }, Date.now());
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

test.each([false, true])(
  "a contract's result has no fee in it, whether the fee is beside the amount: %s",
  async (countsFee) => {
    const [account, productType] = [`fee beside ${countsFee}`, "UTA-USDT-FUTURES"] as const;
    const trade = { businessType: "CLOSE_LONG", amount: "-2.3", fee: "-0.3", balance: null };
    const funding = { ...trade, businessType: "CONTRACT_MAIN_SETTLE_FEE_USER_IN", amount: "1.5" };
    const bills = [aBill({ ...trade, billId: "1" }), aBill({ ...funding, billId: "2", fee: "0" })];
    await storeBills(db, { account, productType }, bills);
    // As reconcile learns it from the balances.
    await db.execute(sql`
    insert into wallet_rules (
      account, product_type, category, business_type, counts_amount, counts_fee, counts_coupon, is_testable,
      tested, fitting
    )
    values (${account}, ${productType}, 'trade', 'CLOSE_LONG', true, ${countsFee}, false, true, 9, 9)`);
    const { rows } = await db.execute(sql`
    select
      sum(realised_pnl)::float8 as profit,
      sum(fees_charged + fees_credited)::float8 as fee,
      sum(funding_received + funding_paid)::float8 as funding
    from analytics.by_symbol_day
    where account = ${account}`);
    expect(rows).toEqual([{ profit: countsFee ? -2.3 : -2, fee: -0.3, funding: 1.5 }]);
  },
);

const ledgerOf = (account: string, areIdsReused = false) =>
  unifiedLedger(seededRandom(account), { areSomeLate: true, areIdsReused });

/** On how many bills and days an account's balances do not follow. */
async function offs(account: string) {
  const { rows } = await db.execute(sql`
    select
      (
        select count(*)::int
        from analytics.activity
        where account = ${account} and discrepancy + unreconciled <> 0
      ) as activity,
      (
        select count(*)::int
        from analytics.daily_rollforward
        where account = ${account} and discrepancy + unreconciled <> 0
      ) as days`);
  return rows[0];
}

const none = { activity: 0, days: 0 };

/** Rows of USDT in the order in which they were booked: what each moves, and its time. */
const rowsOf = (rows: readonly (readonly [moved: number, atMs: number])[]): UnifiedBill[] => {
  const row = unifiedLedger(seededRandom("a row")).find(
    ({ productType, coin }) => productType === "UTA-OTHER" && coin === "USDT",
  );
  if (row === undefined) throw new Error("no row");
  let balance = 1_000;
  let latest = 0;
  return rows.map(([moved, atMs], place) => {
    balance += moved;
    latest = Math.max(latest, unifiedStart + hourMs + atMs);
    return {
      ...row,
      billId: snowflake(latest, place),
      businessType: "TRANSFER_IN",
      amount: String(moved),
      balance: String(balance),
      cTime: epochMs(unifiedStart + hourMs + atMs),
    };
  });
};

/** Bills that were booked after one of the same coin with a later time. */
const lateOf = (bills: readonly UnifiedBill[]) =>
  bills.filter((bill, place) =>
    bills.slice(0, place).some((other) => other.coin === bill.coin && other.cTime > bill.cTime),
  );

describe("bills that are booked after their times", () => {
  test.each([
    ["whose ids tell when", false],
    ["whose ids tell nothing", true],
  ])("%s, chain in reconcile and in views", async (name, areIdsReused) => {
    const bills = ledgerOf(name, areIdsReused);
    expect(lateOf(bills).length).toBeGreaterThan(15);
    await storeUnified(db, name, bills);
    expect((await check(name)).breaks).toEqual([]);
    expect(await offs(name)).toEqual(none);
    expect((await check(name, true)).breaks).toEqual([]);
  });

  test("hide none that is missing among them, and none twice", async () => {
    const random = seededRandom("missing");
    for (const account of Array.from({ length: 4 }, (_, index) => `missing ${index}`)) {
      const bills = ledgerOf(account, random() < 0.5);
      const late = new Set(lateOf(bills));
      // Bills beside one that was booked late, and not the last ones.
      const near = bills.filter(
        (bill, place) =>
          place > 20 &&
          place < bills.length - 20 &&
          bill.movedAmount + bill.movedFee !== 0n &&
          [...late].some(
            ({ coin, cTime }) => coin === bill.coin && Math.abs(cTime - bill.cTime) < 3_000,
          ),
      );
      const lost = pick(random, near);
      await storeUnified(
        db,
        account,
        bills.filter((bill) => bill !== lost),
      );
      const { breaks } = await check(account);
      expect(breaks, account).toMatchObject([
        { kind: "balance", ledger: "UTA", coin: lost.coin, state: "open" },
      ]);
      expect(units(breaks[0]?.difference ?? "0")).toBe(lost.movedAmount + lost.movedFee);
      expect(await offs(account)).toEqual({ activity: 1, days: 1 });
      await storeUnified(db, account, [lost], uncovered);
      const { breaks: left, isFull } = await check(account);
      expect({ account, left }).toEqual({ account, left: [] });
      expect(await offs(account)).toEqual(none);
      expect(isFull).toBe(true);
    }
  });

  test("are breaks where a restatement dates them anew, until they are served as before", async () => {
    const account = "restated";
    const bills = ledgerOf(account);
    await storeUnified(db, account, bills);
    expect((await check(account)).breaks).toEqual([]);
    const late = lateOf(bills).find(({ movedAmount, movedFee }) => movedAmount + movedFee !== 0n);
    if (late === undefined) throw new Error("nothing is late");
    const ledger = { account, productType: late.productType };
    const restate = async (byMs: number) => {
      await storeBills(db, ledger, [{ ...late, cTime: epochMs(late.cTime + byMs) }]);
      const { breaks } = await check(account);
      return breaks.filter(({ kind }) => kind !== "restated").length;
    };
    expect(await restate(-30 * hourMs)).toBeGreaterThan(0);
    expect(await restate(0)).toBe(0);
    expect(await offs(account)).toEqual(none);
  });
});

// Each of these few rows is a case of its own.
describe("rows that are dated before they are booked", () => {
  test("are not judged where they lie in the last seconds of what was read: what was booked before them may be dated behind it", async () => {
    const account = "the end";
    const readTo = unifiedStart + hourMs + 10_000;
    // By its time, the last bill is before the second. It was booked after it.
    const bills = rowsOf([
      [1, 0],
      [2, 10_500],
      [3, 9_000],
      [4, hourMs],
    ]);
    const stored = bills.filter(({ cTime }) => cTime < readTo);
    expect(stored).toHaveLength(2);
    await storeUnified(db, account, stored, uncovered);
    const cover = async (from: number, to: number) => {
      for (const productType of unifiedProductTypes)
        await coverLedger(db, { account, productType }, from, to);
    };
    await cover(unifiedStart, readTo);
    expect((await check(account)).breaks).toEqual([]);
    await storeUnified(db, account, bills.slice(1), uncovered);
    await cover(readTo, unifiedStart + 3 * hourMs);
    expect((await check(account)).breaks).toEqual([]);
    expect(await offs(account)).toEqual(none);
  });

  test("and are due at midnight are of the day that begins, as those are that were booked before them", async () => {
    const account = "midnight";
    const midnight = 23 * hourMs;
    const bills = rowsOf([
      [1, 0],
      [2, midnight - 300],
      [3, midnight + 700],
      [4, midnight],
      [5, midnight + 1_600],
      [6, midnight + hourMs],
    ]);
    await storeUnified(db, account, bills);
    expect((await check(account)).breaks).toEqual([]);
    expect(await offs(account)).toEqual(none);
    const { rows } = await db.execute(sql`
      select day::text, opening::int, transfers_in::int as moved, closing::int as closing
      from analytics.daily_rollforward
      where account = ${account} and bills > 0
      order by day`);
    expect(rows).toEqual([
      { day: "2026-10-01", opening: 1_000, moved: 3, closing: 1_003 },
      { day: "2026-10-02", opening: 1_003, moved: 18, closing: 1_021 },
    ]);
  });
});
