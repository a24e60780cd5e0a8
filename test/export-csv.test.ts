// No name is a formula, an escape or a break in a journal; a number that a tool would round is refused.

import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { expect, test } from "vitest";
import { csvLines, csvRow, harmless } from "../src/books/export/csv.ts";
import { anExportedBill } from "./support/bills.ts";

test("a field is quoted where a reader needs it, and a reader finds the same rows, whatever the fields hold", () => {
  const fields = ["plain", null, " a b ", "a,b", 'say "x"', "a\nb", "a\rb", "1268377000628355083"];
  expect(csvLines([fields])).toBe(
    'plain,, a b ,"a,b","say ""x""","a\nb","a\rb",1268377000628355083\r\n',
  );
  const row = fc.tuple(fc.string({ unit: "binary" }), fc.stringMatching(/^[",\r\n;a]*$/));
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), (drawn) => {
      const rows = drawn.map(([first, second]) => [first, second, "end"]);
      expect(parse(csvLines(rows), { record_delimiter: "\r\n" })).toEqual(rows);
    }),
  );
});

test("no text begins as a formula does, numbers keep their sign, and a reader gets all texts back", () => {
  const nasty = [
    "=1+1",
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "\n=1",
    "＝1+1",
    "'quoted",
    "plain",
  ];
  const back = (cell = "") => cell.replace(/^'/, "");
  for (const text of nasty) {
    const names = { account: text, billId: text, symbol: text, businessType: text, coin: text };
    const bill = anExportedBill({ ...names, amount: "-1.50", fee: "-0.5" });
    const [row = []] = parse(csvLines([csvRow(bill)]), { record_delimiter: "\r\n" });
    expect(row.filter((cell: string) => /^[=+\-@\t\r\n＝]/.test(cell))).toEqual(["-1.50", "-0.5"]);
    expect([0, 2, 3, 7, 8].map((place) => back(row[place]))).toEqual(Array(5).fill(text));
  }
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(back(harmless(text))).toBe(text);
    }),
  );
});
