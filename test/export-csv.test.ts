import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { expect, test } from "vitest";
import { csvLines } from "../src/export/csv.ts";

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
  ["=1+1", "=1+1"],
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
