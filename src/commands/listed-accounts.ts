import { configuredAmong } from "../app/accounts-to-read.ts";
import { type ExitCode, type Io, print, printJson, tell } from "../app/io.ts";
import { jsonTimeOrNull } from "../app/json-times.ts";
import { readable } from "../app/readable.ts";
import { configuredStreams, everyLedger, selectedStreams } from "../app/selection.ts";
import type { Config } from "../config/config.ts";
import { readAccountStates } from "../db/accounts/account-states.ts";
import { readAddedNames } from "../db/accounts/added-accounts.ts";
import type { Database } from "../db/connect.ts";
import { readSyncedStreams } from "../db/ledger/checkpoints.ts";
import { readTimedAccounts } from "../db/ledger/stream-times.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { readStatus, type StreamStatus } from "../reports/status.ts";
import { becameText } from "../terminal/account-remarks.ts";
import { formatCount, formatMinute, formatTable } from "../terminal/format.ts";
import { streamName } from "../terminal/stream-names.ts";

export type ListOptions = {
  readonly json: boolean;
  /** The most accounts to list. Default all. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

/** How many accounts are read at once. All windows of each are read. */
const readAtOnce = 1_000;

/** `accounts list`: every ledger that is configured or stored, and whether it is read. */
export async function listAccounts(
  config: Config,
  io: Io,
  { json, limit, offset = 0 }: ListOptions,
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (line) => tell(io, line));
  const { db } = database;
  if (!(await hasSchema(db))) {
    if (json) printJson(io, { streams: [] });
    else print(io, "nothing is stored yet; run sync");
    return 0;
  }
  const names = (await everyName(db, config)).slice(offset, limit && offset + limit);
  const objects: object[] = [];
  const rows: (readonly string[])[] = [];
  for (let at = 0; at < names.length; at += readAtOnce) {
    for (const one of await readLedgers(db, config, names.slice(at, at + readAtOnce))) {
      if (json) objects.push(ledgerJson(one));
      else rows.push(ledgerCells(one));
    }
  }
  if (json) printJson(io, { streams: objects });
  else print(io, formatTable(["account/product type", "bills", "complete through", "state"], rows));
  return 0;
}

/** The configured accounts, the added ones, and those that are only stored. */
async function everyName(db: Database, config: Config): Promise<readonly string[]> {
  const added = await readAddedNames(db, config);
  const stored = await readTimedAccounts(db);
  return [...new Set([...config.accountNames, ...added.toSorted(), ...stored])];
}

type Ledger = StreamStatus & { readonly isConfigured: boolean };

/** The ledgers of these accounts. */
async function readLedgers(
  db: Database,
  config: Config,
  names: readonly string[],
): Promise<readonly Ledger[]> {
  const own = await configuredAmong(db, config, names);
  const now = readable(own, await readAccountStates(db, names));
  const streams = selectedStreams(everyLedger, now, await readSyncedStreams(db, names));
  const status = await readStatus(db, streams, config.settleLagMs, names);
  const configured = new Set(configuredStreams(now).map(streamName));
  return status.streams.map((one) => ({
    ...one,
    isConfigured: configured.has(streamName(one.stream)),
  }));
}

const ledgerJson = (one: Ledger): object => ({
  ...one.stream,
  configured: one.isConfigured,
  retiredAt: jsonTimeOrNull(one.retiredAt),
  pausedAt: jsonTimeOrNull(one.pausedAt),
  closedAt: jsonTimeOrNull(one.closedAt),
  bills: one.bills,
  completeThrough: jsonTimeOrNull(one.completeThrough),
  completeThroughMs: one.completeThrough ?? null,
});

const ledgerCells = (one: Ledger): readonly string[] => [
  streamName(one.stream),
  formatCount(one.bills),
  formatMinute(one.completeThrough),
  stateText(one),
];

function stateText({ stream, retiredAt, closedAt, pausedAt, isConfigured }: Ledger): string {
  if (retiredAt !== undefined) return `retired ${formatMinute(retiredAt)}`;
  if (closedAt !== undefined) return `closed ${formatMinute(closedAt)}: ${becameText(stream)}`;
  if (pausedAt !== undefined) return `paused ${formatMinute(pausedAt)}`;
  return isConfigured ? "synced" : "not configured";
}
