import type { RejectedCount } from "../check/health/ledgers.ts";
import { type Break, isFault } from "../check/reconcile/breaks.ts";
import type { UnsettledBalance } from "../check/reconcile/reconcile.ts";
import { type LedgerVerification, repairedIn } from "../check/verify/verify.ts";
import { taxRowsMax } from "../core/contract/tax-records.ts";
import type { Outcome } from "../core/postgres/run-log.ts";
import type { AccountReport, RecoverReport } from "../core/sync/account-report.ts";
import { isComplete } from "../core/sync/account-report.ts";
import type { LedgerReport } from "../core/sync/ledger-run.ts";
import type { ListReport } from "../core/sync/settings-lists.ts";
import type { LoanToValueReport } from "../core/sync/sync-loan-to-value.ts";
import { lengthMs } from "../core/words/intervals.ts";
import { firstThrown, isPermanent, messageOf, StoppedError } from "../lib/errors.ts";
import { printableLine } from "../lib/printable.ts";
import { epochMs, isoTime } from "../lib/time.ts";
import { endedLines, notAvailableLines } from "../output/account-remarks.ts";
import {
  asJson,
  type Columns,
  errorColumn,
  fields,
  ledgerColumn,
  ledgerColumns,
  type Result,
  type Table,
  table,
} from "../output/result.ts";
import {
  formatCount,
  formatCounted,
  formatDuration,
  formatInterval,
  formatLength,
  jsonInterval,
  jsonTime,
  jsonTimeOrNull,
  ledgerName,
  ledgerNames,
  riskUnitName,
} from "../output/text.ts";
import { breaksTable } from "./breaks.ts";
import { exitOf, type RunExit, type RunFacts } from "./exit-code.ts";

/** What the check of what changed found, with which a sync ends. */
export type AccountsChecked = {
  /** How many breaks are open. */
  readonly open: number;
  /** The breaks that were not open before. */
  readonly opened: readonly Break[];
  /** The ledgers of which something was read again and stored. */
  readonly healed: readonly LedgerVerification[];
  /** What wallets hold that the newest bills do not say, in time that is not settled yet. */
  readonly unsettled: readonly UnsettledBalance[];
};

/** What a run did. */
export type SyncRun = {
  readonly runId: string;
  /** The lists of symbols, and of each product type's contracts, that were targets. */
  readonly lists: readonly ListReport[];
  /** What of the accounts was not synced, since it is retired. */
  readonly notSynced: readonly string[];
  readonly accounts: readonly AccountReport[];
  /**
   * All open rejected rows, those of earlier runs included. Or the error that prevented
   * reading them: without them, nobody knows whether the ledger is complete.
   */
  readonly rejected: readonly RejectedCount[] | { readonly error: unknown };
  /** The check that ends the run; undefined if none was made. Or the error that ended it. */
  readonly reconciled?: AccountsChecked | { readonly error: unknown } | undefined;
  readonly elapsedMs: number;
};

/** What a run did, and its outcome. */
export type SyncResult = SyncRun & RunFacts & RunExit;

/** Computes the outcome. Rejected rows of ledgers that this run did not sync are left out. */
export function syncResult(syncRun: SyncRun): SyncResult {
  const synced = new Set(
    syncRun.accounts.flatMap(({ ledgers }) => ledgers.map(({ ledger }) => ledgerName(ledger))),
  );
  const rejected =
    "error" in syncRun.rejected
      ? syncRun.rejected
      : syncRun.rejected.filter((count) => synced.has(ledgerName(count)));
  const run = { ...syncRun, rejected };
  const facts = factsOf(run);
  return { ...run, ...facts, ...exitOf(facts) };
}

/** All that failed of a run, by name. An account's ledgers with the same error have one name. */
const failuresOf = ({ accounts, rejected, reconciled, lists }: SyncRun) =>
  [
    ...lists,
    ...accounts.flatMap(({ account, error, loanToValue, ledgers, recovery = [] }) => [
      { name: account, error },
      ...recovery.map((tax) => ({ ...tax, name: `${ledgerName(tax.ledger)} tax records` })),
      ...loanToValue.map((unit) => ({ ...unit, name: riskUnitName(unit) })),
      ...[...Map.groupBy(ledgers, (one) => one.error && messageOf(one.error)).values()].map(
        (alike) => ({ ...alike[0], name: ledgerNames(alike.map(({ ledger }) => ledger)) }),
      ),
    ]),
    { name: "rejected_bills", error: "error" in rejected ? rejected.error : undefined },
    { error: undefined, ...reconciled, name: "reconcile" },
  ].filter(({ error }) => error !== undefined);

