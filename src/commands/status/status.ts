import type { Database } from "../../db/connect.ts";
import { readExchangeTime } from "../../db/exchange-time.ts";
import { hasSchema } from "../../db/migrate.ts";
import { openCommandDatabase } from "../../db/open.ts";
import { readQueue } from "../../fleet/queue-status.ts";
import { countFindings, readAccepted, readFindings } from "../../health/findings.ts";
import { alarms, type Finding } from "../../health/kinds.ts";
import { readStatus } from "../../health/ledger-status.ts";
import { countLedgers, readTotals, worstLedgers } from "../../health/ledgers.ts";
import { readRecords } from "../../health/records.ts";
import type { Scope } from "../../health/select.ts";
import { neverSynced, unreachableFindings, type Verdict, verdictOf } from "../../health/verdict.ts";
import { streamName } from "../../output/stream-names.ts";
import { unreachableJson, unreachableLines } from "../../output/unreachable-text.ts";
import type { Config } from "../../roster/config.ts";
import { readSelected } from "../../roster/reachable.ts";
import { listed, readRoster, type Selection } from "../../roster/roster.ts";
import { type ExitCode, type Io, print, printJson, tell } from "../io.ts";
import { jsonTimeOrNull } from "../json-times.ts";
import { findingsJson, findingsLines } from "./findings-text.ts";
import { queueJson, queueLines } from "./queue-status.ts";
import { recordsJson, recordsText, wantedRiskUnits } from "./records-status.ts";
import { statusJson, statusText } from "./streams-status.ts";
import { type Page, pageLine, totalsLines } from "./totals-text.ts";

/** Nobody reads more ledgers or findings than this: totals and the worst say more. */
const shownMax = 100;
/** No program reads more at once: `page` says what follows. */
const listedMax = 10_000;

export type StatusOptions = {
  readonly json: boolean;
  readonly selection: Selection;
  /** Whether a finding that alarms is a failure. Default false. */
  readonly check?: boolean;
  /** The most ledgers to show, worst first. Default 10,000 in JSON or for named accounts, and otherwise 100. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

type StatusDeps = {
  readonly db: Database;
  /**
   * The configuration with these accounts; undefined for all. A configuration that lists accounts without
   * reading each may leave out the others.
   */
  readonly configOf: (accounts: readonly string[] | undefined) => Config;
};

/** A status to print. The document and the text are without the findings. */
type Told = {
  readonly findings: readonly Finding[];
  readonly verdict: Verdict;
  readonly now: Scope["now"] | undefined;
  readonly document: object;
  readonly lines: readonly string[];
};

/**
 * `status`: what is found, through when each ledger is complete, and what is missing or lost. With `check`, it
 * exits with 1 if a finding is critical or a warning.
 */
export async function statusCommand(
  configOf: StatusDeps["configOf"],
  io: Io,
  options: StatusOptions,
): Promise<ExitCode> {
  const { json, selection, check = false } = options;
  const some = configOf(selection.accounts ?? []);
  await using database = await openCommandDatabase(some.database, (message) => tell(io, message));
  const { db } = database;
  if (!(await hasSchema(db))) {
    // Refuses unknown names before anything else.
    const given = selection.accounts ? some : configOf(undefined);
    await readRoster(undefined, given, selection);
  }
  const { result, unreachable } = (await hasSchema(db))
    ? await readSelected(db, some, selection, (among) =>
        readWhole({ db, configOf }, options, among),
      )
    : { result: nothingTold, unreachable: [] };
  const findings = [...unreachableFindings(unreachable), ...result.findings];
  const verdict = unreachable.length === 0 ? result.verdict : verdictOf(findings);
  if (json) {
    const found = findingsJson({ findings, verdict, now: result.now });
    printJson(io, { ...found, ...result.document, ...unreachableJson(unreachable) });
  } else {
    const found = findingsLines({ findings, verdict, now: result.now }, shownMax);
    print(io, [...found, ...result.lines, ...unreachableLines(unreachable)].join("\n"));
  }
  return unreachable.length > 0 || (check && findings.some(alarms)) ? 1 : 0;
}

/** Before the first migration. */
const nothingTold: Told = {
  findings: [neverSynced],
  verdict: verdictOf([neverSynced]),
  now: undefined,
  document: {
    ...statusJson({ now: undefined, lastRun: undefined, streams: [], accounts: [] }, new Set()),
    ...recordsJson({ symbols: undefined, contracts: [], loanToValue: [] }, []),
    ...queueJson(undefined),
  },
  lines: [],
};

async function readWhole(
  { db, configOf }: StatusDeps,
  { json, selection: asked, limit: most, offset = 0 }: StatusOptions,
  among: readonly string[] | undefined,
): Promise<Told> {
  const config = configOf(asked.accounts);
  const roster = await readRoster(db, config, asked, among);
  const selection = { ...asked, accounts: among };
  const now = await readExchangeTime(db, among);
  const limits = config.healthLimits;
  const scope = { ...selection, roster: roster.ledgers, now, limits };
  const findings = await readFindings(db, scope, { limit: json ? listedMax : shownMax });
  const limit = most ?? (json || selection.accounts !== undefined ? listedMax : shownMax);
  const ledgers = await countLedgers(db, selection);
  const own = listed(roster);
  const isPaged = Math.max(ledgers, own.length) > limit;
  const streams = isPaged
    ? await worstLedgers(db, { ...selection, limit, offset })
    : own.map(({ account, productType }) => ({ account, productType }));
  const names = [...new Set(streams.map(({ account }) => account))];
  const readNames = new Set(own.filter(({ isConfigured }) => isConfigured).map(streamName));
  const status = await readStatus(db, streams, config.settleLagMs, selection.accounts);
  const all = await readRecords(db, selection.accounts);
  const isShown = ({ account }: { readonly account: string }) => names.includes(account);
  const records = isPaged ? { ...all, loanToValue: all.loanToValue.filter(isShown) } : all;
  const riskUnits = wantedRiskUnits(roster.accounts);
  const queue = await readQueue(db);
  const page: Page | undefined = isPaged ? { limit, offset, ledgers } : undefined;
  const totals = isPaged ? await readTotals(db, selection) : undefined;
  const counts = isPaged ? await countFindings(db, scope) : [];
  return {
    findings,
    verdict: verdictOf(findings, await readAccepted(db, selection)),
    now,
    document: {
      ...statusJson(status, readNames),
      ...(totals && {
        totals: {
          ...totals,
          settledTo: jsonTimeOrNull(totals.settledTo),
          pausedSettledTo: jsonTimeOrNull(totals.pausedSettledTo),
          findings: counts,
        },
        page,
      }),
      ...recordsJson(records, riskUnits),
      ...queueJson(queue),
    },
    lines: [
      ...(totals ? [...totalsLines(totals, counts, now), ""] : []),
      ...(page && ledgers > 0 ? [pageLine(page, streams.length)] : []),
      ...(streams.length === 0 ? [] : [statusText(status, readNames)]),
      recordsText(records, riskUnits, now),
      ...queueLines(queue),
    ],
  };
}
