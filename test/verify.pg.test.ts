// Verify names exactly what differs, repairs it, and does not overwrite newer content.

import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { Difference } from "../src/check/verify/verify.ts";
import { Refusal } from "../src/core/server/answer.ts";
import type { VerifyStore } from "../src/core/store/verify-store.ts";
import type { Interval } from "../src/core/words/intervals.ts";
import { ContradictionError } from "../src/lib/errors.ts";
import { dayMs, epochMs, isoTime, minuteMs, retentionMs, secondMs } from "../src/lib/time.ts";
import type { LedgerBill } from "../src/wings/sandbox/entry.ts";
import type { Source } from "../src/wings/sandbox/exchange/source.ts";
import { withBrokenRows } from "./exchange/ledger.ts";
import { quirky } from "./exchange/quirks.ts";
import { fileDatabase } from "./support/database.ts";
import {
  rowVersions,
  type SimulationOptions,
  simulate,
  type VerificationOptions,
  verifyIn,
} from "./support/simulation.ts";

const tables = await fileDatabase();
const { db } = tables;
const productType = "USDT-FUTURES";

/** A simulated, synced exchange of one product type, and functions that damage what is stored. */
async function synced(options: Partial<SimulationOptions> = {}) {
  const { name = randomUUID() } = options;
  const simulation = simulate(tables.url, {
    seed: "verify",
    density: 0.2,
    productTypes: [productType],
    ...options,
    name,
  });
  await simulation.sync();
  const now = simulation.time.clock.now();
  // Some bills appear ten minutes after their time, so the sync has not seen the newest ones yet.
  const span: Interval = { from: epochMs(now - retentionMs + dayMs), to: epochMs(now - dayMs) };
  const bills = simulation.sandbox.account.ledger.bills[productType].filter(
    ({ cTime, visibleAt, broken }) =>
      cTime >= span.from && cTime < span.to && visibleAt < now && broken === undefined,
  );
  const bill = (index: number): LedgerBill => {
    const found = bills.at(index);
    if (found === undefined) throw new Error(`the ledger has no bill ${index}`);
    return found;
  };
  const isBill = (billId: string) => sql`account = ${name} and bill_id = ${billId}`;
  return {
    name,
    simulation,
    span,
    bills,
    bill,
    isBill,
    change: (billId: string, assignment: ReturnType<typeof sql>) =>
      db.execute(sql`update bills set ${assignment} where ${isBill(billId)}`),
    remove: (billId: string) => db.execute(sql`delete from bills where ${isBill(billId)}`),
    invent: (billId: string, cTime: number) =>
      db.execute(sql`
        insert into bills (
          account, product_type, bill_id, amount, fee, business_type, coin, c_time, ingested_at
        )
        values (
          ${name}, ${productType}, ${billId}, 1, 0, 'buy', 'USDT', ${isoTime(epochMs(cTime))},
          clock_timestamp() - interval '1 day'
        )`),
    verify: (but: Partial<VerificationOptions> = {}) =>
      verifyIn(db, simulation, { span, productTypes: [productType], ...but }),
    versions: () => rowVersions(tables, name),
    [Symbol.asyncDispose]: () => simulation[Symbol.asyncDispose](),
  };
}

/** A difference in a few words, sorted. */
const short = (differences: readonly Difference[]): readonly string[] =>
  differences
    .map((difference) => {
      switch (difference.kind) {
        case "missing":
          return `missing ${difference.billId}${difference.isRepaired ? " repaired" : ""}`;
        case "changed": {
          const fields = difference.fields.map((one) => `${one.field} ${one.stored}>${one.served}`);
          const remark = difference.isRepaired ? " repaired" : "";
          return `changed ${difference.billId} ${fields.join(" ")}${remark}`;
        }
        case "unserved":
          return `unserved ${difference.billId}`;
        case "rejected":
          return `rejected ${difference.fault.path}${difference.isAccepted ? " accepted" : ""}`;
        default:
          return difference satisfies never;
      }
    })
    .toSorted();

