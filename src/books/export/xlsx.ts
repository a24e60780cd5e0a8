import { strToU8, Zip, ZipDeflate } from "fflate";
import { walletOf } from "../../core/contract/product-types.ts";
import { ReportableError } from "../../lib/errors.ts";
import { dayMs } from "../../lib/time.ts";
import { type Column, columns } from "./columns.ts";
import type { BillPages, Chunks, ExportedBill, FormatOptions } from "./exported-bill.ts";
import { offsetIn } from "./time-zone.ts";

// The XML is written here: other writers take a number from JavaScript, so that exceljs 4.4, excelts 10.2 and hucre 1.0 made
// 123456789.01234567 of 123456789.012345678, and a text is in no sum. hucre streams one sheet, excelts has 51 MB of files.

// Excel's limits: rows of a sheet, characters of a cell and of a sheet's name.
const rowsMax = 1_048_576;
const charactersMax = 32_767;
const nameMax = 31;

/**
 * A workbook with a sheet for each wallet, or several where one is full. Ids and other texts are text, so that no digit
 * of theirs is lost. Amounts are numbers, since a sum skips text: the file has all their digits, of which a spreadsheet
 * reads 15. Times are dates by the zone's clock.
 */
export async function* toXlsx(
  pages: BillPages,
  { zone = "UTC" }: FormatOptions = {},
  rowsPerSheet = rowsMax,
): Chunks {
  const book = new Workbook(zone, rowsPerSheet);
  for await (const bills of pages) {
    for (const bill of bills) book.add(bill);
    yield book.taken();
  }
  book.end();
  yield book.taken();
}

