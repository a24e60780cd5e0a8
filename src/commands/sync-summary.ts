import { isoTime } from "../contract/time.ts";
import type { Outcome } from "../db/run-log.ts";
import { messageOf } from "../errors.ts";
import { lengthMs } from "../sync/intervals.ts";
import type { AccountReport } from "../sync/run.ts";
import type { StreamReport } from "../sync/stream-run.ts";
import {
  formatCount,
  formatDuration,
  formatInterval,
  formatTable,
  formatTime,
} from "../terminal/format.ts";

const titles = [
  "account/product type",
  "new",
  "unchanged",
  "restated",
  "rejected",
  "requests",
  "complete through",
];

const outcomeWords: Readonly<Record<Outcome, string>> = {
  complete: "complete",
  incomplete: "NOT complete",
  stopped: "stopped before the end, run sync again to go on",
  failed: "FAILED",
};

/** What a run did, for a person. */
export function summaryText(
  reports: readonly AccountReport[],
  outcome: Outcome,
  elapsedMs: number,
): string {
  const streams = reports.flatMap((report) => report.streams);
  const table = formatTable(titles, [...streams.map(streamRow), totalRow(streams)]);
  const remarks = [
    ...reports.flatMap(({ account, error }) =>
      error === undefined ? [] : [remark(account, error)],
    ),
    ...streams.flatMap(streamRemarks),
  ];
  return [
    ...(streams.length === 0 ? [] : [table, ""]),
    ...remarks,
    `${outcomeWords[outcome]}, after ${formatDuration(elapsedMs)}`,
  ].join("\n");
}

const streamRow = (stream: StreamReport): readonly string[] => [
  nameOf(stream),
  ...countCells(stream),
  formatTime(stream.completeThrough),
];

function totalRow(streams: readonly StreamReport[]): readonly string[] {
  const sum = (pick: (stream: StreamReport) => number) =>
    streams.reduce((total, stream) => total + pick(stream), 0);
  const totals = {
    new: sum((stream) => stream.new),
    unchanged: sum((stream) => stream.unchanged),
    restated: sum((stream) => stream.restated),
    rejected: sum((stream) => stream.rejected),
    requests: sum((stream) => stream.requests),
  };
  return ["all", ...countCells(totals), ""];
}

type Counts = Pick<StreamReport, "new" | "unchanged" | "restated" | "rejected" | "requests">;

const countCells = (counts: Counts): readonly string[] =>
  [counts.new, counts.unchanged, counts.restated, counts.rejected, counts.requests].map(
    formatCount,
  );

function streamRemarks(stream: StreamReport): readonly string[] {
  const name = nameOf(stream);
  const { windows, rejected, expired, error } = stream;
  return [
    ...(error === undefined ? [] : [remark(name, error)]),
    ...(windows.walked === windows.planned
      ? []
      : [
          `${name}: ${windows.planned - windows.walked} of ${windows.planned} windows not finished`,
        ]),
    ...(rejected === 0
      ? []
      : [`${name}: ${rejected} rows broke the contract; they are kept in rejected_bills`]),
    ...expired.map(
      (time) =>
        `${name}: ${formatDuration(lengthMs([time]))} is lost, it fell behind the exchange's ` +
        `90 days before it was read: ${formatInterval(time)}`,
    ),
  ];
}

const remark = (name: string, error: unknown): string => `${name}: ${messageOf(error)}`;

const nameOf = ({ stream }: StreamReport): string => `${stream.account}/${stream.productType}`;

/** The same for programs, and for the run log. */
export function countsOf(reports: readonly AccountReport[]): readonly object[] {
  return reports.map(({ account, streams, error }) => ({
    account,
    ...(error === undefined ? {} : { error: messageOf(error) }),
    streams: streams.map(({ stream, completeThrough, expired, error: streamError, ...counts }) => ({
      productType: stream.productType,
      ...counts,
      completeThrough: completeThrough === undefined ? null : isoTime(completeThrough),
      expired: expired.map(({ from, to }) => ({ from: isoTime(from), to: isoTime(to) })),
      ...(streamError === undefined ? {} : { error: messageOf(streamError) }),
    })),
  }));
}
