import { systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { readSyncedStreams } from "../db/checkpoints.ts";
import type { Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { inSnapshot } from "../db/snapshot.ts";
import { ReportableError, UsageError } from "../errors.ts";
import type { BillPages } from "../export/bill.ts";
import { readUncovered } from "../export/completeness.ts";
import { isBinary, loadFormat } from "../export/formats.ts";
import { readBills } from "../export/read-bills.ts";
import { readQuarantined } from "../reports/quarantine.ts";
import type { Stream } from "../sync/store.ts";
import { formatCounted } from "../terminal/format.ts";
import type { ExportOptions } from "./export-options.ts";
import {
  fileOutput,
  type Output,
  OutputClosedError,
  refuseTakenOutput,
  standardOutput,
} from "./export-output.ts";
import { exportWarnings } from "./export-warnings.ts";
import type { ExitCode, Io } from "./io.ts";
import { isSelected, refuseUnknownAccounts } from "./selection.ts";

/**
 * `export`: the stored bills in another program's format, as they are at one moment. What they may
 * lack is told on standard error, and is no failure: they are all that is stored.
 */
export async function exportCommand(
  config: Config,
  io: Io,
  options: ExportOptions,
): Promise<ExitCode> {
  if (options.output !== undefined) await refuseTakenOutput(options.output, options.force);
  else if (isBinary(options.format) && io.out.isTTY) {
    throw new UsageError(`${options.format} is no text: name a file with --output, or a pipe`);
  }
  const tell = (message: string) => {
    io.err.write(`${message}\n`);
  };
  await using database = await openCommandDatabase(config.database, tell);
  if (!(await withDatabaseErrors(() => hasSchema(database.db)))) {
    throw new ReportableError("nothing is stored yet; run sync");
  }
  await withDatabaseErrors(() =>
    inSnapshot(database.db, async (tx) => {
      const stored = await readSyncedStreams(tx);
      refuseUnknownAccounts(options, config, stored);
      const warnings = await warningsOf(tx, selectedOf(options, stored), options);
      for (const warning of warnings) tell(`warning: ${warning}`);
      const bills = await writeBills(tx, io, options);
      if (bills !== undefined) tell(`${options.output}: ${formatCounted(bills, "bill")}`);
    }),
  );
  return 0;
}

type Selected = {
  readonly synced: readonly Stream[];
  /** Asked for by name, and never synced. */
  readonly missing: readonly string[];
};

function selectedOf(options: ExportOptions, stored: readonly Stream[]): Selected {
  const synced = stored.filter((stream) => isSelected(options, stream));
  const has = (account: string, productType: string | undefined) =>
    synced.some(
      (stream) =>
        stream.account === account && (productType ?? stream.productType) === stream.productType,
    );
  const accounts = options.accounts ?? new Set(stored.map(({ account }) => account));
  const missing = [...accounts].flatMap((account) =>
    (options.productTypes ?? [undefined])
      .filter((productType) => !has(account, productType))
      .map((productType) => [account, productType].filter(Boolean).join("/")),
  );
  return { synced, missing };
}

async function warningsOf(
  tx: Transaction,
  { synced, missing }: Selected,
  options: ExportOptions,
): Promise<readonly string[]> {
  const isSelected = (stream: Stream) =>
    synced.some(
      ({ account, productType }) =>
        account === stream.account && productType === stream.productType,
    );
  return exportWarnings({
    missing,
    uncovered: await readUncovered(tx, synced, options, systemClock.now()),
    quarantined: (await readQuarantined(tx)).filter(isSelected),
  });
}

/** @returns how many were written to a file; undefined for standard output. */
async function writeBills(
  tx: Transaction,
  io: Io,
  options: ExportOptions,
): Promise<number | undefined> {
  const { format, output: path } = options;
  let count = 0;
  const counted = async function* (pages: BillPages): BillPages {
    for await (const bills of pages) {
      count += bills.length;
      yield bills;
    }
  };
  const write = await loadFormat(format);
  await using output: Output = path === undefined ? standardOutput(io) : await fileOutput(path);
  try {
    for await (const chunk of write(counted(readBills(tx, options)))) {
      io.signal.throwIfAborted();
      if (chunk.length > 0) await output.write(chunk);
    }
  } catch (error) {
    if (error instanceof OutputClosedError) return undefined;
    throw error;
  }
  await output.commit();
  return path === undefined ? undefined : count;
}
