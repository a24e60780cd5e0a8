import { createHash } from "node:crypto";
import { csvLines, csvRow } from "../export/csv.ts";
import type { BillPages } from "../export/exported-bill.ts";

/** The number of bills, and the SHA-256 of their lines in hexadecimal. */
export type Digest = { readonly bills: number; readonly sha256: string };

/**
 * The command with which anybody computes the digest from the exported CSV, bills.csv: its lines without the
 * header and without their last two columns, sorted as bytes. The last two columns are specific to
 * this database. The digest does not depend on when a bill was stored, how its type was mapped, or
 * the order in which balances chain.
 */
export const digestCommand =
  "sed $'1d; s/,[^,]*Z,[a-z]*\\r$//' bills.csv | LC_ALL=C sort | sha256sum";

const ownColumns = /,[^,]*Z,[a-z]*\r$/;

export async function digestOf(pages: BillPages): Promise<Digest> {
  const lines: string[] = [];
  let count = 0;
  for await (const bills of pages) {
    count += bills.length;
    const text = csvLines(bills.map(csvRow));
    // Splits by line, as sed and sort do, although a field may contain a line end.
    for (const line of text.split("\n").slice(0, -1))
      lines.push(bytesOf(line.replace(ownColumns, "")));
  }
  const hash = createHash("sha256");
  for (const line of lines.sort()) hash.update(`${line}\n`, "latin1");
  return { bills: count, sha256: hash.digest("hex") };
}

/** Makes one character of each byte, so that JavaScript sorts as `LC_ALL=C sort` does. */
const bytesOf = (line: string): string => Buffer.from(line).toString("latin1");
