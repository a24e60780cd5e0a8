import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { type EpochMs, isoTime } from "../contract/time.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { coverageShare, readStatus, type Status, type StreamStatus } from "../reports/status.ts";
import { type Interval, lengthMs } from "../sync/intervals.ts";
import {
  formatCount,
  formatDuration,
  formatInterval,
  formatTable,
  formatTime,
} from "../terminal/format.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";

/** `status`: what is stored, through when it is complete, and what is missing or lost. */
export async function statusCommand(
  config: Config,
  io: Io,
  options: { readonly json: boolean },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => {
    io.err.write(`${message}\n`);
  });
  const wanted = config.accounts.flatMap(({ name, productTypes }) =>
    productTypes.map((productType) => ({ account: name, productType })),
  );
  const now = systemClock.now();
  const status = (await hasSchema(database.db))
    ? await readStatus(database.db, wanted, now)
    : { lastRun: undefined, streams: [] };
  if (options.json) printJson(io, statusJson(status));
  else print(io, statusText(status, now));
  return 0;
}

export function statusText({ lastRun, streams }: Status, now: EpochMs): string {
  if (streams.length === 0) return "nothing is stored yet; run sync";
  const table = formatTable(
    ["account/product type", "bills", "complete through", "coverage", "gaps", "lost", "expires in"],
    streams.map((stream) => streamRow(stream, now)),
  );
  return [table, "", ...streams.flatMap(streamRemarks), lastRunText(lastRun)].join("\n");
}

function streamRow(stream: StreamStatus, now: EpochMs): readonly string[] {
  const { bills, gaps, expired, expiresAt } = stream;
  return [
    nameOf(stream),
    formatCount(bills),
    formatTime(stream.completeThrough),
    `${(Math.floor(coverageShare(stream) * 1_000) / 10).toFixed(1)}%`,
    duration(gaps),
    duration(expired),
    expiresAt === undefined ? "-" : formatDuration(Math.max(0, expiresAt - now)),
  ];
}

const duration = (intervals: readonly Interval[]): string =>
  intervals.length === 0 ? "-" : formatDuration(lengthMs(intervals));

function streamRemarks(stream: StreamStatus): readonly string[] {
  const name = nameOf(stream);
  const holes = stream.coverage.length === 0 ? [] : stream.gaps.slice(0, -1);
  return [
    ...holes.map((gap) => `${name}: missing ${formatInterval(gap)}`),
    ...stream.expired.map((gap) => `${name}: lost ${formatInterval(gap)}`),
    ...(stream.rejected === 0
      ? []
      : [`${name}: ${stream.rejected} rows in rejected_bills broke the contract`]),
  ];
}

const nameOf = ({ stream }: StreamStatus): string => `${stream.account}/${stream.productType}`;

function lastRunText(run: Status["lastRun"]): string {
  if (run === undefined) return "no run yet";
  const { finishedAt, outcome, error } = run;
  const end =
    finishedAt === undefined ? "at work, or ended without a word" : formatTime(finishedAt);
  return `last run: ${run.command}, ${formatTime(run.startedAt)} to ${end}: ${outcome}${
    error === null ? "" : ` (${error})`
  }`;
}

const times = ({ from, to }: Interval) => ({ from: isoTime(from), to: isoTime(to) });
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
      coverage: status.coverage.map(times),
      gaps: status.gaps.map(times),
      expired: status.expired.map(times),
      expiresAt: timeOrNull(status.expiresAt),
    })),
  };
}
