import { systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { type EpochMs, isoTime, minuteMs } from "../contract/time.ts";
import { readSyncedStreams } from "../db/checkpoints.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { type RecordsStatus, readRecords } from "../reports/records.ts";
import { coverageShare, readStatus, type Status, type StreamStatus } from "../reports/status.ts";
import {
  formatCount,
  formatCounted,
  formatDuration,
  formatInterval,
  formatLength,
  formatMinute,
  formatTable,
  formatTime,
  isoInterval,
} from "../terminal/format.ts";
import { streamColumn, streamName } from "../terminal/stream-names.ts";
import { type ExitCode, type Io, print, printJson, tell } from "./io.ts";
import { recordsJson, recordsText, wantedRiskUnits } from "./records-status.ts";
import { type Selection, selectedStreams } from "./selection.ts";

/** `status`: what is stored, through when it is complete, and what is missing or lost. */
export async function statusCommand(
  config: Config,
  io: Io,
  options: { readonly json: boolean; readonly selection: Selection },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const { db } = database;
  const isNew = !(await hasSchema(db));
  const stored = isNew ? [] : await readSyncedStreams(db);
  const streams = selectedStreams(options.selection, config, stored);
  const now = systemClock.now();
  if (isNew) {
    const nothing = { lastRun: undefined, streams: [] };
    if (options.json) printJson(io, { ...statusJson(nothing), ...recordsJson(noRecords) });
    else print(io, statusText(nothing, now));
    return 0;
  }
  const status = await readStatus(db, streams, now);
  const records = await readRecords(db);
  const riskUnits = wantedRiskUnits(config.accounts);
  if (options.json) printJson(io, { ...statusJson(status), ...recordsJson(records) });
  else print(io, `${statusText(status, now)}\n${recordsText(records, riskUnits, now)}`);
  return 0;
}

const noRecords: RecordsStatus = { symbols: undefined, loanToValue: [] };

const titles = ["bills", "complete through", "coverage", "gaps", "lost", "expires in"];

export function statusText({ lastRun, streams }: Status, now: EpochMs): string {
  if (streams.length === 0) return "nothing is stored yet; run sync";
  const { title, nameOf } = streamColumn(streams.map(({ stream }) => stream));
  const table = formatTable(
    [title, ...titles],
    streams.map((status) => [nameOf(status.stream), ...streamCells(status, now)]),
  );
  return [
    table,
    "",
    ...streams.flatMap((stream) => streamRemarks(stream, now)),
    lastRunText(lastRun),
  ].join("\n");
}

function streamCells(status: StreamStatus, now: EpochMs): readonly string[] {
  const { bills, completeThrough, gaps, expired, expiresAt } = status;
  return [
    formatCount(bills),
    formatMinute(completeThrough),
    `${(Math.floor(coverageShare(status) * 1_000) / 10).toFixed(1)}%`,
    formatLength(gaps),
    formatLength(expired),
    expiresAt === undefined ? "-" : untilText(expiresAt - now),
  ];
}

/** A gap that reaches back to the exchange's 90 days loses time with every moment. */
const untilText = (ms: number): string => (ms < minuteMs ? "now" : formatDuration(ms));

function streamRemarks(status: StreamStatus, now: EpochMs): readonly string[] {
  const { gaps, expired, rejected } = status;
  const name = streamName(status.stream);
  // The newest gap, up to now, is every ledger's.
  const holes = gaps.filter(({ to }) => to < now);
  return [
    ...holes.map((gap) => `${name}: missing ${formatInterval(gap)}`),
    ...expired.map((gap) => `${name}: lost ${formatInterval(gap)}`),
    ...(rejected === 0
      ? []
      : [
          `${name}: ${formatCounted(rejected, "row")} in rejected_bills broke the API's contract; ` +
            "after an upgrade, npm run replay",
        ]),
  ];
}

function lastRunText(run: Status["lastRun"]): string {
  if (run === undefined) return "no run yet";
  const { command, startedAt, finishedAt, outcome, error } = run;
  const start = `last run: ${command}, ${formatTime(startedAt)}`;
  if (finishedAt === undefined) return `${start}: still at work, or killed`;
  return `${start} to ${formatTime(finishedAt)}: ${outcome}${error === null ? "" : ` (${error})`}`;
}

const timeOrNull = (time: EpochMs | undefined) => (time === undefined ? null : isoTime(time));

function statusJson({ lastRun, streams }: Status): object {
  return {
    lastRun:
      lastRun === undefined
        ? null
        : {
            ...lastRun,
            startedAt: isoTime(lastRun.startedAt),
            finishedAt: timeOrNull(lastRun.finishedAt),
          },
    streams: streams.map((status) => ({
      ...status.stream,
      bills: status.bills,
      rejected: status.rejected,
      completeThrough: timeOrNull(status.completeThrough),
      coverage: status.coverage.map(isoInterval),
      gaps: status.gaps.map(isoInterval),
      expired: status.expired.map(isoInterval),
      expiresAt: timeOrNull(status.expiresAt),
    })),
  };
}
