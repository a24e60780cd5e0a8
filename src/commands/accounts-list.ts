import { readAccountStates } from "../db/accounts/account-states.ts";
import type { Database } from "../db/connect.ts";
import { readReachable } from "../db/distribution/reachable.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { readStatus, type StreamStatus } from "../health/ledger-status.ts";
import { readSyncedStreams } from "../ledger/known-time.ts";
import { becameText } from "../output/account-remarks.ts";
import { formatCount, formatCounted, formatMinute, formatTable } from "../output/format.ts";
import { streamName } from "../output/stream-names.ts";
import { unreachableJson, unreachableLines } from "../output/unreachable-text.ts";
import { everyName, knownNames } from "../roster/account-names.ts";
import { configuredAmong } from "../roster/accounts-to-read.ts";
import type { Config } from "../roster/config.ts";
import { readable } from "../roster/readable.ts";
import { configuredStreams, everyLedger, selectedStreams } from "../roster/selection.ts";
import { type ExitCode, type Io, print, printJson, tell } from "./io.ts";
import { jsonTimeOrNull } from "./json-times.ts";

export type ListOptions = {
  readonly json: boolean;
  /** The most accounts to list. Default 10,000 in JSON, and otherwise 1,000. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

/** Nobody reads more accounts than this, and no program at once: `page` says what follows. */
const usualLimit = (json: boolean) => (json ? 10_000 : 1_000);

/** How many accounts are read at once. All windows of each are read. */
const readAtOnce = 1_000;

/** `accounts list`: every ledger that is configured or stored, and whether it is read. */
export async function listAccounts(
  config: Config,
  io: Io,
  { json, limit = usualLimit(json), offset = 0 }: ListOptions,
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (line) => tell(io, line));
  const { db } = database;
  if (!(await hasSchema(db))) {
    if (json) printJson(io, { streams: [], page: { limit, offset, accounts: 0 } });
    else print(io, "nothing is stored yet; run sync");
    return 0;
  }
  const namesOf = () => everyName(db, config);
  const { result, unreachable } = await readReachable(db, namesOf, async (among) => {
    const names = await knownNames(db, config, among);
    const shown = names.slice(offset, offset + limit);
    const ledgers: Ledger[] = [];
    for (let at = 0; at < shown.length; at += readAtOnce)
      ledgers.push(...(await readLedgers(db, config, shown.slice(at, at + readAtOnce))));
    return { ledgers, shown: shown.length, page: { limit, offset, accounts: names.length } };
  });
  const { ledgers, shown, page } = result;
  if (json) {
    const streams = ledgers.map(ledgerJson);
    printJson(io, { streams, page, ...unreachableJson(unreachable) });
  } else {
    const table = formatTable(titles, ledgers.map(ledgerCells));
    print(io, [table, ...pageLines(page, shown), ...unreachableLines(unreachable)].join("\n"));
  }
  return unreachable.length === 0 ? 0 : 1;
}

const titles = ["account/product type", "bills", "complete through", "state"];

type Page = { readonly [name in "limit" | "offset" | "accounts"]: number };

/** A line that says which accounts are shown, where not all are. */
function pageLines({ limit, offset, accounts }: Page, shown: number): readonly string[] {
  if (shown === accounts) return [];
  const next = offset + shown;
  const rest = next < accounts ? `; --limit ${limit} --offset ${next} shows the next` : "";
  const after = offset === 0 ? "" : ` after the first ${formatCount(offset)}`;
  return [`${formatCount(shown)} of ${formatCounted(accounts, "account")}${after}${rest}`];
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