function factsOf(run: SyncRun): RunFacts {
  const { accounts, rejected, lists, reconciled = { opened: [] } } = run;
  const wholeReports = accounts.filter(({ error }) => error === undefined);
  return {
    errors: failuresOf(run).map(({ error }) => error),
    isIncomplete:
      // A rejected row is not among the bills, so the ledger is not complete.
      (!("error" in rejected) && rejected.length > 0) ||
      // A break that an earlier check has found fails no later sync.
      (!("error" in reconciled) && reconciled.opened.some(isFault)) ||
      lists.some(({ broken }) => broken.length > 0) ||
      !wholeReports.every(isComplete),
    didWork:
      accounts.length === 0
        ? lists.some(({ counts }) => counts !== undefined)
        : wholeReports.length > 0,
  };
}

// What a sync did, for people and programs.

const outcomeWords: Readonly<Record<Outcome, string>> = {
  complete: "complete",
  incomplete: "NOT complete",
  stopped: "stopped before the end (bill-sync sync continues it)",
  failed: "FAILED",
  held: "no account was synced",
};

/** What the run did, of which people see what is news. */
function tablesOf(run: SyncRun): readonly Table[] {
  const { accounts, lists } = run;
  const ledgers = accounts.flatMap((report) => report.ledgers);
  const recovery = accounts.flatMap((report) => report.recovery ?? []);
  const loans = accounts.flatMap(({ loanToValue }) => loanToValue);
  const sum = ledgers.length > 1 ? [sumOf(ledgers)] : [];
  return [
    table("accounts", accountColumns, accounts, []),
    table("ledgers", reportColumns(ledgers), ledgers, [...ledgers, ...sum]),
    table("lists", listColumns, lists, lists.filter(isNews)),
    table("loanToValue", loanColumns, loans, loans.filter(isNewLoan)),
    table("recovery", recoveryColumns, recovery, recovery.filter(isRecovery)),
    table("healed", healedColumns, healedOf(run), []),
  ];
}

const healedOf = ({ reconciled }: SyncRun): readonly LedgerVerification[] =>
  reconciled !== undefined && "healed" in reconciled ? reconciled.healed : [];

/** What was read again and stored of a ledger. */
export const healedText = (ledger: LedgerVerification): string =>
  `healed: ${formatCounted(repairedIn([ledger]), "bill")} of ${ledgerName(ledger.ledger)}, ${formatLength(ledger.span)} read again`;

const healedColumns: Columns<LedgerVerification> = {
  ...ledgerColumn(({ ledger }) => ledger),
  bills: { kind: "value", of: (ledger) => repairedIn([ledger]) },
  readAgain: { kind: "value", of: ({ span }) => span.map(jsonInterval) },
  requests: { kind: "value", of: ({ requests }) => requests },
};

/** What the run log keeps of a run. */
export const countsOf = (run: SyncRun): object => asJson({ data: {}, parts: tablesOf(run) });

export function resultOfSync(result: SyncResult): Result {
  const { runId, notSynced, accounts, rejected, reconciled, outcome, elapsedMs } = result;
  const failures = Map.groupBy(
    failuresOf(result).filter(({ error }) => !(firstThrown(error) instanceof StoppedError)),
    ({ error }) => messageOf(error),
  );
  const checked = reconciled === undefined || "error" in reconciled ? undefined : reconciled;
  return {
    data: {
      ...{ runId, outcome, notSynced },
      rejected: "error" in rejected ? null : rejected,
      openBreaks: checked?.open ?? null,
      unsettled: checked?.unsettled ?? [],
      errors: [...failures.keys()],
    },
    parts: [
      ...tablesOf(result),
      ...result.lists.map(brokenLine),
      ...accounts.flatMap(({ recovery = [] }) => recovery.flatMap(recoveryLines)),
      ...[...failures].map(
        ([message, parts]) => `${parts.map(({ name }) => name).join(", ")}: ${message}`,
      ),
      ...accounts.flatMap(({ ledgers }) => ledgers.flatMap(ledgerRemarks)),
      ...accounts.flatMap(({ account, ended = [], notAvailable = [] }) => [
        ...endedLines(ended),
        ...notAvailableLines(account, notAvailable),
      ]),
      ...("error" in rejected ? [] : rejected.map(rejectedRemark)),
      ...notSynced,
      ...healedOf(result).map(healedText),
      ...(checked?.unsettled ?? []).map(unsettledLine),
      ...breaksParts(checked),
      `${endText(result)}${shareText(accounts, outcome)}, after ${formatDuration(elapsedMs)}`,
    ],
    exit: result.exitCode,
    isSummary: true,
  };
}

