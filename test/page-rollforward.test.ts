import { expect, test } from "vitest";
import { lines } from "../src/page/money/lines.ts";
import { rollforwardTable } from "../src/page/money/rollforward.ts";
import { together } from "../src/page/money/stretches.ts";
import type { Stretch } from "../src/page/money/wallet-days.ts";
import { tablesIn } from "./support/page-figures.ts";

const none = Object.fromEntries(lines.map(({ name }) => [name, "0"])) as Stretch["moved"];

/** The first day of each month, on which a bill pays 0.01 more than that of the month before. */
const monthly = (months: number): readonly Stretch[] =>
  Array.from({ length: months }, (_, index) => {
    const day = new Date(Date.UTC(2025, index, 1)).toISOString().slice(0, 10);
    const paid = `0.${String(index + 1).padStart(2, "0")}`;
    const balances = { opening: String(1_000 + index), closing: String(1_001 + index) };
    const moved = { ...none, transfers_in: paid };
    return { from: day, to: day, ...balances, moved, bills: 1, isComplete: index > 0 };
  });

const selectionOf = ({ from, to }: Stretch, by: "day" | "month") => ({
  ...{ account: "main", product: "USDT-FUTURES", coin: "USDT" },
  ...{ from, to, by, isExact: false },
});

function shown(days: readonly Stretch[], by: "day" | "month") {
  const whole = together(days);
  if (whole === undefined) throw new Error("no days");
  const { markup } = rollforwardTable(days, whole, selectionOf(whole, by));
  const [table] = tablesIn(`<section id="rollforward">${markup.text}</section>`, "rollforward");
  if (table === undefined) throw new Error("no table");
  return table;
}

test("up to twelve months stand beside each other, oldest first, with their total last", () => {
  const { titles, rows } = shown(monthly(12), "month");
  expect(titles).toHaveLength(13);
  expect(titles.at(0)).toBe("2025-01, 01 to 01 not all read");
  expect(titles.slice(-2)).toEqual(["2025-12, 01 to 01", "Total"]);
  expect(rows.map(({ name }) => name)).toEqual([
    "Opening",
    "Result",
    "transfers in",
    "Closing",
    "All bills",
  ]);
  const [opening, , moved, closing, bills] = rows.map(({ cells }) => cells);
  expect(opening?.map(({ value }) => value).slice(-3)).toEqual(["1010", "1011", "1000"]);
  expect(moved?.map(({ value }) => value).slice(-3)).toEqual(["0.11", "0.12", "0.78"]);
  expect(closing?.map(({ value }) => value).slice(-3)).toEqual(["1011", "1012", "1012"]);
  expect(bills?.map(({ text }) => text).slice(-3)).toEqual(["1", "1", "12"]);
});

test("a month of days is shown whole, and more rows scroll in their frame", () => {
  const frame = (days: number) => {
    const shownDays = monthly(days);
    const whole = together(shownDays);
    return whole && rollforwardTable(shownDays, whole, selectionOf(whole, "day")).isTall;
  };
  expect([31, 32].map(frame)).toEqual([false, true]);
});

test.each(["day", "month"] as const)("more months, and days, are rows, by %s", (by) => {
  const { titles, rows, total } = shown(monthly(13), by);
  expect(titles).toEqual(["Opening", "Result", "transfers in", "All bills", "Closing"]);
  expect(rows).toHaveLength(13);
  expect(rows[0]?.name).toBe("2026-01-01");
  expect(rows.at(-1)?.name).toBe("2025-01-01 not all read");
  expect(rows[0]?.cells.map(({ text }) => text)).toEqual([
    "1,012.00",
    "–",
    "+0.13",
    "1",
    "1,013.00",
  ]);
  expect(total?.cells.map(({ text }) => text)).toEqual([
    "1,000.00",
    "–",
    "+0.91",
    "13",
    "1,013.00",
  ]);
});
