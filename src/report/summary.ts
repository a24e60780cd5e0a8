import type { Break } from "../audit/breaks.ts";
import { isApartWallet } from "../contract/product-types.ts";
import { isoTime } from "../contract/time.ts";
import { add, isZero, zero } from "../export/decimal.ts";
import { formatMinute, jsonInterval } from "../output/format.ts";
import { type Columns, type Table, table } from "../output/result.ts";
import { pieces } from "../page/pieces.ts";
import { movements } from "../sql/movements.ts";
import {
  forPrograms,
  inCents,
  isResult,
  isShown,
  type LineRow,
  lineRows,
  money,
  nameOf,
  resultOf,
} from "./figure-tables.ts";
import { plus, type Sum, sumOf } from "./figures.ts";
import type { Change, Confirmation, LedgerMonth, MonthReport } from "./month-report.ts";

// The head of the report: what is incomplete, all coins in a line each, what changed and what was accepted.

/** A part of the report with a title. */
export type Section = {
  readonly title: string;
  /** For programs, beside the tables that have names. */
  readonly data: object;
  /** Sentences, tables, and lines to copy into a shell. */
  readonly parts: readonly (string | Table | { readonly code: readonly string[] })[];
};

/** A ledger's rows beside its name. */
export type Of<Row> = Row & { readonly ledger: LedgerMonth };
export const ledgerColumn = { kind: "text", of: (row: Of<object>) => nameOf(row.ledger) } as const;
export const ofAll = <Row>(
  { ledgers }: MonthReport,
  rowsOf: (ledger: LedgerMonth) => readonly Row[],
): readonly Of<Row>[] =>
  ledgers.flatMap((ledger) => rowsOf(ledger).map((row) => ({ ...row, ledger })));

export function headOf(report: MonthReport): Section {
  const { period, span, zone, generatedAt, versions, incomplete, accepted, signedAt, prices } =
    report;
  const { program, node, postgres, schema } = versions;
  const whole =
    accepted.length === 0
      ? "complete: all of it was read, it adds up, and nothing is open"
      : `complete, with ${accepted.join(" and ")}`;
  const changes = ofAll(report, (ledger) => ledger.changes);
  const acceptedBreaks = ofAll(report, ({ breaks }) =>
    breaks.shown.filter(({ state }) => state === "accepted"),
  );
  const isAllClassified = report.ledgers.every(({ figures }) =>
    figures.every(({ moved }) => isZero(sumOf(moved, pieces.unclassified.columns).amount)),
  );
  const closings = ofAll(report, ({ figures }) => figures.filter(isShown));
  const confirmed = closings.filter(
    ({ coin, ledger }) => closingConfirmation(ledger, coin)?.differs === false,
  );
  return {
    title: `Close of ${period}`,
    data: {
      period,
      zone,
      ...jsonInterval(span),
      asOf: generatedAt,
      currency: prices?.currency ?? null,
      prices: prices === undefined ? null : { file: prices.file, sha256: prices.sha256 },
      versions,
      isComplete: incomplete.length === 0,
      incomplete,
    },
    parts: [
      `${zone}, as of ${generatedAt} (--signed-at with this time lists what changes after it)`,
      `bill-sync ${program}, Node ${node}, Postgres ${postgres}, ${schema}`,
      ...(prices === undefined
        ? []
        : [`${prices.currency} by the prices of ${prices.file}, SHA-256 ${prices.sha256}`]),
      ...(incomplete.length === 0 ? [whole] : ["NOT COMPLETE OR NOT SETTLED:", ...incomplete]),
      `the exchange's own balances confirm ${confirmed.length} of ${closings.length} closings; the others follow from the bills`,
      ...summaryTables(report),
      ...fundTables(report),
      ...(signedAt === undefined
        ? []
        : [
            changes.length === 0
              ? `no bill was stored or restated after ${isoTime(signedAt)}`
              : `CHANGED AFTER ${isoTime(signedAt)}:`,
          ]),
      table("changes", changeColumns, changes),
      ...(isAllClassified ? ["no money is unclassified"] : []),
      acceptedBreaks.length === 0 ? "no difference was accepted" : "accepted differences:",
      table("accepted", acceptedColumns, acceptedBreaks),
    ],
  };
}

/** With prices, for people: what each line of the rollforwards is worth over all ledgers of real money. */
function fundTables(report: MonthReport): readonly Table[] {
  const { allDigits, prices, ledgers } = report;
  const real = ledgers.filter(({ wallet }) => !wallet.isDemo);
  if (prices === undefined || real.length < 2) return [];
  type Row = Pick<LineRow, "title" | "value">;
  const byTitle = Map.groupBy(
    real.flatMap((ledger) => lineRows(ledger, report)),
    ({ line, title }) => (line === "opening" ? line : title),
  );
  const rows = [...byTitle]
    .map(
      ([title, lines]): Row => ({
        title,
        value: lines.reduce<LineRow["value"]>(
          (sum, { value }) => sum && value && add(sum, value),
          zero,
        ),
      }),
    )
    .filter(({ value }) => value === undefined || !isZero(value));
  const columns: Columns<Row> = {
    title: { kind: "text", title: "all ledgers", of: ({ title }) => title },
    value: { kind: "money", title: prices.currency, of: ({ value }) => inCents(value, allDigits) },
  };
  return [table("", columns, rows)];
}

