import { configuredAmong } from "../../app/accounts-to-read.ts";
import { jsonTimeOrNull } from "../../app/json-times.ts";
import { readable } from "../../app/readable.ts";
import { configuredStreams } from "../../app/selection.ts";
import { readAccountStates } from "../../db/accounts/account-states.ts";
import { readAddedNames } from "../../db/accounts/added-accounts.ts";
import { readExchangeTime } from "../../db/exchange-time.ts";
import { printableLine } from "../../printable.ts";
import { alertsOf, maxAgeDefaultMs } from "../../reports/alerts.ts";
import { type FleetTotals, readFleet, unreadAccounts } from "../../reports/fleet.ts";
import { fleetAlerts } from "../../reports/fleet-alerts.ts";
import { type Observations, readObservations } from "../../reports/observations.ts";
import { readQueue } from "../../reports/queue-status.ts";
import { formatCount, formatCounted, formatDuration, formatMinute } from "../../terminal/format.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { shownAlert, shownCount } from "./alerts-status.ts";
import { queueJson, queueLines } from "./queue-status.ts";
import { recordsJson, recordsText, wantedRiskUnits } from "./records-status.ts";
import type { StatusDeps, StatusOptions, Told } from "./status-options.ts";
import { statusJson, statusText } from "./streams-status.ts";

/** `status` of more ledgers than a person reads: totals, and the worst ledgers. */
export async function readFleetStatus(
  { db, configOf }: StatusDeps,
  options: StatusOptions & { readonly limit: number },
): Promise<Told> {
  const { selection, limits, limit, offset = 0 } = options;
  const maxAgeMs = limits?.maxAgeMs ?? maxAgeDefaultMs;
  const named = configOf(selection.accounts ?? []);
  const known = selection.accounts ?? [...named.accountNames, ...(await readAddedNames(db, named))];
  const unread = await unreadAccounts(db, known);
  const now = await readExchangeTime(db, selection.accounts);
  const { totals, worst } = await readFleet(db, { ...selection, now, maxAgeMs, limit, offset });
  const names = [...new Set(worst.map(({ account }) => account))];
  const config = await configuredAmong(db, configOf(names), names);
  const states = await readAccountStates(db, names);
  const configured = new Set(configuredStreams(readable(config, states)).map(streamName));
  const all = await readObservations(db, worst, config.settleLagMs, selection.accounts, names);
  const { status, breaks } = all;
  const isShown = ({ account }: { readonly account: string }) => names.includes(account);
  const records = { ...all.records, loanToValue: all.records.loanToValue.filter(isShown) };
  const riskUnits = wantedRiskUnits(config.accounts);
  const alerts = limits && [
    ...fleetAlerts(totals, unread.length)
      .filter(({ ledgers }) => ledgers > 0)
      .map(shownCount),
    // Alerts of runs and loans are listed; alerts of ledgers are counted.
    ...alertsOf(withoutLedgers(all), limits).map(shownAlert),
  ];
  const page = { limit, offset, ledgers: totals.ledgers };
  const queue = await readQueue(db);
  return {
    document: () => ({
      ...statusJson(status, configured),
      fleet: fleetJson(totals, unread),
      page,
      ...recordsJson(records, riskUnits),
      breaks,
      ...queueJson(queue),
    }),
    text: () =>
      [
        ...fleetLines({ totals, unread, maxAgeMs, now }),
        "",
        ...(totals.ledgers === 0 ? [] : [pageLine(page, worst.length)]),
        statusText(status, configured, breaks),
        recordsText(records, riskUnits, now),
        ...queueLines(queue),
      ].join("\n"),
    alerts,
  };
}

const withoutLedgers = (all: Observations): Observations => ({
  ...all,
  status: { ...all.status, streams: [] },
  breaks: [],
});

const unreadShownMax = 10;

function fleetLines({ totals, unread, maxAgeMs, now }: FleetText): readonly string[] {
  const { accounts, ledgers, bills, wanted, settledTo, paused, pausedSettledTo } = totals;
  const count = (many: number, what: string) =>
    many === 0 ? [] : [`${formatCounted(many, "ledger")} ${what}`];
  const names = unread.slice(0, unreadShownMax).map(printableLine).join(", ");
  const more = unread.length - unreadShownMax;
  const oldest = (time: typeof settledTo) =>
    time === undefined ? "" : ` ${formatMinute(time)}, ${formatDuration(now - time)} ago`;
  return [
    `${formatCounted(accounts, "account")}, ${formatCounted(ledgers, "ledger")}, ` +
      `${formatCounted(bills, "bill")}; syncs read ${formatCounted(wanted, "ledger")}`,
    ...(wanted === 0 ? [] : [`all that are read are complete through${oldest(settledTo)}`]),
    ...(unread.length === 0
      ? []
      : [
          `${formatCounted(unread.length, "account")} never read: ${names}` +
            (more > 0 ? ` and ${formatCount(more)} more` : ""),
        ]),
    ...count(totals.expiring, "lose time within a week that was not read"),
    ...count(totals.stale, `are behind by more than ${formatDuration(maxAgeMs)}`),
    ...count(totals.withGaps, "have gaps"),
    ...count(totals.withLoss, "have lost time"),
    ...count(totals.rejected, "have rows in rejected_bills"),
    ...count(totals.broken, "are of a wallet with open breaks"),
    ...(paused === 0
      ? []
      : [
          `${formatCounted(paused, "ledger")} of paused accounts, complete through` +
            `${oldest(pausedSettledTo)}; the exchange forgets their bills after 90 days`,
        ]),
    ...count(totals.closed, "are closed"),
    ...count(totals.retired, "are retired"),
  ];
}

type FleetText = {
  readonly totals: FleetTotals;
  readonly unread: readonly string[];
  readonly maxAgeMs: number;
  readonly now: number;
};

function pageLine(
  { limit, offset, ledgers }: { readonly [name in "limit" | "offset" | "ledgers"]: number },
  shown: number,
): string {
  const rest =
    offset + shown < ledgers ? `; --limit ${limit} --offset ${offset + shown} shows the next` : "";
  const after = offset === 0 ? "" : ` after the first ${formatCount(offset)}`;
  return `the worst ${formatCount(shown)} of ${formatCounted(ledgers, "ledger")}${after}${rest}:`;
}

const fleetJson = (totals: FleetTotals, unread: readonly string[]): object => ({
  ...totals,
  settledTo: jsonTimeOrNull(totals.settledTo),
  pausedSettledTo: jsonTimeOrNull(totals.pausedSettledTo),
  neverRead: unread.length,
});
