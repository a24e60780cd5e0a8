import { sql } from "drizzle-orm";
import type { Config } from "../accounts/config.ts";
import {
  endedSince,
  isSelected,
  type RosterLedger,
  readRoster,
  selectionOf,
  selectionOfBooks,
} from "../accounts/roster.ts";
import type { BillPages } from "../books/export/exported-bill.ts";
import { type FormatName, formatNames, formatOf } from "../books/export/formats.ts";
import type { BillSelection } from "../books/export/read-bills.ts";
import { startExport } from "../books/export/start-export.ts";
import { dayIn } from "../books/export/time-zone.ts";
import { isOfBills } from "../check/health/finding-kinds.ts";
import { usualLimits } from "../check/health/finding-rows.ts";
import { readFindings } from "../check/health/findings.ts";
import { readLedgerTimes } from "../check/health/ledger-status.ts";
import { headLines, lineOf } from "../check/health/verdict.ts";
import { isUnified, walletOf } from "../core/contract/product-types.ts";
import { inSnapshot, type Transaction } from "../core/postgres/connect.ts";
import { msOf } from "../core/postgres/values.ts";
import { readExchangeTime } from "../core/store/known-time.ts";
import { readRenamed } from "../core/store/reference/renamings.ts";
import type { Ledger } from "../core/words/ledger.ts";
import { UsageError } from "../lib/errors.ts";
import { type EpochMs, epochMs, isoTime, minuteMs } from "../lib/time.ts";
import { done, type Result } from "../output/result.ts";
import { formatCounted, formatMinute } from "../output/text.ts";
import { type Io, note } from "./io.ts";
import { type Define, formatOption, type LedgerFlags } from "./options.ts";
import { fileOutput, OutputClosedError, refuseTakenOutput, standardOutput } from "./output-file.ts";
import { exporting, type PeriodFlags, periodOf, typedTime, zoneOf } from "./period.ts";
import { openFilled } from "./stored.ts";

/**
 * `export`: the stored bills in another program's format, as of one moment. What the bills may lack
 * is reported on standard error. It is no failure, because the export has all that is stored.
 */
export async function exportCommand(config: Config, io: Io, typed: ExportOptions): Promise<Result> {
  if (typed.output !== undefined) await refuseTakenOutput(typed.output, typed.force);
  else if (formatOf(typed.format).isBinary && io.out.isTTY) {
    throw new UsageError(
      `${typed.format} is a binary format: name a file with --output, or use a pipe`,
    );
  }
  const say = (message: string) => note(io, message);
  await using stored = await openFilled(config, io);
  const { db } = stored;
  const options = await selectionOfBooks(db, config, typed, say);
  await inSnapshot(db, async (tx) => {
    const plan = await planExport(tx, config, options);
    for (const line of plan.said) say(line);
    const bills = await writeBills(tx, io, options, plan);
    if (bills !== undefined) say(`${options.output}: ${formatCounted(bills, "bill")}`);
  });
  return done();
}

type ExportPlan = Awaited<ReturnType<typeof planExport>>;

type ExportedTime = {
  readonly ledger: Ledger;
  /**
   * Up to when the ledger is covered; undefined before its first complete window. For an ended one, when it
   * ended, since it gets no more bills.
   */
  readonly through: EpochMs | undefined;
  readonly isEnded: boolean;
};

/** The selection of an export, and the lines that are said beside it. */
export async function planExport(tx: Transaction, config: Config, options: ExportOptions) {
  const { ledgers: roster, states } = await readRoster(tx, config, { accounts: options.accounts });
  const storedLedgers = roster.filter(({ isStored }) => isStored);
  const synced = storedLedgers.filter((ledger) => isSelected(options, ledger));
  if (formatOf(options.format).isJournal) refuseHalfWallets(options, storedLedgers);
  const now = await readExchangeTime(tx, options.accounts);
  const stored = await readLedgerTimes(tx, synced, now);
  const times = synced.map((ledger): ExportedTime => {
    const endedAt = endedSince(states.of(ledger.account), ledger.productType);
    const through = endedAt ?? stored.of(ledger).coverage.at(-1)?.to;
    return { ledger, through, isEnded: endedAt !== undefined };
  });
  const isCut = options.to === undefined && options.changedSince === undefined;
  const ends = isCut ? endsOf(times) : [];
  const { accounts, productTypes, from, to, changedSince } = options;
  const selection: BillSelection = { accounts, productTypes, from, to, changedSince, ends };
  return {
    ...{ selection, now, ledgers: roster },
    said: [
      ...(await readWarnings(tx, options, { roster, times, now })),
      ...endNote(ends.flatMap(({ to, isEnded }) => (isEnded ? [] : [to]))),
      ...(changedSince === undefined ? [] : await renamedLines(tx, accounts, changedSince)),
      ...(changedSince === undefined
        ? []
        : [`to export what changes after this: --changed-since ${await nextChangedSince(tx)}`]),
    ],
  };
}

