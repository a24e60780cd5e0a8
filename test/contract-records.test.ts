import { describe, expect, test } from "vitest";
import {
  businessTypes,
  coinFilterTypes,
  nonFinancialTypes,
} from "../src/contract/business-types.ts";
import { contractFields, readContract } from "../src/contract/contracts.ts";
import { envelope } from "../src/contract/envelope.ts";
import { parseExactJson } from "../src/contract/json.ts";
import { readLoanToValue } from "../src/contract/loan-to-value.ts";
import { readSymbol, symbolOf } from "../src/contract/symbols.ts";

describe("the list of business types", () => {
  test("knows the types that filters name", () => {
    const all = businessTypes.map(({ code }) => code);
    expect(all).toEqual(expect.arrayContaining([...coinFilterTypes, ...nonFinancialTypes]));
    const margin = businessTypes.filter(({ category }) => category === "margin");
    expect(margin.map(({ code }) => code).toSorted()).toEqual(nonFinancialTypes.toSorted());
  });
});

describe("an envelope", () => {
  const requestTime = 1_748_721_720_474;
  test.each([
    [
      `{"code":"00000","msg":"success","requestTime":${requestTime},"data":[]}`,
      { code: "00000", msg: "success", requestTime, data: [] },
    ],
    ['{"code":"40009","msg":"sign signature error"}', { code: "40009" }],
    ['{"code":429}', { code: "429" }],
    ['{"code":"1","msg":null,"data":null}', { code: "1", msg: null, data: null }],
    ['{"code":"1","msg":{"text":"no"}}', { code: "1", msg: undefined }],
    [`{"code":"1","requestTime":"${requestTime}"}`, { code: "1", requestTime }],
    ['{"code":"1","requestTime":null}', { code: "1", requestTime: undefined }],
    ['{"code":"1","requestTime":1748721720}', { code: "1", requestTime: undefined }],
  ])("is read by its code, whatever else is wrong: %s", (json, expected) => {
    expect(envelope.safeParse(parseExactJson(json)).data).toMatchObject(expected);
  });

  test.each(["{}", "[]", "null", '"00000"', '{"code":null}', '{"code":true}', '{"msg":"success"}'])(
    "without a code is none: %s",
    (json) => {
      expect(envelope.safeParse(parseExactJson(json)).success).toBe(false);
    },
  );
});

describe("a loan-to-value record", () => {
  const read = (json: string) => readLoanToValue(parseExactJson(json));

  const none = {
    ltv: null,
    usdtBalance: null,
    unpaidUsdtAmount: null,
    extra: null,
    debts: [],
    collateral: [],
  };
  test.each([
    ["{}", null],
    [
      '{"ltv":"","subAccountUids":[],"usdtBalance":"","unpaidUsdtAmount":"","unpaidInfo":[],"balanceInfo":[]}',
      [],
    ],
    [
      '{"ltv":null,"subAccountUids":null,"usdtBalance":null,"unpaidUsdtAmount":null,"unpaidInfo":null,"balanceInfo":null}',
      null,
    ],
  ])("of a unit without a loan has nothing in it: %s", (json, subAccountUids) => {
    expect(read(json)).toEqual({ record: { ...none, subAccountUids } });
  });

  test("keeps what the contract does not list, and a number's spelling, at every level", () => {
    const json =
      '{"ltv":"5E-1","riskLevel":1e-7,"unpaidInfo":[{"coin":"","dueTime":12345678901234567890}],"balanceInfo":[{"coin":"BTC","price":".5","haircut":0.950}]}';
    const reading = read(json);
    const { record } = "record" in reading ? reading : {};
    const extras = [record?.extra, record?.debts[0]?.extra, record?.collateral[0]?.extra];
    expect(extras.map((extra) => JSON.stringify(extra))).toEqual([
      '{"riskLevel":1e-7,"ltv":"5E-1"}',
      '{"dueTime":12345678901234567890}',
      '{"haircut":0.950,"price":".5"}',
    ]);
    expect(record?.debts).toMatchObject([{ coin: "", unpaidQty: null }]);
  });

  test.each([
    ['{"ltv":"high"}', "ltv"],
    ['{"ltv":"NaN"}', "ltv"],
    ['{"note":"\\u0000"}', "note"],
    ['{"unpaidInfo":{}}', "unpaidInfo"],
    ['{"balanceInfo":[null]}', "balanceInfo.0"],
    ['{"balanceInfo":[{"coin":"A"},{"coin":"B","price":"dear"}]}', "balanceInfo.1.price"],
    ['{"unpaidInfo":[{"coin":"A"},{"coin":"A"}]}', "unpaidInfo.1.coin"],
    ['{"subAccountUids":["1",null]}', "subAccountUids.1"],
    ["null", ""],
  ])("that breaks the contract says where: %s", (json, path) => {
    expect(read(json)).toEqual({ fault: { path, reason: expect.any(String) } });
  });
});

describe("a contract", () => {
  const read = (json: string) => readContract(parseExactJson(json));
  const none = Object.fromEntries(Object.keys(contractFields).map((name) => [name, null]));

  test("needs nothing but its name", () => {
    expect(read('{"symbol":"X"}')).toEqual({ values: { ...none, symbol: "X", extra: null } });
  });

  test.each([
    ['{"symbol":"X","offTime":"-2"}', "offTime"],
    ['{"symbol":"X","supportMarginCoins":"USDT"}', "supportMarginCoins"],
    ['{"symbol":"X","supportMarginCoins":["USDT",null]}', "supportMarginCoins.1"],
    ['{"symbol":"X","makerFeeRate":"free"}', "makerFeeRate"],
    ['{"baseCoin":"BTC"}', "symbol"],
  ])("that breaks the contract says where: %s", (json, path) => {
    expect(read(json)).toEqual({ fault: { path, reason: expect.any(String) } });
  });
});

describe("a symbol", () => {
  const read = (json: string) => readSymbol(parseExactJson(json));
  test("needs nothing but its name; a status that nobody listed is kept", () => {
    expect(read('{"symbol":"X"}')).toMatchObject({
      values: { symbol: "X", status: null, maxTradeAmount: null, offTime: null, extra: null },
    });
    expect(read('{"symbol":"Y","status":"frozen"}')).toMatchObject({
      values: { symbol: "Y", status: "frozen" },
    });
  });

  test("keeps the spelling of a number and of a time that the columns do not", () => {
    expect(read('{"symbol":"X","takerFeeRate":"2E-3","openTime":"01532454360000"}')).toMatchObject({
      values: { extra: { takerFeeRate: "2E-3", openTime: "01532454360000" } },
    });
  });

  test.each([
    ["null", "", undefined],
    ['{"symbol":""}', "symbol", undefined],
    ['{"symbol":"X\\u0000"}', "symbol", undefined],
    ['{"symbol":"X","takerFeeRate":"free"}', "takerFeeRate", "X"],
    ['{"symbol":"X","offTime":"never"}', "offTime", "X"],
    ['{"symbol":"X","note":"\\ud800"}', "note", "X"],
  ])(
    "that breaks the contract says where, and its name where it has one: %s",
    (json, path, name) => {
      expect(read(json)).toEqual({ fault: { path, reason: expect.any(String) } });
      expect(symbolOf(parseExactJson(json))).toBe(name);
    },
  );
});
