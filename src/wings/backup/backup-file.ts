import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { z } from "zod";
import { errorCode, messageOf, ReportableError, UsageError } from "../../lib/errors.ts";

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
  /** What others added to the program's schema, which is not in the file. */
  leftOut: z.array(z.string()).default([]),
  /** In the order in which their rows follow. */
  tables: z.array(z.object({ name, columns: z.array(name).min(1), rows: count })),
});
export type BackupHeader = z.infer<typeof BackupHeader>;
export type BackupTable = BackupHeader["tables"][number];

/** Earlier versions wrote a digest of the rows, too. */
const TableEnd = z.object({ table: name, rows: count });
type TableEnd = z.infer<typeof TableEnd>;

const BackupEnd = z.object({ end: z.literal(formatName), rows: count, sha256: digest });

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

export type BackupReading = {
  readonly header: BackupHeader;
  readonly sha256: string;
};

type Take = {
  readonly begin?: (header: BackupHeader) => Promise<void>;
  readonly take: (table: BackupTable, rows: AsyncIterable<Buffer>) => Promise<void>;
};

const chunkBytes = 256 * 1024;
// Far more than any row needs: it holds one bill, one record of an answer or the counts of one run.
const lineBytesMax = 64 * 1024 * 1024;

/**
 * Reads a backup to its end. `begin` is called with the header, then `take` with the rows of each
 * table in turn, all of which it must read. The digest is checked at the end: where this
 * throws, whatever `begin` and `take` did must be undone.
 *
 * @throws UsageError for a file that is not a backup; ReportableError for a damaged one.
 */
export async function readBackup(path: string, taker: Take): Promise<BackupReading> {
  const reading = Promise.withResolvers<BackupReading>();
  try {
    await pipeline(
      createReadStream(path),
      createGunzip({ chunkSize: chunkBytes }),
      async (chunks: AsyncIterable<Buffer>) => {
        reading.resolve(await read(new Lines(path, chunks), path, taker));
      },
    );
  } catch (error) {
    throw fileError(path, error);
  }
  return await reading.promise;
}

async function read(lines: Lines, path: string, { begin, take }: Take): Promise<BackupReading> {
  const header = headerOf(path, await lines.next());
  await begin?.(header);
  for (const table of header.tables) {
    const before = lines.rowsRead;
    await take(table, lines.rows());
    const rows = lines.rowsRead - before;
    const end = parsed(path, TableEnd, await lines.next());
    if (end.table !== table.name || end.rows !== rows || table.rows !== rows)
      throw damaged(path, `the rows of ${table.name} are not those that were written`);
  }
  const sha256 = lines.digest();
  const end = parsed(path, BackupEnd, await lines.next());
  if (end.sha256 !== sha256 || end.rows !== rowsOfAll(header.tables)) {
    throw damaged(path, "its content does not match its digest");
  }
  if (!(await lines.isOver())) throw damaged(path, "there is more after its last line");
  return { header, sha256 };
}

function headerOf(path: string, line: string): BackupHeader {
  const { format, version } = Object(jsonOf(line));
  if (format !== formatName) throw foreign(path);
  if (version !== formatVersion) {
    throw new UsageError(
      `${path} was made by a newer bill-sync (format ${version}, where this one reads format ` +
        `${formatVersion}); update the program`,
    );
  }
  return parsed(path, BackupHeader, line);
}

function parsed<T>(path: string, schema: z.ZodType<T>, line: string): T {
  const { data, success } = schema.safeParse(jsonOf(line));
  if (!success) throw damaged(path, "it holds a line that no backup has");
  return data;
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const foreign = (path: string): UsageError =>
  new UsageError(
    `${path} is not a backup of bill-sync; name a file that bill-sync db backup wrote`,
  );

/** The file was cut off, or changed after it was written. */
export const damaged = (path: string, how: string, cause?: unknown): ReportableError =>
  new ReportableError(`${path} is damaged (${how}); take another backup`, { cause });

function fileError(path: string, error: unknown): unknown {
  const code = errorCode(error) ?? "";
  if (code === "Z_BUF_ERROR") return damaged(path, "it is cut off", error);
  const isOfGzip = code.startsWith("Z_");
  if (isOfGzip && /incorrect header check/.test(messageOf(error))) return foreign(path);
  if (isOfGzip) return damaged(path, messageOf(error), error);
  if (["ENOENT", "EACCES", "EISDIR", "ENOTDIR"].includes(code)) {
    return new UsageError(`${path} cannot be read (${code}); correct the path or its permissions`);
  }
  return error;
}

/** Splits chunks of any size into lines, and digests each line that is taken. */
class Lines {
  readonly #path: string;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #hash = createHash("sha256");
  #rest: Buffer = Buffer.alloc(0);
  rowsRead = 0;

  constructor(path: string, chunks: AsyncIterable<Buffer>) {
    this.#path = path;
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async next(): Promise<string> {
    for (;;) {
      const at = this.#rest.indexOf(newline);
      if (at >= 0) return this.#take(at + 1).toString("utf8");
      if (!(await this.#more())) throw damaged(this.#path, "it ends too early");
    }
  }

  /** A table's rows, in pieces of whole lines. Reads past the line that ends them, without returning it. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      const end = this.#rest.lastIndexOf(newline) + 1;
      const stop = endOfRows(this.#rest.subarray(0, end));
      const taken = this.#take(stop ?? end);
      this.rowsRead += rowsIn(taken);
      if (taken.length > 0) yield taken;
      if (stop !== undefined) {
        this.#take(rowsEnd.length);
        return;
      }
      if (!(await this.#more())) throw damaged(this.#path, "it ends too early");
    }
  }

  /** The digest of all lines taken so far. */
  digest(): string {
    return this.#hash.copy().digest("hex");
  }

  async isOver(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#more());
  }

  #take(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    this.#hash.update(taken);
    return taken;
  }

  async #more(): Promise<boolean> {
    if (this.#rest.length > lineBytesMax) {
      throw damaged(this.#path, `a line of it is longer than ${lineBytesMax} bytes`);
    }
    const { value, done } = await this.#chunks.next();
    if (done) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}

/** Where in `lines`, which are whole, the line begins that ends a table's rows; undefined without one. */
function endOfRows(lines: Buffer): number | undefined {
  if (lines.subarray(0, rowsEnd.length).equals(Buffer.from(rowsEnd))) return 0;
  const at = lines.indexOf(`\n${rowsEnd}`);
  return at < 0 ? undefined : at + 1;
}
