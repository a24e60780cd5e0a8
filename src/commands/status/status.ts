import { Option } from "commander";
import { epochMs } from "../../contract/time.ts";
import type { Database } from "../../db/connect.ts";
import { readExchangeTime } from "../../db/exchange-time.ts";
import { UsageError } from "../../errors.ts";
import { readQueue } from "../../fleet/queue-status.ts";
import { countFindings, readAccepted, readFindings } from "../../health/findings.ts";
import { alarms } from "../../health/kinds.ts";
import { readStatus } from "../../health/ledger-status.ts";
import { countLedgers, readTotals, worstLedgers } from "../../health/ledgers.ts";
import { readRecords } from "../../health/records.ts";
import { neverSynced, unreachableFindings, verdictOf } from "../../health/verdict.ts";
import { notAvailableLines } from "../../output/account-remarks.ts";
import { jsonTimeOrNull } from "../../output/json-times.ts";
import type { Result } from "../../output/result.ts";
import { streamName } from "../../output/stream-names.ts";
import { unreachableJson, unreachableLines } from "../../output/unreachable-text.ts";
import { type Config, readConfig } from "../../roster/config.ts";
import { readSelected } from "../../roster/reachable.ts";
import { listed, readRoster, type Selection, selectionOf } from "../../roster/roster.ts";
import type { ExitCode, Io } from "../io.ts";
import { metricsCommand } from "../metrics.ts";
import { answer, type Define, offsetOf, pageOf, type Reporting, reporting } from "../options.ts";
import { nothingStored, openStored } from "../stored.ts";
import { findingsParts, shownMax, verdictJson } from "./findings.ts";
import {
  accountsJson,
  ledgersTable,
  type Page,
  pageLine,
  totalsJson,
  totalsLines,
} from "./ledgers.ts";
import {
  lastRunJson,
  lastRunText,
  queueJson,
  queueLines,
  recordsJson,
  recordsTable,
  wantedRiskUnits,
} from "./records.ts";

/** No program reads more at once: `page` says what follows. */
const listedMax = 10_000;

