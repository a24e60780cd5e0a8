import { type SQL, sql } from "drizzle-orm";
import { textArray } from "../core/postgres/values.ts";
import { type Cause, columnsOf, type Movement } from "../core/views/movements.ts";

/*
 * The pieces that a balance's movement is divided into: the figures and columns of the statement. Every bill
 * is in one piece by its category, and its fee is in the fees; the pieces of the chain are not of bills: they
 * are what served balances differ by.
 */

type Piece = {
  readonly title: string;
  /** Columns of analytics.daily_rollforward. */
  readonly columns: readonly Movement[];
  /** What it sums up of bills; of the chain, nothing. */
  readonly causes: readonly Cause[];
};

const ofBills = (title: string, ...causes: readonly Cause[]): Piece => ({
  ...{ title, causes, columns: columnsOf(causes) },
});
const ofChain = (title: string, column: Movement): Piece => ({
  ...{ title, causes: [], columns: [column] },
});

const parts = {
  profit: ofBills("Profit", "trade"),
  fees: ofBills("Fees", "every fee", "fee-bills"),
  funding: ofBills("Funding", "funding"),
  liquidations: ofBills("Liquidations", "liquidation"),
  gains: ofBills("Other results", "bonus", "copy", "delivery", "interest"),
  /** Types that nobody put into a category: a result, until somebody says otherwise. */
  unclassified: ofBills("Unclassified", "unclassified"),
};

export const pieces = {
  ...parts,
  netFlows: ofBills("Net flows", "transfer", "deposit", "withdrawal"),
  other: ofBills("Other", "margin", "conversion", "spot", "loan"),
  /** What is earned or lost. All other pieces only move coins from one place to another. */
  result: ofBills("Result", ...Object.values(parts).flatMap(({ causes }) => causes)),
  rounding: ofChain("Rounding", "rounding"),
  discrepancy: ofChain("Discrepancy", "discrepancy"),
  unreconciled: ofChain("Not reconciled yet", "unreconciled"),
  leftBehind: ofChain("Left behind", "left_behind"),
};

export type PieceName = keyof typeof pieces;
export type Figures = Readonly<Record<PieceName, string>>;

export const pieceNames = Object.keys(pieces) as readonly PieceName[];

/** The parts of the result, in the order of columns. */
export const resultParts = Object.keys(parts) as readonly PieceName[];
/** With the result, all of a balance's movement. The first two are always shown, the others where not zero. */
export const movementPieces: readonly PieceName[] = [
  "netFlows",
  "other",
  "rounding",
  "discrepancy",
  "unreconciled",
  "leftBehind",
];
/** What no bill explains. */
export const isOfChain = (name: PieceName): boolean => pieces[name].causes.length === 0;

/** The piece of an amount of this category. */
export const pieceOf = (category: string): PieceName =>
  pieceNames.find((name) => pieces[name].causes.some((cause) => cause === category)) ??
  "unclassified";

/** A piece's sum on a day, over a row of analytics.daily_rollforward. */
export const sumOfDay = (name: PieceName): SQL => sql.raw(pieces[name].columns.join(" + "));

/** What a bill adds to a piece: over rows of analytics.activity, or of analytics.entries unless isOfChain. */
export function partOfBill(name: PieceName): SQL {
  if (isOfChain(name)) return name === "leftBehind" ? sql`0` : sumOfDay(name);
  const { causes } = pieces[name];
  return sql`case when category = any(${textArray(causes)}::text[]) then wallet_amount else 0 end${causes.includes("every fee") ? sql` + wallet_fee` : sql``}`;
}
