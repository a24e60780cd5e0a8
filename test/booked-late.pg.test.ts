import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { unifiedProductTypes } from "../src/contract/product-types.ts";
import { bookedMaxMs, epochMs, hourMs } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import type { ExportedBill } from "../src/export/exported-bill.ts";
import { readBills } from "../src/export/read-bills.ts";
import { findDifferingDays } from "../src/ledger/differing-days.ts";
import { snowflake } from "../src/sandbox/entry.ts";
import { decimalText, unifiedPlaces, units } from "../src/sandbox/money.ts";
import { pick, seededRandom } from "../src/sandbox/random.ts";
import { fileDatabase } from "./support/database.ts";
import { coverLedger, storeBills } from "./support/stored-ledger.ts";
import {
  storeUnified,
  type UnifiedBill,
  unifiedLedger,
  unifiedStart,
} from "./support/unified-ledger.ts";

// A unified account's rows may be dated seconds before they are booked, with others of the same coin in
// between. The balances show the order, and all that shows bills follows it.

const { db } = await fileDatabase();

const check = (account: string, isFull = false) =>
  reconcile(db, { accounts: [account], productTypes: undefined }, { isFull });
const ledgerOf = (account: string, areIdsReused = false) =>
  unifiedLedger(seededRandom(account), { areSomeLate: true, areIdsReused });
const uncovered = { uncovered: [...unifiedProductTypes] };

const exact = (text: string) => units(text, unifiedPlaces);

async function exportedOf(account: string) {
  const found: ExportedBill[] = [];
  await inTransaction(db, async (tx) => {
    for await (const page of readBills(tx, { accounts: [account] })) found.push(...page);
  });
  return found;
}

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

const keyOf = ({
  productType,
  billId,
}: {
  readonly productType: string;
  readonly billId: string;
}) => `${productType}/${billId}`;

/** Bills that were booked after one of the same coin with a later time. */
const lateOf = (bills: readonly UnifiedBill[]) =>
  bills.filter((bill, place) =>
    bills.slice(0, place).some((other) => other.coin === bill.coin && other.cTime > bill.cTime),
  );

describe("bills that are booked after their times", () => {
  test.each([
    ["whose ids tell when", false],
    ["whose ids tell nothing", true],
  ])(
    "%s, chain in reconcile, in views, in stored days and in exports",
    async (name, areIdsReused) => {
      const bills = ledgerOf(name, areIdsReused);
      expect(lateOf(bills).length).toBeGreaterThan(15);
      await storeUnified(db, name, bills);
      expect(await offs(name)).not.toEqual(none);
      expect((await check(name)).breaks).toEqual([]);
      expect(await offs(name)).toEqual(none);
      expect(await findDifferingDays(db, name)).toEqual([]);
      expect((await check(name, true)).breaks).toEqual([]);
      // The order is not just any one that chains: except for bills that move nothing, it is the order in
      // which they were booked.
      const order = new Map(bills.map((bill, place) => [keyOf(bill), place]));
      const moving = (await exportedOf(name)).filter(
        ({ walletAmount, walletFee }) => exact(walletAmount) + exact(walletFee) !== 0n,
      );
      for (const coin of new Set(bills.map((bill) => bill.coin))) {
        const places = moving
          .filter((bill) => bill.coin === coin && bill.balance !== null)
          .map((bill) => order.get(keyOf(bill)) ?? -1);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }
    },
  );

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
      const missing = decimalText(lost.movedAmount + lost.movedFee, "needed", unifiedPlaces);
      const { breaks } = await check(account);
      expect(breaks, account).toMatchObject([
        { kind: "chain", ledger: "UTA", coin: lost.coin, state: "open" },
      ]);
      expect(exact(breaks[0]?.difference ?? "0")).toBe(exact(missing));
      expect(await offs(account)).toEqual({ activity: 1, days: 1 });
      await storeUnified(db, account, [lost], uncovered);
      const { breaks: left, isFull } = await check(account);
      expect({ account, left }).toEqual({ account, left: [] });
      expect(await offs(account)).toEqual(none);
      expect(isFull).toBe(true);
    }
  });

  test("are forgotten where a restatement dates them anew", async () => {
    const account = "restated";
    const bills = ledgerOf(account);
    await storeUnified(db, account, bills);
    await check(account);
    const { rows } = await db.execute<{ product_type: string; bill_id: string }>(sql`
      select product_type, bill_id
      from bill_order
      where account = ${account} and booked_at is not null
      order by bill_id
      limit 1`);
    const [learned] = rows;
    const late = bills.find(
      (bill) => bill.productType === learned?.product_type && bill.billId === learned.bill_id,
    );
    if (late === undefined) throw new Error("nothing is late");
    const ledger = { account, productType: late.productType };
    const restate = async (byMs: number) => {
      await storeBills(db, ledger, [{ ...late, cTime: epochMs(late.cTime + byMs) }]);
      const { breaks } = await check(account);
      const { rows: wrong } = await db.execute(sql`
        select bills.bill_id
        from bill_order
        join bills using (account, product_type, bill_id)
        where booked_at not between c_time and c_time + ${bookedMaxMs} * interval '1 millisecond'`);
      expect(wrong).toEqual([]);
      return breaks.filter(({ kind }) => kind !== "restatement").length;
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
    expect(await offs(account)).not.toEqual(none);
    expect((await check(account)).breaks).toEqual([]);
    expect(await offs(account)).toEqual(none);
    expect(await findDifferingDays(db, account)).toEqual([]);
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
