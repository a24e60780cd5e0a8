// A break's life; a real ledger adds up.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { readFindings } from "../src/check/health/findings.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { decideOnBreaks } from "../src/check/reconcile/record-breaks.ts";
import { resultOfReconcile } from "../src/commands/reconcile.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/lib/time.ts";
import { snowflake } from "../src/wings/sandbox/entry.ts";
import { decimalText, units } from "../src/wings/sandbox/money.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { billAt } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { realBills } from "./support/export.ts";
import { shuffled } from "./support/shuffled.ts";
import { smallLedger, smallLedgerStart, storeLedgers } from "./support/small-ledger.ts";
import { coverLedger, storeBills } from "./support/stored-ledger.ts";

const { db } = await fileDatabase();

let accounts = 0;
const newAccount = () => `account-${++accounts}`;
const of = (account: string) => ({ accounts: [account], productTypes: undefined });
const check = (account: string, isFull = false) => reconcile(db, of(account), { isFull });
const accept = (breakId: number, note: string) =>
  decideOnBreaks(db, { breakIds: [breakId], isAccept: true, note, by: null });
const store = (account: string, bills: readonly Bill[]) =>
  storeBills(db, { account, productType: "USDT-FUTURES" }, bills);

/** Bills an hour apart that move the balance by these amounts. */
function plainLedger(amounts: readonly string[]): Bill[] {
  let balance = units("1000");
  return amounts.map((amount, index) => {
    balance += units(amount);
    const money = { amount, fee: "0", balance: decimalText(balance) };
    return billAt(smallLedgerStart + index * hourMs, 0, money);
  });
}

const tens = Array.from({ length: 12 }, () => "10");
const without = (bills: readonly Bill[], index: number) => bills.toSpliced(index, 1);

/** Stores a ledger without its sixth bill. */
async function brokenLedger(): Promise<{ account: string; bills: readonly Bill[] }> {
  const account = newAccount();
  const bills = plainLedger(tens);
  await storeLedgers(db, new Map([[account, without(bills, 5)]]));
  return { account, bills };
}

const states = async (account: string) => {
  const { rows } = await db.execute<Record<"kind" | "state" | "difference" | "note", string>>(sql`
    select kind, state, difference::text, note
    from ledger_breaks
    where account = ${account}
    order by break_id`);
  return rows.map(({ kind, state, difference, note }) => [kind, state, difference, note]);
};

describe("a break", () => {
  test("says between which bills, what is off, and when it was first seen", async () => {
    const { account, bills } = await brokenLedger();
    const { breaks, chains } = await check(account);
    expect(breaks).toMatchObject([
      {
        kind: "balance",
        expected: "1060",
        observed: "1070",
        difference: "10",
        firstBadBill: bills[6]?.billId,
        lastGoodBill: bills[4]?.billId,
        happenedAt: "2026-03-01T06:00:00.000Z",
        explanation:
          "one of three: bills that add up to 10 are missing before this one; bills before it that add up to -10 " +
          "do not belong there; the amount, the fee or the balance of this one is wrong by as much",
        state: "open",
      },
    ]);
    expect(chains).toMatchObject([
      { bills: 11, tested: 10, days: { reconciled: 0, incomplete: 0, broken: 1 } },
    ]);
    expect((await check(account, true)).breaks[0]?.firstSeenAt).toBe(breaks[0]?.firstSeenAt);
  });

  test("is resolved once the bill that was missing is stored, accepted or not, and comes back as the same one", async () => {
    const { account, bills } = await brokenLedger();
    const [found] = (await check(account)).breaks;
    await store(account, bills);
    expect((await check(account)).breaks).toEqual([]);
    expect(await states(account)).toEqual([["balance", "resolved", "10", null]]);
    await db.execute(
      sql`delete from bills where account = ${account} and bill_id = ${bills[5]?.billId}`,
    );
    const again = (await check(account, true)).breaks;
    expect(again.map(({ breakId }) => breakId)).toEqual([found?.breakId]);
    await accept(found?.breakId ?? 0, "asked support");
    await check(account, true);
    expect(await states(account)).toEqual([["balance", "accepted", "10", "asked support"]]);
    await store(account, bills);
    await check(account);
    expect(await states(account)).toEqual([["balance", "resolved", "10", "asked support"]]);
  });

  test("beside a day that was not read says so, and the day is not called reconciled", async () => {
    const account = newAccount();
    const bills = plainLedger(Array.from({ length: 24 * 4 }, () => "1"));
    const from = smallLedgerStart + dayMs;
    await storeLedgers(
      db,
      new Map([[account, bills.filter(({ cTime }) => cTime < from || cTime >= from + dayMs)]]),
      { unread: new Map([[account, [from, from + dayMs]]]) },
    );
    const { breaks, chains } = await check(account);
    expect(breaks).toMatchObject([
      {
        kind: "unread",
        difference: "24",
        explanation: expect.stringContaining(
          "2026-03-02T00:00:00.000Z to 2026-03-03T00:00:00.000Z",
        ),
      },
    ]);
    expect(chains).toMatchObject([{ days: { reconciled: 2, incomplete: 0, broken: 1 } }]);
  });

  test("in time that is not covered yet is not judged before it is, and then is found", async () => {
    const account = newAccount();
    const bills = plainLedger(tens);
    await storeLedgers(db, new Map([[account, without(bills, 5)]]), {
      unread: new Map([[account, [smallLedgerStart + 2 * hourMs, smallLedgerStart + 40 * dayMs]]]),
    });
    await db.execute(sql`
      update bills
      set ingested_at = ingested_at - interval '1 hour'
      where account = ${account}`);
    const first = await check(account);
    expect(first.breaks).toEqual([]);
    expect(first.chains).toMatchObject([{ days: { reconciled: 0, incomplete: 1 } }]);
    expect(first.rules).toMatchObject([{ category: "trade", tested: 9, fitting: 9 }]);
    // No new bill is stored; only more time is covered.
    await db.execute(sql`
      update ledgers
      set covered = tstzmultirange(tstzrange(lower(covered), lower(covered) + interval '1 day'))
      where account = ${account}`);
    expect((await check(account)).breaks).toMatchObject([{ kind: "balance", difference: "10" }]);
  });
});

