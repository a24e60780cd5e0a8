import { sql } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { Bill } from "../src/contract/bill.ts";
import { dayMs, epochMs, hourMs } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { mapType } from "../src/db/reference/stored-business-types.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { decimalText, units } from "../src/sandbox/money.ts";
import { integer, pick, type Random, seededRandom } from "../src/sandbox/random.ts";
import { fileDatabase } from "./support/database.ts";
import { type Damage, damages } from "./support/ledger-damage.ts";
import { comparedViews, differingRows, makeReferenceViews } from "./support/reference-views.ts";
import { type Habits, smallLedger, storeLedgers } from "./support/small-ledger.ts";

// Each view is compared, row by row, with its definition from when it read only bills: over damaged and
// undamaged ledgers, after every kind of change.

const { tables } = await fileDatabase();
const { db } = tables;

const habits: readonly Habits[] = [
  {},
  { missingPercent: 30 },
  { missingPercent: 100 },
  { missingPercent: 90, rounds: true },
  { marginMoves: true },
  { couponMoves: true },
  { rounds: true },
  { erratic: "settle_interest" },
];

const ledgers = new Map<string, readonly Bill[]>();
const everything = { accounts: undefined, productTypes: undefined };
beforeAll(async () => {
  await makeReferenceViews(db);
  const kinds: Readonly<Record<string, Damage | undefined>> = { ...damages, nothing: undefined };
  const unread = new Map<string, readonly [number, number]>();
  for (const [kind, [name, damage]] of Object.entries(kinds).entries()) {
    for (const [index, habit] of habits.entries()) {
      // Each kind of exchange with every other damage. All combinations would take three times as long.
      if ((kind + index) % 3 > 0) continue;
      const account = `${name}/${index}`;
      const random = seededRandom(account);
      const ledger = smallLedger(random, habit);
      const damaged = damage?.does(ledger, random);
      if (damaged?.unread !== undefined) unread.set(account, damaged.unread);
      // Differences in places and contents between otherwise equal bills: a coin, a contract, a field.
      const bills = (damaged?.bills ?? ledger).map(({ moved: _, ...bill }) => ({
        ...bill,
        coin: index === 0 && random() < 0.4 ? "BTC" : bill.coin,
        symbol: pick(random, [null, "BTCUSDT", "ETHUSDT"]),
        extra: random() < 0.05 ? { more: "1" } : null,
      }));
      ledgers.set(account, bills);
    }
  }
  await storeLedgers(db, ledgers, { unread });
});

/** Compares every view with the bills. */
async function expectExact(): Promise<void> {
  for (const name of comparedViews) {
    expect({ name, differing: await differingRows(db, name) }).toEqual({ name, differing: [] });
  }
}

test("of bills that were never reconciled", expectExact);

test("after a check, which learns rules and orders milliseconds", async () => {
  await reconcile(db, everything, { isFull: true });
  await expectExact();
});

test("where reconcile judged a part of a day only", async () => {
  await db.execute(sql`
    update reconciled_chains
    set reconciled_through = timestamptz '2026-03-04T11:30Z' + interval '7 hours' * (abs(hashtext(account)) % 20)`);
  await db.execute(sql`
    update reconciled_chains
    set reconciled_at = null
    where account like '%/2'`);
  await expectExact();
});

const changes: readonly ((random: Random, bill: Bill) => Bill)[] = [
  (random, bill) => ({ ...bill, cTime: epochMs(bill.cTime + integer(random, -3, 3) * dayMs) }),
  (_, bill) => ({ ...bill, balance: null }),
  (random, bill) => ({
    ...bill,
    amount: decimalText(units(bill.amount) + BigInt(integer(random, -2, 2))),
  }),
  (_, bill) => ({
    ...bill,
    balance: bill.balance === null ? "17" : decimalText(units(bill.balance) + units("0.5")),
  }),
  (random, bill) => ({ ...bill, coin: pick(random, ["USDT", "BTC", "ETH"]) }),
  (_, bill) => ({ ...bill, businessType: "open_long", symbol: "XRPUSDT", fee: "-0.5" }),
  (random, bill) => ({
    ...bill,
    billId: `${bill.billId}9`,
    cTime: epochMs(bill.cTime + integer(random, 0, 5) * hourMs),
  }),
];

async function changeBills(random: Random): Promise<void> {
  await inTransaction(db, async (tx) => {
    for (const [account, bills] of ledgers) {
      if (random() < 0.5) continue;
      const changed = Array.from({ length: integer(random, 1, 6) }, () =>
        pick(random, changes)(random, pick(random, bills)),
      );
      await upsertBills(tx, [{ stream: { account, productType: "USDT-FUTURES" }, bills: changed }]);
    }
  });
}

test.each([1, 2, 3])(
  "after bills changed, moved to other days and came late (%i)",
  async (round) => {
    await changeBills(seededRandom(`changes ${round}`));
    await expectExact();
  },
);

test("after a check of what changed", async () => {
  await reconcile(db, everything, { isFull: false });
  await expectExact();
});

test("after a type was given another category, and another one back", async () => {
  await mapType(db, "contract_settle_fee", "interest");
  await expectExact();
  await mapType(db, "open_long", "margin");
  await expectExact();
});
