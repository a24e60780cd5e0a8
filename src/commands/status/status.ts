import { configuredAmong, withAdded } from "../../app/accounts-to-read.ts";
import { type ExitCode, type Io, print, printJson, tell } from "../../app/io.ts";
import { knownStreams, readable } from "../../app/readable.ts";
import { configuredStreams, type Selection } from "../../app/selection.ts";
import type { Config } from "../../config/config.ts";
import { walletOf } from "../../contract/product-types.ts";
import { noStates, readAccountStates } from "../../db/accounts/account-states.ts";
import { countAdded } from "../../db/accounts/added-accounts.ts";
import type { Database } from "../../db/connect.ts";
import { readSyncedStreams } from "../../db/ledger/checkpoints.ts";
import { hasSchema } from "../../db/migrate.ts";
import { openCommandDatabase } from "../../db/open.ts";
import { alertsOf, noSync } from "../../reports/alerts.ts";
import { countLedgers } from "../../reports/fleet.ts";
import { type Observations, readObservations } from "../../reports/observations.ts";
import { readQueue } from "../../reports/queue.ts";
import type { RecordsStatus } from "../../reports/records.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { alertsJson, alertsText } from "./alerts-status.ts";
import { fleetStatus } from "./fleet-status.ts";
import { queueJson, queueLines } from "./queue-status.ts";
import { recordsJson, recordsText, wantedRiskUnits } from "./records-status.ts";
import type { StatusOptions } from "./status-options.ts";
import { nothingStored, statusJson, statusText } from "./streams-status.ts";

/** More than these nobody reads: their sums, and the worst of them, say more. */
const shownMax = 100;

/**
 * `status`: what is stored, through when it is complete, and what is missing or lost. With limits it
 * ends with 1 where an alert rule would fire.
 *
 * @param configOf the configuration with these accounts; undefined for all. One that names them without
 *   reading each may leave out the others.
 */
export async function statusCommand(
  configOf: (accounts: readonly string[] | undefined) => Config,
  io: Io,
  options: StatusOptions,
): Promise<ExitCode> {
  const { json, selection, limits } = options;
  const some = configOf(selection.accounts ?? []);
  await using database = await openCommandDatabase(some.database, (message) => tell(io, message));
  const { db } = database;
  const isNew = !(await hasSchema(db));
  const limit = options.limit ?? (json || selection.accounts ? undefined : shownMax);
  if (!isNew && limit !== undefined && (await hasMoreThan(limit, db, some, selection))) {
    return await fleetStatus({ db, io, configOf }, { ...options, limit });
  }
  const given = selection.accounts ? some : configOf(undefined);
  const config = isNew ? given : await withAddedAmong(db, given, selection);
  const stored = isNew ? [] : await storedAmong(db, config, selection);
  const states = isNew ? noStates : await readAccountStates(db, selection.accounts);
  const streams = knownStreams(selection, config, { stored, states });
  const configured = new Set(configuredStreams(readable(config, states)).map(streamName));
  if (isNew) {
    const alerts = limits && [noSync];
    const nothing = { now: undefined, lastRun: undefined, streams: [], accounts: [] };
    if (json) {
      const told = { ...statusJson(nothing, new Set()), ...recordsJson(noRecords, []), breaks: [] };
      printJson(io, {
        ...told,
        ...queueJson(undefined),
        ...(alerts && { alerts: alertsJson(alerts) }),
      });
    } else print(io, [nothingStored, ...(alerts ? [alertsText(alerts)] : [])].join("\n"));
    return alerts ? 1 : 0;
  }
  const all = await readObservations(db, streams, config.settleLagMs, selection.accounts);
  const observations = { ...all, ...ofSelection(all, selection) };
  const { status, records, breaks } = observations;
  const riskUnits = wantedRiskUnits(config.accounts);
  const alerts = limits && alertsOf(observations, limits);
  const queue = await readQueue(db);
  if (json) {
    const told = { ...statusJson(status, configured), ...recordsJson(records, riskUnits), breaks };
    printJson(io, { ...told, ...queueJson(queue), ...(alerts && { alerts: alertsJson(alerts) }) });
  } else {
    const parts = [
      statusText(status, configured, breaks),
      recordsText(records, riskUnits, status.now),
      ...queueLines(queue),
      ...(alerts ? [alertsText(alerts)] : []),
    ];
    print(io, parts.join("\n"));
  }
  return alerts === undefined || alerts.length === 0 ? 0 : 1;
}

async function hasMoreThan(
  limit: number,
  db: Database,
  { accountNames, added }: Config,
  { accounts, productTypes }: Selection,
): Promise<boolean> {
  if (accounts === undefined && accountNames.length > limit) return true;
  const inTable = added === undefined || accounts !== undefined ? 0 : await countAdded(db);
  return inTable > limit || (await countLedgers(db, { accounts, productTypes })) > limit;
}

/** Of accounts that are named, those that were added; one that is stored only is no fault. */
const withAddedAmong = (db: Database, config: Config, { accounts }: Selection): Promise<Config> =>
  accounts === undefined ? withAdded(db, config) : configuredAmong(db, config, accounts);

/** Of accounts that are named, their ledgers; all where one is unknown, whose message names what is known. */
async function storedAmong(db: Database, config: Config, { accounts }: Selection) {
  const stored = await readSyncedStreams(db, accounts);
  const names = new Set([...config.accountNames, ...stored.map(accountOf)]);
  return accounts?.every((name) => names.has(name)) === false ? readSyncedStreams(db) : stored;
}

const accountOf = ({ account }: { readonly account: string }): string => account;

/** Breaks and loan-to-value of the accounts and product types that were chosen. */
const ofSelection = (
  { breaks, records }: Observations,
  { accounts, productTypes }: Selection,
): Pick<Observations, "breaks" | "records"> => {
  const isOwn = ({ account }: { readonly account: string }) => accounts?.includes(account) ?? true;
  const wallets = productTypes?.map(walletOf);
  return {
    breaks: breaks.filter((one) => isOwn(one) && (wallets?.includes(one.productType) ?? true)),
    records: { ...records, loanToValue: records.loanToValue.filter(isOwn) },
  };
};

const noRecords: RecordsStatus = { symbols: undefined, contracts: [], loanToValue: [] };