test("restatements are open until they are accepted, and later ones are open again", async () => {
  const account = newAccount();
  const bills = plainLedger(tens);
  await storeLedgers(db, new Map([[account, bills]]));
  expect((await check(account)).breaks).toEqual([]);
  const restated = (index: number) =>
    bills.slice(index, index + 1).map((bill) => ({ ...bill, symbol: "ETHUSDT" }));
  await store(account, restated(3));
  const [first] = (await check(account)).breaks;
  expect(first).toMatchObject({ kind: "restated", observed: "1" });
  await accept(first?.breakId ?? 0, "asked them");
  expect((await check(account)).breaks).toEqual([]);
  await store(account, restated(4));
  const [second] = (await check(account)).breaks;
  expect(second).toMatchObject({ kind: "restated", observed: "1" });
  expect(second?.breakId).not.toBe(first?.breakId);
  // The user who signs that one off has not seen what a sync stored since.
  await store(account, restated(5));
  await accept(second?.breakId ?? 0, "asked them again");
  expect((await check(account)).breaks).toMatchObject([{ kind: "restated", observed: "1" }]);
  // How many bills were restated is no difference of amounts: those of several ledgers are one line.
  const findings = await readFindings(db, { accounts: [account], now: epochMs(Date.now()) });
  expect(findings.find(({ kind }) => kind === "restated")).toMatchObject({ difference: null });
});

test("a type whose bills fit nothing is untestable, and no break", async () => {
  const account = newAccount();
  const bills = smallLedger(seededRandom("erratic"), { erratic: "settle_interest" });
  await storeLedgers(db, new Map([[account, bills]]));
  const result = await check(account);
  const { breaks, rules } = result;
  expect(breaks).toEqual([]);
  const partsOf = (isFull: boolean) => resultOfReconcile({ ...result, isFull }, 2).parts;
  expect(partsOf(true)).toContain(
    "nothing is open: apart from what no rule explains and 2 accepted breaks, the ledger adds up",
  );
  expect(partsOf(false)).toContain("no new break in what changed; --full checks all");
  expect(rules.filter(({ isTestable }) => !isTestable)).toMatchObject([
    { category: "interest", businessType: "settle_interest", fitting: 0 },
  ]);
});

/** Of each six bills an hour apart, the third moves the balance by 1.5 less than it says. */
function oddLedger(count: number): Bill[] {
  let balance = units("1000");
  return Array.from({ length: count }, (_, index) => {
    const isOdd = index % 6 === 2;
    const [amount, off] = isOdd ? ["-30", "-1.5"] : ["10", "0"];
    balance += units(amount) + units(off);
    const businessType = isOdd ? "trans_to_exchange" : "trans_from_exchange";
    const money = { amount, fee: "0", balance: decimalText(balance), businessType };
    return billAt(smallLedgerStart + index * hourMs, 0, money);
  });
}

test("a missing bill is a break though another type of its category fits nothing, and beside such a bill its amount is told", async () => {
  const account = newAccount();
  const bills = oddLedger(24);
  // One is missing before a bill that fits, and one before a bill that never does.
  const stored = bills.filter((_, index) => index !== 10 && index !== 13);
  await storeLedgers(db, new Map([[account, stored]]));
  const { breaks, unexplained } = await check(account);
  expect(breaks).toMatchObject([
    { kind: "balance", difference: "10", firstBadBill: bills[11]?.billId },
  ]);
  const [sum] = unexplained;
  // 1.5 three times, and 10 - 1.5.
  expect(sum).toMatchObject({
    balances: 4,
    higher: "8.5",
    lower: "4.5",
    types: "trans_to_exchange",
  });
  expect(unexplained).toHaveLength(1);
});

