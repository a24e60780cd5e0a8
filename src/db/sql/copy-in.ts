import pg from "pg";
import type { Transaction } from "../connect.ts";

/** The driver's methods for COPY, which its types leave out. */
type CopyConnection = {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
};

class CopyIn extends pg.Query {
  readonly #chunks: readonly string[];

  constructor(
    statement: string,
    chunks: readonly string[],
    done: (error: Error | undefined) => void,
  ) {
    super(statement, done);
    this.#chunks = chunks;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    for (const chunk of this.#chunks) connection.sendCopyFromChunk(Buffer.from(chunk));
    connection.endCopyFrom();
  }
}

/**
 * Runs a `copy … from stdin` with rows in COPY's text format, see {@link copyValue}. Pass chunks of some
 * ten kilobytes: those are freed by a minor garbage collection, larger ones only by a major one.
 */
export async function copyIn(
  { $client }: Transaction,
  statement: string,
  chunks: readonly string[],
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const copy = new CopyIn(statement, chunks, (error) => (error ? reject(error) : resolve()));
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
