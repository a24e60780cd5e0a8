import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { backUp, tableMaxMs } from "../db/backup/backup.ts";
import { type BackupHeader, rowsOfAll } from "../db/backup/backup-format.ts";
import { readBackup } from "../db/backup/backup-reader.ts";
import { restore } from "../db/backup/restore.ts";
import {
  distributionSteps,
  extensionMissing,
  type Placement,
  readDistribution,
  type Step,
  takeStep,
} from "../db/citus.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { addReader } from "../db/reader-role.ts";
import { UsageError } from "../errors.ts";
import { formatCount, formatCounted } from "../output/format.ts";
import { type Config, readConfig } from "../roster/config.ts";
import { fileOutput, refuseTakenOutput } from "./export/export-output.ts";
import { type ExitCode, type Io, print, printSummary, stopped, tell } from "./io.ts";
import { migratedText } from "./migrated-text.ts";
import { answer, type Define, jsonOption } from "./options.ts";

/** `db migrate`: brings the database to this program's schema. */
async function migrateCommand(config: Config, io: Io): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  printSummary(
    io,
    migratedText(await migrate(database.url.reveal())) ?? "the schema is up to date",
  );
  return 0;
}

/**
 * `db url`: prints the database's address, and keeps the embedded Postgres up until Ctrl-C. The address
 * of the embedded Postgres includes the password, which no user has set. The address of
 * DATABASE_URL leaves the password out.
 * @param write whether to print an address of the embedded Postgres that may change everything,
 *   instead of one that only reads.
 */
async function urlCommand(config: Config, io: Io, { write }: UrlOptions): Promise<ExitCode> {
  if (write && "url" in config.database) {
    throw new UsageError(
      "--write is for the embedded Postgres; with DATABASE_URL, connect as the user that it names",
    );
  }
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const url = database.url.reveal();
  await migrate(url);
  if ("url" in config.database) {
    print(io, withKnownScheme(withoutPassword(url)));
    return 0;
  }
  print(io, withKnownScheme(write ? url : await addReader(database.db, url)));
  const rights = write
    ? "may change everything"
    : "only reads (--write prints one that may also write)";
  tell(io, `this address ${rights}; the embedded Postgres is up until Ctrl-C`);
  await stopped(io.signal);
  return 0;
}

/** SQLAlchemy refuses `postgres:`, which libpq takes as well. */
const withKnownScheme = (url: string): string => url.replace(/^postgres:/, "postgresql:");

/** The driver also takes a password from the query. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = "";
  url.searchParams.delete("password");
  return url.href;
}

type UrlOptions = { readonly write: boolean };
type BackupOptions = { readonly force: boolean; readonly json: boolean };

// A backup is as private as its database.
const ownerOnly = 0o600;
const chunkBytes = 256 * 1024;

/** `db backup FILE`: writes all that is stored, as of one moment, to a file. */
async function backupCommand(
  config: Config,
  path: string,
  io: Io,
  { force, json }: BackupOptions,
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
  return answer(io, json, {
    data: { file: path, bytes: size, ...contentOf(header) },
    parts: [`wrote ${path}: ${describe(header)}, in ${formatCount(size)} bytes`],
    exit: 0,
  });
}

/** `db backup --check FILE`: reads a backup to its end and compares its rows with its digests. */
async function checkCommand(
  path: string,
  io: Io,
  { json }: { readonly json: boolean },
): Promise<ExitCode> {
  const { header, tables, sha256 } = await readBackup(path, {
    take: async (_table, rows) => {
      for await (const _ of rows) io.signal.throwIfAborted();
    },
  });
  return answer(io, json, {
    data: { file: path, ...contentOf(header), tables, sha256 },
    parts: [`${path} is intact: ${describe(header)}`],
    exit: 0,
  });
}