/** How a run ended, in words. */
export function endText({ outcome, notSynced, accounts, reconciled }: SyncResult): string {
  if (outcome !== "complete") return outcomeWords[outcome];
  const isBroken = reconciled !== undefined && "open" in reconciled && reconciled.open > 0;
  const end = isBroken ? "everything is read" : "complete";
  if (notSynced.length === 0) return end;
  return accounts.length === 0
    ? "no account was synced, since each is retired"
    : `${end}, apart from what is retired`;
}

const accountColumns: Columns<AccountReport> = {
  ...fields<AccountReport>("text", ["account", "mode"]),
  notAvailable: { kind: "value", of: ({ notAvailable = [] }) => notAvailable },
  ended: {
    kind: "value",
    of: ({ ended = [] }) =>
      ended.map(({ ledger: { productType }, endedAt, through, unread }) => ({
        productType,
        endedAt: jsonTime(endedAt),
        readThrough: jsonTimeOrNull(through),
        unread: unread.map(jsonInterval),
      })),
  },
  error: errorColumn,
  isPermanent: { kind: "value", of: ({ error }) => isPermanent(firstThrown(error)) },
};

const sumName = "all";
const countKeys = ["new", "restated", "rejected", "requests"] as const;

/** A row of all ledgers, which are read through no time where nothing of one of them is complete. */
function sumOf(ledgers: readonly LedgerReport[]): LedgerReport {
  const sums = countKeys.map((key) => [key, ledgers.reduce((sum, ledger) => sum + ledger[key], 0)]);
  const times = ledgers.flatMap(({ readThrough }) => readThrough ?? []);
  return {
    ...(ledgers[0] as LedgerReport),
    ledger: { account: sumName, productType: "UTA-OTHER" },
    ...Object.fromEntries(sums),
    readThrough: times.length < ledgers.length ? undefined : epochMs(Math.min(...times)),
  };
}

function reportColumns(ledgers: readonly LedgerReport[]): Columns<LedgerReport> {
  return {
    ...ledgerColumns(ledgers, ({ ledger }) => ledger, sumName),
    ...fields<LedgerReport>("count", countKeys),
    ...fields<LedgerReport>("value", ["unchanged", "pages", "windowsPlanned", "windowsRead"]),
    ...fields<LedgerReport>("time", ["readThrough"]),
    readThroughMs: { kind: "value", of: ({ readThrough }) => readThrough },
    ...fields<LedgerReport>("spans", ["lost"], ""),
    error: errorColumn,
  };
}

/** Whether a list is not as it was before. */
const isNews = ({ counts }: ListReport): boolean =>
  counts !== undefined &&
  (!counts.isStored || counts.new + counts.changed + counts.returned + counts.gone > 0);

const listColumns: Columns<ListReport> = {
  name: { kind: "text", title: "list", of: ({ name }) => name },
  entries: { kind: "count", of: ({ counts }) => counts?.entries },
  ...Object.fromEntries(
    (["new", "changed", "returned", "gone"] as const).map((key) => [
      key,
      { kind: "count", of: ({ counts }: ListReport) => counts?.[key] },
    ]),
  ),
  isStored: { kind: "value", of: ({ counts }) => counts?.isStored ?? false },
  stored: {
    kind: "text",
    isForPeople: true,
    of: ({ counts }) => (counts?.isStored ? "yes" : "no: another run has stored a newer list"),
  },
  readAt: { kind: "time", title: "", of: ({ counts }) => counts?.readAt },
  requests: { kind: "value", of: ({ requests }) => requests },
  broken: {
    kind: "value",
    of: ({ broken }) => broken.map(({ name, fault }) => ({ name, ...fault })),
  },
  error: errorColumn,
};

const isNewLoan = ({ stored }: LoanToValueReport): boolean =>
  stored !== undefined && stored.change !== "unchanged";

