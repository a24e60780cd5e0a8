import { type SQL, sql } from "drizzle-orm";
import type { Category } from "../../contract/business-types.ts";
import { bookings } from "../../export/bookings.ts";
import { type Movement, movements } from "../../reports/movements.ts";

// The lines between an opening balance and a closing one: what each is called, and which bills it is
// made of.

/** A line's name, as an address has it: what an exchange's balance is off has been judged, or not yet. */
export type LineName = Movement;

export type Line = {
  readonly name: LineName;
  readonly title: string;
  /** The expression over rows of analytics.daily_rollforward. */
  readonly ofDay: SQL;
  /** What a bill has of it: over rows of analytics.activity, and of entries but for the last three. */
  readonly ofBill: SQL;
  /** The condition on the same that a bill has some of it. */
  readonly isOfBill: SQL;
  /** Whether it is earned or lost, and not only moved from one place to another. */
  readonly isResult: boolean;
  /** Whether it is known of a bill only where its place in the chain is. */
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

/** By the table of what each category is to an accountant. A fee of any category is a result. */
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

/** All of them, in the order of every report. */
export const lines: readonly Line[] = movements.map(([name, title]) => ({
  name,
  title: name === "unsettled" ? "not settled yet" : title,
  isResult: isResult(name),
  ...columnsOf(name),
}));

/** The lines that are a result. */
export const resultLines: readonly Line[] = lines.filter((line) => line.isResult);

/** The categories of results that are neither profit nor funding; a fee stands beside any of them. */
export const otherResults: readonly Category[] = resultLines.flatMap(({ name }) => {
  const category = categoryOf[name];
  return category === undefined || category === "trade" || category === "funding" ? [] : [category];
});

export const lineNamed = (name: string | null): Line | undefined =>
  lines.find((line) => line.name === name);
