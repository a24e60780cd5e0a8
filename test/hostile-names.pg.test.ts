// Names in any shape reach SQL as parameters, and a terminal spelled out.

import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readStatus } from "../src/check/health/ledger-status.ts";
import { countRejected } from "../src/check/health/ledgers.ts";
import { classicRows } from "../src/core/contract/bill.ts";
import { readStoredBills } from "../src/core/store/bill-rows.ts";
import { Leases } from "../src/core/store/lease.ts";
import { openStore } from "../src/core/store/ledger-store.ts";
import type { Ledger } from "../src/core/words/ledger.ts";
import { fileDatabase } from "./support/database.ts";
import { minutes, origin, provenWhole } from "./support/held-store.ts";

const { db } = await fileDatabase();

/** Each of these would end, change or split a statement, an array, a line or a JSON text somewhere. */
const breakers = [
  ..."'\"`;\\{},()[]<>%_$:/*#&|\t\r\n ",
  ..."''|;--|/*|$1|$$|{,\"\\|\\'|E'\\\\|null|NULL|\"\"|{}|{{}}|,|::text|__proto__|constructor".split(
    "|",
  ),
  "'; drop table bills; --",
  "\u202eevil\u202c",
  "🚀👩‍👩‍👧",
  "ﷺ",
  "\u0301",
  "\u001b[2J",
  "\u009b",
  "\ufeff",
  "\u2028",
];
const piece = fc.oneof(fc.constantFrom(...breakers), fc.string({ unit: "binary", maxLength: 8 }));
/** A text that Postgres can hold. The contract reads "" as none, so it is left out. */
const name = fc
  .array(piece, { minLength: 1, maxLength: 12 })
  .map((pieces) => pieces.join("").replaceAll("\0", "").slice(0, 150).toWellFormed())
  .filter((text) => text !== "");
/** Also texts that the contract has to refuse. */
const anyText = fc.oneof(
  { weight: 8, arbitrary: name },
  name.map((text) => `${text}\0`),
  name.map((text) => `${text}\ud800`),
  name.map((text) => text.repeat(10_000).slice(0, 10_000)),
);

const servedBill = fc.record({
  billId: anyText,
  symbol: anyText,
  amount: fc.oneof({ weight: 8, arbitrary: fc.constant("1.50") }, anyText),
  fee: fc.constant("-0.1"),
  feeByCoupon: fc.constant(""),
  businessType: anyText,
  coin: anyText,
  balance: fc.constant("7"),
  cTime: fc.constant(String(origin)),
  more: fc.dictionary(anyText, anyText, { maxKeys: 2 }),
});

// Each draws some hundred of the breakers; a run costs a dozen statements.
const runs = { numRuns: 15 };

async function held(account: string, productType: string) {
  const ledger = { account, productType } as Ledger;
  const lease = await new Leases(db).take(account, { signal: new AbortController().signal });
  return {
    ledger,
    store: openStore(db, lease),
    [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
  };
}

test("names of accounts, product types, bills, symbols, coins, types and cursors in any shape are stored as they are", async () => {
  const page = fc.array(servedBill, { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(name, name, name, page, async (owner, type, cursor, served) => {
      // Each run of this property has an account of its own.
      const account = `${owner}${randomUUID()}`;
      await using at = await held(account, type);
      const { ledger, store } = at;
      const window = minutes(0, 10);
      const rows = served.map(({ more, ...row }) => JSON.parse(JSON.stringify({ ...row, more })));
      const readings = rows.map(classicRows.read);
      const bills = readings.flatMap((reading) => ("bill" in reading ? [reading.bill] : []));
      const rejected = readings.flatMap((reading, index) =>
        "fault" in reading
          ? [{ received: rows[index], text: JSON.stringify(rows[index]), fault: reading.fault }]
          : [],
      );
      await store.recordPlans([{ ledger, plannedAt: origin, windows: [{ window }], lost: [] }]);
      const commit = { ledger, window, startedAt: origin, bills, rejected };
      await store.commitPage({ ...commit, cursorBefore: undefined, next: { cursor } });
      expect((await store.knownTimes([ledger])).of(ledger).open).toMatchObject([{ cursor }]);
      await store.commitPage({ ...commit, cursorBefore: cursor, next: provenWhole(window) });

      const byId = new Map(bills.map((bill) => [bill.billId, bill]));
      const stored = await readStoredBills(db, ledger);
      expect(stored).toHaveLength(byId.size);
      for (const { billId, symbol, coin, businessType, extra } of stored) {
        const texts = { symbol, coin, businessType, extra: JSON.parse(extra ?? "null") };
        expect(byId.get(billId)).toMatchObject(texts);
      }
      const { rows: kept } = await db.execute<{ received: string }>(sql`
          select received from rejected_bills where account = ${account} and product_type = ${type}`);
      expect(new Set(kept.map(({ received }) => received))).toEqual(
        new Set(rejected.map(({ received }) => JSON.stringify(received))),
      );
      expect((await readStatus(db, [ledger])).ledgers).toMatchObject([
        { ledger, bills: byId.size, openRejected: kept.length },
      ]);
      const rejectedRows = (await countRejected(db)).filter((one) => one.account === account);
      expect(rejectedRows).toEqual(kept.length === 0 ? [] : [{ ...ledger, rows: kept.length }]);
    }),
    runs,
  );
});