test("names exactly what was damaged, repairs it, and is then content and rewrites nothing", async () => {
  const quirk = { lastPage: "same-id", pageOrder: "oldest-first", shortLastPage: true } as const;
  await using at = await synced({ wrapSource: quirky({ bounds: "end", ...quirk }) });
  const { bill, bills } = at;
  const [gone, altered] = [bill(3).billId, bill(40).billId];
  const day = { from: bill(-1).cTime - 3 * dayMs, to: bill(-1).cTime - 2 * dayMs };
  const ofDay = bills.filter(({ cTime }) => cTime >= day.from && cTime < day.to);
  expect(ofDay.length).toBeGreaterThan(0);
  const { rows } = await db.execute<{ amount: string }>(
    sql`select amount::text from bills where ${at.isBill(altered)}`,
  );
  const amount = rows[0]?.amount ?? "";
  await at.remove(gone);
  await at.change(altered, sql`amount = amount + 0.00000001`);
  await at.invent("999", bill(20).cTime);
  for (const { billId } of ofDay) await at.remove(billId);
  const damaged = await at.versions();

  const first = await at.verify();
  const missing = [gone, ...ofDay.map(({ billId }) => billId)];
  const { rows: now } = await db.execute<{ amount: string }>(
    sql`select amount::text from bills where ${at.isBill(altered)}`,
  );
  const change = `changed ${altered} amount ${now[0]?.amount}>${amount}`;
  const unserved = "unserved 999";
  expect(short(first.differences)).toEqual(
    [unserved, change, ...missing.map((id) => `missing ${id}`)].toSorted(),
  );
  expect(await at.versions()).toEqual(damaged);

  expect(short((await at.verify({ repair: true })).differences)).toEqual(
    [unserved, `${change} repaired`, ...missing.map((id) => `missing ${id} repaired`)].toSorted(),
  );
  const repaired = await at.versions();
  expect(short((await at.verify({ repair: true })).differences)).toEqual([unserved]);
  expect(await at.versions()).toEqual(repaired);
  const [comparison] = await at.simulation.compare();
  expect(comparison).toMatchObject({ missing: [], different: [], extra: ["999"] });
  const { rows: revisions } = await db.execute(
    sql`select amount::text as amount from bill_revisions where account = ${at.name}`,
  );
  expect(revisions).toEqual([{ amount: now[0]?.amount }]);
});

test("names each field that differs, and a bill that is stored at another time once", async () => {
  await using at = await synced();
  const [a, b, c] = [at.bill(5), at.bill(6), at.bill(-5)];
  await at.change(
    a.billId,
    sql`symbol = 'X', fee = 7, fee_by_coupon = 8, business_type = 'Y', coin = 'Z', balance = null`,
  );
  await at.change(b.billId, sql`extra = '{"a":1}'`);
  await at.change(c.billId, sql`c_time = ${isoTime(epochMs(c.cTime - 30 * dayMs))}`);
  const fields = (await at.verify()).differences.map((one) =>
    one.kind === "changed" ? one.fields.map(({ field }) => field) : [],
  );
  expect(fields.toSorted((one, other) => other.length - one.length)).toEqual([
    expect.arrayContaining(["symbol", "fee", "fee_by_coupon", "business_type", "coin"]),
    [expect.any(String)],
    [expect.any(String)],
  ]);
  expect(fields.flat()).toEqual(expect.arrayContaining(["extra", "c_time"]));
});

test("compares the first and the last millisecond of its span, and none beside them", async () => {
  await using at = await synced({
    alterLedger: (ledger) =>
      withBrokenRows(ledger, { seed: "edge", count: 1, kinds: ["amount-nan"] }),
  });
  const { cTime, billId } = at.bill(20);
  await at.remove(billId);
  const missing = async (from: number, to: number) =>
    short((await at.verify({ span: { from: epochMs(from), to: epochMs(to) } })).differences);
  expect(await missing(cTime, cTime + 1)).toContain(`missing ${billId}`);
  expect(await missing(cTime - 5, cTime)).toEqual([]);
  expect(await missing(cTime + 1, cTime + 5)).toEqual([]);
  const broken = at.simulation.sandbox.account.ledger.bills[productType].find(
    (bill) => bill.broken !== undefined,
  );
  const time = broken?.cTime ?? Number.NaN;
  expect(await missing(time, time + 1)).toEqual(["rejected amount"]);
  expect(await missing(time - 5, time)).toEqual([]);
  expect(await missing(time + 1, time + 5)).toEqual([]);
});

test("names nothing that is stored of time that the exchange has forgotten", async () => {
  await using at = await synced();
  const horizon = at.simulation.time.now() - retentionMs;
  await at.invent("997", horizon - 200 * dayMs);
  await at.invent("998", horizon - dayMs);
  const span = { from: epochMs(horizon - 100 * dayMs), to: at.span.to };
  const { differences, ledgers } = await at.verify({ span });
  expect(differences).toEqual([]);
  expect(ledgers[0]).toMatchObject({ error: undefined });
  expect(ledgers[0]?.span[0]?.from).toBeGreaterThan(horizon);
});

