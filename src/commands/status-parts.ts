import type { EpochMs } from "../contract/time.ts";
import type { QueueStatus } from "../fleet/queue-status.ts";
import type { ToldBalance } from "../health/balances.ts";
import type { FindingCount } from "../health/findings.ts";
import { type Finding, remedyOf, sentenceOf, severityOf } from "../health/kinds.ts";
import {
  type AccountStatus,
  coverageShare,
  type LastRun,
  type StreamStatus,
} from "../health/ledger-status.ts";
import type { ListStatus, LoanToValueStatus, Totals } from "../health/ledgers.ts";
import { type HeadLine, headLines, type Verdict } from "../health/verdict.ts";
import {
  formatCount,
  formatCounted,
  formatDuration,
  formatMinute,
  formatTime,
  jsonTime,
  jsonTimeOrNull,
  riskUnitName,
  streamName,
} from "../output/format.ts";
import {
  type Columns,
  fields,
  ledgerColumns,
  type Result,
  rowsJson,
  type Table,
  table,
} from "../output/result.ts";
import type { RosterLedger } from "../roster/roster.ts";
import { lengthMs } from "../sync/intervals.ts";

/** Nobody reads more ledgers than this: totals and the worst say more. */
export const shownMax = 100;
/** So many findings are put into lines for people: those of some hundred ledgers. */
export const findingsMax = 1_000;

type Parts = Result["parts"];

const findingColumns = (now: EpochMs): Columns<Finding> => ({
  ...fields<Finding>("text", ["kind", "account", "ledger", "coin", "detail"]),
  severity: { kind: "text", of: severityOf },
  ...fields<Finding>("time", ["since", "until"]),
  ...fields<Finding>("value", ["count", "breakIds", "isDemo", "isPaused"]),
  text: { kind: "text", of: (finding) => sentenceOf(finding, now) },
  remedy: { kind: "text", of: remedyOf },
});

const headColumns: Columns<HeadLine> = {
  ...fields<HeadLine>("text", ["severity"]),
  finding: { kind: "text", of: ({ text }) => text },
  remedy: { kind: "text", title: "then", of: ({ remedy }) => remedy },
};

/** The verdict, and what is found, with the command that closes it. */
export const verdictParts = (
  findings: readonly Finding[],
  verdict: Verdict,
  now: EpochMs,
): Parts => [
  verdict.title,
  table("", headColumns, headLines(findings, now)),
  ...(findings.length >= findingsMax ? ["there are more findings: --json has 10,000"] : []),
];

export const verdictJson = (
  { title, severity, next }: Verdict,
  findings: readonly Finding[],
  now: EpochMs,
) => ({
  verdict: { title, severity, next },
  findings: rowsJson(findingColumns(now), findings),
});

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
  const isAnyRecovered = ledgers.some(({ recovered }) => recovered.length > 0);
  const columns: Columns<StreamStatus> = {
    ...ledgerColumns(ledgers, ({ stream }) => stream),
    configured: { kind: "value", of: (ledger) => of(ledger)?.isConfigured ?? false },
    ...fields<StreamStatus>("time", ["retiredAt", "pausedAt", "closedAt", "expiresAt"], ""),
    ...fields<StreamStatus>("count", ["bills"]),
    ...fields<StreamStatus>("value", ["rejected"]),
    ...fields<StreamStatus>("time", ["completeThrough"]),
    completeThroughMs: { kind: "value", of: ({ completeThrough }) => completeThrough },
    coverageShare: { kind: "share", title: "read", of: coverageShare },
    ...fields<StreamStatus>("spans", ["coverage"], ""),
    unproven: { kind: "spans", title: "", of: ({ unproven }) => unproven },
    behindMs: { kind: "value", of: ({ behind }) => lengthMs(behind) },
    behind: { kind: "spans", isForPeople: true, of: ({ behind }) => behind },
    ...fields<StreamStatus>("spans", ["unread", "lost"]),
    recovered: {
      kind: "spans",
      title: isAnyRecovered ? "recovered" : "",
      of: ({ recovered }) => recovered,
    },
    expiresIn: {
      kind: "length",
      isForPeople: true,
      of: ({ expiresAt }) => expiresAt && Math.max(0, expiresAt - now),
    },
    state: { kind: "text", title: isAnyUnread ? "state" : "", of: (ledger) => of(ledger)?.state },
  };
  return table("streams", columns, ledgers);
}