/** `db restore FILE`: puts a backup into an empty database. */
async function restoreCommand(
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
  return answer(io, json, {
    data: { file: path, ...contentOf(header), tables, sha256, migrated },
    parts: [
      `restored ${path}: ${describe(header)}`,
      ...(migrated > 0 ? [`applied ${formatCounted(migrated, "migration")}`] : []),
    ],
    exit: 0,
  });
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

/**
 * `db distribute`: puts all rows of an account on one node of a database that has the extension Citus.
 * Tables that are already distributed stay as they are.
 * @param isDryRun prints the statements and runs none. It needs no extension.
 */
async function distributeCommand(
  config: Config,
  io: Io,
  { dryRun: isDryRun }: { readonly dryRun: boolean },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const { db } = database;
  const known = await readDistribution(db);
  if (known === undefined && !isDryRun) throw extensionMissing();
  const steps = distributionSteps(known ?? []);
  if (isDryRun) {
    print(io, steps.map(stepText).join("\n"));
    return 0;
  }
  await migrate(database.url.reveal());
  for (const step of steps) {
    io.signal.throwIfAborted();
    await takeStep(db, step);
    print(
      io,
      `${step.table} ${step.statements.length === 0 ? "is" : "is now"} ${where[step.placement]}`,
    );
  }
  return 0;
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
The file holds all tables of the ledger as they were at one moment: bills,
windows, records, runs, breaks, and the fingerprints of the API keys, never
the keys. It is gzipped and readable by its owner only. The leases of running
syncs are left out; a sync may run meanwhile. The file can be restored into any
Postgres from 14 on, also of another version, and into the embedded one. It is
written whole or not at all. --check reads a file and compares its digests; it
needs no database.
The exit code is 0 if the file was written or, with --check, is intact.`;

const restoreHelp = `
The database must be empty, or migrated by the same version and without rows.
All rows are inserted, compared with the file's counts and digests, and
committed in one transaction; if anything differs, nothing is changed. A file of
an older version is migrated afterwards. The next sync reads what came since.`;

const distributeHelp = `
On a database with the extension Citus, this puts all rows of an account on one
node. business_types is copied to every node; all other tables stay on the
coordinator. Tables that are distributed already stay as they are. Run it again
after an update, which may bring new tables. Stop syncs and workers first: a
table that holds rows is locked while they are sent.`;

export const define: Define = (db, { io, readEnvironment }, exitWith) => {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  const backup = (
    path: string,
    { check, ...options }: BackupOptions & { readonly check: boolean },
  ) => (check ? checkCommand(path, io, options) : backupCommand(configOf(), path, io, options));
  db.command("migrate")
    .description("create or update the tables; sync does it too")
    .action(exitWith(() => migrateCommand(configOf(), io)));
  db.command("url")
    .description("print the database's address and keep the embedded Postgres running until Ctrl-C")
    .option("--write", "an address that may also write, not only read", false)
    .action(exitWith((options: UrlOptions) => urlCommand(configOf(), io, options)));
  db.command("backup")
    .argument("<file>", "the file to write")
    .description("write the whole ledger to one file, from any Postgres")
    .option("--check", "read an existing file instead, and compare its digests", false)
    .option("--force", "replace the file if it exists", false)
    .addOption(jsonOption("a line"))
    .addHelpText("after", backupHelp)
    .action(exitWith(backup));
  db.command("restore")
    .argument("<file>", "a file that db backup wrote")
    .description("restore such a file into an empty database of any Postgres")
    .addOption(jsonOption("a line"))
    .addHelpText("after", restoreHelp)
    .action(
      exitWith((path: string, options: { readonly json: boolean }) =>
        restoreCommand(configOf(), path, io, options),
      ),
    );
  db.command("distribute")
    .description("put each account's rows on one node of a database that has Citus")
    .option("--dry-run", "print the statements without running them", false)
    .addHelpText("after", distributeHelp)
    .action(
      exitWith((options: { readonly dryRun: boolean }) =>
        distributeCommand(configOf(), io, options),
      ),
    );
};
