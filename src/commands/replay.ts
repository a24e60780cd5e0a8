import { randomUUID } from "node:crypto";
import type { Config } from "../config/config.ts";
import { readSyncedStreams } from "../db/checkpoints.ts";
import type { Database } from "../db/connect.ts";
import { holdAccount } from "../db/lease.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { type LeftRow, type ReplayCursor, replayBatch } from "../db/replay.ts";
import { beginRun, finishRun, type Outcome } from "../db/run-log.ts";
import { AccountHeldError, firstThrown, messageOf, StoppedError } from "../errors.ts";
import { printableLine } from "../printable.ts";
import { readQuarantined } from "../reports/quarantine.ts";
import type { Stream } from "../sync/store.ts";
import { formatCount, formatCounted, formatTable } from "../terminal/format.ts";
import { streamColumn, streamName } from "../terminal/stream-names.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";
import { isSelected, type Selection, selectedStreams } from "./selection.ts";

export type ReplayOptions = {
  readonly json: boolean;
  readonly selection: Selection;
};

/** What came of one stream's quarantine. */
export type StreamReplay = {
  readonly stream: Stream;
  readonly new: number;
  readonly unchanged: number;
  readonly restated: number;
  readonly outdated: number;
  /** How many rows still break the contract. */
  readonly left: number;
  /** They themselves; the first hundred where nobody reads more. */
  readonly rows: readonly LeftRow[];
};

export type AccountReplay = {
  readonly account: string;
  readonly streams: readonly StreamReplay[];
  /** Why not all of it was tried. */
  readonly error: unknown;
};

/** What a person is shown of each stream; JSON has all. */
const rowsShownMax = 100;

/** `replay`: tries the open rows of `rejected_bills` again. Asks the exchange nothing. */
export async function replayCommand(
  config: Config,
  io: Io,
  options: ReplayOptions,
): Promise<ExitCode> {
  const notice = (message: string) => {
    io.err.write(`${message}\n`);
  };
  await using database = await openCommandDatabase(config.database, notice);
  const { db } = database;
  await migrate(database.url.reveal());
  const runId = randomUUID();
  const wanted = await quarantinedStreams(db, config, options.selection);
  await beginRun(db, runId, "replay");
  const rowsMax = options.json ? Number.POSITIVE_INFINITY : rowsShownMax;
  const reports: AccountReplay[] = [];
  for (const [account, streams] of Map.groupBy(wanted, (stream) => stream.account)) {
    reports.push(await replayAccount({ db, notice, signal: io.signal, rowsMax }, account, streams));
  }
  const exitCode = exitCodeOf(reports);
  if (options.json) printJson(io, replayJson(reports));
  else print(io, replayText(reports));
  await finishRun(db, runId, {
    outcome: outcomeOf(reports, exitCode),
    counts: {
      accounts: reports.map(({ streams, account }) => ({
        account,
        streams: streams.map(countsOf),
      })),
    },
    error: errorsOf(reports).map(messageOf).join("; ") || null,
  });
  return exitCode;
}

/** The streams that have open rows. */
async function quarantinedStreams(
  db: Database,
  config: Config,
  selection: Selection,
): Promise<readonly Stream[]> {
  const stored = await readQuarantined(db);
  const synced = await readSyncedStreams(db);
  selectedStreams(selection, config, [...synced, ...stored]);
  return stored
    .filter((stream) => isSelected(selection, stream))
    .map(({ account, productType }) => ({ account, productType }));
}

type Deps = {
  readonly db: Database;
  readonly notice: (message: string) => void;
  readonly signal: AbortSignal;
  readonly rowsMax: number;
};

/** Never throws: what stopped it is in the report. */
async function replayAccount(
  deps: Deps,
  account: string,
  streams: readonly Stream[],
): Promise<AccountReplay> {
  const { db, notice, signal } = deps;
  const done: StreamReplay[] = [];
  try {
    await using lease = await holdAccount(db, account, { onWait: notice, signal });
    for (const stream of streams) done.push(await replayStream(deps, lease, stream));
    return { account, streams: done, error: undefined };
  } catch (error) {
    return { account, streams: done, error: firstThrown(error) };
  }
}

