import { type Interval, lengthMs } from "../core/words/intervals.ts";
import type { Ledger } from "../core/words/ledger.ts";
import { printableLine } from "../lib/printable.ts";
import { dayMs, type EpochMs, epochMs, hourMs, isoTime, minuteMs, secondMs } from "../lib/time.ts";

/** 2026-11-21 03:24:59Z, or a dash. */
export const formatTime = (time: EpochMs | undefined): string =>
  time === undefined ? "-" : `${isoTime(time).slice(0, 19).replace("T", " ")}Z`;

/** The minute in which the time lies: 2026-11-21 03:24Z. A dash where there is no time. */
export const formatMinute = (time: EpochMs | undefined): string =>
  time === undefined ? "-" : `${isoTime(time).slice(0, 16).replace("T", " ")}Z`;

export const formatInterval = ({ from, to }: Interval): string =>
  `${formatTime(from)} to ${formatTime(to)}`;

/** 1,234,567. Node's own way loads its table of languages, for 9 ms. */
export const formatCount = (count: number): string =>
  String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");

/** "1 window", "1,234 windows" */
export const formatCounted = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

/** The two largest units: "89 d 23 h", "4 m 10 s", "0.4 s". */
export function formatDuration(ms: number): string {
  const rounded = Math.round(ms / secondMs) * secondMs;
  if (rounded < 10 * secondMs) return `${(ms / secondMs).toFixed(1)} s`;
  const units = [
    [dayMs, "d"],
    [hourMs, "h"],
    [minuteMs, "m"],
    [secondMs, "s"],
  ] as const;
  const first = units.findIndex(([unitMs]) => rounded >= unitMs);
  let rest = rounded;
  return units
    .slice(first, first + 2)
    .map(([unitMs, name]) => {
      const count = Math.floor(rest / unitMs);
      rest -= count * unitMs;
      return count === 0 ? "" : `${count} ${name}`;
    })
    .filter((part) => part !== "")
    .join(" ");
}

/** How much time the intervals hold, or a dash for none. */
export const formatLength = (intervals: readonly Interval[]): string =>
  intervals.length === 0 ? "-" : formatDuration(lengthMs(intervals));

// Tables that would fit into such a line by a narrower gap have one: a sync of a million bills is one.
const lineMax = 80;

/** Columns under their titles. */
export function formatTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  /** Which columns are flush right. Default all but the first. */
  isRight: readonly boolean[] = titles.map((_, column) => column > 0),
): string {
  const lines = [titles, ...rows].map((line) => line.map(printableLine));
  const widths = titles.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const narrow = widths.reduce((sum, width) => sum + width + 1, -1);
  const gap = narrow <= lineMax && narrow + widths.length - 1 > lineMax ? " " : "  ";
  return lines
    .map((line) =>
      widths
        .map((columnWidth, column) => {
          const cell = line[column] ?? "";
          return isRight[column] === true ? cell.padStart(columnWidth) : cell.padEnd(columnWidth);
        })
        .join(gap)
        .trimEnd(),
    )
    .join("\n");
}

/**
 * A time in JSON: ISO 8601 in UTC, cut to the second. jq's `fromdate` reads no milliseconds: where
 * they matter, a field beside it whose name ends in `Ms` has them.
 */
export const jsonTime = (time: EpochMs): string => `${isoTime(time).slice(0, 19)}Z`;

/** The same of a time in ISO 8601. */
export const jsonInstant = (iso: string): string => jsonTime(epochMs(Date.parse(iso)));

/** A time in JSON, or null. */
export const jsonTimeOrNull = (time: EpochMs | undefined): string | null =>
  time === undefined ? null : jsonTime(time);

/** A half-open interval, with its ends as text and in milliseconds since the Unix epoch. */
export const jsonInterval = ({ from, to }: Interval): object => ({
  from: jsonTime(from),
  to: jsonTime(to),
  fromMs: from,
  toMs: to,
});

/** A ledger, or a wallet by its name in place of the product type. */
export type NamedLedger = { readonly account: string; readonly productType: string };

// Made printable, because the tables may hold names that no configuration accepts.
export const ledgerName = ({ account, productType }: NamedLedger): string =>
  printableLine(`${account}/${productType}`);

/** The names of one account's ledgers: `main/USDT-FUTURES`, or `main/USDT-FUTURES, COIN-FUTURES`. */
export const ledgerNames = (ledgers: readonly Ledger[]): string =>
  ledgers
    .map((ledger, place) => (place === 0 ? ledgerName(ledger) : printableLine(ledger.productType)))
    .join(", ");

/** "main/loan-to-value", "main/loan-to-value/123": the account's own risk unit, or a named one. */
export const riskUnitName = (unit: {
  readonly account: string;
  readonly riskUnitId: string | undefined;
}): string =>
  [unit.account, "loan-to-value", unit.riskUnitId ?? ""]
    .filter(Boolean)
    .map(printableLine)
    .join("/");
