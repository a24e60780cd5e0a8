import { discrepancyColumns } from "../../check/health/discrepancy.ts";
import type { Break } from "../../check/reconcile/breaks.ts";
import { type Interval, lengthMs } from "../../core/words/intervals.ts";
import { shellWord } from "../../lib/printable.ts";
import { isoTime } from "../../lib/time.ts";
import {
  formatCount,
  formatCounted,
  jsonInstant,
  jsonTimeOrNull,
} from "../../output/output-format.ts";
import { type Columns, fields, type Table, table } from "../../output/result.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import { type DayOf, dayIn } from "../export/time-zone.ts";
import {
  type CloseReport,
  type LedgerClose,
  type Listed,
  type Rejected,
  type ReportOptions,
  type Restatement,
  shownMax,
} from "./close-report.ts";
import { digestCommand } from "./digest.ts";
import { balanceCheckParts, contractsTable, nameOf, rollforwardTables } from "./figure-tables.ts";
import { flowTables } from "./flows.ts";
import { liquidationTable } from "./liquidations.ts";
import { headOf, type Section } from "./summary.ts";

// What the report says of each ledger, in the order in which it is read.

function sectionOf(ledger: LedgerClose, report: CloseReport): Section {
  const { wallet, digest, digestThen, reconciledAt, rejected, restatements, breaks } = ledger;
  const { account, productType, productTypes, isDemo } = wallet;
  const open = breaks.filter(({ state }) => state === "open");
  const openShown = open.slice(0, shownMax);
  const command = digestCommand("bills.csv");
  const then = digestThen?.sha256 === digest.sha256 ? undefined : digestThen;
  return {
    title: nameOf(ledger),
    data: {
      ...{ account, productType, productTypes, isDemo },
      counts: {
        ...{ rejected: rejected.total, restatements: restatements.total, openBreaks: open.length },
      },
      endedAt: jsonTimeOrNull(wallet.endedAt),
      reconciledAt: reconciledAt && jsonInstant(reconciledAt),
      digest: { ...digest, export: exportOf(wallet, report), command },
      digestThen: digestThen ?? null,
      isOpeningRead: ledger.coverage.isStartRead,
    },
    parts: [
      ...(wallet.endedAt === undefined
        ? []
        : [
            `ended ${isoTime(wallet.endedAt)}: the account changed its mode then; what was left ` +
              "in this wallet is not carried over to another wallet",
          ]),
      coverageTable(ledger, report.span),
      ...(ledger.figures.length > 0
        ? []
        : ["no figures: no bill by the end of the period, or nothing of it was read"]),
      ...rollforwardTables(ledger, report),
      contractsTable(ledger, report),
      ...flowTables(ledger, report),
      liquidationTable(ledger, report),
      ...balanceCheckParts(ledger, report),
      table("restatements", restatementColumns, restatements.shown),
      table("rejected", rejectedColumns, rejected.shown),
      table("breaks", breakColumns, breaks.slice(0, shownMax), openShown),
      [
        listedText("restatement", restatements),
        listedText("rejected row", rejected),
        listedText("open break", { total: open.length, shown: openShown }),
        `reconciled ${reconciledAt ?? "never"}`,
      ].join("; "),
      ...(then ? [`then ${formatCount(then.bills)} bills, SHA-256 ${then.sha256}`] : []),
      `${formatCount(digest.bills)} bills, SHA-256 ${digest.sha256}, of ${exportOf(wallet, report)}`,
    ],
  };
}

type Time = Interval & { readonly state: string };

/** The time of the period by what became of it; for people only if not all is complete. */
function coverageTable({ coverage }: LedgerClose, span: Interval): Table {
  const rows = (["complete", "unread", "lost", "recovered", "older"] as const).flatMap((state) =>
    coverage[state].map((time): Time => ({ state, ...time })),
  );
  const columns: Columns<Time> = {
    state: { kind: "text", title: "time", of: ({ state }) => state },
    ...fields<Time>("time", ["from", "to"]),
  };
  const isWhole = lengthMs(coverage.complete) === span.to - span.from;
  return table("coverage", columns, rows, isWhole ? [] : rows);
}

const listedText = (noun: string, { total, shown }: Listed<object>): string =>
  formatCounted(total, noun) + (total > shown.length ? `, of which ${shown.length} are shown` : "");

const rejectedColumns: Columns<Rejected> = {
  rejectedAt: { kind: "instant", title: "rejected", of: ({ rejectedAt }) => rejectedAt },
  billId: { kind: "text", title: "bill", of: ({ billId }) => billId },
  path: { kind: "text", title: "where", of: ({ path }) => path },
  ...fields<Rejected>("text", ["reason", "digest"]),
};

const restatementColumns: Columns<Restatement> = {
  replacedAt: { kind: "instant", title: "replaced", of: ({ replacedAt }) => replacedAt },
  billId: { kind: "text", title: "bill", of: ({ billId }) => billId },
  ...fields<Restatement>("count", ["revision"]),
  what: {
    ...{ kind: "text", title: "what changed", isForPeople: true },
    of: ({ changes }) =>
      changes
        .map((change) => `${change.field}: ${change.old ?? "none"} → ${change.new ?? "none"}`)
        .join("; "),
  },
  ...fields<Restatement>("value", ["changes"]),
};

const breakColumns: Columns<Break> = {
  breakId: { kind: "text", title: "number", of: ({ breakId }) => `#${breakId}` },
  ...fields<Break>("text", ["state", "kind"]),
  ...discrepancyColumns,
  ...fields<Break>("text", ["explanation"]),
  ...fields<Break>("text", ["note", "acceptedBy"], ""),
  ...fields<Break>("instant", ["acceptedAt"], ""),
};

const periodOptions = (period: string, { from, to }: Interval, dayOf: DayOf): string =>
  ({ 4: `--year ${period}`, 7: `--month ${period}` })[period.length] ??
  `--from ${dayOf(from)} --to ${dayOf(to)}`;

/** The command that exports the bills of the digest, for a POSIX shell. */
const exportOf = (
  { account, productTypes }: ReportedWallet,
  { period, span, zone }: ReportOptions,
): string =>
  [
    `npm run --silent export -- --format csv --account ${shellWord(account)}`,
    ...productTypes.map((productType) => `--product ${shellWord(productType)}`),
    periodOptions(period, span, dayIn(zone)),
    ...(zone === "UTC" ? [] : [`--time-zone ${zone}`]),
  ].join(" ");

/** The head, and each ledger. */
export const sectionsOf = (report: CloseReport): readonly Section[] => [
  headOf(report),
  ...report.ledgers.map((ledger) => sectionOf(ledger, report)),
];