test("what is unexplained is kept by checks of what changed, and goes where its bills come", async () => {
  const account = newAccount();
  const bills = oddLedger(200);
  await storeLedgers(db, new Map([[account, without(bills, 13).slice(0, 190)]]));
  const sums = async (isFull = false) => {
    const { unexplained, ...checked } = await check(account, isFull);
    const [{ balances, higher, lower } = { balances: 0 }] = unexplained;
    return { balances, higher, lower, isFull: checked.isFull };
  };
  const first = await sums();
  expect(first).toMatchObject({ balances: 32, higher: "8.5", lower: "46.5" });
  await store(account, bills.slice(190, 196));
  expect(await sums()).toMatchObject({ balances: 33, higher: "8.5", lower: "48" });
  await db.execute(sql`update bills set ingested_at = ingested_at - interval '1 day'`);
  await store(account, bills.slice(196, 198));
  const kept = { balances: 33, higher: "8.5", lower: "48", isFull: false };
  expect(await sums()).toMatchObject(kept);
  await store(account, bills.slice(13, 14));
  expect(await sums()).toMatchObject({ balances: 33, higher: "0", lower: "49.5" });
  expect(await sums(true)).toMatchObject({ balances: 33, higher: "0", lower: "49.5" });
});

test("a real ledger, of which the public listing leaves some days out, adds up but over those days, roundings aside, whatever the order of its ids", async () => {
  const account = newAccount();
  const counters = shuffled(seededRandom("real"), [...realBills().keys()]);
  const bills = realBills().map((bill, index) => ({
    ...bill,
    billId: snowflake(bill.cTime, counters[index] ?? 0),
  }));
  await storeLedgers(db, new Map([[account, bills]]));
  const { breaks, chains } = await check(account);
  expect(chains).toMatchObject([{ bills: 80, tested: 79, rounded: 15 }]);
  expect(breaks).toMatchObject([{ kind: "unread", difference: "336.26324907" }]);
  const dayOf = (id: string | null | undefined) =>
    isoTime(bills.find(({ billId }) => billId === id)?.cTime ?? epochMs(0)).slice(0, 10);
  expect([breaks[0]?.lastGoodBill, breaks[0]?.firstBadBill].map(dayOf)).toEqual([
    ...["2025-02-22", "2025-02-27"],
  ]);
});

test("two reconciles at once take turns and come to the same", async () => {
  const { account } = await brokenLedger();
  const results = await Promise.all(
    [false, true, false, true].map((isFull) => check(account, isFull)),
  );
  const ids = results.map(({ breaks }) => breaks.map(({ breakId }) => breakId));
  expect(new Set(ids.map(String)).size).toBe(1);
  expect(ids[0]).toHaveLength(1);
});

test("a break that was accepted as unread is open again, once a part of its time or all was read and brought no bill", async () => {
  const account = newAccount();
  // More than a hundred bills: of fewer, all would be checked for the rule that the break may contradict.
  const bills = plainLedger(Array.from({ length: 24 * 6 }, () => "1"));
  const at = (days: number) => smallLedgerStart + days * dayMs;
  const [from, noon, to] = [at(1), at(1.5), at(2)] as const;
  await storeLedgers(
    db,
    new Map([[account, bills.filter(({ cTime }) => cTime < from || cTime >= to)]]),
    { unread: new Map([[account, [from, to]]]) },
  );
  const [found] = (await check(account)).breaks;
  expect(found?.kind).toBe("unread");
  await db.execute(sql`update bills set ingested_at = ingested_at - interval '1 day'`);
  const read = (start: number, end: number) =>
    coverLedger(db, { account, productType: "USDT-FUTURES" }, start, end);
  await read(from, noon);
  const left = (await check(account)).breaks;
  expect(left[0]?.explanation).toContain(`${isoTime(epochMs(noon))} to ${isoTime(epochMs(to))}`);
  await accept(left[0]?.breakId ?? 0, "too long ago");
  await read(noon, to);
  const { isFull, breaks } = await check(account);
  expect(isFull).toBe(false);
  expect(breaks).toMatchObject([{ kind: "balance", anchor: found?.anchor }]);
  expect((await check(account, true)).breaks).toEqual(breaks);
});

test("each check says when a chain was checked and through when it was read, whether or not it changed", async () => {
  const account = newAccount();
  await storeLedgers(db, new Map([[account, plainLedger(tens)]]));
  const read = async () => {
    const covered = sql`select max(upper(covered)) from ledgers where account = ${account}`;
    const { rows } = await db.execute<{ at: string }>(sql`
      select reconciled_at::text as at, reconciled_through = (${covered}) as is_now
      from reconciled_chains
      where account = ${account}`);
    return rows;
  };
  await check(account);
  const [first] = await read();
  expect(first).toMatchObject({ is_now: true });
  await db.execute(sql`
    update ledgers
    set covered = tstzmultirange(tstzrange(lower(covered), upper(covered) + interval '1 hour'))
    where account = ${account}`);
  await check(newAccount());
  expect(await read()).toEqual([{ ...first, is_now: false }]);
  await check(account);
  const [second] = await read();
  expect([second, second?.at === first?.at]).toMatchObject([{ is_now: true }, false]);
});
