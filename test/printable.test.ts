import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Break } from "../src/audit/breaks.ts";
import { rejectedLines } from "../src/commands/breaks.ts";
import { reconciliationText } from "../src/commands/reconcile/reconcile.ts";
import { Findings, verificationText } from "../src/commands/verify/verify-result.ts";
import { epochMs, hourMs } from "../src/contract/time.ts";
import { streamColumn, streamName } from "../src/output/stream-names.ts";
import { printable, printableJson, printableLine, shellWord } from "../src/printable.ts";
import { strayText } from "../src/sync/walk/strays.ts";

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

test("a stream is named on one line, whatever the tables call it", () => {
  const stream = { account: "a\u001b]0;x\u0007\nall: done", productType: "USDT-FUTURES" } as const;
  expect(streamName(stream)).toBe("a\\u{1b}]0;x\\u{7}\\nall: done/USDT-FUTURES");
  expect(streamColumn([stream]).title).toBe("a\\u{1b}]0;x\\u{7}\\nall: done");
});

describe("what the exchange sent forges no line", () => {
  const stream = { account: "main", productType: "USDT-FUTURES" } as const;
  const span = { from: epochMs(0), to: epochMs(hourMs) };
  const forged = "1\nmain: all equal";
  const fault = { path: `a.${forged}`, reason: "is not a decimal number" };

  test("of a verification", () => {
    const findings = new Findings(10);
    const bill = { stream, billId: forged, cTime: epochMs(0) };
    findings.add({ ...bill, kind: "missing", isHealed: false });
    findings.add({ ...bill, kind: "extra", reason: "unknown" });
    const fields = [{ field: "symbol", stored: forged, served: forged }];
    findings.add({ ...bill, kind: "changed", fields, isHealed: false });
    findings.add({ stream, kind: "rejected", billId: forged, fault, isAccepted: false });
    const streams = [{ stream, span: [span], compared: 4, requests: 1, error: undefined }];
    const reports = [{ account: "main", streams, recounted: [], error: undefined }];
    const text = verificationText({ span, reports, findings });
    expect(text.match(/^main: /gm)).toBe(null);
    expect(text.match(/1\\nmain: all equal/g)).toHaveLength(7);
  });

  test("of rejected rows", () => {
    const row = { ...stream, ...fault, digest: "0123456789abcdef", rejectedAt: "" };
    const text = rejectedLines([row, { ...row, account: forged }]).join("\n");
    expect(text.match(/^main: /gm)).toBe(null);
    expect(text.match(/1\\nmain: all equal/g)).toHaveLength(3);
  });

  test("of a reconciliation", () => {
    const chain = { ...stream, coin: forged, bills: 1, tested: 1, rounded: 0, rounding: "0" };
    const days = { reconciled: 1, incomplete: 0, broken: 0 };
    const found: Break = {
      breakId: 1,
      kind: "chain",
      ...stream,
      coin: forged,
      anchor: forged,
      happenedAt: null,
      expected: null,
      observed: null,
      difference: null,
      firstBadBill: forged,
      lastGoodBill: forged,
      firstBadProductType: null,
      lastGoodProductType: null,
      explanation: forged,
      firstSeenAt: "2026-01-01T00:00:00.000Z",
      state: "open",
      note: null,
      signedOffAt: null,
      signedOffBy: null,
      resolvedAt: null,
      decisions: [],
    };
    const text = reconciliationText(
      {
        isWhole: true,
        chains: [{ ...chain, days }],
        rules: [],
        breaks: [{ ...found, isRetired: false }],
      },
      0,
    );
    expect(text.match(/^main: /gm)).toBe(null);
    expect(text.match(/1\\nmain: all equal/g)).toHaveLength(6);
  });

  test("of a page of another time", () => {
    expect(strayText([{ billId: forged, cTime: epochMs(0) }])).toMatch(
      /^bill 1\\nmain: all equal of 1970/,
    );
  });
});
