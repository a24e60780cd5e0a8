import { expect, test } from "vitest";
import { epochMs, hourMs, minuteMs } from "../src/lib/time.ts";
import {
  asJson,
  asText,
  type Column,
  type Result,
  table,
  tableText,
} from "../src/output/result.ts";

const at = epochMs(Date.UTC(2026, 10, 21, 3, 24, 59, 999));
const span = { from: epochMs(at - hourMs), to: at };

/** What people read and programs get of each kind of column. */
const shown: readonly [string, Column<unknown>, string, unknown][] = [
  ["a text", { kind: "text", of: () => "USDT" }, "USDT", "USDT"],
  ["a foreign text", { kind: "text", of: () => "a\u001b[2Jb" }, "a\\u{1b}[2Jb", "a\u001b[2Jb"],
  ["a decimal", { kind: "amount", of: () => "-0.10" }, "-0.10", "-0.10"],
  ["a count", { kind: "count", of: () => 1_234_567 }, "1,234,567", 1_234_567],
  ["a time", { kind: "time", of: () => at }, "2026-11-21 03:24Z", "2026-11-21T03:24:59Z"],
  ["a length", { kind: "length", of: () => 90 * minuteMs }, "1 h 30 m", 90 * minuteMs],
  [
    "spans",
    { kind: "spans", of: () => [span, { from: at, to: epochMs(at + hourMs) }] },
    "2 h",
    [
      { from: "2026-11-21T02:24:59Z", to: "2026-11-21T03:24:59Z", fromMs: at - hourMs, toMs: at },
      { from: "2026-11-21T03:24:59Z", to: "2026-11-21T04:24:59Z", fromMs: at, toMs: at + hourMs },
    ],
  ],
  ["no spans", { kind: "spans", of: () => [] }, "-", []],
  ["nothing", { kind: "count", of: () => undefined }, "-", null],
];

test("each kind of column has its text and its JSON", () => {
  for (const [what, column, text, json] of shown) {
    const one = table("rows", { theKey: column }, [{}]);
    const lines = tableText(one).split("\n");
    expect([what, ...lines.map((line) => line.trim())]).toEqual([what, "the key", text]);
    expect([what, one.json]).toEqual([what, [{ theKey: json }]]);
  }
});

test("texts are flush left and figures flush right; what only programs are told has no title", () => {
  const rows = [
    { name: "a", bills: 1_000, why: "x" },
    { name: "long", bills: 7, why: "yz" },
  ];
  const one = table<(typeof rows)[number]>(
    "rows",
    {
      name: { kind: "text", of: ({ name }) => name },
      id: { kind: "text", title: "", of: ({ name }) => name.length.toString() },
      bills: { kind: "count", title: "stored", of: ({ bills }) => bills },
      raw: { kind: "value", of: ({ bills }) => [bills] },
      why: { kind: "text", of: ({ why }) => why },
      seen: { kind: "text", isForPeople: true, of: () => undefined },
    },
    rows,
  );
  expect(tableText(one).split("\n")).toEqual([
    "name  stored  why  seen",
    "a      1,000  x    -",
    "long       7  yz   -",
  ]);
  expect(one.json[1]).toEqual({ name: "long", id: "4", bills: 7, raw: [7], why: "yz" });
});

test("a table that just fits into 80 columns has narrower gaps", () => {
  const column: Column<string> = { kind: "text", of: (text) => text };
  const widthOf = (length: number) =>
    tableText(table("", { a: column, b: column, c: column }, ["x".repeat(length)])).split("\n")[1]
      ?.length;
  expect([25, 26, 27].map(widthOf)).toEqual([79, 80, 85]);
});

test("a result is its parts in their order, tables apart from lines; empty tables are left out", () => {
  const column: Column<number> = { kind: "count", of: (count) => count };
  const result: Result = {
    data: { total: 3 },
    parts: [
      ...["head", table("first", { a: column }, [1]), table("none", { a: column }, [])],
      ...[table("", { b: column }, [2]), "line", "end"],
    ],
    exit: 1,
  };
  expect(asText(result)).toBe("head\n\na\n1\n\nb\n2\n\nline\nend");
  expect(asJson(result)).toEqual({ total: 3, first: [{ a: 1 }], none: [] });
});
