// Holds: Nothing dropped, Exact
// Doctor and the first sync say what a key may do.
// A unified account's page and rows keep every digit and field; a row of another ledger is set aside.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { classicRows, noPosition } from "../src/core/contract/bill.ts";
import { billsApiOf } from "../src/core/contract/bills-api.ts";
import {
  businessTypes,
  categoryOfWalletType,
  coinFilterTypes,
  nonFinancialTypes,
} from "../src/core/contract/business-types.ts";
import { contractFields, readContract } from "../src/core/contract/contracts.ts";
import { envelope } from "../src/core/contract/envelope.ts";
import { financialRecords } from "../src/core/contract/financial-records.ts";
import { parseExactJson } from "../src/core/contract/json.ts";
import { type KeyInfo, keyInfo } from "../src/core/contract/key-info.ts";
import { readLoanToValue } from "../src/core/contract/loan-to-value.ts";
import { isUnified, productTypes } from "../src/core/contract/product-types.ts";
import { readSymbol, symbolOf } from "../src/core/contract/symbols.ts";
import { taxApiOf, taxTypes } from "../src/core/contract/tax-records.ts";
import { accountSettings } from "../src/core/contract/unified-account.ts";
import { listedBusinessTypes } from "../src/core/contract/unified-business-types.ts";
import { epochMs } from "../src/lib/time.ts";

/** Answers are read from text, as they come: what JSON.parse does is part of what is tested. */
const readers = {
  bills: (json: string) => accountBills.data.safeParse(parseExactJson(json)),
  records: (json: string) => financialRecords.data.safeParse(parseExactJson(json)),
};
const none = { rows: [], endId: undefined };

const id = "1268377000628355083";
const rows = [{ billId: "2" }, null, "row"];
const json = JSON.stringify(rows);
test.each<[string, string | undefined, object | undefined]>([
  ["[]", '""', none],
  ["null", "null", none],
  ["[]", undefined, none],
  ["[]", `"${id}"`, { rows: [], endId: id }],
  [json, `"${id}"`, { rows, endId: id }],
  [json, id, { rows, endId: id }],
  [json, '""', { rows, endId: undefined }],
  ['""', '""', undefined],
  ["{}", '""', undefined],
  ["[]", "{}", undefined],
  ["[]", "true", undefined],
])("a page of rows %s, broken ones among them, and the cursor %s is %j", (list, end, page) => {
  const members = (name: string, cursor: string) =>
    `{"${name}":${list}${end === undefined ? "" : `,"${cursor}":${end}`}}`;
  expect(readers.bills(members("bills", "endId")).data).toEqual(page);
  expect(readers.records(members("list", "cursor")).data).toEqual(page);
});

test.each(["null", "[]", "{}", '{"endId":""}', '{"list":[],"endId":""}'])(
  "a page of bills that says not that it is empty is none: %s",
  (json) => {
    expect(readers.bills(json).success).toBe(false);
  },
);

test("a page of records that says nothing is empty, as the exchange was seen to answer, and other names are none", () => {
  for (const json of ["{}", '{"cursor":null}']) expect(readers.records(json).data).toEqual(none);
  for (const json of ['{"bills":[],"endId":""}', '{"cursor":null,"rows":[{}]}'])
    expect(readers.records(json).success).toBe(false);
});

const good = {
  billId: "1268377000628355083",
  symbol: "BTCUSDT",
  amount: "-0.30289587",
  fee: "0",
  feeByCoupon: "-0.01",
  businessType: "contract_settle_fee",
  coin: "USDT",
  balance: "777.73076247",
  cTime: "1738130562931",
};

