import type { Break } from "../audit/breaks.ts";
import { isoTime } from "../contract/time.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import { type DayOf, dayIn } from "../export/time-zone.ts";
import { formatCount, jsonTimeOrNull } from "../output/format.ts";
import { type Columns, type Table, table } from "../output/result.ts";
import { shellWord } from "../printable.ts";
import { type Interval, lengthMs } from "../sync/intervals.ts";
import { costTables } from "./cost-tables.ts";
import { digestCommand } from "./digest.ts";
import {
  confirmedParts,
  contractsTable,
  forPrograms,
  isShown,
  lineColumns,
  lineRows,
  nameOf,
  rollforwardTables,
} from "./figure-tables.ts";
import { liquidationTable } from "./liquidations.ts";
import type {
  LedgerMonth,
  Listed,
  MonthReport,
  Rejected,
  ReportOptions,
  Restatement,
} from "./month-report.ts";
import { headOf, type Section } from "./summary.ts";
import { transferTables } from "./transfers.ts";

// What the report says of each ledger, in the order in which it is read.

function sectionOf(ledger: LedgerMonth, report: MonthReport): Section {
  const { wallet, digest, digestThen, reconciledAt, rejected, restatements, breaks } = ledger;
  const open = { ...breaks, shown: breaks.shown.filter(({ state }) => state === "open") };
  const lists = { rejected: rejected.total, restatements: restatements.total };
  const none = Object.entries({
    "rejected rows": rejected.total,
    restatements: restatements.total,
    "open breaks": breaks.open,
  }).flatMap(([name, total]) => (total === 0 ? [name] : []));
  return {
    title: nameOf(ledger),
    data: {
      account: wallet.account,
      productType: wallet.productType,
      productTypes: wallet.productTypes,
      isDemo: wallet.isDemo,
      counts: { ...lists, openBreaks: breaks.open },
      closedAt: jsonTimeOrNull(wallet.closedAt),
      reconciledAt,
      digest: {
        ...digest,
        export: exportOf(wallet, report),
        command: digestCommand("bills.csv"),
      },
      digestThen: digestThen ?? null,
      isOpeningRead: ledger.coverage.isStartRead,
    },
    parts: [
      ...(wallet.closedAt === undefined
        ? []
        : [
            `closed ${isoTime(wallet.closedAt)}: the account changed its kind then; what was left ` +
              "in this wallet is not carried over to another wallet",
          ]),
      coverageTable(ledger, report.span),
      ...(ledger.figures.some(isShown)
        ? []
        : ["no figures: no bill by the end of the period, or nothing of it was read"]),
      ...rollforwardTables(ledger, report),
      forPrograms(table("rollforward", lineColumns, lineRows(ledger, report))),
      contractsTable(ledger, report),
      ...transferTables(ledger, report),
      liquidationTable(ledger, report),
      ...costTables(ledger, report),
      ...confirmedParts(ledger, report),
      ...listedParts("restatements", "restatements", restatementColumns, restatements),
      ...listedParts("rejected", "rejected rows, not resolved", rejectedColumns, rejected),
      ...listedParts("", "open breaks", breakColumns, { ...open, total: breaks.open }),
      forPrograms(table("breaks", breakColumns, breaks.shown)),
      `${none.length === 0 ? "" : `no ${none.join(", no ")}; `}reconciled ${reconciledAt ?? "never"}`,
      ...(digestThen === undefined || digestThen.sha256 === digest.sha256
        ? []
        : [`then ${formatCount(digestThen.bills)} bills, SHA-256 ${digestThen.sha256}`]),
      `${formatCount(digest.bills)} bills, SHA-256 ${digest.sha256}, which these commands compute, too:`,
      { code: [`${exportOf(wallet, report)} > bills.csv`, digestCommand("bills.csv")] },
    ],
  };
}

type Time = { readonly state: string; readonly time: Interval };

/** The complete part of the period; for people only if it is not all. */
function coverageTable({ coverage }: LedgerMonth, span: Interval): Table {
  const rows = (["complete", "unread", "lost", "recovered", "older"] as const).flatMap((state) =>
    coverage[state].map((time): Time => ({ state: state === "complete" ? "read" : state, time })),
  );
  const all = table("coverage", coverageColumns, rows);
  return lengthMs(coverage.complete) === span.to - span.from ? forPrograms(all) : all;
}

const coverageColumns: Columns<Time> = {
  state: { kind: "text", title: "time", of: ({ state }) => state },
  from: { kind: "time", of: ({ time }) => time.from },
  to: { kind: "time", of: ({ time }) => time.to },
};

function listedParts<Item>(
  name: string,
  title: string,
  columns: Columns<Item>,
  { total, shown }: Listed<Item>,
): readonly (string | Table)[] {
  const more = total > shown.length ? `, the first ${shown.length} of them` : "";
  return [
    ...(total === 0 ? [] : [`${title}: ${formatCount(total)}${more}`]),
    table(name, columns, shown),
  ];
}

const rejectedColumns: Columns<Rejected> = {
  rejectedAt: { kind: "text", title: "rejected", of: ({ rejectedAt }) => rejectedAt },
  billId: { kind: "text", title: "bill", of: ({ billId }) => billId },
  faultPath: { kind: "text", title: "where", of: ({ faultPath }) => faultPath },
  fault: { kind: "text", of: ({ fault }) => fault },
  digest: { kind: "text", of: ({ digest }) => digest },
};

const restatementColumns: Columns<Restatement> = {
  replacedAt: { kind: "text", title: "replaced", of: ({ replacedAt }) => replacedAt },
  billId: { kind: "text", title: "bill", of: ({ billId }) => billId },
  revision: { kind: "count", of: ({ revision }) => revision },
  what: {
    ...{ kind: "text", title: "what changed", isForPeople: true },
    of: ({ changes }) =>
      changes
        .map((change) => `${change.field}: ${change.old ?? "none"} → ${change.new ?? "none"}`)
        .join("; "),
  },
  changes: { kind: "value", of: ({ changes }) => changes },
};

const breakColumns: Columns<Break> = {
  breakId: { kind: "text", title: "number", of: ({ breakId }) => `#${breakId}` },
  state: { kind: "text", of: ({ state }) => state },
  kind: { kind: "text", of: ({ kind }) => kind },
  coin: { kind: "text", of: ({ coin }) => coin || null },
  happenedAt: { kind: "text", title: "happened", of: ({ happenedAt }) => happenedAt },
  difference: { kind: "amount", title: "off by", of: ({ difference }) => difference },
  explanation: { kind: "text", of: ({ explanation }) => explanation },
  note: { kind: "text", title: "", of: ({ note }) => note },
  acceptedBy: { kind: "text", title: "", of: ({ acceptedBy }) => acceptedBy },
  acceptedAt: { kind: "text", title: "", of: ({ acceptedAt }) => acceptedAt },
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
export const sectionsOf = (report: MonthReport): readonly Section[] => [
  headOf(report),
  ...report.ledgers.map((ledger) => sectionOf(ledger, report)),
];
