import type { RosterLedger } from "../accounts/roster.ts";
import type { ComparedBalance } from "../check/health/balances.ts";
import type { FindingCount } from "../check/health/findings.ts";
import { type Finding, remedyOf, sentenceOf, severityOf } from "../check/health/kinds.ts";
import {
  type AccountStatus,
  coverageShare,
  type LedgerStatus,
  type Status,
} from "../check/health/ledger-status.ts";
import type { ListStatus, LoanToValueStatus, Totals } from "../check/health/ledgers.ts";
import type { LoggedRun } from "../check/health/runs.ts";
import { type HeadLine, headLines, type Verdict } from "../check/health/verdict.ts";
import { printableLine } from "../lib/printable.ts";
import { type EpochMs, epochMs, secondMs } from "../lib/time.ts";
import { notAvailableLines } from "../output/account-remarks.ts";
import {
  formatCounted,
  formatDuration,
  jsonTime,
  ledgerName,
  riskUnitName,
} from "../output/output-format.ts";
import {
  type Columns,
  fields,
  ledgerColumns,
  type Result,
  record,
  type Table,
  table,
} from "../output/result.ts";
import type { QueueStatus } from "./io.ts";

/** So many findings are put into lines for people: those of some hundred ledgers. */
export const findingsMax = 1_000;

type Parts = Result["parts"];

const findingColumns = (now: EpochMs): Columns<Finding> => ({
  ...fields<Finding>("value", ["kind", "account", "ledger", "coin", "detail"]),
  severity: { kind: "value", of: severityOf },
  ...fields<Finding>("time", ["since", "until"], ""),
  ...fields<Finding>("value", ["count", "unreadMs", "breakIds", "isDemo", "isPaused"]),
  text: { kind: "value", of: (finding) => sentenceOf(finding, now) },
  remedy: { kind: "value", of: remedyOf },
});

// A sentence may quote a long error: it comes last, so that no other line is as wide.
const headColumns: Columns<HeadLine> = {
  ...fields<HeadLine>("text", ["severity", "remedy"]),
  finding: { kind: "text", of: ({ text }) => text },
};

const verdictColumns: Columns<Verdict> = fields<Verdict>("value", ["title", "severity", "next"]);

/** The verdict, and what is found, with the command that helps. */
export const verdictParts = (
  findings: readonly Finding[],
  verdict: Verdict,
  now: EpochMs,
): Parts => [
  verdict.title,
  record("verdict", verdictColumns, verdict),
  table("", headColumns, headLines(findings, now)),
  table("findings", findingColumns(now), findings),
  ...(findings.length >= findingsMax ? ["there are more findings: --json has 10,000"] : []),
];

/**
 * The ledgers and their times.
 * @param roster what became of each, by name.
 */
export function ledgersTable(
  ledgers: readonly LedgerStatus[],
  roster: ReadonlyMap<string, Pick<RosterLedger, "state" | "isConfigured">>,
  now: EpochMs,
): Table {
  const inRoster = ({ ledger }: LedgerStatus) => roster.get(ledgerName(ledger));
  const isAnyInactive = ledgers.some((ledger) => inRoster(ledger)?.state !== "active");
  const isAnyRecovered = ledgers.some(({ recovered }) => recovered.length > 0);
  const columns: Columns<LedgerStatus> = {
    ...ledgerColumns(ledgers, ({ ledger }) => ledger),
    configured: { kind: "value", of: (ledger) => inRoster(ledger)?.isConfigured ?? false },
    ...fields<LedgerStatus>("time", ["retiredAt", "pausedAt", "endedAt", "expiresAt"], ""),
    ...fields<LedgerStatus>("count", ["bills"]),
    ...fields<LedgerStatus>("value", ["openRejected"]),
    ...fields<LedgerStatus>("time", ["readThrough"]),
    readThroughMs: { kind: "value", of: ({ readThrough }) => readThrough },
    coverageShare: { kind: "share", title: "share read", of: coverageShare },
    ...fields<LedgerStatus>("spans", ["coverage"], ""),
    unfinished: { kind: "spans", title: "", of: ({ unfinished }) => unfinished },
    behindMs: { kind: "length", title: "behind", of: ({ behindMs }) => behindMs },
    ...fields<LedgerStatus>("spans", ["unread"]),
    openLost: { kind: "spans", title: "lost", of: ({ openLost }) => openLost },
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
    state: {
      kind: "text",
      title: isAnyInactive ? "state" : "",
      of: (ledger) => inRoster(ledger)?.state,
    },
  };
  return table("ledgers", columns, ledgers);
}

const accountColumns: Columns<AccountStatus> = {
  ...fields<AccountStatus>("value", ["account"]),
  mode: { kind: "value", of: ({ mode }) => mode?.name },
  modeSince: { kind: "time", title: "", of: ({ mode }) => mode?.since },
  notAvailable: {
    kind: "value",
    of: ({ notAvailable }) =>
      notAvailable.map(({ productType, since, askedAt, reason }) => ({
        ...{ productType, since: jsonTime(since), askedAt: jsonTime(askedAt), reason },
      })),
  },
};

const totalsColumns: Columns<Totals> = {
  ...fields<Totals>("count", ["accounts", "ledgers", "bills"]),
  ...fields<Totals>("count", ["active", "paused", "ended", "retired"]),
  ...fields<Totals>("time", ["readThrough"]),
  pausedThrough: {
    kind: "time",
    title: "paused ones",
    of: ({ pausedThrough }) => pausedThrough,
  },
};

