import { discrepancyColumns } from "../../check/health/discrepancy.ts";
import type { Break } from "../../check/reconcile/breaks.ts";
import { isSpotOrFunding } from "../../core/contract/product-types.ts";
import { movements } from "../../core/views/movements.ts";
import { add, type Decimal, decimalText, isZero } from "../../lib/decimal.ts";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import { jsonInterval } from "../../output/output-format.ts";
import { pieces } from "../../output/pieces.ts";
import { type Columns, fields, type Result, type Table, table } from "../../output/result.ts";
import { dayIn } from "../export/time-zone.ts";
import type { BalanceCheck, Change, CloseReport, LedgerClose } from "./close-report.ts";
import { digestCommand } from "./digest.ts";
import { isResult, money, nameOf, resultOf } from "./figure-tables.ts";
import { type CoinFigures, sumOf } from "./figures.ts";

// The head of the report: the problems, all coins in a line each, what changed and what was accepted.

/** A part of the report with a title. Its tables with names are for programs, too. */
export type Section = Pick<Result, "data" | "parts"> & { readonly title: string };

/** A ledger's rows beside its name. */
type Of<Row> = Row & { readonly ledger: LedgerClose };
const ofWallet = (key: "account" | "productType" | "isDemo") =>
  ({ kind: "value", of: ({ ledger }: Of<object>) => ledger.wallet[key] }) as const;
/** Its name for people, its parts for programs. */
const ledgerColumns = {
  account: ofWallet("account"),
  productType: ofWallet("productType"),
  isDemo: ofWallet("isDemo"),
  ledger: {
    kind: "text",
    isForPeople: true,
    of: ({ ledger }: Of<object>) => nameOf(ledger),
  },
} as const;
const ofAll = <Row>(
  { ledgers }: CloseReport,
  rowsOf: (ledger: LedgerClose) => readonly Row[],
): readonly Of<Row>[] =>
  ledgers.flatMap((ledger) => rowsOf(ledger).map((row) => ({ ...row, ledger })));

export function headOf(report: CloseReport): Section {
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
  const closings = ofAll(report, ({ wallet, figures }) =>
    isSpotOrFunding(wallet.productType) ? [] : figures,
  );
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
      ...(signedAt === undefined
        ? []
        : [
            changes.length === 0
              ? `no bill was stored or restated after ${isoTime(signedAt)}`
              : `CHANGED AFTER ${isoTime(signedAt)}:`,
          ]),
      table("changes", changeColumns, changes),
      ...(isAllClassified ? ["no money is unclassified"] : []),
      acceptances.length === 0 ? "nothing was accepted" : "accepted:",
      table("accepted", acceptedColumns, acceptances),
      `a SHA-256 of bills is that of their export in bills.csv by: ${digestCommand("bills.csv")}`,
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
  const { allDigits, zone } = report;
  type Row = { readonly sums: Sums; readonly coin: string; readonly isOpeningRead: boolean };
  const amountOf = (name: AmountName) =>
    ({
      kind: "money",
      of: ({ coin, sums, isOpeningRead }: Row) => {
        const shown = money(sums.get(name), coin, allDigits);
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
    ...ledgerColumns,
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
  const real = rows.filter(({ ledger }) => !ledger.wallet.isDemo);
  const coins = [...Map.groupBy(real, ({ coin }) => coin)].map(([coin, of]): Row => {
    const sums = total(of.map((row) => row.sums));
    return { coin, sums, isOpeningRead: of.every((row) => row.isOpeningRead) };
  });
  return [
    table("summary", columns, rows),
    table("coins", amounts, coins, coins.length < real.length ? coins : []),
  ];
}

const closingCheck = ({ balanceChecks }: LedgerClose, coin: string): BalanceCheck | undefined =>
  balanceChecks.find((check) => check.of === "closing" && check.coin === coin);

function closingCheckText(
  ledger: LedgerClose,
  coin: string,
  dayOf: (time: EpochMs) => string,
): string {
  if (isSpotOrFunding(ledger.wallet.productType)) return "not asked";
  const check = closingCheck(ledger, coin);
  // One answer has all coins of a wallet that the exchange names.
  const isAnswered = ledger.balanceChecks.some((one) => one.of === "closing");
  if (check === undefined) return isAnswered ? "not named" : "no balance yet";
  const { differs, balance, expected, asOf } = check;
  return differs ? `NO: ${balance}, not ${expected}` : dayOf(asOf);
}

const changeColumns: Columns<Of<Change>> = {
  ...ledgerColumns,
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
  Pick<Break, "coin" | "happenedAt" | "difference" | "note" | "acceptedBy" | "acceptedAt">;
const noBreak = {
  ...{ kind: "rejected row", state: "accepted" },
  ...{ coin: "", happenedAt: null, difference: null },
};

const acceptedColumns: Columns<Of<Acceptance>> = {
  ...ledgerColumns,
  // A restatement is resolved by the next check, and an accepted break once its bill has come.
  ...fields<Acceptance>("text", ["number", "kind", "state"]),
  ...discrepancyColumns,
  ...fields<Acceptance>("text", ["note"]),
  acceptedBy: { kind: "text", title: "by", of: ({ acceptedBy }) => acceptedBy },
  acceptedAt: { kind: "instant", title: "on", of: ({ acceptedAt }) => acceptedAt },
};