test("says so where part of its span could not be read, or all of it", async () => {
  await using at = await synced();
  const now = at.simulation.time.now();
  const inTime = await at.verify({
    span: { from: at.span.from, to: epochMs(now + 20 * secondMs) },
  });
  expect(inTime.ledgers).toMatchObject([{ error: undefined }]);
  const ahead = await at.verify({ span: { from: at.span.from, to: epochMs(now + dayMs) } });
  expect(String(ahead.ledgers[0]?.error)).toMatch(
    /the exchange's clock says 2026-.+, so nothing later could be read/,
  );
  expect(ahead.ledgers[0]?.compared).toBeGreaterThanOrEqual(at.bills.length);
  const future = { from: epochMs(now + dayMs), to: epochMs(now + 2 * dayMs) };
  const nothing = await at.verify({ span: future });
  expect(String(nothing.ledgers[0]?.error)).toContain("nothing of this time can be read");
  const failing = (store: VerifyStore): VerifyStore => ({
    ...store,
    compare: (ledger, rows, isRepaired) =>
      rows.bills.some(({ billId }) => billId === at.bill(3).billId)
        ? Promise.reject(new Error("it broke"))
        : store.compare(ledger, rows, isRepaired),
  });
  expect(String((await at.verify({ wrapStore: failing })).ledgers[0]?.error)).toContain("it broke");
});

test("lists rows that break the contract, keeps them when it repairs, and takes those that were accepted for equal", async () => {
  await using at = await synced({
    alterLedger: (ledger) => withBrokenRows(ledger, { seed: "verify", count: 8 }),
  });
  const keptRows = async () => {
    const { rowCount } = await db.execute(
      sql`select 1 from rejected_bills where account = ${at.name}`,
    );
    return rowCount;
  };
  await db.execute(sql`delete from rejected_bills where account = ${at.name}`);
  // A row may be broken on the last day, and may be served some minutes after its time.
  await at.simulation.pass(20 * minuteMs);
  const span = { from: at.span.from, to: at.simulation.time.clock.now() };
  const rejectedOf = async (but: Partial<VerificationOptions> = {}) =>
    (await at.verify({ span, ...but })).differences.filter(({ kind }) => kind === "rejected");
  // Windows are read side by side, so chance decides which one is reported first.
  const sorted = (differences: Parameters<typeof short>[0]) => short(differences).toSorted();
  const first = await rejectedOf();
  expect(short(first)).toHaveLength(8);
  expect(short(first).every((text) => /^rejected (?!.*accepted)/.test(text))).toBe(true);
  expect(await keptRows()).toBe(0);
  expect(sorted(await rejectedOf({ repair: true }))).toEqual(sorted(first));
  expect(await keptRows()).toBe(8);
  await db.execute(sql`
    update rejected_bills set closed_at = clock_timestamp() where account = ${at.name}`);
  expect(sorted(await rejectedOf())).toEqual(sorted(first).map((text) => `${text} accepted`));
});

test("what a verification was served is not stored where later answers contradict it, and is named", async () => {
  let isCached = false;
  // Another account's bills, in answer to the first question.
  const cached = (source: Source): Source => ({
    ...source,
    async bills(request) {
      const page = await source.bills(request);
      const isFirst = request.idLessThan === undefined && request.limit === 100;
      if (!isCached || page instanceof Refusal || !isFirst) return page;
      const foreign = (bill: unknown) => ({
        ...Object(bill),
        billId: String(BigInt(Object(bill).billId) - 1n),
      });
      return { ...page, bills: page.bills?.map(foreign) ?? null };
    },
  });
  // By this name the account has more bills in the span than a page holds.
  await using at = await synced({ wrapSource: cached, density: 2, name: "cached" });
  const newest = at.bill(-1);
  await at.remove(newest.billId);
  const before = await at.versions();
  isCached = true;
  const span = { from: epochMs(newest.cTime - 5 * dayMs), to: at.span.to };
  const failed = await at.verify({ span, repair: true });
  expect(failed.ledgers).toMatchObject([{ error: expect.any(ContradictionError) }]);
  expect(await at.versions()).toEqual(before);
  expect(short(failed.differences).filter((text) => /^missing \d+$/.test(text))).toHaveLength(100);
  isCached = false;
  const second = await at.verify({ span, repair: true });
  expect(short(second.differences)).toEqual([`missing ${newest.billId} repaired`]);
});