/** What programs are told of accounts. */
export const accountColumns: Columns<AccountStatus> = {
  account: { kind: "text", of: ({ account }) => account },
  mode: { kind: "text", of: ({ mode }) => mode?.is },
  modeSince: { kind: "time", of: ({ mode }) => mode?.since },
  notAvailable: {
    kind: "value",
    of: ({ notAvailable }) =>
      notAvailable.map(({ productType, since, askedAt, reason }) => ({
        ...{ productType, since: jsonTime(since), askedAt: jsonTime(askedAt), reason },
      })),
  },
};

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
      ({ kind, isDemo, ledgers: count }) =>
        `${isDemo ? "demo " : ""}${kind}: ${formatCounted(count, "ledger")}`,
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

export const totalsJson = (totals: Totals, findings: readonly FindingCount[]): object => ({
  ...totals,
  settledTo: jsonTimeOrNull(totals.settledTo),
  pausedSettledTo: jsonTimeOrNull(totals.pausedSettledTo),
  findings,
});

type StoredRecord = {
  readonly name: string;
  readonly kept: string;
  readonly readAt: EpochMs;
  readonly takenAt?: EpochMs;
};

/** The lists of pairs and contracts, and every stored risk unit, with the age of each. */
export function recordsTable(
  lists: readonly ListStatus[],
  loans: readonly LoanToValueStatus[],
  now: EpochMs,
): Table {
  const rows: readonly StoredRecord[] = [
    ...lists.map(({ list, entries, gone, readAt }) => ({
      name: list === "spot" ? "symbols" : `contracts of ${list}`,
      kept: `${formatCounted(entries, list === "spot" ? "pair" : "contract")}, ${gone} gone`,
      readAt,
    })),
    ...loans.map(({ ltv, takenAt, heldUntil, ...unit }) => ({
      ...{ name: riskUnitName(unit), kept: `ltv ${ltv ?? "-"}`, readAt: heldUntil, takenAt },
    })),
  ];
  const columns: Columns<StoredRecord> = {
    name: { kind: "text", title: "records", of: ({ name }) => name },
    ...fields<StoredRecord>("text", ["kept"]),
    ...fields<StoredRecord>("time", ["takenAt"], ""),
    readAt: { kind: "time", title: "read", of: ({ readAt }) => readAt },
    age: { kind: "length", isForPeople: true, of: ({ readAt }) => Math.max(0, now - readAt) },
  };
  return table("records", columns, rows);
}

const balanceColumns: Columns<ToldBalance> = {
  wallet: { kind: "text", of: ({ account, ledger, coin }) => `${account}/${ledger} ${coin}` },
  balance: { kind: "amount", title: "the exchange says", of: ({ balance }) => balance },
  expected: {
    kind: "amount",
    title: "the bills say",
    of: ({ expected }) => expected,
  },
  differs: { kind: "value", title: "", of: ({ differs }) => differs },
  toldAt: { kind: "time", title: "at", of: ({ toldAt }) => toldAt },
};

/** What the exchange told of each wallet, beside what follows from the bills. */
export const balancesTable = (balances: readonly ToldBalance[]): Table =>
  table("balances", balanceColumns, balances);

/** The workers' queue; nothing if there never was one. */
export const queueParts = (queue: QueueStatus | undefined): Parts =>
  queue === undefined
    ? []
    : [
        `queue: ${formatCounted(queue.waiting, "job")} waiting, ${formatCount(queue.atWork)} at work`,
      ];

export function lastRunText(run: LastRun | undefined): string {
  if (run === undefined) return "no run yet";
  const { command, startedAt, finishedAt, outcome, error } = run;
  const start = `last run: ${command}, ${formatTime(startedAt)}`;
  if (finishedAt === undefined) return `${start}: still running, or killed`;
  return `${start} to ${formatTime(finishedAt)}: ${outcome}${error === null ? "" : ` (${error})`}`;
}

export const lastRunJson = (run: LastRun | undefined): object | null =>
  run === undefined
    ? null
    : { ...run, startedAt: jsonTime(run.startedAt), finishedAt: jsonTimeOrNull(run.finishedAt) };
