import { type Break, discrepancyColumns } from "../../check/reconcile/breaks.ts";
import type { RejectedBill } from "../../core/store/rejected-bills.ts";
import { movements } from "../../core/views/movements.ts";
import { type Interval, lengthMs } from "../../core/words/intervals.ts";
import { add, type Decimal, decimalText, isZero } from "../../lib/decimal.ts";
import { shellWord } from "../../lib/printable.ts";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import { pieces } from "../../output/pieces.ts";
import {
  type Columns,
  fields,
  ledgerColumn,
  type Result,
  type Table,
  table,
} from "../../output/result.ts";
import {
  formatCount,
  formatCounted,
  jsonInstant,
  jsonInterval,
  jsonTimeOrNull,
} from "../../output/text.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import { type DayOf, dayIn } from "../export/time-zone.ts";
import {
  type Change,
  type CloseReport,
  type CoinFigures,
  type LedgerClose,
  type ReportOptions,
  type Restatement,
  shownMax,
} from "./close-report.ts";
import { digestCommand } from "./digest.ts";
import {
  balanceChecksTable,
  contractsTable,
  isResult,
  money,
  nameOf,
  resultOf,
  rollforwardTables,
  sumOf,
} from "./figures.ts";
import { flowTables } from "./flows.ts";

// What the report says, in the order in which it is read: the problems, all coins in a line each, what changed and what was
// accepted; then each ledger.

/** A part of the report with a title. Its tables with names are for programs, too. */
export type Section = Pick<Result, "data" | "parts"> & { readonly title: string };

/** A ledger's rows beside its name. */
type Of<Row> = Row & { readonly ledger: LedgerClose };
const walletColumn = ledgerColumn(({ ledger }: Of<object>) => ledger.wallet);
const ofAll = <Row>(
  { ledgers }: CloseReport,
  rowsOf: (ledger: LedgerClose) => readonly Row[],
): readonly Of<Row>[] =>
  ledgers.flatMap((ledger) => rowsOf(ledger).map((row) => ({ ...row, ledger })));

function headOf(report: CloseReport): Section {
  const { period, span, zone, generatedAt, versions, problems, accepted, signedAt } = report;
  const { program, node, postgres, schema } = versions;
  const whole =
    accepted.length === 0
      ? "complete: all of it was read, it adds up, and nothing is open"
      : `complete, with ${accepted.join(" and ")}`;
  const changes = ofAll(report, (ledger) => ledger.changes);
  const acceptances = ofAll<Acceptance>(report, ({ breaks, acceptedRows }) => [
    ...breaks
      .filter(({ state }) => state !== "open")
      .map((entry) => ({ ...entry, number: `#${entry.breakId}` })),
    ...acceptedRows.map((row) => ({ ...row, ...noBreak, number: row.digest.slice(0, 8) })),
  ]);
  const isAllClassified = report.ledgers.every(({ figures }) =>
    figures.every(({ moved }) => isZero(sumOf(moved, pieces.unclassified.columns))),
  );
  const closings = ofAll(report, ({ figures }) => figures);
  const confirmed = closings.filter(
    ({ coin, ledger }) => closingCheck(ledger, coin)?.differs === false,
  );
  return {
    title: `Close of ${period}`,
    data: {
      ...{ period, zone, ...jsonInterval(span), asOf: generatedAt },
      ...{ versions, problems },
    },
    parts: [
      `${zone}${zone === "UTC" ? "" : ", but times with a Z are in UTC"}, as of ${generatedAt} ` +
        "(--signed-at with this time lists what changes after it)",
      `bill-sync ${program}, Node ${node}, Postgres ${postgres}, ${schema}`,
      ...(problems.length === 0 ? [whole] : ["NOT COMPLETE OR NOT RECONCILED:", ...problems]),
      `the exchange's own balances confirm ${confirmed.length} of ${closings.length} closings; the others follow from the bills`,
      ...summaryTables(report),
      signedAt !== undefined &&
        (changes.length === 0
          ? `no bill was stored or restated after ${isoTime(signedAt)}`
          : `CHANGED AFTER ${isoTime(signedAt)}:`),
      table("changes", changeColumns, changes),
      isAllClassified && "no money is unclassified",
      acceptances.length === 0 ? "nothing was accepted" : "accepted:",
      table("accepted", acceptedColumns, acceptances),
      `a SHA-256 of bills is that of their export in bills.csv by: ${digestCommand}`,
    ],
  };
}

