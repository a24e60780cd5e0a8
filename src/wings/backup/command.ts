import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Config } from "../../accounts/config.ts";
import type { Io } from "../../commands/io.ts";
import { type Define, jsonOption } from "../../commands/options.ts";
import { fileOutput, refuseTakenOutput } from "../../commands/output-file.ts";
import { openFilled, openWritable } from "../../commands/stored.ts";
import { epochMs } from "../../lib/time.ts";
import { done, type Result } from "../../output/result.ts";
import { formatCount, formatCounted, formatMinute, jsonTime } from "../../output/text.ts";
import { backUp, tableMaxMs } from "./backup.ts";
import { type BackupHeader, readBackup, rowsOfAll } from "./backup-file.ts";
import { restore } from "./restore.ts";

// A backup is as private as its database.
const ownerOnly = 0o600;
const chunkBytes = 256 * 1024;

type BackupFlags = { readonly check: boolean; readonly force: boolean };

/** `db backup FILE`: writes all that is stored, as of one moment, to a file. */
async function backupCommand(
  config: Config,
  io: Io,
  path: string,
  { force }: BackupFlags,
): Promise<Result> {
  await refuseTakenOutput(path, force, path);
  await using database = await openFilled(config, io, { statementMaxMs: tableMaxMs });
  await using output = await fileOutput(path, { shown: path, mode: ownerOnly });
  const header = await backUp(
    database.db,
    (lines) =>
      pipeline(Readable.from(lines), createGzip({ chunkSize: chunkBytes }), async (chunks) => {
        for await (const chunk of chunks) await output.write(chunk);
      }),
    io.signal,
  );
  await output.commit();
  const { size } = await stat(path);
  return {
    ...done(
      `wrote ${path}: ${contentOf(header)}, in ${formatCount(size)} bytes`,
      ...leftOutLines(header.leftOut),
    ),
    data: { file: path, bytes: size, ...factsOf(header) },
  };
}

/** `db backup --check FILE`: reads a backup to its end and compares its rows with its digests. */
async function checkCommand(io: Io, path: string): Promise<Result> {
  const { header, sha256 } = await readBackup(path, {
    take: async (_table, rows) => {
      for await (const _ of rows) io.signal.throwIfAborted();
    },
  });
  return {
    ...done(`${path} is intact: ${contentOf(header)}`, ...leftOutLines(header.leftOut)),
    data: { ...factsOf(header), sha256 },
  };
}

/** `db restore FILE`: puts a backup into an empty database. */
async function restoreCommand(config: Config, io: Io, path: string): Promise<Result> {
  await using database = await openWritable(config, io);
  const { header, sha256, migrated } = await restore(database.db, path, io.signal);
  const left = leftOutLines(header.leftOut);
  const applied = migrated > 0 ? [`applied ${formatCounted(migrated, "migration")}`] : [];
  return {
    ...done(`restored ${path}: ${contentOf(header)}`, ...left, ...applied),
    data: { ...factsOf(header), sha256, migrated },
  };
}

const factsOf = ({ takenAt, program, postgres, tables, leftOut }: BackupHeader) => ({
  takenAt: jsonTime(epochMs(Date.parse(takenAt))),
  ...{ program, postgres, rows: rowsOfAll(tables), leftOut },
  tables: tables.map(({ name, rows }) => ({ table: name, rows })),
});

/** "3,542 bills, 4,032 rows of 17 tables, taken 2026-11-21 14:02Z from PostgreSQL 18.4" */
function contentOf({ takenAt, postgres, program, tables }: BackupHeader): string {
  const bills = tables.find(({ name }) => name === "bills")?.rows ?? 0;
  const all = `${formatCounted(rowsOfAll(tables), "row")} of ${formatCounted(tables.length, "table")}`;
  const at = formatMinute(epochMs(Date.parse(takenAt)));
  return `${formatCounted(bills, "bill")}, ${all}, taken ${at} from PostgreSQL ${postgres} by bill-sync ${program}`;
}

const namedMax = 10;

/** What others added, on one line. */
function leftOutLines(leftOut: readonly string[]): readonly string[] {
  if (leftOut.length === 0) return [];
  const named = leftOut.slice(0, namedMax).join(", ");
  const more = leftOut.length > namedMax ? ` and ${leftOut.length - namedMax} more` : "";
  return [`left out, since others added it to the schema: ${named}${more}`];
}

const backupHelp = `
The file holds all tables as they were at one moment, and never an API key. It
is gzipped, readable by its owner only, and written whole or not at all. A sync
may run meanwhile.`;

const restoreHelp = `
The database must be empty, or migrated by the same version and without rows.
All rows are compared with the file's digest and committed in one transaction.`;

/** The parts of `db` that a backup has. */
export const define: Define = (db, { io, config, runs }) => {
  db.command("backup")
    .argument("<file>", "the file to write")
    .description("write the whole ledger to one file, from any Postgres")
    .option("--check", "read an existing file instead, and compare its digest", false)
    .option("--force", "replace the file if it exists", false)
    .addOption(jsonOption())
    .addHelpText("after", backupHelp)
    .action(
      runs((path: string, words: BackupFlags) =>
        words.check ? checkCommand(io, path) : backupCommand(config(), io, path, words),
      ),
    );
  db.command("restore")
    .argument("<file>", "a file that db backup wrote")
    .description("restore such a file into an empty database of any Postgres")
    .addOption(jsonOption())
    .addHelpText("after", restoreHelp)
    .action(runs((path: string) => restoreCommand(config(), io, path)));
};