const countColumns: Columns<FindingCount> = {
  ...fields<FindingCount>("text", ["kind"]),
  isDemo: { kind: "value", of: ({ isDemo }) => isDemo },
  demo: { kind: "text", isForPeople: true, of: ({ isDemo }) => (isDemo ? "demo" : "") },
  ...fields<FindingCount>("count", ["findings", "ledgers"]),
};

/** What more ledgers than a person reads come to. */
export const totalsParts = (totals: Totals, counts: readonly FindingCount[]): Parts => [
  record("totals", totalsColumns, totals),
  table("counts", countColumns, counts),
];

type StoredRecord = {
  readonly name: string;
  readonly content: string;
  readonly readAt: EpochMs;
  readonly firstSeenAt?: EpochMs;
};

/** The lists of pairs and contracts, and every stored risk unit, with the age of each. */
export function recordsTable(
  lists: readonly ListStatus[],
  loans: readonly LoanToValueStatus[],
  now: EpochMs,
): Table {
  const rows: readonly StoredRecord[] = [
    ...lists.map(({ list, entries, gone, readAt }) => ({
      name: list === "spot" ? "spot pairs" : `contracts of ${list}`,
      content: `${formatCounted(entries, list === "spot" ? "pair" : "contract")}, ${gone} gone`,
      readAt,
    })),
    ...loans.map(({ ltv, firstSeenAt, lastSeenAt, ...unit }) => ({
      ...{
        name: riskUnitName(unit),
        content: `ltv ${ltv ?? "-"}`,
        readAt: lastSeenAt,
        firstSeenAt,
      },
    })),
  ];
  const columns: Columns<StoredRecord> = {
    name: { kind: "text", title: "records", of: ({ name }) => name },
    ...fields<StoredRecord>("text", ["content"]),
    ...fields<StoredRecord>("time", ["firstSeenAt"], ""),
    readAt: { kind: "time", title: "read", of: ({ readAt }) => readAt },
    age: { kind: "length", isForPeople: true, of: ({ readAt }) => Math.max(0, now - readAt) },
  };
  return table("records", columns, rows);
}

const balanceColumns: Columns<ComparedBalance> = {
  account: { kind: "value", of: ({ account }) => account },
  wallet: { kind: "value", of: ({ ledger }) => ledger },
  coin: { kind: "value", of: ({ coin }) => coin },
  name: {
    ...{ kind: "text", title: "wallet", isForPeople: true },
    of: ({ account, ledger, coin }) => `${account}/${ledger} ${coin}`,
  },
  balance: { kind: "amount", title: "the exchange says", of: ({ balance }) => balance },
  expected: {
    kind: "amount",
    title: "the bills say",
    of: ({ expected }) => expected,
  },
  differs: { kind: "value", title: "", of: ({ differs }) => differs },
  asOf: { kind: "time", title: "at", of: ({ asOf }) => asOf },
};

const queueColumns: Columns<QueueStatus> = {
  waiting: { kind: "count", title: "jobs waiting", of: ({ waiting }) => waiting },
  atWork: { kind: "count", of: ({ atWork }) => atWork },
};

const lastRunColumns: Columns<LoggedRun> = {
  command: { kind: "text", title: "last run", of: ({ command }) => command },
  startedAt: { kind: "time", title: "began", of: ({ startedAt }) => startedAt },
  finishedAt: { kind: "time", title: "ended", of: ({ finishedAt }) => finishedAt },
  ...fields<LoggedRun>("text", ["outcome"]),
  ...fields<LoggedRun>("text", ["error"], ""),
};

// A run renews its leases every three seconds.
const silentMax = 10 * secondMs;

type Stored = Partial<Status> & {
  /** What became of each ledger, by name. */
  readonly roster?: ReadonlyMap<string, RosterLedger>;
  readonly lists?: readonly ListStatus[];
  readonly loans?: readonly LoanToValueStatus[];
  /** Each wallet's balance by the exchange, beside that of its bills. */
  readonly balances?: readonly ComparedBalance[];
  /** The workers' queue, if there ever was one. */
  readonly queue?: QueueStatus | undefined;
};

/** What is stored, and the last run. Before the first sync, nothing is. */
export const storedParts = ({
  asOf = epochMs(0),
  ledgers = [],
  roster = new Map(),
  accounts = [],
  lists = [],
  loans = [],
  balances = [],
  queue,
  lastRun,
}: Stored): Parts => [
  ledgersTable(ledgers, roster, asOf),
  table("accounts", accountColumns, accounts),
  ...accounts.flatMap(({ account, notAvailable }) => notAvailableLines(account, notAvailable)),
  recordsTable(lists, loans, asOf),
  table("balances", balanceColumns, balances),
  record("queue", queueColumns, queue),
  record("lastRun", lastRunColumns, lastRun),
  ...(lastRun === undefined
    ? ["no run yet"]
    : lastRun.error === null
      ? []
      : [printableLine(lastRun.error)]),
  ...(lastRun?.silentMs != null && lastRun.silentMs > silentMax
    ? [
        `the last sync may have stopped: its last sign of life was ${formatDuration(lastRun.silentMs)} ago`,
      ]
    : []),
];
