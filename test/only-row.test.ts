import { expect, test } from "vitest";
import { onlyRow } from "../src/db/sql/only-row.ts";

test("a row that must be there and is not is a defect, and never a count of 0", () => {
  expect(onlyRow([{ pairs: 0 }], "the number of pairs")).toEqual({ pairs: 0 });
  expect(() => onlyRow([], "the number of pairs")).toThrow(
    "defect: the number of pairs came back without a row",
  );
});
