import { sql } from "drizzle-orm";
import type { ComparedBalance } from "../../check/health/balances.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import {
  type BillMovement,
  billMovements,
  type Movement,
  movementPlaceholders,
  movements,
} from "../../core/views/movements.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { add, type Decimal, decimalOf, decimalText, isZero, zero } from "../../lib/decimal.ts";
import { digitsOf } from "../../output/html-figures.ts";
import { type PieceName, pieces } from "../../output/pieces.ts";
import { type Columns, fields, type Table, table } from "../../output/result.ts";
import { formatCount, ledgerName } from "../../output/text.ts";
import { chainParts, readChains } from "../export/chains.ts";
import { isBillOf, isWithin, type ReportedWallet } from "../export/reported-wallets.ts";
import type { CoinFigures, LedgerClose, Moved, Tally } from "./close-report.ts";

export const sumOf = (moved: Moved, columns: readonly string[]): Decimal =>
  [...moved].reduce((sum, [name, one]) => (columns.includes(name) ? add(sum, one) : sum), zero);

type MovedRow = Readonly<Record<BillMovement, string>> & {
  readonly coin: string;
  readonly symbol: string;
  readonly bills: number;
};

/** What bills moved by coin and contract, as the views sum it up. */
async function readMoved(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
): Promise<readonly MovedRow[]> {
  const { rows } = await tx.execute<MovedRow>(sql`
    select
      coin,
      coalesce(symbol, '') as symbol,
      count(*)::int as bills,
      ${movementPlaceholders.movement_sums}
    from (
      select
        coin,
        symbol,
        category,
        greatest(wallet_amount, 0) as amount_in,
        least(wallet_amount, 0) as amount_out,
        greatest(wallet_fee, 0) as fee_in,
        least(wallet_fee, 0) as fee_out
      from analytics.entries
      where ${isBillOf(wallet)}
        and ${isWithin(sql`c_time`, span)}
    ) as bills
    group by 1, 2`);
  return rows;
}

const tallyOf = (rows: readonly MovedRow[]): Tally => ({
  bills: rows.reduce((sum, row) => sum + row.bills, 0),
  moved: new Map(
    billMovements.map((name) => [name, rows.map((row) => decimalOf(row[name])).reduce(add, zero)]),
  ),
});

/**
 * The figures of a wallet's coins: what bills moved from the span's start to its end, between the balances that
 * analytics.daily_rollforward has of its UTC days.
 */
export async function readFigures(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
): Promise<readonly CoinFigures[]> {
  const byCoin = Map.groupBy(await readMoved(tx, wallet, span), ({ coin }) => coin);
  return (await readChains(tx, wallet, span)).flatMap((chain) => {
    const { coin } = chain;
    const rows = byCoin.get(coin) ?? [];
    const { bills, moved } = tallyOf(rows);
    const ofChain = chainParts.map((name) => [name, decimalOf(chain[name])] as const);
    const all: Moved = new Map<Movement, Decimal>([...moved, ...ofChain]);
    const opening = chain.opening === null ? null : decimalOf(chain.opening);
    const closing = opening && [...all.values()].reduce(add, opening);
    const isNothing = [opening, closing].every((sum) => sum !== null && isZero(sum));
    if (bills === 0 && isNothing) return [];
    const contracts = rows.map((row) => [row.symbol, tallyOf([row])] as const);
    return { coin, bills, moved: all, opening, closing, contracts: new Map(contracts) };
  });
}

// Their tables. Each column is declared once, for people and for programs.

type Money = { readonly exact: string; readonly shown: string };

/** Digits for people, with a hyphen as minus, which a spreadsheet reads. */
export const money = (
  decimal: Decimal | null | undefined,
  coin: string,
): Money | null | undefined =>
  decimal && {
    exact: decimalText(decimal),
    shown: isZero(decimal)
      ? "0"
      : digitsOf(decimalText(decimal), { coin, isExact: false }).replace("−", "-"),
  };

export const nameOf = ({ wallet }: LedgerClose): string => ledgerName(wallet);

/** The lines of the statement: opening, what moved it, and closing. */
type Line = { readonly line: string; readonly title: string; readonly amount: Decimal | null };

export const isResult = (name: string): boolean =>
  pieces.result.columns.some((column) => column === name);

export const resultOf = ({ moved }: Pick<CoinFigures, "moved">): Decimal =>
  sumOf(moved, pieces.result.columns);

/** What an opening is called: where the period's start was not read, it is a guess by what was read. */
const openingTitle = ({ coverage }: LedgerClose): string =>
  coverage.isStartRead ? "opening" : "opening (not read)";

function linesOf(figures: CoinFigures): readonly Line[] {
  const { opening, moved, closing } = figures;
  const line = (name: string, title: string, amount: Decimal | null): Line => ({
    ...{ line: name, title, amount },
  });
  const moves = movements.map(([name, title]) => line(name, title, sumOf(moved, [name])));
  return [
    line("opening", "opening", opening),
    ...moves.filter((move) => isResult(move.line)),
    line("result", "net result", resultOf(figures)),
    ...moves.filter((move) => !isResult(move.line)),
    line("closing", "closing", closing),
  ];
}

type LineRow = Line & { readonly coin: string };

