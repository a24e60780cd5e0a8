import { add, type Decimal, decimalText, isZero, negate, zero } from "../export/decimal.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import { formatCount, formatMinute, ledgerName } from "../output/format.ts";
import { type Columns, type Table, table } from "../output/result.ts";
import { digitsOf } from "../page/format.ts";
import { type PieceName, pieces } from "../page/pieces.ts";
import { movements } from "../sql/movements.ts";
import { type CoinFigures, plus, type Sum, sumOf } from "./figures.ts";
import type { Confirmation, LedgerMonth, MonthReport, ReportOptions } from "./month-report.ts";

// The tables of the report that have figures. Each column is declared once, for people and for programs.

type Money = { readonly exact: string; readonly shown: string };

/** Digits for people, with a hyphen as minus, which a spreadsheet reads. */
export const money = (
  decimal: Decimal | undefined,
  coin: string,
  isExact = false,
): Money | undefined =>
  decimal && {
    exact: decimalText(decimal),
    shown: isZero(decimal)
      ? "0"
      : digitsOf(decimalText(decimal), { coin, isExact }).replace("−", "-"),
  };

// A currency has cents, as dollars have.
export const inCents = (decimal: Decimal | undefined, isExact = false) =>
  money(decimal, "USD", isExact);

export const forPrograms = (rows: Table): Table => ({ ...rows, cells: [] });

export const nameOf = ({ wallet }: LedgerMonth): string =>
  `${ledgerName(wallet)}${wallet.isDemo ? " (demo coins)" : ""}`;
/** The lines of the statement: opening, what moved it, and closing, each with what it was worth. */
type Line = {
  readonly line: string;
  readonly title: string;
  readonly amount: Decimal | undefined;
  readonly value: Decimal | undefined;
};

export const isResult = (name: string): boolean =>
  (pieces.result.columns as readonly string[]).includes(name);

export const resultOf = ({ moved }: Pick<CoinFigures, "moved">): Sum =>
  sumOf(moved, pieces.result.columns);

/** What an opening is called: where the period's start was not read, it is a guess by what was read. */
export const openingTitle = ({ coverage }: LedgerMonth): string =>
  coverage.isStartRead ? "opening" : "opening (not read)";

function linesOf(figures: CoinFigures, ledger: LedgerMonth): readonly Line[] {
  const { opening, moved, closing } = figures;
  const line = (name: string, title: string, sum: Sum | null): Line => ({
    ...{ line: name, title },
    ...{ amount: sum?.amount, value: sum?.value },
  });
  const moves = movements.map(([name, title]) => ({
    name,
    shown: line(name, title, sumOf(moved, [name])),
  }));
  const computed = opening && plus(opening, [...moved.values()].reduce(plus));
  const change =
    computed?.value &&
    closing?.value &&
    plus(
      { ...closing, amount: zero },
      {
        amount: zero,
        value: negate(computed.value),
      },
    ).value;
  return [
    line("opening", openingTitle(ledger), opening),
    ...moves.filter(({ name }) => isResult(name)).map(({ shown }) => shown),
    line("result", "net result", resultOf(figures)),
    ...moves.filter(({ name }) => !isResult(name)).map(({ shown }) => shown),
    { line: "price_change", title: "change of prices", amount: undefined, value: change },
    line("closing", "closing", closing),
  ];
}

export const isShown = ({ bills, opening, closing }: CoinFigures): boolean =>
  bills > 0 || ![opening, closing].every((sum) => sum !== null && isZero(sum.amount));

export type LineRow = Line & {
  readonly coin: string;
  readonly wallet: ReportedWallet;
  readonly currency: string | undefined;
};

export const lineRows = (ledger: LedgerMonth, { prices }: MonthReport): readonly LineRow[] =>
  ledger.figures.filter(isShown).flatMap((figures) =>
    linesOf(figures, ledger)
      .filter(({ line }) => line !== "price_change" || prices !== undefined)
      .map((line) => ({
        ...line,
        ...{ coin: figures.coin, wallet: ledger.wallet, currency: prices?.currency },
      })),
  );

