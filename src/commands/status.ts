import { Option } from "commander";
import type { Config } from "../accounts/config.ts";
import {
  listed,
  type RosterLedger,
  readRoster,
  type Selection,
  selectionOf,
} from "../accounts/roster.ts";
import { readAccepted } from "../check/health/accepted.ts";
import { type ComparedBalance, readComparedBalances } from "../check/health/balances.ts";
import {
  alarms,
  type Finding,
  remedyOf,
  sentenceOf,
  severityOf,
} from "../check/health/finding-kinds.ts";
import { countFindings, type FindingCount, readFindings } from "../check/health/findings.ts";
import {
  type AccountStatus,
  type LedgerStatus,
  readStatus,
  type Status,
} from "../check/health/ledger-status.ts";
import {
  type ListStatus,
  type LoanToValueStatus,
  readLists,
  readLoans,
  readTotals,
  type Totals,
  worstLedgers,
} from "../check/health/ledgers.ts";
import type { LoggedRun } from "../check/health/runs.ts";
import {
  type HeadLine,
  headLines,
  neverSynced,
  type Verdict,
  verdictOf,
} from "../check/health/verdict.ts";
import { type Database, inSnapshot, type Transaction } from "../core/postgres/connect.ts";
import { readExchangeTime } from "../core/store/known-time.ts";
import { type EpochMs, epochMs } from "../lib/time.ts";
import { notAvailableLines } from "../output/account-remarks.ts";
import {
  type Columns,
  fields,
  ledgerColumns,
  type Result,
  record,
  type Table,
  table,
} from "../output/result.ts";
import { formatCount, formatCounted, jsonTime, ledgerName, riskUnitName } from "../output/text.ts";
import type { Io, QueueStatus, Wings } from "./io.ts";
import { type Define, type LedgerFlags, reporting } from "./options.ts";
import { nothingStored, openStored } from "./stored.ts";

/** Nobody reads more ledgers than this: totals and the worst say more. */
const shownMax = 100;
/** No program reads more at once. */
const listedMax = 10_000;
/** So many findings are put into lines for people: those of some hundred ledgers. */
const findingsMax = 1_000;

type StatusFlags = LedgerFlags & {
  readonly format?: "prometheus";
  readonly check?: boolean;
};

type StatusOptions = Pick<StatusFlags, "check"> & {
  readonly selection: Selection;
  /** Whether all that a program may want is read. */
  readonly isJson?: boolean | undefined;
  /** More ledgers than this are added up, and the worst of them listed. */
  readonly ledgersMax?: number;
  readonly wings: Pick<Wings, "queue">;
};

/** `status`: what is found, through when each ledger is read, and what is unread or lost. */
export async function statusCommand(config: Config, io: Io, words: StatusFlags): Promise<Result> {
  const options = { ...words, isJson: io.isJson, wings: io.wings, selection: selectionOf(words) };
  await using stored = await openStored(config, io);
  return await status(stored.db, config, options);
}

/** @param db undefined before the first sync. */
export async function status(
  db: Database | undefined,
  config: Config,
  options: StatusOptions,
): Promise<Result> {
  const { selection, check: isCheck } = options;
  const { data, parts, findings, accepted, now } =
    db === undefined
      ? await readNothing(config, selection)
      : await inSnapshot(db, (tx) => readWhole(tx, config, options));
  return {
    data,
    parts: [...verdictParts(findings, verdictOf(findings, accepted), now), ...parts],
    exit: isCheck && findings.some(alarms) ? 1 : 0,
  };
}

/** Before the first sync. Unknown names are refused all the same. */
async function readNothing(config: Config, selection: Selection) {
  await readRoster(undefined, config, selection);
  return {
    ...{ now: epochMs(0), findings: [neverSynced], accepted: undefined, data: { asOf: null } },
    parts: [...storedParts({}), nothingStored(config)],
  };
}

