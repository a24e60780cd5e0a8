import { exitOf } from "../app/exit-code.ts";
import { type ExitCode, type Io, print, printJson, tell } from "../app/io.ts";
import { type LoggedEnd, loggedRun } from "../app/logged-run.ts";
import {
  notFoundAmong,
  type ReachableSelection,
  reachableSelection,
  storedAmong,
} from "../app/reachable-accounts.ts";
import { isSelected, type Selection, selectedStreams, selectionOf } from "../app/selection.ts";
import { storeDays } from "../app/store-days.ts";
import { type Config, readConfig } from "../config/config.ts";
import type { Database } from "../db/connect.ts";
import { Leases } from "../db/lease/leases.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { firstThrown, messageOf, UsageError } from "../errors.ts";
import { type RejectedSignOff, signOffRejected } from "../ledger/rejected-bills.ts";
import { type ReplayCursor, replayBatch, type StillRejected } from "../ledger/replay-rows.ts";
import { printableLine } from "../printable.ts";
import { countRejected } from "../reports/count-rejected.ts";
import type { Stream } from "../sync/store.ts";
import { formatCount, formatCounted, formatTable } from "../terminal/format.ts";
import { streamColumn, streamName } from "../terminal/stream-names.ts";
import { type Define, type Reporting, reporting } from "./options.ts";

export type ReplayOptions = {
  readonly json: boolean;
  readonly selection: Selection;
  /** The rows to sign off unchanged, before the others are tried. */
  readonly accept?: RejectedSignOff | undefined;
};

/** The result of one stream's rejected rows. */
export type StreamReplay = {
  readonly stream: Stream;
  readonly new: number;
  readonly unchanged: number;
  readonly restated: number;
  readonly outdated: number;
  /** The number of rows that still break the contract. */
  readonly left: number;
  /** The rows that still break the contract; only the first hundred, unless JSON is asked for. */
  readonly rows: readonly StillRejected[];
};

export type AccountReplay = {
  readonly account: string;
  readonly streams: readonly StreamReplay[];
  /** The error that ended the replay early. */
  readonly error: unknown;
};

/** How many rows of each stream a person is shown. JSON has all. */
const rowsShownMax = 100;

/** `replay`: tries the unresolved rows of `rejected_bills` again. It asks the exchange nothing. */
export async function replayCommand(
  config: Config,
  io: Io,
  options: ReplayOptions,
): Promise<ExitCode> {
  const notice = (message: string) => tell(io, message);
  await using database = await openCommandDatabase(config.database, notice);
  const { db } = database;
  await migrate(database.url.reveal());
  const reachable = await reachableSelection(db, config, options.selection);
  if (options.accept !== undefined) await signOff(db, options.accept, reachable);
  const wanted = await streamsWithRejected(db, config, reachable);
  const rowsMax = options.json ? Number.POSITIVE_INFINITY : rowsShownMax;
  const replay = async (): Promise<LoggedEnd> => {
    const reports: AccountReplay[] = [];
    for (const [account, own] of Map.groupBy(wanted, (stream) => stream.account)) {
      reports.push(await replayAccount({ db, notice, signal: io.signal, rowsMax }, account, own));
    }
    for (const one of reachable.unreachable) reports.push({ ...one, streams: [] });
    await storeDays(db, io.signal, notice, reachable.selection);
    if (options.json) printJson(io, replayJson(reports));
    else print(io, replayText(reports));
    return endOfReplay(reports);
  };
  return await loggedRun(db, "replay", replay, io.signal);
}

/** @throws UsageError or DatabaseError if no unresolved row of rejected_bills has a digest. */
async function signOff(
  db: Database,
  accept: RejectedSignOff,
  { selection, unreachable }: ReachableSelection,
): Promise<void> {
  const missing = await signOffRejected(db, accept, selection);
  if (missing.length === 0) return;
  const none = `--accept ${missing.join(",")}: no unresolved row of rejected_bills has this digest`;
  if (unreachable.length > 0) throw notFoundAmong(none, "--accept", unreachable);
  throw new UsageError(`${none}; replay lists them`);
}