/** Bills of an account that was renamed come again: the importer has them under the earlier name. */
async function renamedLines(
  tx: Transaction,
  accounts: readonly string[] | undefined,
  since: EpochMs,
): Promise<readonly string[]> {
  const renamed = await readRenamed(tx, accounts, since);
  return renamed.map(
    ({ account, firstName }) =>
      `account ${account} was renamed since then, and first was ${firstName}: all its bills are in the file; delete those ` +
      "of its earlier name where you import it",
  );
}

/** Says where an export ends if no end was asked for. @param through the end of each ledger. */
export function endNote(through: readonly EpochMs[]): readonly string[] {
  const [first, ...others] = new Set(through.toSorted((a, b) => a - b).map(formatMinute));
  if (first === undefined) return [];
  const last = others.at(-1);
  const end =
    last === undefined
      ? `ends at ${first}, up to which everything was read`
      : `each ledger ends where everything was read, from ${first} to ${last}`;
  return [`${end}; --to includes newer bills`];
}

/**
 * @throws UsageError if only some of a unified account's product types are selected: a journal
 * asserts the wallet's balance, which is over all of them.
 */
function refuseHalfWallets({ format, ...asked }: ExportOptions, stored: readonly Ledger[]): void {
  const { productTypes } = asked;
  if (!productTypes?.some(isUnified)) return;
  const others = stored.filter(
    ({ account, productType }) =>
      isUnified(productType) &&
      !productTypes.includes(productType) &&
      isSelected({ ...asked, productTypes: undefined }, { account, productType }),
  );
  if (others.length === 0) return;
  const missing = [...new Set(others.map(({ productType }) => productType))];
  throw new UsageError(
    `--format ${format} asserts balances, and all product types of a unified account share one ` +
      `balance of each coin; add ${missing.map((name) => `--product ${name}`).join(" ")}`,
  );
}

type Exported = {
  readonly roster: readonly RosterLedger[];
  readonly times: readonly ExportedTime[];
  readonly now: EpochMs;
};

/** A line for each finding that concerns what is exported. Of an export, any unread time is one. */
async function readWarnings(
  tx: Transaction,
  { accounts, productTypes, from, to, format }: ExportOptions,
  { roster, times, now }: Exported,
): Promise<readonly string[]> {
  const ends = times.flatMap(({ through }) => through ?? []);
  // Without an end, each ledger ends where it is complete, and nothing newer is lacking.
  const span = { from, to: to ?? (ends.length === 0 ? now : epochMs(Math.max(...ends))) };
  const limits = { ...usualLimits, maxAgeMs: 0 };
  const scope = { accounts, productTypes, roster, now, limits, span };
  const findings = (await readFindings(tx, scope)).filter(
    (finding) =>
      isOfBills(finding) &&
      (!["unchecked", "unclassified"].includes(finding.kind) || formatOf(format).isBooked) &&
      finding.kind !== "restated" &&
      // Without an end, it ends where it was read.
      (finding.kind !== "behind" || to !== undefined),
  );
  return headLines(findings, now).map((line) => `warning: ${lineOf(line)}`);
}

/**
 * The ends of the exported times. A wallet has one balance over all its product types, so all of
 * them end where the first one does, those of which nothing was read completely included.
 */
function endsOf(times: readonly ExportedTime[]) {
  const nameOf = ({ account, productType }: Ledger) => `${account} ${walletOf(productType)}`;
  return [...Map.groupBy(times, ({ ledger }) => nameOf(ledger)).values()].flatMap((wallet) => {
    const throughs = wallet.flatMap(({ through }) => through ?? []);
    if (throughs.length === 0) return [];
    const to = epochMs(Math.min(...throughs));
    return wallet.map(({ ledger, isEnded }) => ({ ...ledger, isEnded, to }));
  });
}

