import type { Registry } from "prom-client";
import { type AccountStates, noStates, readAccountStates } from "../db/accounts/account-states.ts";
import type { Queryable } from "../db/connect.ts";
import type { ReadReachable, Unreachable } from "../db/distribution/reachable.ts";
import { readExchangeTime } from "../db/exchange-time.ts";
import { readSyncedStreams } from "../ledger/known-time.ts";
import { maxAgeDefaultMs } from "../reports/alerts.ts";
import { openBreakAccounts } from "../reports/break-counts.ts";
import { readFleet, unreadAccounts } from "../reports/fleet.ts";
import { type Observations, readObservations } from "../reports/observations.ts";
import type { LoanToValueStatus } from "../reports/records-status.ts";
import type { Stream } from "../sync/store.ts";
import type { FleetCounts } from "./fleet-metrics.ts";
import { registryOf } from "./registry.ts";

export type MetricsQuestion = {
  /** The ledgers that are configured, by what runs were told of their accounts. */
  readonly configured: (states: AccountStates) => readonly Stream[];
  /** The newest time that a sync leaves unsettled, in ms. */
  readonly settleLagMs: number;
  /** Only these accounts; default all. */
  readonly accounts?: readonly string[] | undefined;
};

/** What the metrics are made of. */
export type StoredMetrics = {
  readonly observations: Observations;
  readonly counts: Omit<FleetCounts, "unreachable">;
};

/**
 * How many ledgers may have series of their own. With ten series each, 100,000 accounts filled a process of
 * 1.3 GiB for 53 s, and no Prometheus would thank for it.
 */
const usualLimits = {
  /** Up to so many have, all of them. */
  all: 5_000,
  /** Where there are more, so many of the worst, and of those that were never read. */
  worst: 1_000,
};

export type ReachableMetrics = {
  readonly registry: Registry;
  readonly unreachable: readonly Unreachable[];
};

/** The metrics of the accounts whose rows can be read, and the names of the others. */
export async function readReachableMetrics(
  readReachable: ReadReachable,
  read: (accounts: readonly string[] | undefined) => Promise<StoredMetrics>,
): Promise<ReachableMetrics> {
  const { result, unreachable } = await readReachable(read);
  const names = unreachable.map(({ account }) => account);
  const registry = registryOf(result.observations, { ...result.counts, unreachable: names });
  return { registry, unreachable };
}

/** Reads each ledger, or the worst of very many, and what all come to. */
export async function readMetrics(
  db: Queryable,
  asked: MetricsQuestion,
  limits = usualLimits,
): Promise<StoredMetrics> {
  const { accounts } = asked;
  const question = { ...asked, configured: configuredAmong(asked) };
  const names = accountsOf(question.configured(noStates));
  const now = await readExchangeTime(db, accounts);
  const scope = { accounts, now, maxAgeMs: maxAgeDefaultMs, limit: limits.worst };
  const { totals, worst } = await readFleet(db, scope);
  const unread = await unreadAccounts(db, names);
  const isListed = Math.max(totals.ledgers, names.length) <= limits.all;
  const { streams, observations } = isListed
    ? await readAll(db, question)
    : await readWorst(db, { ...question, worst, unread, limit: limits.worst });
  return { observations, counts: { totals, unread: unread.length, listed: streams.length } };
}

/** The configured ledgers of the accounts that are asked for. */
function configuredAmong({ configured, accounts }: MetricsQuestion): MetricsQuestion["configured"] {
  if (accounts === undefined) return configured;
  const wanted = new Set(accounts);
  return (states) => configured(states).filter(({ account }) => wanted.has(account));
}

type Read = { readonly streams: readonly Stream[]; readonly observations: Observations };

async function readAll(
  db: Queryable,
  { configured, settleLagMs, accounts }: MetricsQuestion,
): Promise<Read> {
  const stored = await readSyncedStreams(db, accounts);
  const known = [...stored, ...configured(await readAccountStates(db, accounts))];
  const byName = new Map(known.map((one) => [`${one.account}/${one.productType}`, one]));
  const streams = [...byName.values()];
  return { streams, observations: await readObservations(db, streams, settleLagMs, accounts) };
}

type WorstQuestion = MetricsQuestion & {
  readonly worst: readonly Stream[];
  /** Accounts. */
  readonly unread: readonly string[];
  readonly limit: number;
};

async function readWorst(
  db: Queryable,
  { configured, settleLagMs, accounts, worst, unread, limit }: WorstQuestion,
): Promise<Read> {
  const shown = new Set(unread.slice(0, limit));
  const states = await readAccountStates(db, [...shown]);
  const neverRead = configured(states).filter(({ account }) => shown.has(account));
  const streams = [...worst, ...neverRead.slice(0, limit)];
  // Some breaks are of no wallet.
  const broken = await openBreakAccounts(db, limit, accounts);
  const breaksOf = [...new Set([...accountsOf(streams), ...broken])];
  const all = await readObservations(db, streams, settleLagMs, accounts, breaksOf);
  const loanToValue = worstLoans(all.records.loanToValue, limit);
  return { streams, observations: { ...all, records: { ...all.records, loanToValue } } };
}

/** The highest, and those that were not read for longest. */
function worstLoans(
  loans: readonly LoanToValueStatus[],
  limit: number,
): readonly LoanToValueStatus[] {
  const highest = loans.toSorted((a, b) => Number(b.ltv ?? 0) - Number(a.ltv ?? 0));
  const oldest = loans.toSorted((a, b) => a.heldUntil - b.heldUntil);
  return [...new Set([...highest.slice(0, limit), ...oldest.slice(0, limit)])];
}

const accountsOf = (streams: readonly Stream[]): readonly string[] => [
  ...new Set(streams.map(({ account }) => account)),
];
