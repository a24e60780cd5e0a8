// Holds: Nothing dropped, Exact

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { classicRows, noPosition } from "../src/contract/bill.ts";
import { financialRecords } from "../src/contract/financial-records.ts";
import { parseExactJson } from "../src/contract/json.ts";

/** Answers are read from text, as they come: what JSON.parse does is part of what is tested. */
const readers = {
  bills: (json: string) => accountBills.data.safeParse(parseExactJson(json)),
  records: (json: string) => financialRecords.data.safeParse(parseExactJson(json)),
};
const none = { rows: [], endId: undefined };

describe.each([
  ["bills", "bills", "endId"],
  ["records", "list", "cursor"],
] as const)("a page of %s", (kind, list, cursor) => {
  const readPage = readers[kind];
  /** A page by its parts, JSON each; undefined leaves one out. */
  const pageOf = (rows?: string, end?: string) => {
    const members = [
      ...(rows === undefined ? [] : [`"${list}":${rows}`]),
      ...(end === undefined ? [] : [`"${cursor}":${end}`]),
    ];
    return readPage(`{${members.join()}}`);
  };

  const id = "1268377000628355083";
  const rows = [{ billId: "2" }, null, "row"];
  const json = JSON.stringify(rows);
  test.each<[string, string | undefined, object]>([
    ...["[]", "null"].flatMap((empty): [string, string | undefined, object][] => [
      [empty, '""', none],
      [empty, "null", none],
      [empty, undefined, none],
      [empty, `"${id}"`, { rows: [], endId: id }],
    ]),
    [json, `"${id}"`, { rows, endId: id }],
    [json, id, { rows, endId: id }],
    [json, '""', { rows, endId: undefined }],
    [json, "null", { rows, endId: undefined }],
  ])("of rows %s, broken ones among them, and the cursor %s is %j", (rows, end, page) => {
    expect(pageOf(rows, end).data).toEqual(page);
  });

  test.each([
    ['""', '""'],
    ["{}", '""'],
    ["[]", "{}"],
    ["[]", "true"],
  ])("breaks the contract with rows %s and the cursor %s", (rows, end) => {
    expect(pageOf(rows, end).success).toBe(false);
  });

  test.each(["null", "[]", '""'])("is not %s", (json) => {
    expect(readPage(json).success).toBe(false);
  });
});

test.each(["{}", '{"endId":""}', '{"list":[],"endId":""}'])(
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

  test.each(["symbol", "feeByCoupon", "balance"])("may lack its %s", (field) => {
    for (const json of ['""', "null", undefined]) {
      expect(readWith({ [field]: json }).bill).toMatchObject({ [field]: null, extra: null });
    }
  });

  test("keeps a businessType that nobody listed", () => {
    const { bill } = readWith({ businessType: '"Loyalty-Yield_v3"' });
    expect(bill).toMatchObject({ businessType: "Loyalty-Yield_v3", extra: null });
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

  test("takes numbers where text is documented, without losing a digit", () => {
    const { bill } = readWith({ billId: "9007199254740993", cTime: "1738130562931" });
    expect(bill).toMatchObject({ billId: "9007199254740993", cTime: 1_738_130_562_931 });
  });

  const broken: readonly [string, Record<string, string | undefined>, string, RegExp][] = [
    ["no id", { billId: undefined }, "billId", /is missing/],
    ["an empty id", { billId: '""' }, "billId", /is empty/],
    ["an amount that is a word", { amount: '"abc"' }, "amount", /not a decimal/],
    ["Infinity", { fee: '"-Infinity"' }, "fee", /not a decimal/],
    ["a hexadecimal", { amount: '"0x10"' }, "amount", /not a decimal/],
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

  test.each(["null", '"row"', "17", "12345678901234567890", "true", "[]", "[{}]", "{}"])(
    "that is no record of a bill is set aside: %s",
    (json) => {
      const reading = classicRows.read(parseExactJson(json));
      expect(reading).toEqual({ fault: { path: expect.any(String), reason: expect.any(String) } });
    },
  );

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

  test.each(["0E-8", "+1", "1e5", ".5", "1.", "-0", "-0.00", "007", "00.5", "1E+3", "-.5e-12"])(
    "that a database prints differently, as it does %s, keeps its letters beside its value",
    (decimal) => {
      const { bill } = readWith({ amount: `"${decimal}"`, feeByCoupon: `"${decimal}"` });
      expect(bill).toMatchObject({
        amount: decimal,
        feeByCoupon: decimal,
        extra: { amount: decimal, feeByCoupon: decimal },
      });
    },
  );
});
