import { describe, expect, test } from "vitest";
import { exportOptions } from "../src/commands/export-options.ts";
import { exportWarnings } from "../src/commands/export-warnings.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { uncovered } from "../src/export/completeness.ts";

const fromOf = (from: string) => exportOptions({ format: "csv", from }).from;

describe("a time", () => {
  test.each([
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["2026-01-31T09:30Z", "2026-01-31T09:30:00.000Z"],
    ["2026-01-31T09:30:15.5+05:30", "2026-01-31T04:00:15.500Z"],
    ["2026-01-31T00:15:00-01:00", "2026-01-31T01:15:00.000Z"],
  ])("%s is %s", (typed, meant) => {
    expect(isoTime(fromOf(typed) ?? epochMs(0))).toBe(meant);
  });

  test.each([
    "2026-02-30",
    "2026-02-30T10:00:00Z",
    "2025-02-29",
    "2026-13-01",
    "2026-01-31T25:00:00Z",
    "2026-01-31T09:30:00",
    "2026-01-31 09:30",
    "31.01.2026",
    "1769817600000",
    "2026",
    "",
    "2026-01-31T09:30:00.1234Z",
  ])("%j is refused, with how to write one", (typed) => {
    expect(() => fromOf(typed)).toThrow(`--from "${typed}" is not a time: write 2026-01-31 for`);
  });

  test("to which nothing reaches is refused", () => {
    for (const from of ["2026-02-01", "2026-02-02"]) {
      expect(() => exportOptions({ format: "csv", from, to: "2026-02-01" })).toThrow(/no time/);
    }
  });
});

test("a format and a product type that are none are told with the nearest that is one", () => {
  expect(() => exportOptions({ format: "parket" })).toThrow(
    '--format "parket" is not a format, did you mean parquet?',
  );
  expect(() => exportOptions({ format: "sqlite" })).toThrow(
    "(there are csv, parquet, hledger, beancount, ccxt, koinly)",
  );
  expect(() => exportOptions({ format: "csv", product: ["USDT-FUTURES,COIN-FUTURE"] })).toThrow(
    '--product "COIN-FUTURE" is not a product type, did you mean COIN-FUTURES?',
  );
});

describe("what an export may lack", () => {
  const now = epochMs(Date.UTC(2026, 10, 21, 12));
  const ago = (ms: number) => epochMs(now - ms);
  const between = (fromMs: number, toMs: number) => ({ from: ago(fromMs), to: ago(toMs) });
  const known = {
    coverage: [between(80 * dayMs, 60 * dayMs), between(50 * dayMs, hourMs)],
    expired: [between(90 * dayMs, 80 * dayMs)],
    open: [],
  };

  test("is what no coverage holds, of the time that was asked for or ever known of", () => {
    expect(uncovered(known, {}, now)).toEqual({
      holes: [between(90 * dayMs, 80 * dayMs), between(60 * dayMs, 50 * dayMs)],
      openFrom: ago(hourMs),
    });
    const asked = { from: ago(70 * dayMs), to: ago(55 * dayMs) };
    expect(uncovered(known, asked, now)).toEqual({
      holes: [between(60 * dayMs, 55 * dayMs)],
      openFrom: undefined,
    });
    expect(uncovered(known, { from: ago(2 * hourMs), to: now }, now)).toEqual({
      holes: [between(hourMs, 0)],
      openFrom: undefined,
    });
    const covered = { from: ago(40 * dayMs), to: ago(hourMs) };
    expect(uncovered(known, covered, now)).toEqual({ holes: [], openFrom: undefined });
  });

  test("reaches up to an end that is asked for, and back to a beginning before all that is known", () => {
    const wide = { from: ago(100 * dayMs), to: epochMs(now + hourMs) };
    expect(uncovered(known, wide, now).holes).toEqual([
      between(100 * dayMs, 80 * dayMs),
      between(60 * dayMs, 50 * dayMs),
      between(hourMs, -hourMs),
    ]);
    expect(uncovered({ coverage: [], expired: [], open: [] }, {}, now).holes).toEqual([]);
    const begun = { coverage: [], expired: [], open: [{ window: between(dayMs, 0) }] };
    expect(uncovered(begun, {}, now)).toEqual({ holes: [], openFrom: ago(dayMs) });
  });

  test("is told a line each: five holes of a stream at most, and one line for the newest time", () => {
    const stream = { account: "main", productType: "USDT-FUTURES" } as const;
    const other = { account: "main", productType: "COIN-FUTURES" } as const;
    const holes = [10, 9, 8, 7, 6, 5, 4].map((day) => between(day * dayMs, day * dayMs - hourMs));
    const warnings = exportWarnings({
      missing: ["fund/COIN-FUTURES"],
      uncovered: [
        { stream, holes, openFrom: ago(hourMs) },
        { stream: other, holes: [], openFrom: ago(2 * hourMs) },
      ],
      quarantined: [{ ...stream, rows: 2 }],
    });
    expect(warnings).toEqual([
      "fund/COIN-FUTURES: no sync of it is on record",
      "main/USDT-FUTURES: bills may be missing, 2026-11-11 12:00:00Z to 2026-11-11 13:00:00Z",
      ...[12, 13, 14, 15].map((day) => expect.stringContaining(`, 2026-11-${day} 12:00:00Z to`)),
      "main/USDT-FUTURES: and at 2 other times; see status",
      "bills after 2026-11-21 10:00Z may be missing; --to leaves them out",
      "main/USDT-FUTURES: 2 rows in rejected_bills broke the API's contract and cannot be exported",
    ]);
  });
});
