import { type SQL, sql } from "drizzle-orm";
import type { Category } from "../../contract/business-types.ts";
import { bookings } from "../../export/bookings.ts";
import { type Movement, movements } from "../../reports/movements.ts";

// The lines between an opening balance and a closing one: their titles, and the bills that make up
// each.

/**
 * A line's name, as addresses contain it. What an exchange's balance is off is in `difference` once
 * reconcile has judged it, and in `unsettled` before.
 */
export type LineName = Movement;

export type Line = {
  readonly name: LineName;
  readonly title: string;
  /** The line's amount on a day: an expression over rows of analytics.daily_rollforward. */
  readonly ofDay: SQL;
  /**
   * What a bill contributes: an expression over rows of analytics.activity. Over rows of
   * analytics.entries too, unless isOfChain.
   */
  readonly ofBill: SQL;
  /** The condition that a bill contributes something, over the same rows as ofBill. */
  readonly isOfBill: SQL;
  /** Whether the line is earned or lost. Other lines only move money from one place to another. */
  readonly isResult: boolean;
  /**
   * Whether the expressions need the bill's place in the balance chain, which only
   * analytics.activity has.
   */
  readonly isOfChain: boolean;
};

const categoryOf: Readonly<Partial<Record<LineName, Category>>> = {
  realised_pnl: "trade",
  funding_received: "funding",
  funding_paid: "funding",
  liquidation: "liquidation",
  transfers_in: "transfer",
  transfers_out: "transfer",
  bonus: "bonus",
  copy: "copy",
  delivery: "delivery",
  margin: "margin",
  interest: "interest",
  conversion: "conversion",
  spot: "spot",
  loan: "loan",
  fees: "fees",
};
const mapped = [...new Set(Object.values(categoryOf))];

const received: readonly LineName[] = ["funding_received", "transfers_in"];
const paid: readonly LineName[] = ["funding_paid", "transfers_out"];

/** Taken from the accounting table of categories. A fee of any category is a result. */
function isResult(name: LineName): boolean {
  if (name === "trading_fees" || name === "fee_rebates") return true;
  const category = categoryOf[name];
  if (category === undefined) return false;
  const { root } = bookings[category].gain;
  return root === "Income" || root === "Expenses";
}

type Columns = Pick<Line, "ofDay" | "ofBill" | "isOfBill" | "isOfChain">;

function columnsOf(name: LineName): Columns {
  const ofDay = sql.raw(name);
  if (name === "difference") {
    const ofBill = sql`case when is_settled then difference else 0 end`;
    return ofChain(sql`difference - unsettled`, ofBill);
  }
  if (name === "unsettled") {
    return ofChain(ofDay, sql`case when is_settled then 0 else difference end`);
  }
  if (name === "rounding") return ofChain(ofDay, sql`rounding`);
  const isOfChain = false;
  if (name === "closed_out") {
    return { ofDay, ofBill: sql`0::numeric`, isOfBill: sql`false`, isOfChain };
  }
  if (name === "trading_fees" || name === "fee_rebates") {
    const isOfBill = name === "fee_rebates" ? sql`wallet_fee > 0` : sql`wallet_fee < 0`;
    return { ofDay, ofBill: sql`wallet_fee`, isOfBill, isOfChain };
  }
  const moves = received.includes(name) ? ">" : paid.includes(name) ? "<" : "<>";
  const isOfBill = sql`${isOfCategory(categoryOf[name])} and wallet_amount ${sql.raw(moves)} 0`;
  return { ofDay, ofBill: sql`wallet_amount`, isOfBill, isOfChain };
}

const ofChain = (ofDay: SQL, ofBill: SQL): Columns => ({
  ofDay,
  ofBill,
  isOfBill: sql`${ofBill} <> 0`,
  isOfChain: true,
});

const isOfCategory = (category: Category | undefined): SQL =>
  category === undefined
    ? sql`category not in (${sql.join(
        mapped.map((name) => sql`${name}`),
        sql`, `,
      )})`
    : sql`category = ${category}`;

/** All lines, in the order of every report. */
export const lines: readonly Line[] = movements.map(([name, title]) => ({
  name,
  title: name === "unsettled" ? "not settled yet" : title,
  isResult: isResult(name),
  ...columnsOf(name),
}));

/** The lines that count as earned or lost. */
export const resultLines: readonly Line[] = lines.filter((line) => line.isResult);

/**
 * The categories that are a result, other than profit and funding. Fees are not listed: bills of
 * any category can have one.
 */
export const otherResults: readonly Category[] = resultLines.flatMap(({ name }) => {
  const category = categoryOf[name];
  return category === undefined || category === "trade" || category === "funding" ? [] : [category];
});

export const lineNamed = (name: string | null): Line | undefined =>
  lines.find((line) => line.name === name);

/** @throws for a name that no line has, which is a mistake of this program. */
export function lineOf(name: LineName): Line {
  const line = lineNamed(name);
  if (line === undefined) throw new Error(`no line ${name}`);
  return line;
}
