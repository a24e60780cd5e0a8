import { configuredAmong, withAdded } from "../../app/accounts-to-read.ts";
import { type ExitCode, type Io, print, printJson, tell } from "../../app/io.ts";
import { askedAmong, namesToProbe, storedAmong } from "../../app/reachable-accounts.ts";
import { knownStreams, readable } from "../../app/readable.ts";
import { configuredStreams, type Selection } from "../../app/selection.ts";
import type { Config } from "../../config/config.ts";
import { walletOf } from "../../contract/product-types.ts";
import { noStates, readAccountStates } from "../../db/accounts/account-states.ts";
import { countAdded } from "../../db/accounts/added-accounts.ts";
import type { Database } from "../../db/connect.ts";
import { readReachable, type Unreachable } from "../../db/distribution/reachable.ts";
import { hasSchema } from "../../db/migrate.ts";
import { openCommandDatabase } from "../../db/open.ts";
import { alertsOf, noSync } from "../../reports/alerts.ts";
import { countLedgers } from "../../reports/fleet.ts";
import { type Observations, readObservations } from "../../reports/observations.ts";
import { readQueue } from "../../reports/queue-status.ts";
import type { RecordsStatus } from "../../reports/records-status.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { unreachableJson, unreachableLines } from "../../terminal/unreachable-text.ts";
import { alertsText, shownAlert, unreachableAlert } from "./alerts-status.ts";
import { readFleetStatus } from "./fleet-status.ts";
import { queueJson, queueLines } from "./queue-status.ts";
import { recordsJson, recordsText, wantedRiskUnits } from "./records-status.ts";
import type { StatusDeps, StatusOptions, Told } from "./status-options.ts";
import { nothingStored, statusJson, statusText } from "./streams-status.ts";

/** Nobody reads more ledgers than this: totals and the worst ledgers say more. */
const shownMax = 100;
/** No program reads more at once: `page` says what follows. */
const listedMax = 10_000;

/**
 * `status`: what is stored, through when it is complete, and what is missing or lost. With limits,
 * it exits with 1 if an alert rule would fire.
 *
 * @param configOf the configuration with these accounts; undefined for all. A configuration that
 * lists accounts without reading each may leave out the others.
 */
export async function statusCommand(
  configOf: StatusDeps["configOf"],
  io: Io,
  options: StatusOptions,
): Promise<ExitCode> {
  const { json, selection, limits } = options;
  const some = configOf(selection.accounts ?? []);
  await using database = await openCommandDatabase(some.database, (message) => tell(io, message));
  const { db } = database;
  if (!(await hasSchema(db))) {
    const given = selection.accounts ? some : configOf(undefined);
    return show(io, json, nothingTold(given, selection, limits !== undefined), []);
  }
  const limit = options.limit ?? usualLimit(json, selection);
  const namesOf = () => namesToProbe(db, some, selection);
  const { result, unreachable } = await readReachable(db, namesOf, async (reachable) => {
    const accounts = await askedAmong(db, some, selection, reachable);
    const own = { ...options, selection: { ...selection, accounts } };
    return (await hasMoreThan(limit, db, some, own.selection))
      ? await readFleetStatus({ db, configOf }, { ...own, limit })
      : await readWholeStatus({ db, configOf }, own);
  });
  return show(io, json, result, unreachable);
}

const usualLimit = (json: boolean, { accounts }: Selection): number =>
  json || accounts !== undefined ? listedMax : shownMax;

function show(
  io: Io,
  isJson: boolean,
  { document, text, alerts: found }: Told,
  unreachable: readonly Unreachable[],
): ExitCode {
  const isAnyAway = unreachable.length > 0;
  const alerts = found && [...(isAnyAway ? [unreachableAlert(unreachable.length)] : []), ...found];
  if (isJson) {
    const told = alerts && { alerts: alerts.map(({ json }) => json) };
    printJson(io, { ...document(), ...told, ...unreachableJson(unreachable) });
  } else {
    const told = alerts ? [alertsText(alerts)] : [];
    print(io, [text(), ...told, ...unreachableLines(unreachable)].join("\n"));
  }
  return isAnyAway || (alerts ?? []).length > 0 ? 1 : 0;
}

/** The status before the first migration. */
function nothingTold(config: Config, selection: Selection, isChecked: boolean): Told {
  // Refuses unknown names before anything else.
  knownStreams(selection, config, { stored: [], states: noStates });
  const nothing = { now: undefined, lastRun: undefined, streams: [], accounts: [] };
  return {
    document: () => ({
      ...statusJson(nothing, new Set()),
      ...recordsJson(noRecords, []),
      breaks: [],
      ...queueJson(undefined),
    }),
    text: () => nothingStored,
    alerts: isChecked ? [shownAlert(noSync)] : undefined,
  };
}

/** The status of each ledger. */
async function readWholeStatus(
  { db, configOf }: StatusDeps,
  { selection, limits }: StatusOptions,
): Promise<Told> {
  const config = await withAddedAmong(db, configOf(selection.accounts), selection);
  const stored = await storedAmong(db, config, selection.accounts);
  const states = await readAccountStates(db, selection.accounts);
  const streams = knownStreams(selection, config, { stored, states });
  const configured = new Set(configuredStreams(readable(config, states)).map(streamName));
  const all = await readObservations(db, streams, config.settleLagMs, selection.accounts);
  const observations = { ...all, ...ofSelection(all, selection) };
  const { status, records, breaks } = observations;
  const riskUnits = wantedRiskUnits(config.accounts);
  const alerts = limits && alertsOf(observations, limits);
  const queue = await readQueue(db);
  return {
    document: () => ({
      ...statusJson(status, configured),
      ...recordsJson(records, riskUnits),
      breaks,
      ...queueJson(queue),
    }),
    text: () =>
      [
        statusText(status, configured, breaks),
        recordsText(records, riskUnits, status.now),
        ...queueLines(queue),
      ].join("\n"),
    alerts: alerts?.map(shownAlert),
  };
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

/**
 * For named accounts, the configuration with those of them that were added. An account that is only
 * stored is no fault.
 */
const withAddedAmong = (db: Database, config: Config, { accounts }: Selection): Promise<Config> =>
  accounts === undefined ? withAdded(db, config) : configuredAmong(db, config, accounts);

/** Breaks and loan-to-value of the selected accounts and product types. */
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
