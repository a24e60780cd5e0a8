import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type ExitCode, type Io, print, printJson, tell } from "../app/io.ts";
import type { Config } from "../config/config.ts";
import { backUp, tableMaxMs } from "../db/backup/backup.ts";
import { type BackupHeader, rowsOfAll } from "../db/backup/backup-format.ts";
import { readBackup } from "../db/backup/backup-reader.ts";
import { restore } from "../db/backup/restore.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { openCommandDatabase } from "../db/open.ts";
import { formatCount, formatCounted } from "../terminal/format.ts";
import { fileOutput, refuseTakenOutput } from "./export/export-output.ts";

// A backup is as private as its database.
const ownerOnly = 0o600;
const chunkBytes = 256 * 1024;

/** `backup FILE`: writes all that is stored, as of one moment, to a file. */
export async function backupCommand(
  config: Config,
  path: string,
  io: Io,
  { force, json }: { readonly force: boolean; readonly json: boolean },
): Promise<ExitCode> {
  await refuseTakenOutput(path, force, path);
  await using database = await openCommandDatabase(
    config.database,
    (message) => tell(io, message),
    { statementMaxMs: tableMaxMs },
  );
  await using output = await fileOutput(path, { shown: path, mode: ownerOnly });
  const header = await withDatabaseErrors(() =>
    backUp(
      database.db,
      (lines) =>
        pipeline(Readable.from(lines), createGzip({ chunkSize: chunkBytes }), async (chunks) => {
          for await (const chunk of chunks) await output.write(chunk);
        }),
      io.signal,
    ),
  );
  await output.commit();
  const { size } = await stat(path);
  if (json) printJson(io, { file: path, bytes: size, ...contentOf(header) });
  else print(io, `wrote ${path}: ${describe(header)}, in ${formatCount(size)} bytes`);
  return 0;
}

/** `backup --check FILE`: reads a backup to its end and compares its rows with its digests. */
export async function checkCommand(
  path: string,
  io: Io,
  { json }: { readonly json: boolean },
): Promise<ExitCode> {
  const { header, tables, sha256 } = await readBackup(path, {
    take: async (_table, rows) => {
      for await (const _ of rows) io.signal.throwIfAborted();
    },
  });
  if (json) printJson(io, { file: path, ...contentOf(header), tables, sha256 });
  else print(io, `${path} is intact: ${describe(header)}`);
  return 0;
}

/** `restore FILE`: puts a backup into an empty database. */
export async function restoreCommand(
  config: Config,
  path: string,
  io: Io,
  { json }: { readonly json: boolean },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const { header, tables, sha256, migrated } = await restore(
    database.url.reveal(),
    path,
    io.signal,
  );
  if (json) {
    printJson(io, { file: path, ...contentOf(header), tables, sha256, migrated });
    return 0;
  }
  print(io, `restored ${path}: ${describe(header)}`);
  if (migrated > 0) print(io, `applied ${formatCounted(migrated, "migration")}`);
  return 0;
}

const contentOf = ({ takenAt, program, postgres, tables }: BackupHeader) => ({
  takenAt,
  program,
  postgres,
  tables: tables.map(({ name, rows }) => ({ table: name, rows })),
  rows: rowsOfAll(tables),
});

/** "3,542 bills, 4,032 rows of 17 tables, taken 2026-11-21 14:02Z from PostgreSQL 18.4" */
function describe({ takenAt, postgres, program, tables }: BackupHeader): string {
  const bills = tables.find(({ name }) => name === "bills")?.rows ?? 0;
  const all = `${formatCounted(rowsOfAll(tables), "row")} of ${formatCounted(tables.length, "table")}`;
  const at = `${takenAt.slice(0, 16).replace("T", " ")}Z`;
  return `${formatCounted(bills, "bill")}, ${all}, taken ${at} from PostgreSQL ${postgres} by bill-sync ${program}`;
}