/** A line a row: of the CSV, and of JSON. */
export const lineColumns: Columns<LineRow> = {
  account: { kind: "text", of: ({ wallet }) => wallet.account },
  productType: { kind: "text", of: ({ wallet }) => wallet.productType },
  isDemo: { kind: "value", of: ({ wallet }) => wallet.isDemo },
  coin: { kind: "text", of: ({ coin }) => coin },
  line: { kind: "text", of: ({ line }) => line },
  title: { kind: "text", of: ({ title }) => title },
  amount: { kind: "amount", of: ({ amount }) => amount && decimalText(amount) },
  currency: { kind: "text", of: ({ currency }) => currency },
  value: { kind: "amount", of: ({ value }) => value && decimalText(value) },
};

// An A4 page has room for so many columns of figures.
const coinsMax = 7;

/**
 * For people: a column a coin, and with prices one of what all are worth; a row a line. Lines that are zero everywhere are
 * left out.
 */
export function rollforwardTables(
  ledger: LedgerMonth,
  { allDigits, prices }: ReportOptions,
): readonly Table[] {
  const all = ledger.figures
    .filter(isShown)
    .map((figures) => ({ coin: figures.coin, lines: linesOf(figures, ledger) }));
  const rows = (all[0]?.lines ?? []).map(({ line, title }, place) => {
    const cells = all.map(({ lines }) => lines[place]);
    const values = cells.map((one) => one?.value);
    return {
      ...{ line, title, cells },
      value: values.reduce((sum, value) => sum && value && add(sum, value), zero),
    };
  });
  type Row = (typeof rows)[number];
  const hasFigures = ({ line, cells }: Row) =>
    ["opening", "result", "closing"].includes(line) ||
    cells.some((one) => [one?.amount, one?.value].some((sum) => sum && !isZero(sum)));
  return Array.from({ length: Math.ceil(all.length / coinsMax) }, (_, chunk) => {
    const first = chunk * coinsMax;
    const shown = all.slice(first, first + coinsMax);
    const isLast = first + coinsMax >= all.length;
    const columns: Columns<Row> = {
      line: { kind: "text", title: "rollforward", of: ({ title }) => title },
      ...Object.fromEntries(
        shown.map(({ coin }, place) => [
          `coin ${coin}`,
          {
            ...{ kind: "money" as const, title: coin },
            of: ({ cells }: Row) => money(cells[first + place]?.amount, coin, allDigits),
          },
        ]),
      ),
      ...(prices !== undefined && isLast
        ? {
            value: {
              ...{ kind: "money" as const, title: `all in ${prices.currency}` },
              of: ({ value }: Row) => inCents(value, allDigits),
            },
          }
        : {}),
    };
    return table("", columns, rows.filter(hasFigures));
  });
}

type ConfirmedRow = Confirmation & { readonly byBills: Decimal | undefined };

const confirmedRows = ({ confirmations, figures }: LedgerMonth): readonly ConfirmedRow[] =>
  confirmations.flatMap((confirmation) => {
    const coin = figures.find((one) => one.coin === confirmation.coin);
    return coin === undefined || !isShown(coin)
      ? []
      : [{ ...confirmation, byBills: coin[confirmation.of]?.amount }];
  });

const confirmedColumns = ({ allDigits }: ReportOptions): Columns<ConfirmedRow> => ({
  balance: { kind: "text", title: "exchange's own balance", of: (confirmation) => confirmation.of },
  coin: { kind: "text", of: ({ coin }) => coin },
  byBills: {
    kind: "money",
    title: "by the bills",
    of: (row) => money(row.byBills, row.coin, allDigits),
  },
  readAt: { kind: "time", title: "read", of: ({ asOf }) => asOf },
  exchange: { kind: "amount", title: "exchange said then", of: ({ balance }) => balance },
  expected: { kind: "amount", title: "bills said then", of: ({ expected }) => expected },
  differs: { kind: "value", title: "", of: ({ differs }) => differs },
});