/** A line a ledger and coin, with prices their sum over real money; then a line a coin that several ledgers hold. */
function summaryTables(report: MonthReport): readonly Table[] {
  const { allDigits, prices } = report;
  type Amount = "opening" | "result" | "transfers" | "other" | "closing";
  type Row = Partial<Record<Amount, Sum | null>> & {
    readonly name?: string;
    readonly coin?: string;
    readonly isApart?: boolean;
    readonly isDemo?: boolean;
    readonly isOpeningRead?: boolean;
    readonly confirmation?: Confirmation | undefined;
  };
  const others = movements.flatMap(([name]) =>
    isResult(name) || (pieces.transfers.columns as readonly string[]).includes(name) ? [] : [name],
  );
  const rows = ofAll(report, ({ figures }) => figures.filter(isShown)).map(
    ({ ledger, ...figures }): Row => ({
      ...figures,
      name: nameOf(ledger),
      isApart: isApartWallet(ledger.wallet.productType),
      isDemo: ledger.wallet.isDemo,
      isOpeningRead: ledger.coverage.isStartRead,
      result: resultOf(figures),
      transfers: sumOf(figures.moved, pieces.transfers.columns),
      other: sumOf(figures.moved, others),
      confirmation: closingConfirmation(ledger, figures.coin),
    }),
  );
  const amountOf = (name: Amount) =>
    ({
      kind: "money",
      of: ({ coin, [name]: sum }: Row) =>
        coin === undefined ? undefined : money(sum?.amount, coin, allDigits),
    }) as const;
  const worthOf = (name: Amount) =>
    ({
      kind: "money",
      title: `${name}, ${prices?.currency}`,
      of: (row: Row) => inCents(row[name]?.value, allDigits),
    }) as const;
  const amounts: Columns<Row> = {
    coin: { kind: "text", of: ({ coin }) => coin },
    opening: {
      kind: "money",
      of: (row) => {
        const opening = amountOf("opening").of(row);
        return opening && row.isOpeningRead === false
          ? { ...opening, shown: `${opening.shown} (not read)` }
          : opening;
      },
    },
    isOpeningRead: { kind: "value", of: ({ isOpeningRead }) => isOpeningRead },
    result: amountOf("result"),
    transfers: amountOf("transfers"),
    other: amountOf("other"),
    closing: amountOf("closing"),
  };
  const values: Columns<Row> =
    prices === undefined
      ? {}
      : { resultValue: worthOf("result"), closingValue: worthOf("closing") };
  const columns: Columns<Row> = {
    ledger: { kind: "text", of: ({ name }) => name },
    ...amounts,
    confirmed: {
      kind: "text",
      title: "confirmed by the exchange",
      of: ({ confirmation, coin, isApart }) =>
        coin && (isApart ? "not asked" : confirmedText(confirmation)),
    },
    ...values,
  };
  const real = rows.filter(({ isDemo }) => isDemo === false);
  const total = (of: readonly Row[], name: Amount): Sum | null =>
    of.reduce((sum: Sum | null, { [name]: one }) => (sum && one ? plus(sum, one) : null), {
      amount: zero,
      value: zero,
    });
  const coins = [...Map.groupBy(real, ({ coin }) => coin)].map(
    ([coin = "", of]): Row => ({
      coin,
      opening: total(of, "opening"),
      isOpeningRead: of.every(({ isOpeningRead }) => isOpeningRead),
      result: total(of, "result"),
      transfers: total(of, "transfers"),
      other: total(of, "other"),
      closing: total(of, "closing"),
    }),
  );
  const byCoin = table("coins", { ...amounts, ...values }, coins);
  return [
    table(
      "summary",
      columns,
      rows,
      prices === undefined || real.length === 0
        ? rows
        : [
            ...rows,
            { name: "all", result: total(real, "result"), closing: total(real, "closing") },
          ],
    ),
    coins.length < real.length ? byCoin : forPrograms(byCoin),
  ];
}

const closingConfirmation = (
  { confirmations }: LedgerMonth,
  coin: string,
): Confirmation | undefined =>
  confirmations.find((confirmation) => confirmation.of === "closing" && confirmation.coin === coin);

const confirmedText = (confirmation: Confirmation | undefined): string =>
  confirmation === undefined
    ? "no balance yet"
    : confirmation.differs
      ? `NO: ${confirmation.balance}, not ${confirmation.expected}`
      : formatMinute(confirmation.asOf).slice(0, 10);

const changeColumns: Columns<Of<Change>> = {
  ledger: ledgerColumn,
  kind: { kind: "text", of: ({ kind }) => kind },
  category: { kind: "text", of: ({ category }) => category },
  coin: { kind: "text", of: ({ coin }) => coin },
  bills: { kind: "count", of: ({ bills }) => bills },
  difference: {
    kind: "amount",
    title: "moved more than before",
    of: ({ difference }) => difference,
  },
  since: { kind: "text", of: ({ since }) => since },
  until: { kind: "text", title: "", of: ({ until }) => until },
};

const acceptedColumns: Columns<Of<Break>> = {
  ledger: ledgerColumn,
  number: { kind: "text", of: ({ breakId }) => `#${breakId}` },
  kind: { kind: "text", of: ({ kind }) => kind },
  coin: { kind: "text", of: ({ coin }) => coin || null },
  happened: { kind: "text", of: ({ happenedAt }) => happenedAt },
  difference: { kind: "amount", title: "off by", of: ({ difference }) => difference },
  note: { kind: "text", of: ({ note }) => note },
  by: { kind: "text", of: ({ acceptedBy }) => acceptedBy },
  on: { kind: "text", of: ({ acceptedAt }) => acceptedAt },
};
