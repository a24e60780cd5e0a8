import { expect, test } from "vitest";
import { dayIn } from "../src/books/export/time-zone.ts";
import { type ExportFlags, endNote, exportOptions } from "../src/commands/export.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/lib/time.ts";

test.each<[Partial<ExportFlags>, string, string?]>([
  [{ from: "2024-02-29" }, "2024-02-29T00:00:00.000Z"],
  [{ from: "2026-01-31T09:30Z" }, "2026-01-31T09:30:00.000Z"],
  [{ from: "2026-01-31T09:30:15.5+05:30" }, "2026-01-31T04:00:15.500Z"],
  [{ month: "2026-12" }, "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
  [
    { from: "2026-03-29", to: "2026-03-30", timeZone: "Europe/Berlin" },
    ...(["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"] as const),
  ],
  [
    { month: "2026-10", timeZone: "Europe/Berlin" },
    ...(["2026-09-30T22:00:00.000Z", "2026-10-31T23:00:00.000Z"] as const),
  ],
  // A day without a midnight begins at its first moment.
  [{ from: "2018-11-04", timeZone: "America/Sao_Paulo" }, "2018-11-04T03:00:00.000Z"],
  [{ from: "2026-03-29T09:30Z", timeZone: "Europe/Berlin" }, "2026-03-29T09:30:00.000Z"],
])("%j is the time from %s to %s", (words, ...meant) => {
  const { from, to } = exportOptions({ format: "csv", ...words });
  expect([from, to].flatMap((time) => (time === undefined ? [] : isoTime(time)))).toEqual(meant);
});

test("a zone has days of 23, 24 and 25 hours, and each moment lies in one of them", () => {
  const dayOf = dayIn("Europe/Berlin");
  const hours = new Map<string, number>();
  for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at += hourMs) {
    const day = dayOf(epochMs(at));
    hours.set(day, (hours.get(day) ?? 0) + 1);
  }
  expect(["2026-03-29", "2026-10-25", "2026-07-01"].map((day) => hours.get(day))).toEqual([
    23, 25, 24,
  ]);
});

const noTime = "is not a time: write 2026-01-31 for its midnight in UTC";
test.each<[Partial<ExportFlags>, string]>([
  ...[
    ...["2026-02-30", "2026-01-31T25:00:00Z", "2026-01-31T09:30:00", "2026-01-31 09:30"],
    ...["2026-01-31T09:30:00.1234Z", ""],
  ].map((from): [Partial<ExportFlags>, string] => [{ from }, `--from "${from}" ${noTime}`]),
  [{ changedSince: "yesterday" }, `--changed-since "yesterday" ${noTime}`],
  [{ from: "2026-02-01", to: "2026-02-01" }, "is an empty span"],
  [{ timeZone: "Berlin" }, '--time-zone "Berlin" is not a time zone: write UTC, or a name'],
  [{ timeZone: "+02:00" }, '--time-zone "+02:00" is not a time zone'],
  [{ month: "2026-13" }, '--month "2026-13" is not a month: write 2026-10'],
  [{ month: "2026-10", to: "2026-11-01" }, "leave out --from and --to"],
  [{ product: ["USDT-FUTURES,COIN-FUTURE"] }, "product type, did you mean COIN-FUTURES?"],
  [{ format: "hledger", changedSince: "2026-01-01" }, "a journal needs every bill of its time"],
  [{ continue: true, from: "2026-01-01" }, "--continue is for journals only"],
  [{ format: "hledger", continue: true }, "--continue needs --from, --month or --year"],
  [{ format: "hledger", continue: true, from: "2026-01-01T01:00Z" }, "at midnight"],
  [
    { format: "beancount", continue: "2026-02-01", month: "2026-02" },
    "--continue 2026-02-01 is not before --from",
  ],
])("%j is refused with what is meant", (words, message) => {
  expect(() => exportOptions({ format: "csv", ...words })).toThrow(message);
});

test("where an end was not asked for, a note says where the export ends", () => {
  const now = Date.UTC(2026, 10, 21, 12);
  const notes = (...through: readonly number[]) => endNote(through.map((ms) => epochMs(now - ms)));
  expect(notes(hourMs, hourMs)).toEqual([
    "ends at 2026-11-21 11:00Z, up to which everything was read; --to includes newer bills",
  ]);
  expect(notes(hourMs, 2 * hourMs, dayMs)[0]).toMatch(
    /^each ledger ends where everything was read, from 2026-11-20 12:00Z to 2026-11-21 11:00Z;/,
  );
  expect(notes()).toEqual([]);
});
