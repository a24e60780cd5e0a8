import type { Config } from "../accounts/config.ts";
import { refuseUnreachable } from "../accounts/to-read.ts";
import type { BillPages } from "../books/export/exported-bill.ts";
import { formatNames, formatOf } from "../books/export/formats.ts";
import type { Prices } from "../books/export/prices.ts";
import { readBills, readWalletEnds } from "../books/export/read-bills.ts";
import { dayIn } from "../books/export/time-zone.ts";
import { inSnapshot, type Transaction } from "../core/postgres/connect.ts";
import { UsageError } from "../lib/errors.ts";
import { printable, printableJson } from "../lib/printable.ts";
import { epochMs } from "../lib/time.ts";
import { formatCounted } from "../output/output-format.ts";
import { done, type Result } from "../output/result.ts";
import { type ExportFlags, type ExportOptions, exportOptions, pricesOf } from "./export-options.ts";
import { type ExportPlan, planExport } from "./export-plan.ts";
import { type Io, note } from "./io.ts";
import { type Define, exporting, formatOption } from "./options.ts";
import {
  fileOutput,
  type Output,
  OutputClosedError,
  refuseTakenOutput,
  standardOutput,
} from "./output-file.ts";
import { openFilled } from "./stored.ts";

/**
 * `export`: the stored bills in another program's format, as of one moment. What the bills may lack
 * is reported on standard error. It is no failure, because the export has all that is stored.
 */
export async function exportCommand(
  config: Config,
  io: Io,
  options: ExportOptions,
): Promise<Result> {
  if (options.output !== undefined) await refuseTakenOutput(options.output, options.force);
  else if (formatOf(options.format).isBinary && io.out.isTTY) {
    throw new UsageError(
      `${options.format} is a binary format: name a file with --output, or use a pipe`,
    );
  }
  const prices = await pricesOf(options);
  const say = (message: string) => note(io, message);
  await using stored = await openFilled(config, io);
  const { db } = stored;
  await refuseUnreachable(db, config, options);
  await inSnapshot(db, async (tx) => {
    const plan = await planExport(tx, config, options);
    for (const line of plan.said) say(line);
    const bills = await writeBills(tx, io, { ...options, prices }, plan);
    if (bills !== undefined) say(`${options.output}: ${formatCounted(bills, "bill")}`);
  });
  return done();
}

/** @returns the number of bills written to a file; undefined for standard output. */
async function writeBills(
  tx: Transaction,
  io: Io,
  options: Omit<ExportOptions, "prices"> & { readonly prices: Prices | undefined },
  { selection, before, openings }: ExportPlan,
): Promise<number | undefined> {
  const { format, output: path, from, to, prices } = options;
  let count = 0;
  const counted = async function* (pages: BillPages): BillPages {
    for await (const bills of pages) {
      count += bills.length;
      yield bills;
    }
  };
  const write = await formatOf(format).load();
  const dayOf = dayIn(options.zone);
  const lastDay = to === undefined ? "9999" : dayOf(epochMs(to - 1));
  const formatOptions = {
    ...{ zone: options.zone, openings, isForSpreadsheet: options.spreadsheet },
    prices: prices && { ...prices, all: prices.all.filter(({ day }) => day <= lastDay) },
    ...(before === undefined || from === undefined ? {} : { startDay: dayOf(from) }),
    ...(before === undefined ? {} : { before: readBills(tx, before) }),
    walletEnds: formatOf(format).isJournal ? await readWalletEnds(tx, selection) : [],
  };
  await using output: Output =
    path === undefined
      ? standardOutput(io, format === "ccxt" ? printableJson : printable)
      : await fileOutput(path);
  try {
    for await (const chunk of write(counted(readBills(tx, selection)), formatOptions)) {
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

const help = `
For each format:
${formatNames.map((name) => `  ${name.padEnd(10)} ${formatOf(name).about}`).join("\n")}

The bills are those of one moment, by account, wallet, time and balance. Without
--to they end with what was read completely. Warnings about bills that may be
missing go to standard error; the exit code stays 0, since all stored bills were
written.

--continue TIME writes a journal that is appended to earlier ones, of which the
first began at TIME. --prices FILE puts prices into a journal. --changed-since
TIME takes the bills that were stored or restated since TIME.`;

export const define: Define = (command, { io, config, runs }) => {
  exporting(command)
    .addOption(formatOption("required: the format of the file", formatNames).makeOptionMandatory())
    .option("--continue [time]", "continue a journal that was first exported from this time")
    .option("--changed-since <time>", "only bills that were stored or restated since then")
    .option("--spreadsheet", "CSV for Excel and LibreOffice: ids are text, amounts numbers")
    .option("--output <file>", "a new file instead of standard output")
    .option("--force", "replace the file if it exists")
    .addHelpText("after", help)
    .action(runs((words: ExportFlags) => exportCommand(config(), io, exportOptions(words))));
};
