import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { Outcome } from "../../db/run-log.ts";
import { firstThrown, messageOf, StoppedError } from "../../errors.ts";
import type { RejectedCount } from "../../ledger/rejected-bills.ts";
import { closedLines, notAvailableLines } from "../../output/account-remarks.ts";
import { formatCount, formatCounted, formatDuration, formatInterval } from "../../output/format.ts";
import { jsonInterval, jsonTime, jsonTimeOrNull } from "../../output/json-times.ts";
import { type Columns, type Result, type Table, table } from "../../output/result.ts";
import { riskUnitName, streamColumn, streamName, streamNames } from "../../output/stream-names.ts";
import { lengthMs } from "../../sync/intervals.ts";
import { type AccountReport, isComplete } from "../../sync/run.ts";
import type { StreamReport } from "../../sync/stream-run.ts";
import { breakJson, breaksTable } from "../reconcile/break-rows.ts";
import {
  brokenLines,
  contractsName,
  isChanged,
  isNews,
  listColumns,
  loanColumns,
  loanToValueJson,
  symbolsJson,
} from "./records-summary.ts";
import type { SyncResult, SyncRun } from "./sync-result.ts";

// What a sync did, for people and programs.

const outcomeWords: Readonly<Record<Outcome, string>> = {
  complete: "complete",
  incomplete: "NOT complete",
  stopped: "stopped before the end; run sync again to go on",
  failed: "FAILED",
  held: "NOT begun",
};

export function resultOf(result: SyncResult): Result {
  const { symbols, contracts = [], reports, rejected, outcome, elapsedMs } = result;
  const streams = reports.flatMap((report) => report.streams);
  const lists = [
    ...(symbols === undefined ? [] : [{ name: "symbols", ...symbols }]),
    ...contracts.map((list) => ({ name: contractsName(list), ...list })),
  ];
  return {
    data: summaryJson(result),
    parts: [
      streamsTable(streams),
      table("", listColumns, lists.filter(isNews)),
      table(
        "",
        loanColumns,
        reports.flatMap(({ loanToValue }) => loanToValue.filter(isChanged)),
      ),
      ...lists.flatMap(({ name, broken }) => brokenLines(name, broken)),
      ...failures(result).map(({ names, message }) => `${names.join(", ")}: ${message}`),
      ...streams.flatMap(streamRemarks),
      ...reports.flatMap(accountRemarks),
      ...("error" in rejected ? [] : rejected.map(rejectedRemark)),
      ...reconciledParts(result.reconciled),
      `${outcomeWords[outcome]}${shareText(reports, outcome)}${lossText(streams)}, after ` +
        formatDuration(elapsedMs),
    ],
    exit: result.exitCode,
  };
}

type StreamRow = Pick<StreamReport, "new" | "restated" | "rejected" | "requests"> & {
  readonly name: string;
  readonly completeThrough: EpochMs | undefined;
};

/** A row a ledger, and one of all. */
function streamsTable(streams: readonly StreamReport[]): Table {
  const { title, nameOf } = streamColumn(streams.map(({ stream }) => stream));
  const sum = (count: "new" | "restated" | "rejected" | "requests") =>
    streams.reduce((total, stream) => total + stream[count], 0);
  const all: StreamRow = {
    name: "all",
    ...{ new: sum("new"), restated: sum("restated") },
    ...{ rejected: sum("rejected"), requests: sum("requests") },
    completeThrough: allThrough(streams),
  };
  const columns: Columns<StreamRow> = {
    name: { kind: "text", title, of: ({ name }) => name },
    new: { kind: "count", of: (row) => row.new },
    restated: { kind: "count", of: ({ restated }) => restated },
    rejected: { kind: "count", of: ({ rejected }) => rejected },
    requests: { kind: "count", of: ({ requests }) => requests },
    completeThrough: { kind: "time", of: ({ completeThrough }) => completeThrough },
  };
  const rows = streams.map((stream) => ({ ...stream, name: nameOf(stream.stream) }));
  return table("", columns, rows.length > 1 ? [...rows, all] : rows);
}

function allThrough(streams: readonly StreamReport[]): EpochMs | undefined {
  const times = streams.flatMap(({ completeThrough }) => completeThrough ?? []);
  return times.length < streams.length ? undefined : epochMs(Math.min(...times));
}

/** How many accounts are complete, if there are several and not all are. */
function shareText(reports: readonly AccountReport[], outcome: Outcome): string {
  if (outcome === "complete" || reports.length < 2) return "";
  return ` (${reports.filter(isComplete).length} of ${reports.length} accounts are complete)`;
}

const lossText = (streams: readonly StreamReport[]): string =>
  streams.some(({ lost }) => lost.length > 0)
    ? "; the exchange no longer serves the lost time"
    : "";

type Failure = { readonly message: string; readonly names: readonly string[] };

