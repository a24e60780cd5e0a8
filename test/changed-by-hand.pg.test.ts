// Holds: Stored days

import { sql } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { inTransaction } from "../src/db/connect.ts";
import { findDifferingDays } from "../src/ledger/differing-days.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { fileDatabase } from "./support/database.ts";
import { damages } from "./support/ledger-damage.ts";
import { smallLedger, storeLedgers, type TrueBill } from "./support/small-ledger.ts";

// Rows that somebody changes directly in the tables are not in the stored days. A check that finds a break, or
// no longer finds one, looks at all bills, and adds the days up anew.

const { tables } = await fileDatabase();
const { db } = tables;

const seedsOfEach = 2;
const cases = Object.entries(damages).flatMap(([name, damage]) =>
  Array.from({ length: seedsOfEach }, (_, seed) => {
    const account = `${name}/${seed}`;
    const random = seededRandom(account);
    const bills = smallLedger(random, seed % 2 === 0 ? {} : { missingPercent: 30 });
    return { account, bills, damaged: damage.does(bills, random).bills };
  }),
);

/** The accounts in which a check of what changed finds breaks; not that rows were deleted, which stays. */
async function brokenAccounts(): Promise<readonly string[]> {
  const everything = { accounts: undefined, productTypes: undefined };
  const { breaks } = await reconcile(db, everything, { isFull: false });
  const others = breaks.filter(({ kind }) => kind !== "deleted");
  return [...new Set(others.map(({ account }) => account))];
}

/** Turns one ledger into the other directly in the table. */
async function changeByHand(account: string, from: readonly TrueBill[], to: readonly TrueBill[]) {
  const ledger = { account, productType: "USDT-FUTURES" } as const;
  const [before, after] = [from, to].map(
    (bills) => new Map(bills.map((bill) => [bill.billId, bill])),
  );
  await inTransaction(db, async (tx) => {
    for (const { billId } of from) {
      if (!after?.has(billId))
        await tx.execute(sql`delete from bills where account = ${account} and bill_id = ${billId}`);
    }
    for (const bill of to) {
      const { billId, amount, fee, balance } = bill;
      if (!before?.has(billId)) await upsertBills(tx, [{ ledger, bills: [bill] }]);
      await tx.execute(sql`
        update bills
        set amount = ${amount}, fee = ${fee}, balance = ${balance}
        where account = ${account}
          and bill_id = ${billId}
          and (amount, fee, balance) is distinct from (${amount}::numeric, ${fee}::numeric, ${balance}::numeric)`);
    }
  });
}

async function wrongDaysOf(accounts: readonly string[]) {
  const days = await Promise.all(accounts.map((account) => findDifferingDays(db, account)));
  return days.flat();
}

beforeAll(async () => {
  await storeLedgers(db, new Map(cases.map(({ account, bills }) => [account, bills])));
  expect(await brokenAccounts()).toEqual([]);
});

test("days are what the bills say wherever a break shows what was done by hand, and where it is undone", async () => {
  for (const { account, bills, damaged } of cases) await changeByHand(account, bills, damaged);
  expect((await wrongDaysOf(cases.map(({ account }) => account))).length).toBeGreaterThan(
    cases.length / 2,
  );
  const broken = await brokenAccounts();
  expect(broken.length).toBeGreaterThan(cases.length / 2);
  expect(await wrongDaysOf(broken)).toEqual([]);
  for (const { account, bills, damaged } of cases) await changeByHand(account, damaged, bills);
  expect(await brokenAccounts()).toEqual([]);
  expect(await wrongDaysOf(broken)).toEqual([]);
});