type AmountName = "opening" | "result" | "netFlows" | "other" | "closing";
type Sums = ReadonlyMap<AmountName, Decimal | null>;

const others = movements.flatMap(([name]) =>
  isResult(name) || (pieces.netFlows.columns as readonly string[]).includes(name) ? [] : [name],
);

const sumsOf = (figures: CoinFigures): Sums =>
  new Map([
    ["opening", figures.opening],
    ["result", resultOf(figures)],
    ["netFlows", sumOf(figures.moved, pieces.netFlows.columns)],
    ["other", sumOf(figures.moved, others)],
    ["closing", figures.closing],
  ]);

const total = (all: readonly Sums[]): Sums =>
  new Map(
    [...(all[0]?.keys() ?? [])].map((name) => {
      const sums = all.map((one) => one.get(name) ?? null);
      return [name, sums.reduce((left, right) => left && right && add(left, right))];
    }),
  );

/** A line a ledger and coin, then a line a coin that several ledgers of real money hold. */
function summaryTables(report: CloseReport): readonly Table[] {
  const { zone } = report;
  type Row = { readonly sums: Sums; readonly coin: string; readonly isOpeningRead: boolean };
  const amountOf = (name: AmountName) =>
    ({
      kind: "money",
      of: ({ coin, sums, isOpeningRead }: Row) => {
        const shown = money(sums.get(name), coin);
        const isMarked = shown && name === "opening" && !isOpeningRead;
        return isMarked ? { ...shown, shown: `${shown.shown} (not read)` } : shown;
      },
    }) as const;
  const amounts: Columns<Row> = {
    ...fields<Row>("text", ["coin"]),
    opening: amountOf("opening"),
    ...fields<Row>("value", ["isOpeningRead"]),
    result: amountOf("result"),
    netFlows: amountOf("netFlows"),
    otherMoves: { ...amountOf("other"), title: "other" },
    closing: amountOf("closing"),
  };
  const dayOf = dayIn(zone);
  const columns: Columns<Of<Row>> = {
    ...walletColumn,
    ...amounts,
    closingCheck: {
      ...{ kind: "text", title: "confirmed by the exchange" },
      of: ({ ledger, coin }) => closingCheckText(ledger, coin, dayOf),
    },
  };
  const rows = ofAll(report, ({ figures }) => figures).map(({ ledger, ...figures }) => ({
    ...{ ledger, coin: figures.coin, sums: sumsOf(figures) },
    isOpeningRead: ledger.coverage.isStartRead,
  }));
  const coins = [...Map.groupBy(rows, ({ coin }) => coin)].map(([coin, of]): Row => {
    const sums = total(of.map((row) => row.sums));
    return { coin, sums, isOpeningRead: of.every((row) => row.isOpeningRead) };
  });
  return [
    table("summary", columns, rows),
    table("coins", amounts, coins, coins.length < rows.length ? coins : []),
  ];
}

const closingCheck = ({ balanceChecks }: LedgerClose, coin: string) =>
  balanceChecks.find((check) => check.coin === coin);

function closingCheckText(
  ledger: LedgerClose,
  coin: string,
  dayOf: (time: EpochMs) => string,
): string {
  const check = closingCheck(ledger, coin);
  // One answer has all coins of a wallet that the exchange names.
  const isAnswered = ledger.balanceChecks.length > 0;
  if (check === undefined) return isAnswered ? "not named" : "no balance yet";
  const { differs, balance, expected, asOf } = check;
  return differs ? `NO: ${balance}, not ${expected}` : dayOf(asOf);
}

