import { createHash } from "node:crypto";
import { csvLines, csvRow } from "../../export/csv.ts";
import type { BillPages } from "../../export/exported-bill.ts";

/** The number of bills and the SHA-256 over them, hexadecimal. */
export type Digest = { readonly bills: number; readonly sha256: string };

/**
 * What anybody computes again from the exported CSV: its lines without the header and without their
 * last two columns, which are this database's own, sorted as bytes. It does not depend on when a bill
 * was stored, on how its type was mapped, or on the order in which balances chain.
 */
export const digestCommand = (file: string): string =>
  `sed $'1d; s/,[^,]*Z,[a-z]*\\r$//' ${file} | LC_ALL=C sort | sha256sum`;

const ownColumns = /,[^,]*Z,[a-z]*\r$/;

export async function digestOf(pages: BillPages): Promise<Digest> {
  const lines: string[] = [];
  let count = 0;
  for await (const bills of pages) {
    count += bills.length;
    const text = csvLines(bills.map(csvRow));
    // By line, as sed and sort read it, though a field may hold a line's end.
    for (const line of text.split("\n").slice(0, -1))
      lines.push(bytesOf(line.replace(ownColumns, "")));
  }
  const hash = createHash("sha256");
  for (const line of lines.sort()) hash.update(`${line}\n`, "latin1");
  return { bills: count, sha256: hash.digest("hex") };
}

/** A character for each byte, which JavaScript sorts as `LC_ALL=C sort` does. */
const bytesOf = (line: string): string => Buffer.from(line).toString("latin1");
