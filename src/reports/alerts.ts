import { dayMs, type EpochMs, historyMs, hourMs } from "../contract/time.ts";
import type { Observations } from "./observations.ts";
import type { LoanToValueStatus } from "./records-status.ts";
import type { StreamStatus } from "./status.ts";

/** The alert rules of `ops/alerts.yaml`, evaluated without Prometheus. */
export const alertNames = [
  "BillSyncAbsent",
  "BillSyncUnreachable",
  "BillSyncStale",
  "BillSyncExpires",
  "BillSyncLost",
  "BillSyncRejected",
  "BillSyncBreak",
  "BillSyncLoanToValue",
  "BillSyncLoanToValueStale",
] as const;
export type AlertName = (typeof alertNames)[number];

/** An alert rule that fires, for what, and why. */
export type Alert = {
  readonly name: AlertName;
  /** Empty where the alert concerns the whole database. */
  readonly on: AlertSubject;
  readonly why: AlertReason;
};

export type AlertSubject = {
  readonly account?: string;
  /** A wallet, for breaks. */
  readonly productType?: string;
  readonly coin?: string;
  /** Empty for an account's own unit. */
  readonly riskUnitId?: string;
};

export type AlertReason =
  | { readonly is: "no sync" }
  | { readonly is: "never complete" }
  | { readonly is: "behind"; readonly ms: number }
  | { readonly is: "expires"; readonly inMs: number }
  | { readonly is: "lost"; readonly at: EpochMs }
  | { readonly is: "rejected"; readonly rows: number }
  | { readonly is: "breaks"; readonly breaks: number }
  | { readonly is: "ltv"; readonly ltv: string; readonly above: number }
  | { readonly is: "ltv unread"; readonly ms: number };

export const maxAgeDefaultMs = 3 * hourMs;
/** `ops/alerts.yaml` has the same limit: where the lender's is another, change both. */
export const ltvMaxDefault = 0.8;
export const expirySoonMs = 7 * dayMs;
export const lostLatelyMs = dayMs;
/** Unread time that is older than this by the exchange's clock is lost soon. */
export const expiresWithin = historyMs - expirySoonMs;
/** A record that is older than this says nothing about the present, and is left out. */
export const ltvKeptMs = 7 * dayMs;

export type AlertLimits = { readonly maxAgeMs: number; readonly ltvMax: number };

/** Whether syncs read the ledger: it is neither retired nor closed, and its account is not paused. */
export const isWanted = ({ retiredAt, closedAt, pausedAt }: StreamStatus): boolean =>
  retiredAt === undefined && closedAt === undefined && pausedAt === undefined;

/** The records that are recent enough to say something about the present. */
export const currentLoanToValue = ({
  status,
  records,
}: Observations): readonly LoanToValueStatus[] =>
  records.loanToValue.filter(({ heldUntil }) => status.now - heldUntil < ltvKeptMs);

export const noSync: Alert = { name: "BillSyncAbsent", on: {}, why: { is: "no sync" } };

/** The alerts that fire, in the order of the rules' names, then of the ledgers. */
export function alertsOf(observations: Observations, limits: AlertLimits): readonly Alert[] {
  const { status, runs } = observations;
  const found = [
    ...(runs.some(({ command }) => command === "sync") ? [] : [noSync]),
    ...status.streams.flatMap((stream) => streamAlerts(observations, stream, limits)),
    ...breakAlerts(observations),
    ...loanToValueAlerts(observations, limits),
  ];
  return found.toSorted((a, b) => alertNames.indexOf(a.name) - alertNames.indexOf(b.name));
}

function streamAlerts(
  { status: { now }, readingOf }: Observations,
  status: StreamStatus,
  { maxAgeMs }: AlertLimits,
): readonly Alert[] {
  const { stream, completeThrough, expiresAt, rejected } = status;
  const { lostAt } = readingOf(stream);
  const wanted = isWanted(status);
  const found: Alert[] = [];
  const add = (name: AlertName, why: AlertReason) => found.push({ name, on: stream, why });
  if (wanted && completeThrough === undefined) add("BillSyncStale", { is: "never complete" });
  if (wanted && completeThrough !== undefined && now - completeThrough > maxAgeMs)
    add("BillSyncStale", { is: "behind", ms: now - completeThrough });
  if (wanted && expiresAt !== undefined && expiresAt - now < expirySoonMs)
    add("BillSyncExpires", { is: "expires", inMs: expiresAt - now });
  if (lostAt !== undefined && now - lostAt < lostLatelyMs)
    add("BillSyncLost", { is: "lost", at: lostAt });
  if (rejected > 0) add("BillSyncRejected", { is: "rejected", rows: rejected });
  return found;
}

const breakAlerts = ({ breaks }: Observations): readonly Alert[] =>
  breaks
    .filter((one) => one.state === "open" && one.breaks > 0)
    .map(({ account, productType, coin, breaks: count }) => ({
      name: "BillSyncBreak",
      on: { account, productType, coin },
      why: { is: "breaks", breaks: count },
    }));

function loanToValueAlerts(
  observations: Observations,
  { maxAgeMs, ltvMax }: AlertLimits,
): readonly Alert[] {
  const { now } = observations.status;
  return currentLoanToValue(observations).flatMap(({ account, riskUnitId = "", ...record }) => {
    const on = { account, riskUnitId };
    const ms = now - record.heldUntil;
    const { ltv } = record;
    const found: Alert[] = [];
    // A float suffices to compare a rate with a limit.
    if (ltv !== null && Number(ltv) > ltvMax)
      found.push({ name: "BillSyncLoanToValue", on, why: { is: "ltv", ltv, above: ltvMax } });
    if (ms > maxAgeMs)
      found.push({ name: "BillSyncLoanToValueStale", on, why: { is: "ltv unread", ms } });
    return found;
  });
}
