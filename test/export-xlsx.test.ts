// A workbook is read by another library as it was written: ids and long numbers to the last digit, dates, a
// sheet a wallet, full sheets (hucre).

import { strFromU8, unzipSync } from "fflate";
import { readXlsx } from "hucre/xlsx";
import { expect, test } from "vitest";
import { columns } from "../src/books/export/columns.ts";
import type { BillPages, ExportedBill } from "../src/books/export/exported-bill.ts";
import { toXlsx } from "../src/books/export/xlsx.ts";
import { dayMs, epochMs } from "../src/lib/time.ts";
import { anExportedBill } from "./support/bills.ts";

async function* inPages(bills: readonly ExportedBill[], pageBills = 2): BillPages {
  for (let at = 0; at < bills.length; at += pageBills) yield bills.slice(at, at + pageBills);
}

async function workbookOf(bills: readonly ExportedBill[], zone = "UTC", rowsPerSheet?: number) {
  const chunks = await Array.fromAsync(toXlsx(inPages(bills), { zone }, rowsPerSheet));
  return Uint8Array.from(Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))));
}

/** The sheets of a workbook, as another library reads them. */
async function sheetsOf(bills: readonly ExportedBill[], zone = "UTC", rowsPerSheet?: number) {
  const { sheets } = await readXlsx(await workbookOf(bills, zone, rowsPerSheet));
  return sheets.map(({ name, rows: [titles = [], ...rows], freezePane }) => ({
    ...{ name, titles, freezePane },
    rows: rows.map((row) =>
      Object.fromEntries(titles.map((title, at) => [title, row[at] ?? null])),
    ),
  }));
}

test("ids are text with all their digits, numbers are numbers, and times are dates", async () => {
  const cTime = epochMs(Date.UTC(2026, 9, 25, 0, 59, 59, 123));
  const later = epochMs(Date.UTC(2026, 9, 25, 1, 0, 0, 7));
  const bill = {
    billId: "1268377000628355083",
    cTime,
    amount: "-0.00000001",
    balance: "1234.5",
    fee: "0",
  };
  const bills = [anExportedBill(bill), anExportedBill({ ...bill, cTime: later, balance: null })];
  const [sheet] = await sheetsOf(bills);
  expect(sheet?.freezePane).toMatchObject({ rows: 1 });
  expect(sheet?.rows[0]).toMatchObject({
    ...{ bill_id: bill.billId, amount: -0.00000001, balance: 1234.5 },
  });
  expect(sheet?.rows.map((row) => row["c_time (UTC)"])).toEqual([new Date(cTime), new Date(later)]);
  expect(sheet?.rows[1]?.["balance"]).toBeNull();
  // Where clocks are set back, two times an hour apart are an hour's wall clock.
  const [local] = await sheetsOf(bills, "Europe/Berlin");
  expect(local?.rows.map((row) => row["c_time (Europe/Berlin)"])).toEqual([
    new Date(cTime + 7_200_000),
    new Date(later + 3_600_000),
  ]);
});

test("a time is the same millisecond to a program that rounds and to one that cuts, and an amount has all its digits", async () => {
  const times = Array.from({ length: 2_000 }, (_, index) =>
    epochMs(Date.UTC(2026, 9, 1, 8) + index * 28_800_001),
  );
  const amounts = ["123456789.012345678", "-1234567890123456", "0.1234567890123456"];
  const numbers = amounts.map((amount) => anExportedBill({ amount }));
  const bills = [...times.map((cTime) => anExportedBill({ cTime })), ...numbers];
  const files = unzipSync(await workbookOf(bills));
  const xml = strFromU8(files["xl/worksheets/sheet1.xml"] ?? new Uint8Array());
  for (const amount of amounts) expect(xml).toContain(`<v>${amount}</v>`);
  const column = String.fromCharCode(65 + columns.findIndex(({ name }) => name === "c_time"));
  const days = [...xml.matchAll(new RegExp(`r="${column}\\d+" s="\\d"><v>([\\d.]+)`, "g"))];
  const shown = days.slice(0, times.length).map(([, day]) => (Number(day) - 25_569) * dayMs);
  expect(shown.map(Math.floor)).toEqual(times);
  expect(shown.map(Math.round)).toEqual(times);
});

test("each wallet has a sheet of its own, a full one several, and no bill none but the titles", async () => {
  const of = (account: string, productType: string, count: number) =>
    Array.from({ length: count }, (_, index) =>
      anExportedBill({ account, productType, billId: `${index}` }),
    );
  const long = "a: name/of an account that is longer than a sheet's";
  const bills = [
    ...[...of("main", "USDT-FUTURES", 3), ...of("main", "UTA-SPOT", 2)],
    ...[...of("main", "UTA-MARGIN", 1), ...of(long, "USDT-FUTURES", 1)],
    ...of(long, "COIN-FUTURES", 1),
  ];
  const sheets = await sheetsOf(bills, "UTC", 3);
  expect(sheets.map(({ name, rows }) => [name, rows.map((row) => row["bill_id"])])).toEqual([
    ["main USDT-FUTURES", ["0", "1"]],
    ["main USDT-FUTURES 2", ["2"]],
    ["main UTA", ["0", "1"]],
    ["main UTA 2", ["0"]],
    ["a_ name_of an account that is l", ["0"]],
    ["a_ name_of an account that is 2", ["0"]],
  ]);
  expect(await sheetsOf([])).toMatchObject([{ name: "bills", rows: [] }]);
});

test("no text breaks the sheet or is a formula", async () => {
  const texts = ["=1+1", "<b>&\"'", " a ", "a\nb", "\u0001\u001f", "_x0041_", "😀"];
  texts.push("a".repeat(32_767));
  const [sheet] = await sheetsOf(texts.map((symbol) => anExportedBill({ symbol })));
  expect(sheet?.rows.map(({ symbol }) => symbol)).toEqual(texts);
  const long = [anExportedBill({ extra: "a".repeat(32_768) })];
  await expect(sheetsOf(long)).rejects.toThrow(/extra has more than the 32767 characters/);
});

test("a page is written as it comes, and none is held back", async () => {
  const bills = Array.from({ length: 40_000 }, () => anExportedBill());
  const sizes = (await Array.fromAsync(toXlsx(inPages(bills, 5_000)))).map(({ length }) => length);
  expect(sizes).toHaveLength(9);
  for (const size of sizes.slice(0, 8)) expect(size).toBeGreaterThan(50_000);
});
