import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { unifiedProductTypes } from "../src/contract/product-types.ts";
import { hourMs } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { findDifferingDays } from "../src/ledger/differing-days.ts";
import { none, offsOf, rowsOf } from "./support/booked-bills.ts";
import { fileDatabase } from "./support/database.ts";
import { coverStream } from "./support/small-ledger.ts";
import { storeUnified, unifiedStart } from "./support/unified-ledger.ts";

// A few rows of a unified account that are dated before they are booked. Each is a case of its own.

const { tables } = await fileDatabase();
const { db } = tables;

const check = (account: string) =>
  reconcile(db, { accounts: [account], productTypes: undefined }, { isFull: false });
const offs = (account: string) => offsOf(db, account);
const uncovered = { uncovered: [...unifiedProductTypes] };

describe("bills that are booked after their times", () => {
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
    const cover = async (from: number, to: number) =>
      inTransaction(db, async (tx) => {
        for (const productType of unifiedProductTypes) {
          await coverStream(tx, { account, productType }, from, to);
        }
      });
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
      select day::text, opening::int, transfers_in::int as moved, reported_closing::int as closing
      from analytics.daily_rollforward
      where account = ${account} and bills > 0
      order by day`);
    expect(rows).toEqual([
      { day: "2026-10-01", opening: 1_000, moved: 3, closing: 1_003 },
      { day: "2026-10-02", opening: 1_003, moved: 18, closing: 1_021 },
    ]);
  });

  test("on another day show three breaks around midnight, which add up to nothing", async () => {
    const account = "another day";
    const midnight = 23 * hourMs;
    const bills = rowsOf([
      [1, 0],
      [3, midnight + 200],
      [4, midnight - 1_000],
      [5, midnight + hourMs],
    ]);
    await storeUnified(db, account, bills);
    const { breaks } = await check(account);
    expect(breaks).toMatchObject([
      { kind: "chain", happenedAt: "2026-10-01T23:59:59.000Z", difference: "3" },
      { kind: "chain", happenedAt: "2026-10-02T00:00:00.200Z", difference: "-7" },
      { kind: "chain", happenedAt: "2026-10-02T01:00:00.000Z", difference: "4" },
    ]);
    const { rows } = await db.execute(sql`
      select day::text, difference::int, reported_closing::int as closing
      from analytics.daily_rollforward
      where account = ${account} and bills > 0
      order by day`);
    expect(rows).toEqual([
      { day: "2026-10-01", difference: 3, closing: 1_008 },
      { day: "2026-10-02", difference: -3, closing: 1_013 },
    ]);
  });
});
