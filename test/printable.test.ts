import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { epochMs } from "../src/contract/time.ts";
import { ledgerName } from "../src/output/format.ts";
import { ledgerColumns, table, tableText } from "../src/output/result.ts";
import { printable, printableJson, printableLine, shellWord } from "../src/printable.ts";
import { strayText } from "../src/sync/walk/pages.ts";

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
  .array(fc.oneof(fc.constantFrom(...acting, "\n", "\ud800", "a", "注文", "🚀"), fc.string()), {
    maxLength: 20,
  })
  .map((parts) => parts.join(""));

const acts = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

describe("a foreign text", () => {
  test("is printed with nothing that a terminal acts on but its line ends", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(printable(text).replaceAll("\n", "")).not.toMatch(acts);
        expect(printable(text).split("\n")).toHaveLength(text.split("\n").length);
      }),
    );
  });

  test("that is part of a line stays on it, and is cut where it is long", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(printableLine(text)).not.toMatch(acts);
      }),
    );
    expect(printableLine("x".repeat(10_000))).toBe(`${"x".repeat(300)}…`);
  });

  test("in JSON is the same text to whoever parses it", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const json = printableJson(JSON.stringify({ text }, null, 2));
        expect(json.replaceAll("\n", "")).not.toMatch(acts);
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ text })));
      }),
    );
  });

  test.each([
    ["BTC\u001b[2J", "BTC\\u{1b}[2J"],
    ["\u009b31mred", "\\u{9b}31mred"],
    ["a\r\nb", "a\\u{d}\\nb"],
    ["USDT\u202eTDSU", "USDT\\u{202e}TDSU"],
    ["注文 🚀", "注文 🚀"],
  ])("is spelled out: %j", (text, expected) => {
    expect(printableLine(text)).toBe(expected);
  });
});

test("a ledger is named on one line, whatever the tables call it", () => {
  const ledger = { account: "a\u001b]0;x\u0007\nall: done", productType: "USDT-FUTURES" } as const;
  expect(ledgerName(ledger)).toBe("a\\u{1b}]0;x\\u{7}\\nall: done/USDT-FUTURES");
  expect(ledgerColumns([ledger], (one) => one)["ledger"]?.title).toBe(
    "a\\u{1b}]0;x\\u{7}\\nall: done",
  );
});

test("what the exchange sent forges no line, in a message or in a table", () => {
  const forged = "1\nmain: all equal";
  expect(strayText([{ billId: forged, cTime: epochMs(0) }])).toMatch(
    /^bill 1\\nmain: all equal of 1970/,
  );
  const cell = tableText(
    table<string>("", { [forged]: { kind: "text", of: (text) => text } }, [forged]),
  );
  expect(cell.split("\n")).toHaveLength(2);
});