/** The lines of coins side by side. Lines that are zero everywhere are left out. */
const sideBySide = (coins: readonly CoinFigures[]) => {
  const all = coins.map(linesOf);
  return (all[0] ?? []).flatMap(({ line, title }, place) => {
    const amounts = all.map((lines) => lines[place]?.amount);
    const isFigure = amounts.some((amount) => amount && !isZero(amount));
    const isShown = isFigure || ["opening", "result", "closing"].includes(line);
    return isShown ? [{ line, title, amounts }] : [];
  });
};
type LinesOfCoins = ReturnType<typeof sideBySide>[number];

// Half of a lying A4 page has room for so many columns of figures.
const coinsMax = 5;

/** For people, a column a coin, and a row a line; for programs, a line a row. */
export function rollforwardTables(ledger: LedgerClose): readonly Table[] {
  const { wallet, figures: coins } = ledger;
  const titleOf = ({ line, title }: Pick<Line, "line" | "title">) =>
    line === "opening" ? openingTitle(ledger) : title;
  const sums = sideBySide(coins);
  const people = Array.from({ length: Math.ceil(coins.length / coinsMax) }, (_, chunk) => {
    const first = chunk * coinsMax;
    const shown = coins.slice(first, first + coinsMax);
    const ofCoins = shown.map(({ coin }, place): [string, Columns<LinesOfCoins>[string]] => [
      `coin ${coin}`,
      {
        ...{ kind: "money", title: coin },
        of: ({ amounts }) => money(amounts[first + place], coin),
      },
    ]);
    const columns: Columns<LinesOfCoins> = {
      line: { kind: "text", title: "rollforward", of: titleOf },
      ...Object.fromEntries(ofCoins),
    };
    return table("", columns, sums);
  });
  const columns: Columns<LineRow> = {
    account: { kind: "text", of: () => wallet.account },
    productType: { kind: "text", of: () => wallet.productType },
    ...fields<LineRow>("text", ["coin", "line"]),
    title: { kind: "text", of: titleOf },
    amount: { kind: "amount", of: ({ amount }) => amount && decimalText(amount) },
  };
  const lines = coins.flatMap((figures) =>
    linesOf(figures).map((line) => ({ ...line, coin: figures.coin })),
  );
  return [...people, table("rollforward", columns, lines, [])];
}

/** The exchange's balances beside the closings, for programs: people see them in the summary. */
export function balanceChecksTable({ balanceChecks, figures }: LedgerClose): Table {
  type Row = ComparedBalance & { readonly closing: Decimal | null };
  const rows = balanceChecks.flatMap((check): readonly Row[] =>
    figures.flatMap(({ coin, closing }) => (coin === check.coin ? { ...check, closing } : [])),
  );
  const columns: Columns<Row> = {
    ...fields<Row>("text", ["coin"]),
    byBills: { kind: "money", of: ({ closing, coin }) => money(closing, coin) },
    readAt: { kind: "time", of: ({ asOf }) => asOf },
    exchange: { kind: "amount", of: ({ balance }) => balance },
    ...fields<Row>("amount", ["expected"]),
    ...fields<Row>("value", ["differs"]),
  };
  return table("balanceChecks", columns, rows, []);
}

// A page has room for so many; CSV and JSON have all.
const rowsMax = 10;

/** Each contract's result, the largest first. */
export function contractsTable({ figures }: LedgerClose): Table {
  type Contract = Tally & Readonly<Record<"symbol" | "coin", string>>;
  const rows = figures.flatMap(({ coin, contracts }) =>
    [...contracts].map(([symbol, tally]): Contract => ({ symbol, coin, ...tally })),
  );
  const sizeOf = (row: Contract) => Math.abs(Number(decimalText(resultOf(row))));
  // Without any contract, as in the spot wallet, it would say what the rollforward says.
  const isOfContracts = rows.some(({ symbol }) => symbol !== "");
  const sorted = rows
    .filter((row) => isOfContracts && !isZero(resultOf(row)))
    .toSorted((a, b) => sizeOf(b) - sizeOf(a) || (a.symbol < b.symbol ? -1 : 1));
  const part = (title: string, ...names: readonly PieceName[]) => {
    const summed = names.flatMap((name) => pieces[name].columns);
    const of = ({ moved, coin }: Contract) => money(sumOf(moved, summed), coin);
    return { kind: "money", title, of } as const;
  };
  const columns: Columns<Contract> = {
    contract: { kind: "text", of: ({ symbol }) => symbol || "no contract" },
    ...fields<Contract>("text", ["coin"]),
    ...fields<Contract>("count", ["bills"]),
    realisedPnl: part("profit", "profit"),
    fees: part("fees", "fees"),
    funding: part("funding", "funding"),
    otherResult: part("other", "liquidations", "gains", "unclassified"),
    result: part("net result", "result"),
  };
  return limited(table("contracts", columns, sorted), "contracts");
}

/** For people, its first rows. @param name the table of CSV that has all. */
export function limited(all: Table, name: string): Table {
  const more = all.cells.length - rowsMax;
  const last = [
    `and ${formatCount(more)} more: --format csv --table ${name}`,
    ...all.titles.slice(1).map(() => ""),
  ];
  return more <= 0 ? all : { ...all, cells: [...all.cells.slice(0, rowsMax), last] };
}