const changeColumns: Columns<Of<Change>> = {
  ...walletColumn,
  ...fields<Change>("text", ["kind", "category", "coin"]),
  ...fields<Change>("count", ["bills"]),
  difference: {
    ...{ kind: "amount", title: "moved more than before" },
    of: ({ difference }) => decimalText(difference),
  },
  ...fields<Change>("instant", ["since"]),
  ...fields<Change>("instant", ["until"], ""),
};

/** A break, or a rejected row, which is of no coin and has no size. */
type Acceptance = Readonly<Record<"number" | "kind" | "state", string>> &
  Pick<Break, "coin" | "happenedAt" | "difference" | "unit" | "note" | "acceptedBy" | "acceptedAt">;
const noBreak = {
  ...{ kind: "rejected row", state: "accepted" },
  ...{ coin: "", happenedAt: null, difference: null, unit: null },
};

const acceptedColumns: Columns<Of<Acceptance>> = {
  ...walletColumn,
  // A restatement is resolved by the next check, and an accepted break once its bill has come.
  ...fields<Acceptance>("text", ["number", "kind", "state"]),
  ...discrepancyColumns,
  ...fields<Acceptance>("text", ["note"]),
  acceptedBy: { kind: "text", title: "by", of: ({ acceptedBy }) => acceptedBy },
  acceptedAt: { kind: "instant", title: "on", of: ({ acceptedAt }) => acceptedAt },
};

function sectionOf(ledger: LedgerClose, report: CloseReport): Section {
  const { wallet, digest, digestThen, reconciledAt, rejected, restatements, breaks } = ledger;
  const { account, productType, productTypes } = wallet;
  const open = breaks.filter(({ state }) => state === "open");
  const then = digestThen?.sha256 === digest.sha256 ? undefined : digestThen;
  return {
    title: nameOf(ledger),
    data: {
      ...{ account, productType, productTypes },
      counts: {
        ...{ rejected: rejected.total, restatements: restatements.total, openBreaks: open.length },
      },
      endedAt: jsonTimeOrNull(wallet.endedAt),
      reconciledAt: reconciledAt && jsonInstant(reconciledAt),
      digest: { ...digest, export: exportOf(wallet, report), command: digestCommand },
      digestThen: digestThen ?? null,
      isOpeningRead: ledger.coverage.isStartRead,
    },
    parts: [
      wallet.endedAt !== undefined &&
        `ended ${isoTime(wallet.endedAt)}: the account changed its mode then; what was left ` +
          "in this wallet is not carried over to another wallet",
      coverageTable(ledger, report.span),
      ledger.figures.length === 0 &&
        "no figures: no bill by the end of the period, or nothing of it was read",
      ...rollforwardTables(ledger),
      contractsTable(ledger),
      ...flowTables(ledger),
      balanceChecksTable(ledger),
      table("restatements", restatementColumns, restatements.shown),
      table("rejected", rejectedColumns, rejected.shown),
      table("breaks", breakColumns, breaks, open.slice(0, shownMax)),
      [
        listedText("restatement", restatements.total, "restatements"),
        listedText("rejected row", rejected.total, "rejected"),
        listedText("open break", open.length, "breaks"),
        `reconciled ${reconciledAt ?? "never"}`,
      ].join("; "),
      then && `then ${formatCount(then.bills)} bills, SHA-256 ${then.sha256}`,
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

/** @param name the table of CSV that has all. */
const listedText = (noun: string, total: number, name: string): string =>
  formatCounted(total, noun) +
  (total > shownMax
    ? `, of which ${shownMax} are shown: --format csv --table ${name} has all`
    : "");

const rejectedColumns: Columns<RejectedBill> = {
  rejectedAt: { kind: "instant", title: "rejected", of: ({ rejectedAt }) => rejectedAt },
  billId: { kind: "text", title: "bill", of: ({ billId }) => billId },
  path: { kind: "text", title: "where", of: ({ path }) => path },
  ...fields<RejectedBill>("text", ["reason", "digest"]),
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
