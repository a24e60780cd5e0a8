// Holds: One row a bill, Exact

import { sql } from "drizzle-orm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Bill, classicRows, noPosition } from "../src/core/contract/bill.ts";
import { parseExactJson, sortedJson } from "../src/core/contract/json.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { readBillsByKey, readStoredBills } from "../src/core/store/bill-rows.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import type { Ledger } from "../src/core/words/ledger.ts";
import { epochMs } from "../src/lib/time.ts";
import { aBill, aLedger, bills } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";

const { db } = await fileDatabase();

const store = (ledger: Ledger, page: readonly Bill[]) =>
  inTransaction(db, async (tx) => {
    const [counts] = await upsertBills(tx, [{ ledger, bills: page }]);
    if (counts === undefined) throw new Error("the page was not counted");
    return counts;
  });

const stored = (ledger: Ledger) => readStoredBills(db, ledger);

async function revisions({ account }: Ledger) {
  const { rows } = await db.execute<Record<string, unknown>>(sql`
    select bill_id, revision, amount::text, extra::text, ingested_at, replaced_at
    from bill_revisions
    where account = ${account}
    order by bill_id, revision`);
  return rows;
}

async function ingestedAt({ account }: Ledger) {
  const { rows } = await db.execute<{ ingested_at: string }>(sql`
    select ingested_at from bills where account = ${account}`);
  return rows.map(({ ingested_at }) => ingested_at);
}

describe("a page of bills", () => {
  test("that names a bill three times with other contents keeps the last and both before", async () => {
    const ledger = aLedger();
    const counts = await store(
      ledger,
      ["1", "2", "3"].map((amount) => aBill({ amount })),
    );
    expect(counts).toEqual({ new: 1, unchanged: 0, restated: 2 });
    expect(await stored(ledger)).toMatchObject([{ amount: "3" }]);
    expect(await revisions(ledger)).toMatchObject([
      { revision: 1, amount: "1" },
      { revision: 2, amount: "2" },
    ]);
  });
});

describe("an unchanged bill", () => {
  test("is not rewritten, nor locked", async () => {
    const ledger = aLedger();
    const headers = sql`
      select ctid::text, xmin::text, xmax::text from bills where account = ${ledger.account}`;
    await store(ledger, bills(10));
    const before = (await db.execute(headers)).rows;
    await store(ledger, bills(10));
    expect(before).toHaveLength(10);
    expect((await db.execute(headers)).rows).toEqual(before);
  });

  test("is the same in whichever order the fields beside the contract come", async () => {
    const ledger = aLedger();
    await store(ledger, [aBill({ extra: { a: 1, b: { c: 2, d: 3 } } })]);
    const again = [aBill({ extra: { b: { d: 3, c: 2 }, a: 1 } })];
    expect(await store(ledger, again)).toMatchObject({ unchanged: 1 });
  });
});

describe("a restatement", () => {
  test("wins, and what it replaced is kept with its times, as revision 1, 2 and so on", async () => {
    const ledger = aLedger();
    const times: string[] = [];
    for (const amount of ["1", "2", "3"]) {
      await store(ledger, [aBill({ amount })]);
      times.push(...(await ingestedAt(ledger)));
      await db.execute("select pg_sleep(0.002)");
    }
    expect(new Set(times).size).toBe(3);
    expect(await stored(ledger)).toMatchObject([{ amount: "3" }]);
    const kept = await revisions(ledger);
    expect(kept).toMatchObject([
      { revision: 1, amount: "1", ingested_at: times[0] },
      { revision: 2, amount: "2", ingested_at: times[1] },
    ]);
    const replacedAt = Date.parse(String(kept[0]?.["replaced_at"]));
    expect(Math.abs(replacedAt - Date.parse(String(times[1])))).toBeLessThan(1_000);
  });

  const differing: readonly [string, Partial<Bill>, Partial<Bill>][] = [
    ["the scale of the amount", { amount: "1.0" }, { amount: "1.00" }],
    ["the scale of the fee", { fee: "0" }, { fee: "0.0" }],
    ["a coupon of nothing", { feeByCoupon: null }, { feeByCoupon: "0" }],
    ["the scale of the balance", { balance: "5" }, { balance: "5.0" }],
    ["a balance that is gone", { balance: "5" }, { balance: null }],
    ["a symbol", { symbol: null }, { symbol: "NULL" }],
    ["the business type", { businessType: "buy" }, { businessType: "sell" }],
    ["the coin", { coin: "USDT" }, { coin: "USDt" }],
    ["a millisecond", { cTime: epochMs(1) }, { cTime: epochMs(2) }],
    ["a field beside the contract", { extra: null }, { extra: { a: null } }],
    ["the kind of such a field", { extra: { a: 1 } }, { extra: { a: "1" } }],
  ];
  test("is any difference, be it of a scale or of a null", async () => {
    const bill = (but: Partial<Bill>, place: number) => aBill({ billId: String(place), ...but });
    const ledger = aLedger();
    await store(
      ledger,
      differing.map(([, before], place) => bill(before, place)),
    );
    const again = differing.map(([, , after], place) => bill(after, place));
    expect(await store(ledger, again)).toMatchObject({ restated: differing.length });
    expect(await store(ledger, again)).toMatchObject({ unchanged: differing.length });
    expect(await revisions(ledger)).toHaveLength(differing.length);
  });
});