const endOfReplay = (reports: readonly AccountReplay[]): LoggedEnd => {
  const errors = errorsOf(reports);
  const streams = reports.flatMap((report) => report.streams);
  return {
    ...exitOf({
      errors,
      isOpen: streams.some(({ left }) => left > 0),
      isAnythingDone: streams.length > 0,
    }),
    counts: {
      accounts: reports.map(({ account, streams: own }) => ({
        account,
        streams: own.map(countsOf),
      })),
    },
    errors,
  };
};

/** The digests of `--accept`, with the note that it requires. */
export function signOffOf(
  digests: string | undefined,
  note: string | undefined,
): RejectedSignOff | undefined {
  if (digests === undefined && note === undefined) return undefined;
  if (digests === undefined) throw new UsageError("--note needs --accept with a row's digest");
  const words = digests.split(",").map((word) => word.trim());
  const odd = words.find((word) => !/^[0-9a-f]{64}$/.test(word));
  if (odd !== undefined) {
    throw new UsageError(
      `--accept "${odd}" is not a digest of 64 hexadecimal digits; replay lists the digests`,
    );
  }
  if (note === undefined || note.trim() === "") {
    throw new UsageError('--accept needs --note "why it is accepted"');
  }
  return { digests: words, note: note.trim() };
}

/** The streams that have rejected rows. */
async function streamsWithRejected(
  db: Database,
  config: Config,
  { selection, typed }: ReachableSelection,
): Promise<readonly Stream[]> {
  const stored = await countRejected(db, selection.accounts);
  const synced = await storedAmong(db, config, selection.accounts);
  selectedStreams(typed, config, [...synced, ...stored]);
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

/** Never throws: the report contains the error that stopped it. */
async function replayAccount(
  deps: Deps,
  account: string,
  streams: readonly Stream[],
): Promise<AccountReplay> {
  const { db, notice, signal } = deps;
  const done: StreamReplay[] = [];
  try {
    await using lease = await new Leases(db).take(account, { onWait: notice, signal });
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
  const rows: StillRejected[] = [];
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
        `${name}: row ${digest}: ${printableLine(`${path === "" ? "" : `${path}: `}${reason}`)}`,
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
      `and ${left === 1 ? "stays" : "stay"} in rejected_bills; to accept one for good: ` +
      'replay --accept DIGEST --note "…"'
    );
  }
  if (errorsOf(reports).length > 0) return "NOT all rejected rows were tried; run replay again";
  return "no rejected row is left in rejected_bills";
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

const help = `
Reads each unresolved row of rejected_bills again, as this version reads rows. A
row that can be read now is stored as a bill and resolved:
  new        bills that were not stored
  unchanged  bills that are stored with the same content
  restated   bills that were stored with older content; bill_revisions keeps it
  outdated   rows older than their stored bill, which stays as it is
  left       rows that still break the API's contract, with where and how
The exit code is 0 if none is left. No request is sent to the exchange. To sign
off a row for good, give --accept its digest, and --note the reason. The row is
then signed off in each account that has it: --account does not limit --accept.`;

type ReplayWords = Reporting & { readonly accept?: string; readonly note?: string };

export const define: Define = (command, { io, readEnvironment }, exitWith) => {
  const replay = (options: ReplayWords) => {
    const accept = signOffOf(options.accept, options.note);
    const config = readConfig(readEnvironment(), { credentials: false });
    const { json } = options;
    return replayCommand(config, io, { json, accept, selection: selectionOf(options) });
  };
  reporting(command)
    .option("--accept <digests>", "accept these rows for good: their digests, separated by commas")
    .option("--note <text>", "why they are accepted; required with --accept")
    .addHelpText("after", help)
    .action(exitWith(replay));
};