class Workbook {
  readonly #names: string[] = [];
  readonly #rowsPerSheet: number;
  readonly #offsetAt: (time: number) => number;
  readonly #titles: readonly string[];
  readonly #chunks: Uint8Array[] = [];
  readonly #zip = new Zip((error, chunk) => {
    if (error) throw error;
    this.#chunks.push(chunk);
  });
  #wallet = "";
  #sheet: ZipDeflate | undefined;
  #rows: string[] = [];
  #rowCount = 0;

  constructor(zone: string, rowsPerSheet: number) {
    this.#rowsPerSheet = rowsPerSheet;
    this.#offsetAt = offsetIn(zone);
    this.#titles = columns.map(({ name, kind }) => (kind === "time" ? `${name} (${zone})` : name));
  }

  add(bill: ExportedBill): void {
    const wallet = `${bill.account} ${walletOf(bill.productType)}`;
    if (wallet !== this.#wallet || this.#rowCount === this.#rowsPerSheet) this.#open(wallet);
    this.#addRow(columns.map((column) => this.#cellOf(column, bill)));
  }

  /** The bytes since the last call. */
  taken(): Uint8Array {
    this.#write();
    return Buffer.concat(this.#chunks.splice(0));
  }

  end(): void {
    if (this.#sheet === undefined) this.#open("bills");
    this.#close();
    for (const [path, text] of Object.entries(partsOf(this.#names))) this.#file(path, text, true);
    this.#zip.end();
  }

  #open(wallet: string): void {
    this.#close();
    this.#wallet = wallet;
    this.#names.push(sheetName(wallet, this.#names));
    this.#sheet = this.#file(`xl/worksheets/sheet${this.#names.length}.xml`, sheetStart, false);
    this.#rowCount = 0;
    this.#addRow(this.#titles.map((title) => ({ text: title })));
  }

  #close(): void {
    if (this.#sheet === undefined) return;
    this.#write();
    this.#sheet.push(strToU8("</sheetData></worksheet>"), true);
  }

  #write(): void {
    this.#sheet?.push(strToU8(this.#rows.join("")));
    this.#rows = [];
  }

  #file(path: string, text: string, isWhole: boolean): ZipDeflate {
    const file = new ZipDeflate(path, { level: 6 });
    // Equal bills make equal files.
    file.mtime = new Date(1980, 0, 1);
    this.#zip.add(file);
    file.push(strToU8(declaration + text), isWhole);
    return file;
  }

  #addRow(cells: readonly (Cell | undefined)[]): void {
    this.#rowCount += 1;
    const row = this.#rowCount;
    const written = cells.map((cell, place) => {
      if (cell === undefined) return "";
      const at = `<c r="${letters[place]}${row}"`;
      return "text" in cell
        ? `${at} t="inlineStr"><is><t xml:space="preserve">${xmlText(cell.text)}</t></is></c>`
        : `${at} s="${cell.style}"><v>${cell.number}</v></c>`;
    });
    this.#rows.push(`<row r="${row}">${written.join("")}</row>`);
  }

  #cellOf(column: Column, bill: ExportedBill): Cell | undefined {
    if (column.kind === "time") {
      const time = column.read(bill);
      // Excel counts days from 30 December 1899. LibreOffice cuts milliseconds off, and showed eight o'clock as
      // 07:59:59.999: so a rounded day is a little later, never earlier.
      const day = (time + this.#offsetAt(time) + 0.05) / dayMs + 25_569;
      return { number: day.toFixed(9), style: styles.time };
    }
    const value = column.read(bill);
    if (value === null) return undefined;
    if (column.kind === "money") return { number: value, style: styles.money };
    if (value.length <= charactersMax) return { text: value };
    throw new ReportableError(
      `bill ${bill.account}/${bill.productType} ${bill.billId}: ${column.name} has more than the ${charactersMax} ` +
        "characters of a cell; use another format, or leave the bill out by --from and --to",
    );
  }
}

type Cell = { readonly text: string } | { readonly number: string; readonly style: number };

const letters = columns.map((_, place) => String.fromCharCode(65 + place));

/** A name that Excel takes, other than the others. */
function sheetName(wallet: string, taken: readonly string[]): string {
  const safe = wallet.replaceAll(/[[\]:*?/\\']|\p{C}/gu, "_");
  const isTaken = (name: string) =>
    taken.some((other) => other.toLowerCase() === name.toLowerCase());
  for (let number = 1; ; number++) {
    const end = number === 1 ? "" : ` ${number}`;
    const name = safe.slice(0, nameMax - end.length) + end;
    if (!isTaken(name)) return name;
  }
}

/** Escapes text for XML, and characters that XML does not have as Excel does. */
const xmlText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, "_x005F_")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to be escaped.
    .replaceAll(/[\0-\x08\x0B-\x1F\uFFFE\uFFFF]/g, (sign) => {
      const code = sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
      return `_x${code}_`;
    })
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

const styles = { money: 1, time: 2 } as const;
const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const packages = "http://schemas.openxmlformats.org/package/2006";
const types = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/** The first row stays in sight. */
const sheetStart =
  `<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0">` +
  '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>' +
  `<cols><col min="1" max="${columns.length}" width="22" customWidth="1"/></cols><sheetData>`;

/** The other parts of a workbook, by path. */
function partsOf(names: readonly string[]): Readonly<Record<string, string>> {
  const each = (write: (name: string, number: number) => string) =>
    names.map((name, place) => write(name, place + 1)).join("");
  const styleId = names.length + 1;
  const override = (path: string, type: string) =>
    `<Override PartName="/xl/${path}.xml" ContentType="${types}.${type}+xml"/>`;
  const relation = (id: number, type: string, target: string) =>
    `<Relationship Id="rId${id}" Type="${relations}/${type}" Target="${target}"/>`;
  const relationList = (list: string) =>
    `<Relationships xmlns="${packages}/relationships">${list}</Relationships>`;
  return {
    "xl/workbook.xml":
      `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets>` +
      each((name, id) => `<sheet name="${xmlText(name)}" sheetId="${id}" r:id="rId${id}"/>`) +
      "</sheets></workbook>",
    "xl/_rels/workbook.xml.rels": relationList(
      each((_, id) => relation(id, "worksheet", `worksheets/sheet${id}.xml`)) +
        relation(styleId, "styles", "styles.xml"),
    ),
    "xl/styles.xml":
      `<styleSheet xmlns="${main}"><numFmts count="2"><numFmt numFmtId="164" formatCode="#,##0.00######"/>` +
      '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts>' +
      '<fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
      '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf/>' +
      '<xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/></cellXfs></styleSheet>',
    "_rels/.rels": relationList(relation(1, "officeDocument", "xl/workbook.xml")),
    "[Content_Types].xml":
      `<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
      override("workbook", "sheet.main") +
      override("styles", "styles") +
      each((_, id) => override(`worksheets/sheet${id}`, "worksheet")) +
      "</Types>",
  };
}