// A transaction that began before this moment may commit after it, but none lasts longer than this.
const underWayMaxMs = 10 * minuteMs;

/** The time with which the next incremental export has to begin, by the database's clock. */
async function nextChangedSince(tx: Transaction): Promise<string> {
  const { rows } = await tx.execute<{ now: string }>(
    sql`select ${msOf(sql`date_trunc('milliseconds', transaction_timestamp())`)} as now`,
  );
  return isoTime(epochMs(Number(rows[0]?.now) - underWayMaxMs));
}

/** @returns the number of bills written to a file; undefined for standard output. */
async function writeBills(
  tx: Transaction,
  io: Io,
  options: ExportOptions,
  plan: ExportPlan,
): Promise<number | undefined> {
  const { output: path } = options;
  let count = 0;
  const counted = async function* (pages: BillPages): BillPages {
    for await (const bills of pages) {
      count += bills.length;
      yield bills;
    }
  };
  const chunks = await startExport(tx, { ...options, ...plan }, counted);
  await using output = path === undefined ? standardOutput(io) : await fileOutput(path);
  try {
    for await (const chunk of chunks) {
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

/** The options that were typed after `export`. */
export type ExportFlags = LedgerFlags &
  PeriodFlags & {
    readonly format: FormatName;
    readonly changedSince?: string;
    /** True if the option was typed without a time. */
    readonly continue?: string | true;
    readonly output?: string;
    readonly force?: boolean;
  };

type ExportOptions = ReturnType<typeof exportOptions>;

/** @throws UsageError for words that are wrong, or do not go together. */
export function exportOptions(words: ExportFlags) {
  const { format, output, force = false } = words;
  const zone = zoneOf(words.timeZone ?? "UTC");
  const { from, to } = periodOf(words, zone);
  const changedSince = typedTime("--changed-since", words.changedSince, zone);
  if (changedSince !== undefined && formatOf(format).isJournal)
    throw new UsageError(
      `--changed-since and --format ${format} do not go together: a journal needs every bill of its time`,
    );
  const continues = continuesOf(words, from, zone);
  return {
    ...selectionOf(words),
    ...{ format, output, force },
    ...{ zone, from, to, changedSince, continues },
  };
}

function continuesOf(
  { continue: word, format }: ExportFlags,
  from: EpochMs | undefined,
  zone: string,
): { readonly since: EpochMs | undefined } | undefined {
  if (word === undefined) return undefined;
  if (!formatOf(format).isJournal)
    throw new UsageError(`--continue is for journals only: a file of ${format} continues no other`);
  if (from === undefined)
    throw new UsageError(
      "--continue needs --from, --month or --year: the time at which the file before it ends",
    );
  const dayOf = dayIn(zone);
  if (dayOf(from) === dayOf((from - 1) as EpochMs))
    throw new UsageError(
      "--continue needs a --from at midnight: a journal asserts balances at the ends of days",
    );
  const since = word === true ? undefined : typedTime("--continue", word, zone);
  if (since !== undefined && since >= from)
    throw new UsageError(
      `--continue ${word} is not before --from; give the time at which the first file began`,
    );
  return { since };
}

const help = `
For each format:
${formatNames.map((name) => `  ${name.padEnd(10)} ${formatOf(name).about}`).join("\n")}

The bills are those of one moment, by account, wallet, time and id. Without
--to they end with what was read completely. Warnings about bills that may be
missing go to standard error; the exit code stays 0, since all stored bills were
written.

--continue TIME writes a journal that is appended to earlier ones, of which the
first began at TIME. --changed-since TIME takes the bills that were stored or
restated since TIME.`;

export const define: Define = (command, { io, config, runs }) => {
  exporting(command)
    .addOption(formatOption("required: the format of the file", formatNames).makeOptionMandatory())
    .option("--continue [time]", "continue a journal that was first exported from this time")
    .option("--changed-since <time>", "only bills that were stored or restated since then")
    .option("--output <file>", "a new file instead of standard output")
    .option("--force", "replace the file if it exists")
    .addHelpText("after", help)
    .action(runs((words: ExportFlags) => exportCommand(config(), io, exportOptions(words))));
};