async function replayStream(
  { db, signal, rowsMax }: Deps,
  lease: Parameters<typeof replayBatch>[1],
  stream: Stream,
): Promise<StreamReplay> {
  const counts = { new: 0, unchanged: 0, restated: 0, outdated: 0, left: 0 };
  const rows: LeftRow[] = [];
  let cursor: ReplayCursor | undefined;
  do {
    signal.throwIfAborted();
    const batch = await replayBatch(db, lease, stream, cursor);
    for (const name of ["new", "unchanged", "restated", "outdated"] as const) {
      counts[name] += batch[name];
    }
    counts.left += batch.left.length;
    rows.push(...batch.left.slice(0, Math.max(0, rowsMax - rows.length)));
    cursor = batch.next;
  } while (cursor !== undefined);
  return { stream, ...counts, rows };
}

const errorsOf = (reports: readonly AccountReplay[]): readonly unknown[] =>
  reports.flatMap(({ error }) => (error === undefined ? [] : [error]));

const isHeld = (error: unknown): boolean => error instanceof AccountHeldError;

function exitCodeOf(reports: readonly AccountReplay[]): ExitCode {
  const errors = errorsOf(reports);
  const isAllIn = reports.every(({ streams }) => streams.every(({ left }) => left === 0));
  if (!isAllIn || !errors.every(isHeld)) return 1;
  return errors.length === 0 ? 0 : 3;
}

function outcomeOf(reports: readonly AccountReplay[], exitCode: ExitCode): Outcome {
  const errors = errorsOf(reports);
  if (exitCode === 0) return "complete";
  if (errors.some((error) => error instanceof StoppedError)) return "stopped";
  if (errors.length > 0 && errors.length === reports.length) {
    return errors.every(isHeld) ? "held" : "failed";
  }
  return "incomplete";
}

const titles = ["new", "unchanged", "restated", "outdated", "left"];

export function replayText(reports: readonly AccountReplay[]): string {
  const streams = reports.flatMap((report) => report.streams);
  const { title, nameOf } = streamColumn(streams.map(({ stream }) => stream));
  const cellsOf = (one: StreamReplay) =>
    [one.new, one.unchanged, one.restated, one.outdated, one.left].map(formatCount);
  const table = formatTable(
    [title, ...titles],
    streams.map((one) => [nameOf(one.stream), ...cellsOf(one)]),
  );
  return [
    ...(streams.length === 0 ? [] : [table, ""]),
    ...streams.flatMap(leftLines),
    ...reports.flatMap(({ account, error }) =>
      error === undefined ? [] : [`${printableLine(account)}: ${messageOf(error)}`],
    ),
    lastLine(reports),
  ].join("\n");
}

function leftLines({ stream, left, rows }: StreamReplay): readonly string[] {
  const shown = rows.slice(0, rowsShownMax);
  const name = streamName(stream);
  return [
    ...shown.map(
      ({ digest, path, reason }) =>
        `${name}: row ${digest.slice(0, 12)}: ${printableLine(`${path === "" ? "" : `${path}: `}${reason}`)}`,
    ),
    ...(left > shown.length ? [`${name}: and ${formatCount(left - shown.length)} more`] : []),
  ];
}

function lastLine(reports: readonly AccountReplay[]): string {
  const streams = reports.flatMap((report) => report.streams);
  const left = streams.reduce((sum, stream) => sum + stream.left, 0);
  if (left > 0) {
    return (
      `${formatCounted(left, "row")} still ${left === 1 ? "breaks" : "break"} the API's contract ` +
      `and ${left === 1 ? "stays" : "stay"} in rejected_bills; to accept one for good, set its resolved_at`
    );
  }
  if (errorsOf(reports).length > 0) return "NOT all was tried; run replay again";
  return "no row is left open in rejected_bills";
}

const countsOf = ({ stream, rows: _, ...counts }: StreamReplay): object => ({
  productType: stream.productType,
  ...counts,
});

const replayJson = (reports: readonly AccountReplay[]): object => ({
  accounts: reports.map(({ account, streams, error }) => ({
    account,
    ...(error === undefined ? {} : { error: messageOf(error) }),
    streams: streams.map((one) => ({ ...countsOf(one), rows: one.rows })),
  })),
});
