// Holds: Proven balances
// What somebody does to stored rows by hand, and who says so: a report and an export of the period, status, the next
// check of what changed, and a check of all.

import { type SQL, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { chainedLedger } from "../bench/support/chained-ledger.ts";
import { alarms, remedyOf } from "../src/check/health/finding-kinds.ts";
import { readFindings } from "../src/check/health/findings.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { decideOnBreaks } from "../src/check/reconcile/record-breaks.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { withoutZeros } from "../src/lib/decimal.ts";
import { dayMs, epochMs, hourMs } from "../src/lib/time.ts";
import { decimalText, units } from "../src/wings/sandbox/money.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { fileDatabase } from "./support/database.ts";
import { smallLedger, storeLedgers, type TrueBill } from "./support/small-ledger.ts";
import { ledgerOf } from "./support/stored-ledger.ts";
import { unproven } from "./support/unproven.ts";

const { db } = await fileDatabase();
const reconciled = (account: string, isFull: boolean) =>
  reconcile(db, { accounts: [account], productTypes: undefined }, { isFull });

/** A ledger that was read and checked, and the bills that are damaged: among its newest, and alone in their time. */
async function checkedLedger(account: string, hasBalances = true) {
  const drawn = smallLedger(seededRandom("proof"), { missingPercent: 0 });
  const times = Map.groupBy(drawn, ({ cTime }) => cTime);
  const isAlone = ({ cTime }: TrueBill) => times.get(cTime)?.length === 1;
  // A balance among those of one millisecond says nothing of their order: only a check of all tells that it changed.
  const bills = drawn
    .slice(0, drawn.findLastIndex(isAlone) + 1)
    .map((bill) => (hasBalances ? bill : { ...bill, balance: null }));
  await storeLedgers(db, new Map([[account, bills]]));
  // Older than what a check of changes reads again.
  await db.execute(sql`
    update bills set ingested_at = ingested_at - interval '1 day' where account = ${account}`);
  expect((await reconciled(account, true)).breaks).toEqual([]);
  const inner = bills.slice(0, -5);
  const find = (isWanted: (bill: TrueBill) => boolean) => {
    const bill = inner.findLast((one) => isAlone(one) && isWanted(one));
    if (bill === undefined) throw new Error("no bill to damage");
    return bill;
  };
  const newest = bills.at(-1);
  const oldest = bills[0];
  if (newest === undefined || oldest === undefined) throw new Error("no bills");
  return {
    bills,
    moving: find(({ moved, fee }) => moved !== 0n && fee !== "0"),
    still: find(({ moved }) => moved === 0n),
    ...{ newest, oldest },
    now: epochMs(newest.cTime + hourMs),
  };
}
type Damaged = Awaited<ReturnType<typeof checkedLedger>>;

const remove = ({ billId }: TrueBill) => sql`delete from bills where bill_id = ${billId}`;
const change = (set: string, { billId }: TrueBill) =>
  sql`update bills set ${sql.raw(set)} where bill_id = ${billId}`;
const add = ({ billId }: TrueBill) => sql`
  insert into bills
  select (jsonb_populate_record(bills, jsonb_build_object('bill_id', (bill_id::numeric + 1)::text))).*
  from bills
  where bill_id = ${billId}`;

/** Who says so: a report and an export of its time, status, a check of what changed, a check of all. */
type Seen = "report, status, full" | "report, status, changed, full" | "";

const cases: readonly (readonly [what: string, statement: (of: Damaged) => SQL, seen: Seen])[] = [
  ["a bill deleted", ({ moving }) => remove(moving), "report, status, full"],
  [
    "a day deleted",
    ({ moving: { cTime } }) => sql`
      delete from bills
      where c_time between to_timestamp(${(cTime - dayMs / 2) / 1_000}) and to_timestamp(${cTime / 1_000})`,
    "report, status, full",
  ],
  [
    "an amount changed",
    ({ moving }) => change("amount = amount + 1", moving),
    "report, status, full",
  ],
  ["a fee's sign changed", ({ moving }) => change("fee = -fee", moving), "report, status, full"],
  [
    "a balance changed",
    ({ moving }) => change("balance = balance + 1", moving),
    "report, status, full",
  ],
  [
    "the newest balance changed",
    ({ newest }) => change("balance = balance + 1", newest),
    "report, status, full",
  ],
  ["a coin changed", ({ moving }) => change("coin = 'BTC'", moving), "report, status, full"],
  [
    "a time changed by a day",
    ({ moving }) => change("c_time = c_time - interval '1 day'", moving),
    "report, status, full",
  ],
  ["a bill added", ({ moving }) => add(moving), "report, status, full"],
  // What no balance shows.
  ["a bill deleted that moves nothing", ({ still }) => remove(still), ""],
  ["a bill added that moves nothing", ({ still }) => add(still), ""],
  ["the oldest bill deleted", ({ oldest }) => remove(oldest), ""],
  ["the newest bill deleted", ({ newest }) => remove(newest), ""],
  ["all bills deleted", () => sql`delete from bills where true`, ""],
  ["a balance taken away", ({ moving }) => change("balance = null", moving), ""],
  ["a symbol changed", ({ moving }) => change("symbol = 'OTHER'", moving), ""],
  ["an id changed", ({ moving }) => change("bill_id = bill_id || '1'", moving), ""],
  [
    "a time changed by a millisecond",
    ({ moving }) => change("c_time = c_time + interval '1 ms'", moving),
    "",
  ],
  ["nothing", () => sql`select 1 as one from bills where true`, ""],
];

describe.each(cases)("%s", (what, statement, seen) => {
  test(`is told by: ${seen || "nobody"}`, async () => {
    const ledger = await checkedLedger(what);
    await db.execute(sql`${statement(ledger)} and account = ${what}`);
    const { now, oldest } = ledger;
    const told: string[] = [];
    const note = (name: string, isTold: boolean) => told.push(...(isTold ? [name] : []));
    const span = { from: epochMs(oldest.cTime), to: now };
    const findings = (asked: object) => readFindings(db, { accounts: [what], now, ...asked });
    const isBroken = (found: Awaited<ReturnType<typeof findings>>) =>
      found.some(({ kind }) => kind === "broken");
    note("report", isBroken(await findings({ span })));
    note("status", isBroken(await findings({})));
    note("changed", (await reconciled(what, false)).breaks.length > 0);
    note("full", (await reconciled(what, true)).breaks.length > 0);
    expect(told.join(", ")).toBe(seen);
  });
});

test("the bills between two balances are of both periods, and the figures are those of the bill that is gone", async () => {
  const account = "periods";
  const { bills, moving, now } = await checkedLedger(account);
  await db.execute(sql`${remove(moving)} and account = ${account}`);
  const place = bills.indexOf(moving);
  const [before, after] = [bills[place - 1], bills[place + 1]];
  if (before === undefined || after === undefined) throw new Error("no bills beside it");
  const size = moving.moved < 0n ? -moving.moved : moving.moved;
  const said =
    `does not add up: 1 break (bill ${after.billId} does not follow from bill ${before.billId}, and rows were changed or ` +
    `deleted by hand, the balance is ${withoutZeros(decimalText(size))} USDT ${moving.moved < 0n ? "lower" : "higher"} than the bills explain)`;
  const told = async (from: number, to: number) => unproven(db, [account], { from, to });
  const first = bills[0]?.cTime ?? 0;
  const between = moving.cTime;
  expect(await told(first, between)).toEqual([expect.stringContaining(said)]);
  expect(await told(between, now)).toEqual([expect.stringContaining(said)]);
  expect(await told(after.cTime + 1, now)).toEqual([]);
  expect(await told(first, before.cTime)).toEqual([]);
  // A stored break says it then.
  await reconciled(account, true);
  expect(await told(first, now)).toEqual([]);
});

test("status proves the newest two days, of at most a thousand ledgers", async () => {
  const account = "newest";
  const { moving, now } = await checkedLedger(account);
  await db.execute(sql`${remove(moving)} and account = ${account}`);
  const found = async (at: number, accounts?: readonly string[]) => {
    const findings = await readFindings(db, { accounts, now: epochMs(at) });
    return findings.filter((one) => one.kind === "broken" && one.account === account);
  };
  const [finding] = await found(now);
  expect(finding).toMatchObject({ breakIds: [], count: 1 });
  expect(finding && remedyOf(finding)).toBe("bill-sync reconcile --full --repair");
  expect(finding && alarms(finding)).toBe(true);
  expect(await found(moving.cTime + 3 * dayMs)).toEqual([]);
  await db.execute(sql`
    insert into ledgers (account, product_type)
    select 'other', 'USDT-FUTURES-' || n from generate_series(1, 1000) as n`);
  expect(await found(now)).toEqual([]);
  expect(await found(now, [account])).toHaveLength(1);
});

test("nothing is said of a wallet of which bills were stored since its check, of an accepted break, or of a ledger that rounds", async () => {
  const account = "said already";
  const { moving, newest } = await checkedLedger(account);
  const stored = (at: string) =>
    db.execute(sql`update ledgers set stored_at = ${at}::timestamptz where account = ${account}`);
  await db.execute(
    sql`${change("balance = balance + 0.00000001", moving)} and account = ${account}`,
  );
  expect(await unproven(db, [account])).toHaveLength(1);
  const rounds = (rounded: number) =>
    db.execute(sql`update reconciled_chains set rounded = ${rounded} where account = ${account}`);
  await rounds(20);
  expect(await unproven(db, [account])).toEqual([]);
  await rounds(0);
  await stored("infinity");
  expect(await unproven(db, [account])).toEqual([]);
  await stored("-infinity");
  expect(await unproven(db, [account])).toHaveLength(1);
  const { breaks } = await reconciled(account, true);
  const breakIds = breaks.map(({ breakId }) => breakId);
  await decideOnBreaks(db, { breakIds, isAccept: true, note: "known", by: null });
  expect(await unproven(db, [account])).toEqual([]);
  await db.execute(sql`${change("balance = balance + 1", newest)} and account = ${account}`);
  expect(await unproven(db, [account])).toHaveLength(1);
});

test("nothing is said of bills of the first balance's time, which may have come after it", async () => {
  const account = "first balance";
  const drawn = smallLedger(seededRandom("proof"), { missingPercent: 0 });
  const groups = [...Map.groupBy(drawn, ({ cTime }) => cTime).values()];
  const [first] =
    groups.find(([shown, ...others]) =>
      others.some(({ moved, billId }) => moved !== 0n && billId < (shown?.billId ?? "")),
    ) ?? [];
  if (first === undefined) throw new Error("no bill whose id is above that of a later one");
  const bills = drawn
    .slice(drawn.indexOf(first))
    .map((bill) =>
      bill.cTime === first.cTime && bill !== first ? { ...bill, balance: null } : bill,
    );
  await storeLedgers(db, new Map([[account, bills]]));
  expect((await reconciled(account, true)).breaks).toEqual([]);
  expect(await unproven(db, [account], { from: first.cTime })).toEqual([]);
  expect(await unproven(db, [account])).toEqual([]);
});

test("a page that is being committed during a check is unchecked, and nobody changed rows by hand", async () => {
  const account = "under way";
  const { moving, now } = await checkedLedger(account);
  const { promise, resolve } = Promise.withResolvers<void>();
  const restated = Promise.withResolvers<void>();
  const page = inTransaction(db, async (tx) => {
    const bills = [{ ...moving, amount: decimalText(moving.moved + units("5")) }];
    await upsertBills(tx, [{ ledger: ledgerOf(account), bills }]);
    restated.resolve();
    await promise;
  });
  await restated.promise;
  expect((await reconciled(account, true)).breaks).toEqual([]);
  resolve();
  await page;
  const kinds = async () =>
    (await readFindings(db, { accounts: [account], now })).map(({ kind }) => kind);
  expect(await unproven(db, [account])).toEqual([]);
  expect(await kinds()).toContain("unchecked");
  expect((await reconciled(account, false)).breaks.map(({ kind }) => kind)).toContain("balance");
  expect(await kinds()).not.toContain("unchecked");
});

test("a proof takes a time in proportion to its bills", async () => {
  const account = "long";
  // One bill of a hundred shows no balance. Frames that were read anew for each bill took a minute.
  const bills = chainedLedger(20_000).replaceAll("'main'", `'${account}'`);
  await db.execute(sql.raw(bills.replaceAll("'chain-' || n % 4", "'chain-1'")));
  await db.execute(sql`
    insert into ledgers (account, product_type) values (${account}, 'chain-1')`);
  await db.execute(sql`
    insert into reconciled_chains (account, wallet, coin, checked_before, tested, rounded)
    values (${account}, 'chain-1', 'USDT', now(), 0, 0)`);
  await db.execute(sql`analyze bills`);
  const span = { from: epochMs(Date.UTC(2025, 0, 1)), to: epochMs(Date.UTC(2026, 0, 1)) };
  const asked = { accounts: [account], now: span.to, span };
  const proved = inTransaction(db, (tx) => readFindings(tx, asked), { statementMaxMs: 15_000 });
  expect((await proved).filter(({ kind }) => kind === "broken")).toEqual([]);
});
