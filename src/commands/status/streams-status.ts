import { type EpochMs, minuteMs } from "../../contract/time.ts";
import type { Status, StreamStatus } from "../../health/ledger-status.ts";
import { coverageShare } from "../../health/stream-times.ts";
import {
  formatCount,
  formatCounted,
  formatDuration,
  formatLength,
  formatMinute,
  formatTable,
  formatTime,
} from "../../output/format.ts";
import { streamColumn, streamName } from "../../output/stream-names.ts";
import { printableLine, shellWord } from "../../printable.ts";
import { behindHorizon } from "../../sync/closed-streams.ts";
import { type Interval, lengthMs } from "../../sync/intervals.ts";
import { jsonInterval, jsonTime, jsonTimeOrNull } from "../json-times.ts";
import { accountRemarks, accountsJson, closedRemarks } from "./accounts-status.ts";

// Status of ledgers.

const titles = [
  ...["bills", "complete through", "coverage", "settling", "behind", "gaps", "lost"],
  "expires in",
];

/** @param configured the names of the configured streams. */
export function statusText(
  { now, lastRun, streams: all, accounts }: Status,
  configured: ReadonlySet<string>,
): string {
  const streams = all.filter(({ retiredAt }) => retiredAt === undefined);
  const { title, nameOf } = streamColumn(streams.map(({ stream }) => stream));
  const table = formatTable(
    [title, ...titles],
    streams.map((status) => [nameOf(status.stream), ...streamCells(status, now)]),
  );
  return [
    ...(streams.length === 0 ? [] : [table, ""]),
    ...closedRemarks(streams, now),
    ...streams.flatMap((stream) => streamRemarks(stream, configured)),
    ...accounts.flatMap(accountRemarks),
    ...retiredLines(all),
    ...pausedLines(all),
    lastRunText(lastRun),
  ].join("\n");
}

function streamCells(status: StreamStatus, now: EpochMs): readonly string[] {
  const { bills, completeThrough, settling, unread, gaps, lost, expiresAt } = status;
  return [
    formatCount(bills),
    isRead(status) ? formatMinute(completeThrough) : "not read yet",
    `${(Math.floor(coverageShare(status) * 1_000) / 10).toFixed(1)}%`,
    formatLength(settling),
    formatLength(unread),
    formatLength(gaps),
    formatLength(lost),
    expiresAt === undefined ? "-" : untilText(expiresAt - now),
  ];
}

/** Whether any run ever began to read the stream. */
const isRead = ({ coverage, settling, unproven, unread, lost }: StreamStatus): boolean =>
  [coverage, settling, unproven, unread, lost].some((times) => times.length > 0);

function untilText(ms: number): string {
  if (ms <= 0) return "passed";
  return ms < minuteMs ? "now" : formatDuration(ms);
}

function streamRemarks(status: StreamStatus, configured: ReadonlySet<string>): readonly string[] {
  const name = streamName(status.stream);
  const { account, productType } = status.stream;
  return configured.has(name) || status.closedAt !== undefined
    ? []
    : [
        `${name}: not in the configuration, so no sync reads it; to silence this: ` +
          `bill-sync accounts retire ${printableLine(shellWord(account))} --product ${productType}`,
      ];
}

/** A line for each account with retired streams. */
function retiredLines(streams: readonly StreamStatus[]): readonly string[] {
  const retired = streams.filter(({ retiredAt }) => retiredAt !== undefined);
  return [...Map.groupBy(retired, ({ stream }) => stream.account)].map(([account, own]) => {
    const bills = own.reduce((sum, stream) => sum + stream.bills, 0);
    const names = own.map(({ stream }) => printableLine(stream.productType));
    return `${printableLine(account)}: retired: ${names.join(", ")}, ${formatCounted(bills, "bill")} kept`;
  });
}

/** A line for each paused account. */
function pausedLines(streams: readonly StreamStatus[]): readonly string[] {
  const paused = new Map(
    streams.flatMap(({ stream, pausedAt }) =>
      pausedAt === undefined ? [] : [[stream.account, pausedAt] as const],
    ),
  );
  return [...paused].map(
    ([account, at]) =>
      `${printableLine(account)}: paused ${formatMinute(at)}, so no sync reads it; its bills are lost after 90 days`,
  );
}

function lastRunText(run: Status["lastRun"]): string {
  if (run === undefined) return "no run yet";
  const { command, startedAt, finishedAt, outcome, error } = run;
  const start = `last run: ${command}, ${formatTime(startedAt)}`;
  if (finishedAt === undefined) return `${start}: still running, or killed`;
  return `${start} to ${formatTime(finishedAt)}: ${outcome}${error === null ? "" : ` (${error})`}`;
}

/** Without a time: before the first migration none is known. */
type JsonStatus = Omit<Status, "now"> & { readonly now: EpochMs | undefined };

/** The part that is lost even if the account changes back. */
const closedLost = (unread: readonly Interval[], now: EpochMs | undefined) =>
  now === undefined ? [] : behindHorizon(unread, now);

export function statusJson(
  { now, lastRun, streams, accounts }: JsonStatus,
  configured: ReadonlySet<string>,
): object {
  return {
    asOf: jsonTimeOrNull(now),
    lastRun:
      lastRun === undefined
        ? null
        : {
            ...lastRun,
            startedAt: jsonTime(lastRun.startedAt),
            finishedAt: jsonTimeOrNull(lastRun.finishedAt),
          },
    accounts: accountsJson(accounts),
    streams: streams.map((status) => ({
      ...status.stream,
      configured: configured.has(streamName(status.stream)),
      retiredAt: jsonTimeOrNull(status.retiredAt),
      pausedAt: jsonTimeOrNull(status.pausedAt),
      closedAt: jsonTimeOrNull(status.closedAt),
      closedUnread: status.closedUnread.map(jsonInterval),
      closedLost: closedLost(status.closedUnread, now).map(jsonInterval),
      bills: status.bills,
      rejected: status.rejected,
      completeThrough: jsonTimeOrNull(status.completeThrough),
      completeThroughMs: status.completeThrough ?? null,
      coverageShare: coverageShare(status),
      coverage: status.coverage.map(jsonInterval),
      settlingMs: lengthMs(status.settling),
      unproven: status.unproven.map(jsonInterval),
      behindMs: lengthMs(status.unread),
      gaps: status.gaps.map(jsonInterval),
      lost: status.lost.map(jsonInterval),
      expiresAt: jsonTimeOrNull(status.expiresAt),
    })),
  };
}
