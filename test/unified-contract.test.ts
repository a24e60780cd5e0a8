// Doctor and the first sync say what a key may do.
// A unified account's page and rows keep every digit and field; a row of another ledger is set aside.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { billsApiOf } from "../src/contract/bills-api.ts";
import { parseExactJson } from "../src/contract/json.ts";
import { keyInfo } from "../src/contract/key-info.ts";
import { isUnified, productTypes } from "../src/contract/product-types.ts";
import { epochMs } from "../src/contract/time.ts";
import { accountSettings } from "../src/contract/unified-account.ts";

const spot = billsApiOf("UTA-SPOT");

const good = {
  category: "SPOT",
  id: "1486721507613851649",
  symbol: "RTOWNUSDT",
  coin: "USDT",
  type: "ORDER_DEALT_FROZEN_OUT",
  positionType: "crossed",
  amount: "-10.1079350372",
  fee: "-0.0100978372",
  positionAmount: "0",
  positionBalance: "0",
  balance: "2.8920649628",
  ts: "1790187950042",
};

const asBill = {
  billId: good.id,
  symbol: good.symbol,
  coin: good.coin,
  businessType: good.type,
  positionType: "crossed",
  amount: good.amount,
  fee: good.fee,
  feeByCoupon: null,
  positionAmount: "0",
  positionBalance: "0",
  balance: good.balance,
  cTime: 1_790_187_950_042,
  extra: null,
};

/** Reads the good row with changed fields; undefined leaves one out. */
const readWith = (changes: Readonly<Record<string, unknown>>) =>
  spot.read(parseExactJson(JSON.stringify({ ...good, ...changes })));

describe("a row of a unified account's ledger", () => {
  test("is a bill, letter for letter", () => {
    expect(readWith({})).toEqual({ bill: asBill });
  });

  test.each(["symbol", "balance", "positionType", "positionAmount", "positionBalance"])(
    "may lack its %s",
    (field) => {
      for (const value of ["", null, undefined]) {
        expect(readWith({ [field]: value })).toEqual({ bill: { ...asBill, [field]: null } });
      }
    },
  );

  test("keeps fields that the contract does not list, a category spelled otherwise, and spellings", () => {
    const { bill } = { bill: undefined, ...readWith({ category: "Spot", amount: "-.50", x: [1] }) };
    expect(bill).toMatchObject({
      amount: "-.50",
      extra: { category: "Spot", amount: "-.50", x: [1] },
    });
    expect(readWith({ category: "LOANS" })).toMatchObject({
      bill: { extra: { category: "LOANS" } },
    });
    for (const category of [null, undefined, "", "SPOT"]) {
      expect(readWith({ category })).toEqual({ bill: asBill });
    }
  });

  test.each([
    ["another ledger's category", { category: "Other" }, "category", /is OTHER, where SPOT was/],
    ["no id", { id: undefined }, "id", /is missing/],
    ["no fee", { fee: "" }, "fee", /not a decimal/],
    ["no type", { type: null }, "type", /neither text/],
    ["a time in microseconds", { ts: "1790187950042000" }, "ts", /not a time/],
  ])("with %s is set aside with its place and reason", (_, changes, path, reason) => {
    expect(readWith(changes)).toEqual({
      fault: { path, reason: expect.stringMatching(reason) },
    });
  });

  test("of any kind neither throws nor loses a field", () => {
    const changed = fc.record(
      { category: fc.jsonValue(), id: fc.jsonValue(), ts: fc.jsonValue(), note: fc.jsonValue() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(changed, (changes) => {
        const reading = readWith(changes);
        if ("fault" in reading) return;
        const { note } = changes;
        if (note !== undefined) {
          const kept = (reading.bill.extra ?? {}) as Readonly<Record<string, unknown>>;
          expect(JSON.stringify(kept["note"])).toBe(JSON.stringify(note));
        }
        expect(spot.idOf({ ...good, ...changes })).toBe(reading.bill.billId);
        expect(spot.timeOf({ ...good, ...changes })).toBe(reading.bill.cTime);
      }),
    );
  });
});

describe("the API of a product type", () => {
  test("is asked by the names of its own, within its longest period and page", () => {
    for (const productType of productTypes) {
      const { operation, query, windowMaxMs } = billsApiOf(productType);
      const to = epochMs(1_790_000_000_000);
      const startTime = epochMs(to - windowMaxMs - 1);
      const asked = query({ startTime, endTime: to, idLessThan: "5", limit: 100 });
      expect(operation.query.safeParse(asked).success).toBe(true);
      const longer = query({ startTime: epochMs(startTime - 1), endTime: to, limit: 100 });
      // A unified account's categories could be asked for 30 days: see bills-api.ts.
      expect(operation.query.safeParse(longer).success).toBe(isUnified(productType));
    }
    expect(billsApiOf("UTA-OTHER").query({ idLessThan: "5", limit: 1 })).toEqual({
      category: "OTHER",
      cursor: "5",
      limit: "1",
    });
  });
});

test("the settings tell the mode, and the account's info whose the key is and what it may do", () => {
  expect(accountSettings.data.safeParse({ uid: "1" }).success).toBe(false);
  expect(accountSettings.data.parse({ accountMode: "hybrid", uid: 1 }).accountMode).toBe("hybrid");
  const { classic, unified } = keyInfo;
  const nothing = { userId: null, rights: [], ips: [], readsTax: false };
  expect(unified.data.parse({})).toEqual({ ...nothing, mayOnlyRead: true });
  expect(classic.data.parse({})).toEqual({ ...nothing, mayOnlyRead: true });
  const rights = { permType: "read-only", permissions: ["uta_mgt"], ips: "1.2.3.4, ::1" };
  expect(unified.data.parse({ ...rights, userId: 7 })).toEqual({
    ...{ userId: "7", mayOnlyRead: true, rights: ["uta_mgt"], readsTax: true },
    ips: ["1.2.3.4", "::1"],
  });
});

test.each([
  ["read-only", ["uta_mgt"], true],
  ["read_only", ["uta_mgt"], true],
  ["read_and_write", ["uta_trade", "withdraw"], false],
  ["read-and-write", [], false],
  [null, ["uta_mgt"], true],
  [null, ["withdraw"], false],
])(
  "a unified account's key of the kind %s with %j may only read: %s",
  (permType, permissions, is) => {
    expect(keyInfo.unified.data.parse({ permType, permissions }).mayOnlyRead).toBe(is);
  },
);

test.each([
  [["coor", "cpor", "stor", "taxr"], [], true],
  [["readonly"], [], false],
  [["coor", "coow", "wwow"], ["coow", "wwow"], false],
  [["trade"], ["trade"], false],
  [["a word unheard of", "taxw"], ["a word unheard of", "taxw"], true],
])(
  "a classic account's key with %j may do more by %j, and read tax records: %s",
  (authorities, rights, readsTax) => {
    const mayOnlyRead = rights.length === 0;
    expect(keyInfo.classic.data.parse({ authorities })).toMatchObject({
      mayOnlyRead,
      rights,
      readsTax,
    });
  },
);
