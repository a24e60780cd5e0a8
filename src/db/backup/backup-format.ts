import { z } from "zod";

/*
 * A backup is a gzip of lines:
 *
 *   {"format":"bill-sync backup","version":1,…}        the header
 *   …                                                  for each table: its rows as COPY's text,
 *   \.                                                 a line that ends the rows,
 *   {"table":"bills","rows":2}                         and the rows' number
 *   {"end":"bill-sync backup","rows":9,"sha256":"…"}   last: the digest of all lines before it
 *
 * COPY escapes a newline or a backslash in a value, so that a row is always one line and never
 * `\.`. COPY's text format is the same in every version of Postgres.
 */

export const formatName = "bill-sync backup";
export const formatVersion = 1;
export const rowsEnd = "\\.\n";

const count = z.number().int().nonnegative();
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const name = z.string().min(1).max(63);

/** The first line. */
export const BackupHeader = z.object({
  format: z.literal(formatName),
  version: z.literal(formatVersion),
  /** The version of bill-sync that made it. */
  program: z.string(),
  /** The version of the server that it was made from, such as 18.4. */
  postgres: z.string(),
  /** When the snapshot was taken by the server's clock, ISO 8601 in UTC. */
  takenAt: z.iso.datetime(),
  /** The migrations that the tables had, each by its time in the journal. */
  migrations: z.array(count).nonempty(),
  /** In the order in which their rows follow. */
  tables: z.array(z.object({ name, columns: z.array(name).nonempty(), rows: count })),
});
export type BackupHeader = z.infer<typeof BackupHeader>;
export type BackupTable = BackupHeader["tables"][number];

/** Earlier versions wrote a digest of the rows, too. */
export const TableEnd = z.object({ table: name, rows: count });
export type TableEnd = z.infer<typeof TableEnd>;

export const BackupEnd = z.object({ end: z.literal(formatName), rows: count, sha256: digest });

export const lineOf = (value: BackupHeader | TableEnd | z.infer<typeof BackupEnd>): string =>
  `${JSON.stringify(value)}\n`;

export const rowsOfAll = (tables: readonly Pick<BackupTable, "rows">[]): number =>
  tables.reduce((sum, { rows }) => sum + rows, 0);

const newline = 0x0a;

/** How many rows a chunk of whole lines has. */
export function rowsIn(chunk: Buffer): number {
  let rows = 0;
  for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) rows++;
  return rows;
}

export const quoted = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;

/** `"account", "bill_id"` */
export const columnList = (columns: readonly string[]): string => columns.map(quoted).join(", ");