/** Balances that the exchange confirms in a sentence, the others in a table; for programs, all. */
export function confirmedParts(
  ledger: LedgerMonth,
  options: ReportOptions,
): readonly (string | Table)[] {
  const rows = confirmedRows(ledger);
  const confirmed = rows.filter(({ differs }) => !differs);
  const columns = confirmedColumns(options);
  return [
    ...[...Map.groupBy(confirmed, (row) => `${row.of}, read ${formatMinute(row.asOf)}`)].map(
      ([what, group]) =>
        `the exchange confirms the ${what}: ${group.map(({ coin }) => coin).join(", ")}`,
    ),
    table(
      "",
      columns,
      rows.filter(({ differs }) => differs),
    ),
    forPrograms(table("confirmed", columns, rows)),
  ];
}

// A page has room for so many; --all-rows and JSON have all.
const rowsMax = 10;

type Contract = Pick<CoinFigures, "bills" | "moved"> & {
  readonly symbol: string;
  readonly coin: string;
};

/** Each contract's result, the largest first. */
export function contractsTable({ figures }: LedgerMonth, options: ReportOptions): Table {
  const { allDigits } = options;
  const rows = figures.flatMap(({ coin, contracts }) =>
    [...contracts].map(([symbol, tally]): Contract => ({ symbol, coin, ...tally })),
  );
  const sizeOf = (row: Contract) => {
    const { value, amount } = resultOf(row);
    return Math.abs(Number(decimalText(value ?? amount)));
  };
  // Without any contract, as in the spot wallet, it would say what the rollforward says.
  const isOfContracts = rows.some(({ symbol }) => symbol !== "");
  const sorted = rows
    .filter((row) => isOfContracts && !isZero(resultOf(row).amount))
    .toSorted((a, b) => sizeOf(b) - sizeOf(a) || (a.symbol < b.symbol ? -1 : 1));
  const part = (title: string, ...names: readonly PieceName[]) =>
    ({
      kind: "money",
      title,
      of: (row: Contract) => {
        const summed = names.flatMap((name) => [...pieces[name].columns]);
        return money(sumOf(row.moved, summed).amount, row.coin, allDigits);
      },
    }) as const;
  const columns: Columns<Contract> = {
    contract: { kind: "text", of: ({ symbol }) => symbol || "no contract" },
    coin: { kind: "text", of: ({ coin }) => coin },
    bills: { kind: "count", of: ({ bills }) => bills },
    profit: part("profit", "profit"),
    fees: part("fees", "fees"),
    funding: part("funding", "funding"),
    other: part("other", "liquidations", "gains", "unclassified"),
    result: part("net result", "result"),
    ...valueColumn(options, (row) => resultOf(row).value),
  };
  return limited(table("contracts", columns, sorted), options);
}

/** A row's worth in the chosen currency; no column without prices. */
export const valueColumn = <Row>(
  { allDigits, prices }: ReportOptions,
  of: (row: Row) => Decimal | undefined,
): Columns<Row> =>
  prices === undefined
    ? {}
    : {
        value: {
          kind: "money",
          title: `in ${prices.currency}`,
          of: (row) => inCents(of(row), allDigits),
        },
      };

/** For people, its first rows, if they do not want all. */
export function limited(all: Table, { allRows = false }: ReportOptions): Table {
  const more = allRows ? 0 : all.cells.length - rowsMax;
  const last = [`and ${formatCount(more)} more: --all-rows`, ...all.titles.slice(1).map(() => "")];
  return more <= 0 ? all : { ...all, cells: [...all.cells.slice(0, rowsMax), last] };
}