/** Each error once, with everything that it ended. Work that the user stopped has not failed. */
function failures({
  symbols,
  contracts = [],
  reports,
  rejected,
  reconciled,
}: SyncRun): readonly Failure[] {
  const named = [
    { name: "symbols", error: symbols?.error },
    ...contracts.map((list) => ({ name: contractsName(list), error: list.error })),
    ...reports.flatMap(({ account, error, loanToValue, streams }) => [
      { name: account, error },
      ...loanToValue.map((unit) => ({ name: riskUnitName(unit), error: unit.error })),
      ...failedAlike(streams),
    ]),
    { name: "rejected_bills", error: "error" in rejected ? rejected.error : undefined },
    {
      name: "reconcile",
      error: reconciled && "error" in reconciled ? reconciled.error : undefined,
    },
  ];
  const byMessage = Map.groupBy(
    named.filter(({ error }) => error !== undefined && !isStop(error)),
    ({ error }) => messageOf(error),
  );
  return [...byMessage].map(([message, those]) => ({
    message,
    names: those.map(({ name }) => name),
  }));
}

/** An account's streams; those with the same error are listed under one name. */
const failedAlike = (streams: readonly StreamReport[]) =>
  [...Map.groupBy(streams, ({ error }) => error && messageOf(error)).values()].map((those) => ({
    name: streamNames(those.map(({ stream }) => stream)),
    error: those[0]?.error,
  }));

const isStop = (error: unknown): boolean => firstThrown(error) instanceof StoppedError;

function streamRemarks({ stream, windows, lost }: StreamReport): readonly string[] {
  const missing = windows.planned - windows.walked;
  return [
    ...(missing === 0
      ? []
      : [
          `${streamName(stream)}: ${missing} of ${formatCounted(windows.planned, "window")} not finished`,
        ]),
    ...lost.map(
      (time) =>
        `${streamName(stream)}: ${formatDuration(lengthMs([time]))} is lost: it was older than ` +
        `the exchange's 90 days before it was read: ${formatInterval(time)}`,
    ),
  ];
}

/** What a run learned of an account's mode and key. */
const accountRemarks = ({ account, closed = [], notAvailable = [] }: AccountReport) => [
  ...closedLines(closed),
  ...notAvailableLines(account, notAvailable),
];

// More new breaks are not read at a look: breaks list has all.
const breaksShownMax = 5;

/** What the check at the end found. Nothing is said where nothing is open. */
function reconciledParts(reconciled: SyncRun["reconciled"]): Result["parts"] {
  if (reconciled === undefined || "error" in reconciled || reconciled.open === 0) return [];
  const { open, opened } = reconciled;
  const ofThem =
    opened.length === 0 ? "none of them new" : `${formatCount(opened.length)} of them new`;
  return [
    breaksTable(opened.slice(0, breaksShownMax).map((entry) => ({ ...entry, isRetired: false }))),
    `${formatCounted(open, "break")} open, ${ofThem}: bill-sync breaks list shows all`,
  ];
}

const rejectedRemark = ({ rows, ...stream }: RejectedCount): string =>
  `${streamName(stream)}: ${formatCount(rows)} ${rows === 1 ? "row is" : "rows are"} in ` +
  "rejected_bills and not among the bills: bill-sync breaks list shows how each broke the API's contract, " +
  "and every sync tries them again";

const reconciledJson = (reconciled: SyncRun["reconciled"]): object | null => {
  if (reconciled === undefined) return null;
  if ("error" in reconciled) return { error: messageOf(reconciled.error) };
  const { open, opened } = reconciled;
  return { open, opened: opened.map((entry) => breakJson({ ...entry, isRetired: false })) };
};

const summaryJson = (result: SyncResult): object => ({
  runId: result.runId,
  outcome: result.outcome,
  ...countsOf(result),
  ...("error" in result.rejected
    ? { rejected: null, error: messageOf(result.rejected.error) }
    : { rejected: result.rejected }),
  reconciled: reconciledJson(result.reconciled),
});

/** The counts of a run, for programs and for the run log. */
export const countsOf = ({
  symbols,
  contracts,
  reports,
}: Pick<SyncRun, "symbols" | "contracts" | "reports">): object => ({
  symbols: symbols === undefined ? null : symbolsJson(symbols),
  contracts:
    contracts?.map(({ productType, ...list }) => ({ productType, ...symbolsJson(list) })) ?? null,
  accounts: reports.map(
    ({ account, mode, closed = [], loanToValue, streams, error, ...found }) => ({
      account,
      mode: mode ?? null,
      notAvailable: found.notAvailable ?? [],
      closed: closed.map(({ stream: { productType }, closedAt, through, unread }) => ({
        productType,
        closedAt: jsonTime(closedAt),
        completeThrough: jsonTimeOrNull(through),
        unread: unread.map(jsonInterval),
      })),
      ...(error === undefined ? {} : { error: messageOf(error) }),
      loanToValue: loanToValue.map(loanToValueJson),
      streams: streams.map(({ stream, completeThrough, lost, error: streamError, ...counts }) => ({
        productType: stream.productType,
        ...counts,
        completeThrough: jsonTimeOrNull(completeThrough),
        completeThroughMs: completeThrough ?? null,
        lost: lost.map(jsonInterval),
        ...(streamError === undefined ? {} : { error: messageOf(streamError) }),
      })),
    }),
  ),
});
