import { sql } from "drizzle-orm";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { textArray } from "../../../core/postgres/values.ts";
import { dayOf, withAnyBalance } from "../../../core/views/bill-sums.ts";
import { joinRules, walletColumn, walletMoves } from "../../../core/views/wallet-moves.ts";
import { add, decimalOf, decimalText, zero } from "../../../lib/decimal.ts";
import { isZero } from "../../../output/html-figures.ts";
import {
  type Figures,
  isOfChain,
  type PieceName,
  pieceNames,
  pieceOf,
  resultParts,
  sumOfDay,
} from "../../../output/pieces.ts";
import { type Days, type PageQuery, walletProductTypes } from "./selection.ts";

// The figures of the statement: of days, months, contracts and kinds of bills. Decimals are text.

/** A day of a wallet, or several adjacent ones. */
export type Period = Days & {
  /** Null where no bill of the ledger shows a balance. */
  readonly opening: string | null;
  readonly closing: string | null;
  readonly figures: Figures;
  readonly bills: number;
  /** Whether all of its time was read, or recovered from tax records. */
  readonly isComplete: boolean;
};

/** The selected days, oldest first, from the wallet's first bill to the end of what was read. */
export async function readDays(
  tx: Transaction,
  { account, product, coin, from, to }: PageQuery,
): Promise<readonly Period[]> {
  const { rows } = await tx.execute<
    Record<PieceName, string> &
      Pick<Period, "from" | "opening" | "closing" | "bills" | "isComplete">
  >(sql`
    select
      to_char(day, 'YYYY-MM-DD') as from,
      opening::text,
      closing::text,
      bills::float8,
      is_complete or ${areRecovered} as "isComplete",
      ${sql.join(
        pieceNames.map((name) => sql`(${sumOfDay(name)})::text as ${sql.identifier(name)}`),
        sql`, `,
      )}
    from analytics.daily_rollforward
    where account = ${account}
      and product_type = ${product}
      and coin = ${coin}
      and day between ${from}::date and ${to}::date
    order by daily_rollforward.day`);
  return rows.map(({ from: day, opening, closing, bills, isComplete, ...figures }) => ({
    ...{ from: day, to: day, opening, closing, figures, bills, isComplete },
  }));
}

// A unified account's day has the bills of each of its product types.
const areRecovered = sql`coalesce((
  select
    range_intersect_agg(covered + recovered)
    @> tstzrange(day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC')
  from ledgers
  where ledgers.account = daily_rollforward.account
    and ${walletColumn("ledgers.product_type")} = daily_rollforward.product_type
    and covered <> '{}'
), false)`;

type BreakDay = { readonly day: string; readonly isOpen: boolean };

/** The days of the selected wallet's breaks that are open or accepted. */
export async function readBreakDays(
  tx: Transaction,
  { account, product, coin }: PageQuery,
): Promise<readonly BreakDay[]> {
  const { rows } = await tx.execute<BreakDay>(sql`
    select to_char(happened_at at time zone 'UTC', 'YYYY-MM-DD') as day, bool_or(state = 'open') as "isOpen"
    from ledger_breaks
    where account = ${account}
      and ledger = ${product}
      and coin = ${coin}
      and state in ('open', 'accepted')
      and happened_at is not null
    group by 1`);
  return rows;
}

/** Whether all breaks of the shown days are accepted. */
export function areAccepted(breaks: readonly BreakDay[], { from, to }: Days): boolean {
  const shown = breaks.filter(({ day }) => day >= from && day <= to);
  return shown.length > 0 && shown.every(({ isOpen }) => !isOpen);
}

const sumOf = (decimals: readonly string[]): string =>
  decimalText(decimals.map(decimalOf).reduce(add, zero));

const sumOfFigures = (all: readonly Figures[]): Figures =>
  figuresOf((name) =>
    sumOf(all.flatMap((figures) => (isZero(figures[name]) ? [] : figures[name]))),
  );

const figuresOf = (figure: (name: PieceName) => string): Figures =>
  Object.fromEntries(pieceNames.map((name) => [name, figure(name)])) as Figures;

/** Adjacent days as one period; undefined if there are none. */
export function together(days: readonly Period[]): Period | undefined {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return {
    ...{ from: first.from, to: last.to, opening: first.opening, closing: last.closing },
    figures: sumOfFigures(days.map(({ figures }) => figures)),
    bills: days.reduce((sum, { bills }) => sum + bills, 0),
    isComplete: days.every(({ isComplete }) => isComplete),
  };
}

/** The first and the last month may be parts of months. */
export const monthsOf = (days: readonly Period[]): readonly Period[] =>
  [...Map.groupBy(days, ({ from }) => from.slice(0, 7)).values()].flatMap(
    (month) => together(month) ?? [],
  );

/** What bills of one contract, or of one business type, moved. */
export type Group = {
  /** The contract, empty for bills that name none; or the business type. */
  readonly name: string;
  /** Of a business type. */
  readonly category: string;
  readonly figures: Figures;
  /** The sum of all pieces of bills. */
  readonly moved: string;
  readonly bills: number;
};

/** The selected days' bills by contract or by kind, the largest movement first. */
export async function readGroups(tx: Transaction, selection: PageQuery): Promise<readonly Group[]> {
  const { account, coin, from, to, view } = selection;
  const name = view === "contracts" ? sql`coalesce(symbol, '')` : sql`business_type`;
  const moves = walletMoves("days");
  const { rows } = await tx.execute<
    Record<"name" | "category" | "bills" | "amount" | "fee", string>
  >(sql`
    select
      days.name,
      coalesce(business_types.category, 'unclassified') as category,
      sum(days.bills) as bills,
      sum(${moves.amount})::text as amount,
      sum(${moves.fee})::text as fee
    from (
      select
        account,
        product_type,
        business_type,
        ${name} as name,
        count(*) as bills,
        sum(amount) as amount,
        sum(fee) as fee,
        sum(fee_by_coupon) as fee_by_coupon
      from bills
      where account = ${account}
        and product_type = any(${textArray(walletProductTypes(selection))}::text[])
        and coin = ${coin}
        and ${withAnyBalance("bills")}
        and ${dayOf("bills")} between ${from}::date and ${to}::date
      group by account, product_type, business_type, ${name}
    ) as days
    ${joinRules("days")}
    group by days.name, business_types.category
    order by days.name`);
  return [...Map.groupBy(rows, (row) => row.name)]
    .map(([group, rowsOfGroup]): Group => {
      const sums = sumOfFigures(
        rowsOfGroup.map(({ category, amount, fee }) =>
          figuresOf((piece) => {
            if (piece === "fees")
              return sumOf([fee, ...(category === "fee-bills" ? [amount] : [])]);
            return piece === pieceOf(category) ? amount : "0";
          }),
        ),
      );
      const figures = { ...sums, result: sumOf(resultParts.map((part) => sums[part])) };
      const ofBills = pieceNames.filter((piece) => piece !== "result" && !isOfChain(piece));
      return {
        name: group,
        category: rowsOfGroup[0]?.category ?? "unclassified",
        figures,
        moved: sumOf(ofBills.map((piece) => sums[piece])),
        bills: rowsOfGroup.reduce((sum, { bills }) => sum + Number(bills), 0),
      };
    })
    .toSorted((a, b) =>
      bySize(view === "contracts" ? [a.figures.result, b.figures.result] : [a.moved, b.moved]),
    );
}

/** The larger one first, whatever its sign. For an order, floats will do. */
const bySize = ([a = "0", b = "0"]: readonly string[]): number =>
  Math.abs(Number(b)) - Math.abs(Number(a));
