import { describe, expect, test } from "vitest";
import { type ExportWords, exportOptions } from "../src/commands/export-options.ts";
import { endNote } from "../src/commands/export-plan.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { dayIn } from "../src/export/time-zone.ts";

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
      expect(() => exportOptions({ format: "csv", from, to: "2026-02-01" })).toThrow(
        /is an empty span/,
      );
    }
  });
});

test("a product type that is none is told with the nearest that is one", () => {
  expect(() => exportOptions({ format: "csv", product: ["USDT-FUTURES,COIN-FUTURE"] })).toThrow(
    '--product "COIN-FUTURE" is not a product type, did you mean COIN-FUTURES?',
  );
});

describe("what an export may lack", () => {
  const now = epochMs(Date.UTC(2026, 10, 21, 12));
  const ago = (ms: number) => epochMs(now - ms);
  test("is no warning where an end was not asked for: a note says where it ends", () => {
    const notes = (through: readonly number[]) => endNote(through.map(ago));
    expect(notes([hourMs, hourMs])).toEqual([
      "ends at 2026-11-21 11:00Z, up to which everything was read; --to includes newer bills",
    ]);
    expect(notes([hourMs, 2 * hourMs, dayMs])[0]).toMatch(
      /^each ledger ends where everything was read, from 2026-11-20 12:00Z to 2026-11-21 11:00Z;/,
    );
    expect(notes([])).toEqual([]);
  });
});

describe("a time zone", () => {
  const zoned = (words: Partial<ExportWords>) => {
    const { from, to } = exportOptions({ format: "csv", timeZone: "Europe/Berlin", ...words });
    return [from, to].map((time) => time && isoTime(time));
  };

  test("is what dates and months are of, through the change of the clocks", () => {
    expect(zoned({ from: "2026-03-29", to: "2026-03-30" })).toEqual([
      "2026-03-28T23:00:00.000Z",
      "2026-03-29T22:00:00.000Z",
    ]);
    expect(zoned({ month: "2026-10" })).toEqual([
      "2026-09-30T22:00:00.000Z",
      "2026-10-31T23:00:00.000Z",
    ]);
    expect(zoned({ month: "2026-12", timeZone: "UTC" })).toEqual([
      "2026-12-01T00:00:00.000Z",
      "2027-01-01T00:00:00.000Z",
    ]);
    // A day without a midnight begins at its first moment.
    expect(zoned({ from: "2018-11-04", timeZone: "America/Sao_Paulo" })[0]).toBe(
      "2018-11-04T03:00:00.000Z",
    );
    expect(zoned({ from: "2026-03-29T09:30Z" })[0]).toBe("2026-03-29T09:30:00.000Z");
  });

  test("has days of 23, 24 and 25 hours, and each moment lies in one of them", () => {
    const dayOf = dayIn("Europe/Berlin");
    const hours = new Map<string, number>();
    for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at += hourMs) {
      const day = dayOf(epochMs(at));
      hours.set(day, (hours.get(day) ?? 0) + 1);
    }
    expect([hours.get("2026-03-29"), hours.get("2026-10-25"), hours.get("2026-07-01")]).toEqual([
      23, 25, 24,
    ]);
    expect(dayOf(epochMs(Date.UTC(2026, 0, 1)))).toBe("2026-01-01");
  });
});

test.each([
  [{ timeZone: "Berlin" }, '--time-zone "Berlin" is not a time zone: write UTC, or a name'],
  [{ timeZone: "+02:00" }, '--time-zone "+02:00" is not a time zone'],
  [{ month: "2026-13" }, '--month "2026-13" is not a month: write 2026-10'],
  [{ month: "2026-10", to: "2026-11-01" }, "leave out --from and --to"],
  [{ changedSince: "yesterday" }, '--changed-since "yesterday" is not a time'],
  [{ format: "hledger", changedSince: "2026-01-01" }, "a journal needs every bill of its time"],
  [{ continue: true, from: "2026-01-01" }, "--continue is for journals only"],
  [{ format: "hledger", continue: true }, "--continue needs --from, --month or --year"],
  [{ format: "hledger", continue: true, from: "2026-01-01T01:00Z" }, "at midnight"],
  [
    { format: "beancount", continue: "2026-02-01", month: "2026-02" },
    "--continue 2026-02-01 is not before --from",
  ],
] as const)("%j is refused with what is meant", (words, message) => {
  expect(() => exportOptions({ format: "csv", ...words })).toThrow(message);
});