/** Reads the good row with fields changed: JSON text each, or undefined to leave one out. */
function readWith(changes: Readonly<Record<string, string | undefined>>) {
  const fields = { ...Object.fromEntries(Object.entries(good).map(quoted)), ...changes };
  const members = Object.entries(fields).filter(([, json]) => json !== undefined);
  const row = `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
  const reading = classicRows.read(parseExactJson(row));
  return "bill" in reading ? reading : { ...reading, bill: undefined };
}

const quoted = ([name, value]: [string, string]): [string, string] => [name, JSON.stringify(value)];

describe("a row of a page", () => {
  test("is a bill, letter for letter", () => {
    expect(readWith({}).bill).toEqual({
      ...good,
      ...noPosition,
      cTime: 1_738_130_562_931,
      extra: null,
    });
  });

  test("may lack its symbol, coupon and balance", () => {
    for (const field of ["symbol", "feeByCoupon", "balance"]) {
      for (const json of ['""', "null", undefined])
        expect(readWith({ [field]: json }).bill).toMatchObject({ [field]: null, extra: null });
    }
  });

  test("keeps fields that the contract does not list, digit by digit", () => {
    const fields = {
      orderId: "12345678901234567890",
      weight: "1e-7",
      price: "1.5000",
      huge: "1E400",
      below: "-0",
      detail: '{"legs":[{"price":0.10},null,true],"empty":{}}',
      note: '"naïve ‘quote’ 注文 🧾"',
      toString: "1",
      constructor: "2",
      ["__proto__"]: '{"polluted":3}',
    };
    const { bill } = readWith(fields);
    const members = Object.entries(fields).map(([name, json]) => `"${name}":${json}`);
    expect(JSON.stringify(bill?.extra)).toBe(`{${members.join(",")}}`);
  });

  const broken: readonly [string, Record<string, string | undefined>, string, RegExp][] = [
    ["no id", { billId: undefined }, "billId", /is missing/],
    ["an empty id", { billId: '""' }, "billId", /is empty/],
    ["Infinity", { fee: '"-Infinity"' }, "fee", /not a decimal/],
    ["no fee", { fee: undefined }, "fee", /is missing/],
    ["a comma", { balance: '"1,5"' }, "balance", /not a decimal/],
    ["a line end", { balance: '"1\\n"' }, "balance", /not a decimal/],
    ["an exponent past 99", { amount: '"1e100"' }, "amount", /not a decimal/],
    ["201 digits", { amount: `"${"9".repeat(201)}"` }, "amount", /200 digits/],
    ["a list for an amount", { amount: "[1]" }, "amount", /neither text nor/],
    ["no businessType", { businessType: "null" }, "businessType", /neither text nor/],
    ["a NUL in the symbol", { symbol: '"BTC\\u0000USDT"' }, "symbol", /NUL/],
    ["half a surrogate pair", { symbol: '"\\ud83d"' }, "symbol", /surrogate/],
    ["a NUL deep in an extra field", { x: '{"y":["\\u0000"]}' }, "x.y.0", /NUL/],
    ["a NUL in a field's name", { "x\0y": "1" }, "xy", /NUL/],
    ["nesting without end", { x: `${"[".repeat(60)}${"]".repeat(60)}` }, "x.0", /nested/],
    [
      "a symbol of 10,000 characters",
      { symbol: `"${"A".repeat(10_000)}"` },
      "symbol",
      /longer than 200/,
    ],
    ["a time with a fraction", { cTime: '"1738130562931.5"' }, "cTime", /not a time/],
    ["a time past the year 9999", { cTime: '"253402300800000"' }, "cTime", /9999/],
    ["a time in microseconds", { cTime: '"1738130562931000"' }, "cTime", /not a time/],
  ];
  test.each(broken)("with %s is set aside with its place and reason", (_, changes, path, why) => {
    const { fault } = { fault: undefined, ...readWith(changes) };
    expect(fault?.path).toContain(path);
    expect(fault?.reason).toMatch(why);
  });

  test("never stops the reader, whatever JSON it is", () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 8 }),
        fc.constantFrom(...Object.keys(good)),
        (json, field) => {
          expect(classicRows.read(parseExactJson(json))).toHaveProperty("fault");
          expect(() => readWith({ [field]: json })).not.toThrow();
        },
      ),
    );
  });
});

test("a number keeps every letter, wherever in the JSON it stands", () => {
  const number = fc.oneof(
    fc.stringMatching(/^-?(?:0|[1-9]\d{0,25})(?:\.\d{1,9})?(?:[eE][+-]?\d{1,2})?$/),
    // The shortest that a JavaScript number cannot hold.
    fc.constantFrom("9007199254740993", "-9007199254740993", "-0", "1.0", "1e5"),
  );
  const space = fc.constantFrom("", " ", "\n", "\t ");
  const place = fc.constantFrom<(text: string, gap: string) => string>(
    (text, gap) => `${gap}${text}`,
    (text, gap) => `[${gap}${text}]`,
    (text, gap) => `{"a":"b",${gap}"c":${gap}${text}}`,
    (text, gap) => `["x",${gap}1,${gap}${text}${gap},[]]`,
  );
  fc.assert(
    fc.property(number, space, place, (text, gap, at) => {
      const json = at(text, gap);
      expect(JSON.stringify(parseExactJson(json))).toBe(json.replaceAll(/\s/g, ""));
    }),
    { numRuns: 2_000 },
  );
});

describe("a decimal", () => {
  const digits = (least: number, most: number) =>
    fc.stringMatching(new RegExp(`^\\d{${least},${most}}$`));
  const whole = fc.oneof(
    fc.constant("0"),
    fc.tuple(fc.stringMatching(/^[1-9]$/), digits(0, 29)).map((parts) => parts.join("")),
  );
  const unsigned = fc
    .tuple(whole, fc.option(digits(1, 30), { nil: undefined }))
    .map(([head, fraction]) => (fraction === undefined ? head : `${head}.${fraction}`));
  const canonical = fc
    .tuple(unsigned, fc.boolean())
    .map(([text, negative]) => (negative && /[1-9]/.test(text) ? `-${text}` : text));

  test("of up to 60 digits comes out as it went in, as text or as a number of JSON", () => {
    fc.assert(
      fc.property(canonical, fc.boolean(), (decimal, asNumber) => {
        const json = asNumber ? decimal : `"${decimal}"`;
        const { bill } = readWith({ amount: json, balance: json });
        expect(bill).toMatchObject({ amount: decimal, balance: decimal, extra: null });
      }),
      { numRuns: 1_000 },
    );
  });

  test("that a database prints differently keeps its letters beside its value", () => {
    for (const decimal of ["0E-8", "+1", "1e5", ".5", "1.", "-0", "-0.00", "007", "-.5e-12"]) {
      expect(readWith({ amount: `"${decimal}"`, feeByCoupon: `"${decimal}"` }).bill).toMatchObject({
        amount: decimal,
        feeByCoupon: decimal,
        extra: { amount: decimal, feeByCoupon: decimal },
      });
    }
  });
});

describe("lists, loans and envelopes", () => {
  test("the list of business types knows the types that filters name", () => {
    const all = businessTypes.map(({ code }) => code);
    expect(all).toEqual(expect.arrayContaining([...coinFilterTypes, ...nonFinancialTypes]));
    const margin = businessTypes.filter(({ category }) => category === "margin");
    expect(margin.map(({ code }) => code).toSorted()).toEqual(nonFinancialTypes.toSorted());
  });

  describe("an envelope", () => {
    const requestTime = 1_748_721_720_474;
    test.each([
      [
        `{"code":"00000","msg":"success","requestTime":${requestTime},"data":[]}`,
        { code: "00000", msg: "success", requestTime, data: [] },
      ],
      ['{"code":429}', { code: "429" }],
      ['{"code":"1","msg":null,"data":null}', { code: "1", msg: null, data: null }],
      ['{"code":"1","msg":{"text":"no"}}', { code: "1", msg: undefined }],
      [`{"code":"1","requestTime":"${requestTime}"}`, { code: "1", requestTime }],
      ['{"code":"1","requestTime":null}', { code: "1", requestTime: undefined }],
      ['{"code":"1","requestTime":1748721720}', { code: "1", requestTime: undefined }],
      ['{"code":true}', undefined],
      ['{"msg":"success"}', undefined],
      ["[]", undefined],
    ])("is read by its code, whatever else is wrong: %s", (json, expected) => {
      const { data } = envelope.safeParse(parseExactJson(json));
      if (expected === undefined) expect(data).toBeUndefined();
      else expect(data).toMatchObject(expected);
    });
  });

  const { symbols, contracts, loans } = {
    symbols: (json: string) => readSymbol(parseExactJson(json)),
    contracts: (json: string) => readContract(parseExactJson(json)),
    loans: (json: string) => readLoanToValue(parseExactJson(json)),
  };

  test.each([
    "{}",
    '{"ltv":"","subAccountUids":null,"usdtBalance":"","unpaidUsdtAmount":"","unpaidInfo":[],"balanceInfo":[]}',
    '{"ltv":null,"usdtBalance":null,"unpaidUsdtAmount":null,"unpaidInfo":null,"balanceInfo":null}',
  ])("a loan-to-value record of a unit without a loan has nothing in it: %s", (json) => {
    const none = { ltv: null, subAccountUids: null, usdtBalance: null, unpaidUsdtAmount: null };
    expect(loans(json)).toEqual({ record: { ...none, extra: null, debts: [], collateral: [] } });
  });

  test("a loan-to-value record keeps what the contract does not list, and a number's spelling, at every level", () => {
    const reading = loans(
      '{"ltv":"5E-1","riskLevel":1e-7,"unpaidInfo":[{"coin":"","dueTime":12345678901234567890}],"balanceInfo":[{"coin":"BTC","price":".5","haircut":0.950}]}',
    );
    const { record } = "record" in reading ? reading : {};
    const extras = [record?.extra, record?.debts[0]?.extra, record?.collateral[0]?.extra];
    expect(extras.map((extra) => JSON.stringify(extra))).toEqual([
      '{"riskLevel":1e-7,"ltv":"5E-1"}',
      '{"dueTime":12345678901234567890}',
      '{"haircut":0.950,"price":".5"}',
    ]);
    expect(record?.debts).toMatchObject([{ coin: "", unpaidQty: null }]);
  });

  test("a contract and a symbol need nothing but a name; what columns do not keep of a status, number or time stays", () => {
    const none = Object.fromEntries(Object.keys(contractFields).map((name) => [name, null]));
    expect(contracts('{"symbol":"X"}')).toEqual({ values: { ...none, symbol: "X", extra: null } });
    expect(symbols('{"symbol":"X"}')).toMatchObject({
      values: { symbol: "X", status: null, maxTradeAmount: null, offTime: null, extra: null },
    });
    expect(
      symbols('{"symbol":"X","status":"frozen","takerFeeRate":"2E-3","openTime":"01532454360000"}'),
    ).toMatchObject({
      values: { status: "frozen", extra: { takerFeeRate: "2E-3", openTime: "01532454360000" } },
    });
    for (const read of [contracts, symbols])
      expect(read('{"symbol":"X","offTime":"-1"}')).toMatchObject({
        values: { offTime: null, extra: { offTime: "-1" } },
      });
  });

  test.each([
    [loans, '{"ltv":"NaN"}', "ltv"],
    [loans, '{"note":"\\u0000"}', "note"],
    [loans, '{"unpaidInfo":{}}', "unpaidInfo"],
    [loans, '{"balanceInfo":[null]}', "balanceInfo.0"],
    [loans, '{"balanceInfo":[{"coin":"A"},{"coin":"B","price":"dear"}]}', "balanceInfo.1.price"],
    [loans, '{"unpaidInfo":[{"coin":"A"},{"coin":"A"}]}', "unpaidInfo.1.coin"],
    [loans, '{"subAccountUids":["1",null]}', "subAccountUids.1"],
    [loans, "null", ""],
    [contracts, '{"symbol":"X","offTime":"-2"}', "offTime"],
    [contracts, '{"symbol":"X","supportMarginCoins":["USDT",null]}', "supportMarginCoins.1"],
    [contracts, '{"symbol":"X","makerFeeRate":"free"}', "makerFeeRate"],
    [contracts, '{"baseCoin":"BTC"}', "symbol"],
    [symbols, "null", ""],
    [symbols, '{"symbol":""}', "symbol"],
    [symbols, '{"symbol":"X\\u0000"}', "symbol"],
    [symbols, '{"symbol":"X","offTime":"never"}', "offTime", "X"],
    [symbols, '{"symbol":"X","note":"\\ud800"}', "note", "X"],
  ])("%O of what breaks the contract says where: %s", (read, json, path, name = undefined) => {
    expect(read(json)).toEqual({ fault: { path, reason: expect.any(String) } });
    if (read === symbols) expect(symbolOf(parseExactJson(json))).toBe(name);
  });
});

describe("a unified account", () => {
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

    test("may lack its symbol, balance and position", () => {
      const fields = ["symbol", "balance", "positionType", "positionAmount", "positionBalance"];
      for (const field of fields) {
        for (const value of ["", null, undefined])
          expect(readWith({ [field]: value })).toEqual({ bill: { ...asBill, [field]: null } });
      }
    });

    test("keeps fields that the contract does not list, a category spelled otherwise, and spellings", () => {
      const { bill } = {
        bill: undefined,
        ...readWith({ category: "Spot", amount: "-.50", x: [1] }),
      };
      expect(bill).toMatchObject({
        amount: "-.50",
        extra: { category: "Spot", amount: "-.50", x: [1] },
      });
      expect(readWith({ category: "LOANS" })).toMatchObject({
        bill: { extra: { category: "LOANS" } },
      });
      for (const category of [null, undefined, "", "SPOT"])
        expect(readWith({ category })).toEqual({ bill: asBill });
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
      // The id of a funding row is made 1,472 ms after its time.
      expect(spot.idDisorderMs).toBeGreaterThan(1_472);
      expect(billsApiOf("UTA-OTHER").query({ idLessThan: "5", limit: 1 })).toEqual({
        category: "OTHER",
        cursor: "5",
        limit: "1",
      });
    });
  });

  test("the settings tell the mode, and the account's info whose the key is and what it may do", () => {
    expect(accountSettings.data.safeParse({ uid: "1" }).success).toBe(false);
    expect(accountSettings.data.parse({ accountMode: "hybrid", uid: 1 }).accountMode).toBe(
      "hybrid",
    );
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

  const { unified, classic } = {
    unified: (permType: string | null, permissions: readonly string[]) =>
      keyInfo.unified.data.parse({ permType, permissions }),
    classic: (...authorities: readonly string[]) => keyInfo.classic.data.parse({ authorities }),
  };
  test.each<[KeyInfo, boolean, boolean]>([
    [unified("read-only", ["uta_mgt"]), true, true],
    [unified("read_only", ["uta_mgt"]), true, true],
    [unified("read_and_write", ["uta_trade", "withdraw"]), false, false],
    [unified("read-and-write", []), false, false],
    [unified(null, ["uta_mgt"]), true, true],
    [unified(null, ["withdraw"]), false, false],
    [classic("coor", "cpor", "stor", "taxr"), true, true],
    [classic("readonly"), true, false],
    [classic("coor", "coow", "wwow"), false, false],
    [classic("trade"), false, false],
    [classic("a word unheard of", "taxw"), false, true],
  ])("a key of %j may only read: %s; and reads tax records: %s", (key, mayOnlyRead, readsTax) => {
    expect(key).toMatchObject({ mayOnlyRead, readsTax });
  });

  test("the rights of a classic key are those to do more than to read", () => {
    expect(classic("coor", "coow", "wwow").rights).toEqual(["coow", "wwow"]);
  });
});

describe("types that only tax records name", () => {
  test.each([
    ["contract_margin_settle_fee", "contract_settle_fee", "funding"],
    ["burst_close_long", "burst_long_loss_query", "liquidation"],
    ["burst_close_short", "burst_short_loss_query", "liquidation"],
    ["burst_open_long", "burst_open_long", "liquidation"],
    ["transfer_to_future_copytrade", "transfer_to_future_copytrade", "transfer"],
    ["transfer_from_future_copytrade", "transfer_from_future_copytrade", "transfer"],
    ["transfer_in", "transfer_in", "transfer"],
    ["transfer_out", "transfer_out", "transfer"],
  ])("%s is %s", (futureTaxType, businessType, category) => {
    const reading = taxApiOf("USDT-FUTURES")?.read({
      ...{ id: "1", symbol: "", marginCoin: "USDT", futureTaxType, amount: "1", fee: "0", ts: "1" },
    });
    const extra = businessType === futureTaxType ? null : { futureTaxType };
    expect(reading).toMatchObject({ bill: { businessType, extra } });
    const listed = listedBusinessTypes.find(({ code }) => code === businessType);
    expect(listed?.category).toBe(category);
  });

  test.each([
    ["FIXED_SETTLE_FEE_USER_OUT", "funding"],
    ["ADL_SELL_IN_SINGLE_SIDE_MODE", "liquidation"],
    ["RISK_SOURCE_USER_OUT", "liquidation"],
    ["LIQ_CONVERT_IN", "liquidation"],
    ["INS_LOAN_REPAY_INTEREST_USER_OUT", "loan"],
    ["SYSTEM_TRANSFER_IN", "transfer"],
    ["TRACE_LOCK_USER_OUT", "transfer"],
    ["TRACE_SHARE_BENEFIT_USER_IN", "copy"],
    ["REPAY_TARGET_USER_IN", "conversion"],
  ])("%s is of category %s", (code, category) => {
    expect(listedBusinessTypes.filter((one) => one.code === code)).toMatchObject([{ category }]);
  });

  // Old pages of the exchange have these names among those of bills.
  test.each(Object.entries(taxTypes))("%s has the category of %s", (name, billsName) => {
    const [own, usual] = [name, billsName].map((code) =>
      listedBusinessTypes.find((one) => one.code === code),
    );
    expect(own?.category).toBe(usual?.category);
  });
});

describe("a type of a wallet counts by its name, else by its group", () => {
  test.each([
    ["strategy/STRATEGY_TRANSFER_OUT", "transfer"],
    ["transaction/BUY", "spot"],
    // Principal of an earn product, and its interest.
    ["financial/financial_lock_out", "transfer"],
    ["financial/FINANCIAL_DUAL_USER_FREEZING_OUT", "transfer"],
    ["financial/LOCK_RELEASE_USER_IN", "transfer"],
    ["financial/POOL_X_SUB_OUT", "transfer"],
    ["financial/BATCH_INTEREST_USER_IN", "interest"],
    ["loan/interest", "interest"],
    ["loan/borrow", "loan"],
    // Principal of copy trading, and its result.
    ["trace/trace_transfer_user_out", "transfer"],
    ["trace/trace_share_benefit_user_in", "copy"],
    ["other/AIRDROP_REWARDS", "bonus"],
    ["other/airdrop rewards", "bonus"],
    ["other/SYSTEM_LOCK", "transfer"],
    ["fait/FIAT_BANK_TRANSFER_DEPOSIT_SUCCESS_USER_IN_V2", "deposit"],
    ["fiat/BUY", "spot"],
    ["other/", "unclassified"],
    ["/", "unclassified"],
    ["other/INNER_ADDRESS_WITHDRAW_IN", "deposit"],
    ["withdraw/INNER_ADDRESS_WITHDRAW_IN", "deposit"],
    ["on_chain/transfer_out", "transfer"],
    ["cfd/", "transfer"],
    ["pay/", "transfer"],
    ["paptrading/", "transfer"],
    ["deposit/transfer-in", "transfer"],
    ["fait/DEPOSIT", "deposit"],
    ["fiat/WITHDRAW", "withdrawal"],
    ["rwa/buy", "spot"],
    ["stock/sell", "spot"],
    ["stock/dividend", "interest"],
    ["debit/never seen", "unclassified"],
    ["interest", "unclassified"],
  ])("%s: %s", (code, category) => {
    expect(categoryOfWalletType(code)).toBe(category);
  });

  test.each([
    ["Automatic withdrawal", "transfer"],
    ["financial_unlock_in", "transfer"],
    ["Redemption", "transfer"],
    ["Interest", "interest"],
    ["Airdrop Reward-A", "bonus"],
    ["Crypto Voucher Distribution", "bonus"],
    ["Fiat deposit", "deposit"],
    ["Fiat withdrawal success - Deduct", "withdrawal"],
    ["Copy Trade expense", "copy"],
    ["System charges fees", "fee-bills"],
    ["Position profit", "interest"],
    ["Financial", "transfer"],
    ["Closing of trading bot position", "transfer"],
    ["Gains", "conversion"],
    ["Consumption", "conversion"],
    ["Increase exchange rate", "conversion"],
    ["Reduce exchange rate", "conversion"],
    ["Fiat", "spot"],
    ["FIAT_BALANCE_BUY_OR_SELL_USER_OUT", "spot"],
    ["Deposit credited", "deposit"],
    ["", "unclassified"],
  ])("tax records call it %j: %s", (spotTaxType, category) => {
    const reading = taxApiOf("SPOT")?.read({
      ...{ id: "1", coin: "USDT", spotTaxType, amount: "1", fee: "0", balance: "1", ts: "1" },
    });
    const type = reading !== undefined && "bill" in reading ? reading.bill.businessType : "none";
    expect(categoryOfWalletType(type)).toBe(category);
  });
});
