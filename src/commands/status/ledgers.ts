import type { EpochMs } from "../../contract/time.ts";
import type { FindingCount } from "../../health/findings.ts";
import {
  type AccountStatus,
  coverageShare,
  type StreamStatus,
} from "../../health/ledger-status.ts";
import type { Totals } from "../../health/ledgers.ts";
import { formatCount, formatCounted, formatDuration, formatMinute } from "../../output/format.ts";
import { jsonTime, jsonTimeOrNull } from "../../output/json-times.ts";
import { type Columns, ledgerColumns, type Table, table } from "../../output/result.ts";
import { streamName } from "../../output/stream-names.ts";
import type { RosterLedger } from "../../roster/roster.ts";
import { lengthMs } from "../../sync/intervals.ts";

/**
 * The ledgers and their times.
 * @param roster what became of each, by name.
 */
export function ledgersTable(
  ledgers: readonly StreamStatus[],
  roster: ReadonlyMap<string, Pick<RosterLedger, "state" | "isConfigured">>,
  now: EpochMs,
): Table {
  const of = ({ stream }: StreamStatus) => roster.get(streamName(stream));
  const isAnyUnread = ledgers.some((ledger) => of(ledger)?.state !== "read");
  const columns: Columns<StreamStatus> = {
    ...ledgerColumns(ledgers, ({ stream }) => stream),
    configured: { kind: "value", of: (ledger) => of(ledger)?.isConfigured ?? false },
    retiredAt: { kind: "time", title: "", of: ({ retiredAt }) => retiredAt },
    pausedAt: { kind: "time", title: "", of: ({ pausedAt }) => pausedAt },
    closedAt: { kind: "time", title: "", of: ({ closedAt }) => closedAt },
    bills: { kind: "count", of: ({ bills }) => bills },
    rejected: { kind: "count", title: "", of: ({ rejected }) => rejected },
    completeThrough: { kind: "time", of: ({ completeThrough }) => completeThrough },
    completeThroughMs: { kind: "value", of: ({ completeThrough }) => completeThrough },
    coverageShare: { kind: "share", title: "read", of: coverageShare },
    coverage: { kind: "spans", title: "", of: ({ coverage }) => coverage },
    unproven: { kind: "spans", title: "", of: ({ unproven }) => unproven },
    behindMs: { kind: "value", of: ({ behind }) => lengthMs(behind) },
    behind: { kind: "spans", isForPeople: true, of: ({ behind }) => behind },
    unread: { kind: "spans", of: ({ unread }) => unread },
    lost: { kind: "spans", of: ({ lost }) => lost },
    expiresAt: { kind: "time", title: "", of: ({ expiresAt }) => expiresAt },
    expiresIn: {
      kind: "length",
      isForPeople: true,
      of: ({ expiresAt }) => expiresAt && Math.max(0, expiresAt - now),
    },
    state: { kind: "text", title: isAnyUnread ? "state" : "", of: (ledger) => of(ledger)?.state },
  };
  return table("streams", columns, ledgers);
}

/** The accounts' status for programs. */
export const accountsJson = (accounts: readonly AccountStatus[]): readonly object[] =>
  accounts.map(({ account, mode, notAvailable }) => ({
    account,
    mode: mode?.is ?? null,
    modeSince: jsonTimeOrNull(mode?.since),
    notAvailable: notAvailable.map(({ productType, since, askedAt, reason }) => ({
      productType,
      since: jsonTime(since),
      askedAt: jsonTime(askedAt),
      reason,
    })),
  }));

/** What more ledgers than a person reads come to. */
export function totalsLines(
  { accounts, ledgers, bills, settledTo, pausedSettledTo, ...counts }: Totals,
  findings: readonly FindingCount[],
  now: EpochMs,
): readonly string[] {
  const age = (time: EpochMs) => `${formatMinute(time)}, ${formatDuration(now - time)} ago`;
  const states = (["paused", "closed", "retired"] as const).filter((state) => counts[state] > 0);
  return [
    ...findings.map(
      ({ kind, isDemo, ledgers: found }) =>
        `${isDemo ? "demo " : ""}${kind}: ${formatCounted(found, "ledger")}`,
    ),
    `${formatCounted(accounts, "account")}, ${formatCounted(ledgers, "ledger")}, ` +
      `${formatCounted(bills, "bill")}; syncs read ${formatCounted(counts.read, "ledger")}`,
    ...(settledTo === undefined
      ? []
      : [`all that are read are complete through ${age(settledTo)}`]),
    ...states.map(
      (state) =>
        `${formatCounted(counts[state], "ledger")} ${counts[state] === 1 ? "is" : "are"} ${state}`,
    ),
    ...(pausedSettledTo === undefined
      ? []
      : [`paused ledgers are complete through ${age(pausedSettledTo)}`]),
  ];
}

export type Page = { readonly [name in "limit" | "offset" | "ledgers"]: number };

export function pageLine({ limit, offset, ledgers }: Page, shown: number): string {
  const rest =
    offset + shown < ledgers ? `; --limit ${limit} --offset ${offset + shown} shows the next` : "";
  const after = offset === 0 ? "" : ` after the first ${formatCount(offset)}`;
  return `the worst ${formatCount(shown)} of ${formatCounted(ledgers, "ledger")}${after}${rest}:`;
}

export const totalsJson = (totals: Totals, findings: readonly FindingCount[]): object => ({
  ...totals,
  settledTo: jsonTimeOrNull(totals.settledTo),
  pausedSettledTo: jsonTimeOrNull(totals.pausedSettledTo),
  findings,
});
