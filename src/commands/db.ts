import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Config } from "../accounts/config.ts";
import { migrate } from "../core/postgres/migrate.ts";
import { UsageError } from "../lib/errors.ts";
import { epochMs } from "../lib/time.ts";
import { formatCount, formatCounted, formatMinute, jsonTime } from "../output/output-format.ts";
import { done, type Result } from "../output/result.ts";
import { backUp, tableMaxMs } from "../wings/backup/backup.ts";
import { type BackupHeader, readBackup, rowsOfAll } from "../wings/backup/backup-file.ts";
import { restore } from "../wings/backup/restore.ts";
import {
  distributionSteps,
  extensionMissing,
  type Placement,
  readDistribution,
  type Step,
  takeStep,
} from "../wings/citus/citus.ts";
import { type Io, note } from "./io.ts";
import { type Define, jsonOption } from "./options.ts";
import { fileOutput, refuseTakenOutput } from "./output-file.ts";
import { migratedText, openFilled, openMigrated, openWritable } from "./stored.ts";

/** `db migrate`: brings the database to this program's schema. */
async function migrateCommand(config: Config, io: Io): Promise<Result> {
  await using database = await openWritable(config, io);
  const text = migratedText(await migrate(database.url.reveal()));
  return { ...done(text ?? "the schema is up to date"), isSummary: true };
}

/**
 * `db url`: prints the database's address, and keeps the embedded Postgres up until Ctrl-C. The address
 * of the embedded Postgres includes the password, which no user has set. The address of
 * DATABASE_URL leaves the password out.
 * @param readWrite whether to print an address of the embedded Postgres that may change everything,
 *   instead of one that only reads.
 */
async function urlCommand(
  config: Config,
  io: Io,
  { readWrite }: { readonly readWrite: boolean },
): Promise<Result> {
  const isServer = "url" in config.database;
  if (readWrite && isServer)
    throw new UsageError(
      "--read-write is for the embedded Postgres; with DATABASE_URL, connect as the user that it names",
    );
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await openMigrated(config, io));
  const url = (readWrite ? database.url : database.readOnlyUrl).reveal();
  const address = isServer ? withoutPassword(url) : url;
  // SQLAlchemy refuses `postgres:`, which libpq takes as well.
  const result = done(address.replace(/^postgres:/, "postgresql:"));
  if (isServer) return result;
  const rights = readWrite
    ? "may change everything"
    : "only reads (--read-write prints one that may also write)";
  note(io, `this address ${rights}; the embedded Postgres is up until Ctrl-C`);
  return { ...result, running: stack.move() };
}

/** The driver also takes a password from the query. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = "";
  url.searchParams.delete("password");
  return url.href;
}

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
    ...done(`wrote ${path}: ${contentOf(header)}, in ${formatCount(size)} bytes`),
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
    ...done(`${path} is intact: ${contentOf(header)}`),
    data: { ...factsOf(header), sha256 },
  };
}

/** `db restore FILE`: puts a backup into an empty database. */
async function restoreCommand(config: Config, io: Io, path: string): Promise<Result> {
  await using database = await openWritable(config, io);
  const restored = await restore(database.url.reveal(), path, io.signal);
  const { header, sha256, migrated } = restored;
  const applied = migrated > 0 ? `\napplied ${formatCounted(migrated, "migration")}` : "";
  return {
    ...done(`restored ${path}: ${contentOf(header)}${applied}`),
    data: { ...factsOf(header), sha256, migrated },
  };
}

const factsOf = ({ takenAt, program, postgres, tables }: BackupHeader) => ({
  takenAt: jsonTime(epochMs(Date.parse(takenAt))),
  ...{ program, postgres, rows: rowsOfAll(tables) },
  tables: tables.map(({ name, rows }) => ({ table: name, rows })),
});

/** "3,542 bills, 4,032 rows of 17 tables, taken 2026-11-21 14:02Z from PostgreSQL 18.4" */
function contentOf({ takenAt, postgres, program, tables }: BackupHeader): string {
  const bills = tables.find(({ name }) => name === "bills")?.rows ?? 0;
  const all = `${formatCounted(rowsOfAll(tables), "row")} of ${formatCounted(tables.length, "table")}`;
  const at = formatMinute(epochMs(Date.parse(takenAt)));
  return `${formatCounted(bills, "bill")}, ${all}, taken ${at} from PostgreSQL ${postgres} by bill-sync ${program}`;
}

/**
 * `db distribute`: puts all rows of an account on one node of a database that has the extension Citus.
 * Tables that are already distributed stay as they are.
 * @param isDryRun prints the statements and runs none. It needs no extension.
 */
async function distributeCommand(config: Config, io: Io, isDryRun: boolean): Promise<Result> {
  await using database = await openWritable(config, io);
  const { db } = database;
  const distribution = await readDistribution(db);
  if (distribution === undefined && !isDryRun) throw extensionMissing();
  const steps = distributionSteps(distribution ?? []);
  if (isDryRun) return done(...steps.map(stepText));
  await migrate(database.url.reveal());
  const parts: string[] = [];
  for (const step of steps) {
    io.signal.throwIfAborted();
    await takeStep(db, step);
    const verb = step.statements.length === 0 ? "is" : "is now";
    parts.push(`${step.table} ${verb} ${where[step.placement]}`);
  }
  return done(...parts);
}

const where: Readonly<Record<Placement, string>> = {
  account: "on the nodes, by account",
  everywhere: "on every node",
  coordinator: "on the coordinator",
};

const stepText = ({ table, placement, statements }: Step): string =>
  [
    `-- public.${table} ${statements.length === 0 ? "is" : "goes"} ${where[placement]}`,
    ...statements.map((statement) => `${statement};`),
  ].join("\n");

const backupHelp = `
The file holds all tables as they were at one moment, and never an API key. It
is gzipped, readable by its owner only, and written whole or not at all. A sync
may run meanwhile.`;

const restoreHelp = `
The database must be empty, or migrated by the same version and without rows.
All rows are compared with the file's digest and committed in one transaction.`;

const distributeHelp = `
Run it again after an update, which may bring new tables. Stop syncs and workers
first: a table that holds rows is locked while they are sent.`;

export const define: Define = (db, { io, config, runs }) => {
  db.command("migrate")
    .description("create or update the tables; sync does it too")
    .action(runs(() => migrateCommand(config(), io)));
  db.command("url")
    .description("print the database's address and keep the embedded Postgres running until Ctrl-C")
    .option("--read-write", "an address that may also write, not only read", false)
    .action(runs((words: { readonly readWrite: boolean }) => urlCommand(config(), io, words)));
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
  db.command("distribute")
    .description("put each account's rows on one node of a database that has Citus")
    .option("--dry-run", "print the statements without running them", false)
    .addHelpText("after", distributeHelp)
    .action(
      runs(({ dryRun }: { readonly dryRun: boolean }) => distributeCommand(config(), io, dryRun)),
    );
};
