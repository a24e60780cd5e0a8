import pg from "pg";
import type { Transaction } from "./connect.ts";

/** What the driver's connection does for COPY, which its types leave out. */
type CopyConnection = {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
};

class CopyIn extends pg.Query {
  readonly #rows: Buffer;

  constructor(statement: string, rows: Buffer, done: (error: Error | undefined) => void) {
    super(statement, done);
    this.#rows = rows;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#rows);
    connection.endCopyFrom();
  }
}

/** Runs a `copy … from stdin` with rows in COPY's text format, see {@link copyRow}. */
export async function copyIn(
  { $client }: Transaction,
  statement: string,
  rows: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const copy = new CopyIn(statement, Buffer.from(rows), (error) =>
    error ? reject(error) : resolve(),
  );
  await Promise.all([$client.query(copy), promise]);
}

const special = /[\\\t\n\r]/;
const escapes: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
};

/** A value of a row in COPY's text format. */
export const copyValue = (value: string | null): string => {
  if (value === null) return "\\N";
  return special.test(value)
    ? value.replaceAll(/[\\\t\n\r]/g, (found) => escapes[found] ?? found)
    : value;
};
