// No name is a formula, an escape or a break in a journal; a number that a tool would round is refused.

import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { expect, test } from "vitest";
import { csvLines, csvRow, harmless, toCsv } from "../src/export/csv.ts";
import { anExportedBill } from "./support/bills.ts";

test.each([
  ["plain", "plain"],
  [null, ""],
  ["", ""],
  [" a b ", " a b "],
  ["a,b", '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ["a\nb", '"a\nb"'],
  ["a\rb", '"a\rb"'],
  ["a\r\nb", '"a\r\nb"'],
  ["1268377000628355083", "1268377000628355083"],
])("the field %j is written as %j", (value, written) => {
  expect(csvLines([[value, "end"]])).toBe(`${written},end\r\n`);
});

test("a reader finds the same rows, whatever the fields hold", () => {
  const rows = fc.array(
    fc.tuple(fc.string({ unit: "binary" }), fc.stringMatching(/^[",\r\n;a]*$/)),
    {
      minLength: 1,
    },
  );
  fc.assert(
    fc.property(rows, (fields) => {
      const text = csvLines(fields.map(([first, second]) => [first, second, "end"]));
      const read = parse(text, { record_delimiter: "\r\n" });
      expect(read).toEqual(fields.map(([first, second]) => [first, second, "end"]));
    }),
  );
});

const nasty = ["=1+1", "+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "\n=1", "＝1+1", "'quoted", "plain"];

test("no text begins as a formula does, numbers keep their sign, and a reader gets all texts back", () => {
  for (const text of nasty) {
    const bill = anExportedBill({
      account: text,
      billId: text,
      symbol: text,
      businessType: text,
      coin: text,
      amount: "-1.50",
      fee: "-0.5",
    });
    const [row = []] = parse(csvLines([csvRow(bill)]), { record_delimiter: "\r\n" });
    expect(row.filter((cell: string) => /^[=+\-@\t\r\n＝]/.test(cell))).toEqual(["-1.50", "-0.5"]);
    const back = (cell = "") => cell.replace(/^'/, "");
    expect([0, 2, 3, 7, 8].map((place) => back(row[place]))).toEqual(Array(5).fill(text));
  }
});

test("any text comes back when one apostrophe is taken from those that begin with one", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...nasty)), (text) => {
      expect(harmless(text).replace(/^'/, "")).toBe(text);
    }),
  );
});

test("for a spreadsheet an id is text, and every amount a number that a sum does not skip", async () => {
  const amounts = { amount: "-1.5", fee: "0.1234567890123456", balance: "1234567890123456789" };
  const bill = anExportedBill({ billId: "1268377000628355083", ...amounts });
  const pages = async function* () {
    yield [bill];
  };
  const chunks = await Array.fromAsync(toCsv(pages(), { isForSpreadsheet: true }));
  const text = chunks.join("");
  expect(text.startsWith("\uFEFFaccount,")).toBe(true);
  const [row = {}] = parse(text, { bom: true, columns: true }) as Record<string, string>[];
  expect(row).toMatchObject({ bill_id: "'1268377000628355083", ...amounts });
  expect((await Array.fromAsync(toCsv(pages()))).join("")).toContain(",1268377000628355083,");
});