/** The status of what is stored. */
async function readWhole(
  db: Transaction,
  config: Config,
  { isJson, selection, ledgersMax, wings }: StatusOptions,
) {
  const roster = await readRoster(db, config, selection);
  const now = await readExchangeTime(db, selection.accounts);
  const scope = { ...selection, roster: roster.ledgers, now, limits: config.healthLimits };
  const findings = await readFindings(db, scope, { limit: isJson ? listedMax : findingsMax });
  const limit = ledgersMax ?? (isJson || selection.accounts !== undefined ? listedMax : shownMax);
  const totals = await readTotals(db, selection);
  const all = listed(roster);
  const isCut = Math.max(totals.ledgers, all.length) > limit;
  const ledgers = isCut ? await worstLedgers(db, { ...selection, limit }) : all;
  const stored = await readStatus(db, ledgers, now);
  const isShown = ({ account }: { readonly account: string }) =>
    !isCut || ledgers.some((ledger) => ledger.account === account);
  const queue = await wings.queue?.();
  const loans = await readLoans(db, selection.accounts);
  return {
    ...{ now, findings, accepted: await readAccepted(db, selection) },
    data: { asOf: jsonTime(now) },
    parts: [
      ...(isCut ? totalsParts(totals, await countFindings(db, scope)) : []),
      isCut &&
        totals.ledgers > 0 &&
        `the worst ${formatCount(ledgers.length)} of ${formatCounted(totals.ledgers, "ledger")}:`,
      ...storedParts({
        ...stored,
        roster: new Map(all.map((ledger) => [ledgerName(ledger), ledger])),
        lists: await readLists(db),
        loans: loans.filter(isShown),
        balances: (await readComparedBalances(db, selection.accounts)).filter(isShown),
        queue: await queue?.readQueue(db),
      }),
    ],
  };
}

type Parts = Result["parts"];

const findingColumns = (now: EpochMs): Columns<Finding> => ({
  ...fields<Finding>("value", ["kind", "account", "ledger", "coin", "detail", "difference"]),
  severity: { kind: "value", of: severityOf },
  ...fields<Finding>("time", ["since", "until"], ""),
  ...fields<Finding>("value", ["count", "unreadMs", "breakIds"]),
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
const verdictParts = (findings: readonly Finding[], verdict: Verdict, now: EpochMs): Parts => [
  verdict.title,
  record("verdict", verdictColumns, verdict),
  table("", headColumns, headLines(findings, now)),
  table("findings", findingColumns(now), findings),
  findings.length >= findingsMax && "there are more findings: --json has 10,000",
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
    ...fields<LedgerStatus>("time", ["retiredAt", "endedAt", "expiresAt"], ""),
    ...fields<LedgerStatus>("count", ["bills"]),
    ...fields<LedgerStatus>("value", ["openRejected"]),
    ...fields<LedgerStatus>("time", ["readThrough"]),
    readThroughMs: { kind: "value", of: ({ readThrough }) => readThrough },
    ...fields<LedgerStatus>("spans", ["coverage"], ""),
    unfinished: { kind: "spans", title: "", of: ({ unfinished }) => unfinished },
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
  ...fields<Totals>("count", ["active", "ended", "retired"]),
  ...fields<Totals>("time", ["readThrough"]),
};

const countColumns: Columns<FindingCount> = {
  ...fields<FindingCount>("text", ["kind"]),
  ...fields<FindingCount>("count", ["findings", "ledgers"]),
};

/** What more ledgers than a person reads come to. */
const totalsParts = (totals: Totals, counts: readonly FindingCount[]): Parts => [
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
const storedParts = ({
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
  lastRun === undefined && "no run yet",
];

const help = `
Findings come first, worst first, most with a command that helps. Then, for
each ledger: read through (the first time that is neither read, lost nor
recovered), unread (the next sync reads it), lost (the exchange deleted it
before it was read, and nobody accepted it), and expires in: how long until the
exchange deletes unread bills. A first sync may begin two hours late: its
history then begins later. Of more than a hundred ledgers the worst are shown.

serve has the metrics at /metrics, too.`;

export const define: Define = (command, { io, config, runs }) => {
  const { metrics } = io.wings;
  reporting(command)
    .option("--check", "exit with 1 if a finding is critical or a warning", false)
    .addHelpText("after", help)
    .action(
      runs(async ({ format, ...words }: StatusFlags) =>
        metrics && format === "prometheus"
          ? (await metrics()).metricsCommand(config(), io)
          : statusCommand(config({ accounts: words.account }), io, words),
      ),
    );
  if (metrics === undefined) return;
  command.addOption(
    new Option("--format <format>", "print metrics of all accounts instead: prometheus")
      .choices(["prometheus"])
      .conflicts(["json", "account", "product", "check"]),
  );
};