export type StatusOptions = {
  readonly json: boolean;
  readonly selection: Selection;
  /** Whether a finding that alarms is a failure. */
  readonly isCheck: boolean;
  /** The most ledgers to show, worst first. Default 10,000 in JSON or for named accounts, and otherwise 100. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

/**
 * The configuration with these accounts; undefined for all. A configuration that lists accounts without
 * reading each may leave out the others.
 */
type ConfigOf = (accounts: readonly string[] | undefined) => Config;

/** `status`: what is found, through when each ledger is complete, and what is unread or lost. */
export async function statusCommand(
  configOf: ConfigOf,
  io: Io,
  options: StatusOptions,
): Promise<ExitCode> {
  const some = configOf(options.selection.accounts ?? []);
  await using stored = await openStored(some, io);
  const result = await status(stored.db, configOf, options);
  return answer(io, options.json, result);
}

/** @param db undefined before the first sync. */
export async function status(
  db: Database | undefined,
  configOf: ConfigOf,
  options: StatusOptions,
): Promise<Result> {
  const { selection, isCheck } = options;
  const some = configOf(selection.accounts ?? []);
  if (db === undefined) return await neverRead(configOf, some, options);
  const { result, unreachable } = await readSelected(db, some, selection, (among) =>
    readWhole(db, configOf, options, among),
  );
  const findings = [...unreachableFindings(unreachable), ...result.findings];
  const verdict = verdictOf(findings, result.accepted);
  const isFailed = unreachable.length > 0 || (isCheck && findings.some(alarms));
  return {
    data: {
      ...verdictJson(verdict, findings, result.now),
      ...result.data,
      ...unreachableJson(unreachable),
    },
    parts: [
      ...findingsParts(findings, verdict, result.now),
      ...result.parts,
      ...unreachableLines(unreachable),
    ],
    exit: isFailed ? 1 : 0,
  };
}

const epoch = epochMs(0);

/** Before the first sync. Unknown names are refused all the same. */
async function neverRead(
  configOf: ConfigOf,
  some: Config,
  { selection, isCheck }: StatusOptions,
): Promise<Result> {
  const config = selection.accounts ? some : configOf(undefined);
  await readRoster(undefined, config, selection);
  const verdict = verdictOf([neverSynced]);
  const nothing = { symbols: undefined, contracts: [], loanToValue: [] };
  return {
    data: {
      asOf: null,
      ...lastRunJson(undefined),
      accounts: [],
      ...recordsJson(nothing, []),
      ...queueJson(undefined),
      ...verdictJson(verdict, [neverSynced], epoch),
      ...unreachableJson([]),
    },
    parts: [
      ...findingsParts([neverSynced], verdict, epoch),
      ledgersTable([], new Map(), epoch),
      nothingStored(config),
    ],
    exit: isCheck ? 1 : 0,
  };
}

/** The status of all that can be read, without the findings. */
async function readWhole(
  db: Database,
  configOf: ConfigOf,
  { json, selection: asked, limit: most, offset = 0 }: StatusOptions,
  among: readonly string[] | undefined,
) {
  const config = configOf(asked.accounts);
  const roster = await readRoster(db, config, asked, among);
  const selection = { ...asked, accounts: among };
  const now = await readExchangeTime(db, among);
  const limits = config.healthLimits;
  const scope = { ...selection, roster: roster.ledgers, now, limits };
  const findings = await readFindings(db, scope, { limit: json ? listedMax : shownMax });
  const limit = most ?? (json || among !== undefined ? listedMax : shownMax);
  const ledgers = await countLedgers(db, selection);
  const own = listed(roster);
  const isPaged = Math.max(ledgers, own.length) > limit;
  const streams = isPaged
    ? await worstLedgers(db, { ...selection, limit, offset })
    : own.map(({ account, productType }) => ({ account, productType }));
  const names = [...new Set(streams.map(({ account }) => account))];
  const byName = new Map(own.map((ledger) => [streamName(ledger), ledger]));
  const { lastRun, accounts, ...read } = await readStatus(
    db,
    streams,
    config.settleLagMs,
    selection.accounts,
  );
  const all = await readRecords(db, selection.accounts);
  const isShown = ({ account }: { readonly account: string }) => names.includes(account);
  const records = isPaged ? { ...all, loanToValue: all.loanToValue.filter(isShown) } : all;
  const riskUnits = wantedRiskUnits(roster.accounts);
  const queue = await readQueue(db);
  const page: Page = { limit, offset, ledgers };
  const totals = isPaged ? await readTotals(db, selection) : undefined;
  const counts = isPaged ? await countFindings(db, scope) : [];
  return {
    now,
    findings,
    accepted: await readAccepted(db, selection),
    data: {
      asOf: jsonTimeOrNull(read.now),
      ...lastRunJson(lastRun),
      accounts: accountsJson(accounts),
      ...(totals && { totals: totalsJson(totals, counts), page }),
      ...recordsJson(records, riskUnits),
      ...queueJson(queue),
    },
    parts: [
      ...(totals === undefined ? [] : totalsLines(totals, counts, now)),
      ...(isPaged && ledgers > 0 ? ["", pageLine(page, streams.length)] : []),
      ledgersTable(read.streams, byName, now),
      ...accounts.flatMap(({ account, notAvailable }) => notAvailableLines(account, notAvailable)),
      recordsTable(records, riskUnits, now),
      ...queueLines(queue),
      lastRunText(lastRun),
    ],
  };
}

const help = `
For each product type:
  complete through  up to this time no bill is missing that the exchange showed
                    when the time was read
  read              the share that was read and stored of all the time since
                    the start of the first sync's 90 days
  behind            how old the newest time is that was read
  unread            time that an interrupted or failed sync has not read; the
                    next sync reads it
  lost              time that no sync read before the exchange deleted its
                    bills, after 90 days
  expires in        when the oldest time that is not complete begins to be lost
The time is the exchange's: what it told the last sync, plus the time since.
  state             shown where a ledger is not read: paused, retired, closed,
                    or not configured. Bills of a paused account that stay
                    unread for 90 days are lost
With more than a hundred ledgers, only sums and the worst hundred are shown,
unless --limit says otherwise; --json has all, or the worst 10,000.
Above the table stand the findings, worst first, each with the command that
closes it; below it, how old the symbols, the contracts and each risk unit's
loan-to-value are.

--check exits with 1 if a finding is critical or a warning. HEALTH_MAX_AGE sets
how far behind a ledger may be, HEALTH_MAX_LTV how high a loan-to-value.

--format prometheus has how many findings there are of each kind and severity,
through when all is complete, how many bills are stored, loans, and the last
runs. A value that is not known has no sample. --output
replaces a file whole or not at all, for node_exporter's textfile collector; its
name must end in .prom. If the database is away, the file stays as it was. If
the rows of some accounts cannot be read, it is written without them. The exit
code is 1 in both cases. serve has the same at /metrics.`;

type StatusWords = Reporting & {
  readonly format?: "prometheus";
  readonly output?: string;
  readonly check: boolean;
  readonly limit?: number;
  readonly offset?: number;
};

export const define: Define = (command, { io, readEnvironment }, exitWith) => {
  const status = (options: StatusWords) => {
    const { format, output } = options;
    if (format === "prometheus")
      return metricsCommand(readConfig(readEnvironment(), { credentials: false }), io, { output });
    if (output !== undefined) throw new UsageError("--output goes with --format prometheus");
    const configWith = (accounts: readonly string[] | undefined) =>
      readConfig(readEnvironment(), { credentials: false, accounts });
    const { json, check, limit, offset } = options;
    const selection = selectionOf(options);
    return statusCommand(configWith, io, { json, selection, isCheck: check, limit, offset });
  };
  reporting(command)
    .option("--limit <number>", "show at most this many ledgers, the worst first", pageOf)
    .option("--offset <number>", "skip this many", offsetOf)
    .option("--check", "exit with 1 if a finding is critical or a warning", false)
    .addOption(
      new Option("--format <format>", "print metrics of all accounts, for Prometheus")
        .choices(["prometheus"])
        .conflicts(["json", "account", "product", "limit", "offset", "check"]),
    )
    .option("--output <file>", "with --format: replace this file; - is standard output")
    .addHelpText("after", help)
    .action(exitWith(status));
};
