import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rowsText } from "../src/core/sync/walk/out-of-range-rows.ts";
import { printable, printableJson, printableLine, shellWord } from "../src/lib/printable.ts";
import { epochMs } from "../src/lib/time.ts";
import { table, tableText } from "../src/output/result.ts";
import { ledgerName } from "../src/output/text.ts";

test("a name is one word of a shell's command, whatever it holds", () => {
  const names = ["main", "a b", "it's", "$(id)", "`id`", "a\\", '"', "", "*", "a;b", "~"];
  const line = `printf '%s\\n' ${names.map(shellWord).join(" ")}`;
  expect(execFileSync("sh", ["-c", line], { encoding: "utf8" })).toBe(`${names.join("\n")}\n`);
  expect(shellWord("main-2.x")).toBe("main-2.x");
});

/** Characters that a terminal acts on, written as codes so that this file contains none of them. */
const acting = [
  0x00, 0x07, 0x08, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0x9d, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029,
  0x202a, 0x202e, 0x2066, 0x2069, 0xfeff, 0xe0041,
].map((code) => String.fromCodePoint(code));

const hostile = fc
  .array(fc.oneof(fc.constantFrom(...acting, "\n", "\ud800", "a", "注文", "🚀"), fc.string()))
  .map((parts) => parts.join(""));

test("a foreign text is spelled out where a terminal would act on it: in lines, in one line, and in JSON, which is parsed to the same", () => {
  const acts = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
  fc.assert(
    fc.property(hostile, (text) => {
      expect(printable(text).replaceAll("\n", "")).not.toMatch(acts);
      expect(printable(text).split("\n")).toHaveLength(text.split("\n").length);
      expect(printableLine(text)).not.toMatch(acts);
      const json = printableJson(JSON.stringify({ text }, null, 2));
      expect(json.replaceAll("\n", "")).not.toMatch(acts);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ text })));
    }),
  );
  expect(printableLine("x".repeat(10_000))).toBe(`${"x".repeat(300)}…`);
  expect(printableLine("\u009b31m\r\n\u202e注文 🚀")).toBe("\\u{9b}31m\\u{d}\\n\\u{202e}注文 🚀");
});

test("what the exchange sent forges no line, in a message or in a table", () => {
  const forged = "1\nmain: all equal";
  expect(rowsText([{ billId: forged, cTime: epochMs(0) }])).toMatch(
    /^bill 1\\nmain: all equal of 1970/,
  );
  const ledger = { account: forged, productType: "USDT-FUTURES" } as const;
  expect(ledgerName(ledger)).toBe("1\\nmain: all equal/USDT-FUTURES");
  const columns = { [forged]: { kind: "text", of: (text: string) => text } } as const;
  expect(tableText(table("", columns, [forged])).split("\n")).toHaveLength(2);
});