describe("what comes out is what went in", () => {
  const nasty = fc.constantFrom(
    ...["NULL", "null", "", " ", "{}", "{a,b}", '"', '\\"', "\\", "\\\\", ",", "a,b", "';--", "$1"],
    ...["\n", "\r\n", "\t", "\u0001", "\u2028", "é", "e\u0301", "😀", "\ufeff", "%s", "1e999"],
  );
  const text = fc.oneof(nasty, fc.string({ unit: "grapheme" }));
  const digits = (max: number) =>
    fc.array(fc.nat(9), { minLength: 1, maxLength: max }).map((list) => list.join(""));
  const decimal = fc
    .tuple(fc.boolean(), digits(100), fc.option(digits(100)))
    .map(([isNegative, whole, fraction]) => {
      const unsigned = whole.replace(/^0+(?=\d)/, "") + (fraction === null ? "" : `.${fraction}`);
      return isNegative && /[1-9]/.test(unsigned) ? `-${unsigned}` : unsigned;
    });
  const page = fc.array(
    fc.record({
      symbol: fc.option(text),
      coin: text,
      businessType: text,
      amount: decimal,
      fee: decimal,
      feeByCoupon: fc.option(decimal),
      balance: fc.option(decimal),
      extra: fc.option(fc.dictionary(text, fc.oneof(text, fc.array(text), fc.constant(null)))),
    }),
    { minLength: 1, maxLength: 30 },
  );

  test("whatever the text, and however many the digits", async () => {
    await fc.assert(
      fc.asyncProperty(page, async (contents) => {
        const ledger = aLedger();
        await store(
          ledger,
          contents.map((content, index) => aBill({ billId: String(100 + index), ...content })),
        );
        const again = contents.map((content, index) =>
          aBill({ billId: String(100 + index), ...content }),
        );
        expect(await store(ledger, again)).toMatchObject({ unchanged: contents.length });
        expect((await stored(ledger)).map(({ cTimeMs: _, ...columns }) => columns)).toEqual(
          contents.map(({ extra, ...columns }, index) => ({
            ...columns,
            ...noPosition,
            source: null,
            billId: String(100 + index),
            extra: extra === null ? null : sortedJson(extra),
          })),
        );
      }),
      { numRuns: 60 },
    );
  });

  test("every digit of a number beside the contract, and the spelling of one in it", async () => {
    const ledger = aLedger();
    const received = `{"billId":"7","symbol":"","amount":0E-8,"fee":-0,"businessType":"buy","coin":"BTC",
      "cTime":"1700000000000","level":12345678901234567890.10,"list":[1.0,1e2],"deep":{"id":9007199254740993}}`;
    const reading = classicRows.read(parseExactJson(received));
    if (!("bill" in reading)) throw new Error(reading.fault.reason);
    await store(ledger, [reading.bill]);
    expect(await stored(ledger)).toMatchObject([
      {
        amount: "0.00000000",
        fee: "0",
        symbol: null,
        extra:
          '{"amount":"0E-8","deep":{"id":9007199254740993},"fee":"-0","level":12345678901234567890.10,"list":[1.0,1e2]}',
      },
    ]);
    expect(await store(ledger, [reading.bill])).toMatchObject({ unchanged: 1 });
  });
});

test("a bill of an account that the statistics do not know is looked up by its key, not among all of the account's", async () => {
  const account = aLedger().account;
  // So many that the index by time is a level lower than that by key, which made it seem cheaper.
  const fill = (name: string, count: number) =>
    db.execute(sql`
      insert into bills (
        account, product_type, bill_id, amount, fee, business_type, coin, c_time, ingested_at
      )
      select
        ${name}, 'USDT-FUTURES', (1000000000000000000 + n * 7919)::text, 1, 0, 'buy', 'USDT',
        now() - n * interval '1 minute', now()
      from generate_series(1, ${count}::int) as n
      order by random()`);
  await fill(`${account} before`, 18_000);
  await db.execute(sql`analyze bills`);
  await fill(account, 3_000);
  const keys = Array.from({ length: 100 }, (_, index) => ({
    productType: "USDT-FUTURES" as const,
    billId: String(10n ** 18n + BigInt(index + 1) * 7919n),
  }));
  await inTransaction(db, async (tx) => {
    const rowsRead = async () => {
      const { rows } = await tx.execute<{ read: number }>(sql`
        select idx_tup_fetch::int as read from pg_stat_xact_user_tables where relname = 'bills'`);
      return rows[0]?.read ?? 0;
    };
    const before = await rowsRead();
    expect(await readBillsByKey(tx, account, keys)).toHaveLength(keys.length);
    expect((await rowsRead()) - before).toBe(keys.length);
  });
});

test("two writers at once who meet the same new business types in other orders both finish", async () => {
  // Every insert is slow, so that both are at work at the same time.
  await db.execute(`
    create function dawdle() returns trigger language plpgsql as
      'begin perform pg_sleep(0.1); return new; end';
    create trigger dawdle before insert on business_types for each row execute function dawdle()`);
  const types = ["never_seen_a", "never_seen_b", "never_seen_c"];
  const page = bills(3).map((bill, index) => ({ ...bill, businessType: types[index] ?? "" }));
  await Promise.all([store(aLedger(), page), store(aLedger(), page.toReversed())]);
  await db.execute("drop trigger dawdle on business_types");
  const { rows } = await db.execute(sql`
    select code from business_types where code like 'never_seen%' order by code`);
  expect(rows).toEqual(types.map((code) => ({ code })));
});
