import { isoTime } from "../../lib/time.ts";
import { columns } from "./columns.ts";
import type { BillPages, Chunks, ExportedBill } from "./exported-bill.ts";

type Cell = string | null;

// Characters with which a spreadsheet begins a formula, also full-width ones. The apostrophe itself is one
// of them, so that removing one leading apostrophe from each text restores all texts.
const formula = /^[=+\-@\t\r\n'＝＋－＠]/;

/** Prefixes a text with an apostrophe where a spreadsheet would run it as a formula. Not for numbers. */
export const harmless = (text: string): string => (formula.test(text) ? `'${text}` : text);

/** A text where a spreadsheet would round it, such as an id. Not for amounts, which are numbers: a sum skips texts. */
export const unrounded = (text: string): string =>
  /^\d{16,}$/.test(text) ? `'${text}` : harmless(text);

const cells = columns.map(({ kind, read }): ((bill: ExportedBill) => Cell) => {
  if (kind === "time") return (bill) => isoTime(read(bill));
  if (kind === "money") return read;
  return (bill) => {
    const text = read(bill);
    return text && harmless(text);
  };
});

export const csvRow = (bill: ExportedBill): readonly Cell[] => cells.map((read) => read(bill));

/**
 * RFC 4180 in UTF-8, with a header: the columns of `bills` and the category. Decimals are exactly as
 * Postgres prints them, times are ISO 8601 in UTC with milliseconds, and NULL is an empty field. Texts
 * are {@link harmless} to a spreadsheet.
 */
export async function* toCsv(pages: BillPages): Chunks {
  yield csvLines([columns.map(({ name }) => name)]);
  for await (const bills of pages) yield csvLines(bills.map(csvRow));
}

/** Lines of RFC 4180: a field is quoted where it holds a quote, a comma or a line break. */
export const csvLines = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join("");

// Not csv-stringify: it took 1 to 2 µs a field, three quarters of the time of exporting a million bills.
const csvField = (text: Cell): string => {
  if (text === null) return "";
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