const loanColumns: Columns<LoanToValueReport> = {
  ...fields<LoanToValueReport>("text", ["account", "riskUnitId"], ""),
  name: { kind: "text", title: "risk unit", isForPeople: true, of: riskUnitName },
  ltv: { kind: "amount", of: ({ stored }) => stored?.record.ltv },
  assets: { kind: "amount", title: "assets USDT", of: ({ stored }) => stored?.record.usdtBalance },
  unpaid: {
    kind: "amount",
    title: "unpaid USDT",
    of: ({ stored }) => stored?.record.unpaidUsdtAmount,
  },
  readAt: { kind: "time", title: "", of: ({ stored }) => stored?.readAt },
  record: { kind: "text", of: ({ stored }) => stored?.change },
  error: errorColumn,
};

const isRecovery = ({ recovered }: RecoverReport): boolean => recovered.length > 0;

const recoveryColumns: Columns<RecoverReport> = {
  ...ledgerColumn(({ ledger }) => ledger, "tax records"),
  new: { kind: "count", of: (row) => row.new },
  rejected: { kind: "count", of: ({ rejected }) => rejected },
  requests: { kind: "count", of: ({ requests }) => requests },
  recovered: { kind: "spans", of: ({ recovered }) => recovered },
  partlyRecovered: {
    kind: "spans",
    title: "",
    of: ({ partlyRecovered }) => partlyRecovered.map((at) => ({ from: at, to: epochMs(at + 1) })),
  },
  ...fields<RecoverReport>("text", ["notRecoveredReason"], ""),
  error: errorColumn,
};

/** Why nothing was recovered, and where more bills may be. */
const recoveryLines = ({
  ledger,
  notRecoveredReason,
  partlyRecovered,
}: RecoverReport): Result["parts"] => [
  notRecoveredReason !== undefined &&
    `${ledgerName(ledger)}: older bills were not recovered: ${notRecoveredReason}`,
  ...partlyRecovered.map(
    (at) =>
      `${ledgerName(ledger)}: bills of ${isoTime(at)} may be missing: the exchange shows at most ${taxRowsMax} tax records of a millisecond; ` +
      "to leave that time out, set RECOVER_FROM to a later day",
  ),
];

const brokenLine = ({ name, broken: [first, ...others] }: ListReport) =>
  first &&
  `${name}: ${printableLine(first.name)}${others.length === 0 ? " was" : ` and ${formatCount(others.length)} more were`} ` +
    `not stored, since they broke the API's contract: ${printableLine(`${first.fault.path} ${first.fault.reason}`)}`;

/** How many accounts are complete, if there are several and not all are. */
function shareText(accounts: readonly AccountReport[], outcome: Outcome): string {
  if (outcome === "complete" || accounts.length < 2) return "";
  return ` (${accounts.filter(isComplete).length} of ${accounts.length} accounts are complete)`;
}

function ledgerRemarks(report: LedgerReport): Result["parts"] {
  const { ledger, windowsPlanned, windowsRead, lost } = report;
  const unfinished = windowsPlanned - windowsRead;
  const name = ledgerName(ledger);
  return [
    unfinished > 0 &&
      `${name}: ${unfinished} of ${formatCounted(windowsPlanned, "window")} not finished`,
    ...lost.map(
      (time) =>
        `${name}: ${formatDuration(lengthMs([time]))} is lost: it was older than ` +
        `the exchange's 90 days before it was read: ${formatInterval(time)}`,
    ),
  ];
}

const unsettledLine = ({ account, wallet, coin, balance, expected }: UnsettledBalance): string =>
  printableLine(
    `${account}/${wallet}: the exchange holds ${balance} ${coin}, the newest bill says ${expected}; asked again by the next sync`,
  );

// More new breaks are not read at a look: breaks list has all.
const breaksShownMax = 5;

/** What the check at the end found. Nothing is said where nothing is open. */
function breaksParts(checked: AccountsChecked | undefined): Result["parts"] {
  if (checked === undefined || checked.open === 0) return [];
  const { open, opened } = checked;
  const ofThem =
    opened.length === 0 ? "none of them new" : `${formatCount(opened.length)} of them new`;
  return [
    breaksTable("", opened.slice(0, breaksShownMax)),
    `${formatCounted(open, "break")} open, ${ofThem}: bill-sync breaks list shows all`,
  ];
}

const rejectedRemark = ({ rows, ...ledger }: RejectedCount): string =>
  `${ledgerName(ledger)}: ${formatCounted(rows, "row")} broke the API's contract, so that ` +
  `${rows === 1 ? "its bill is" : "their bills are"} not stored; every sync tries again: bill-sync breaks list`;
