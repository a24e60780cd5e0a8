import { type SQL, sql } from "drizzle-orm";
import type { Category } from "../contract/business-types.ts";
import { textArray } from "../db/values.ts";

/*
 * The pieces that a balance's movement is divided into: the figures and columns of the statement. Every bill
 * is in one piece by its category, and its fee is in the fees; the pieces of the chain are not of bills: they
 * are what served balances differ by.
 */

type PieceOfBills = {
  readonly title: string;
  /** Columns of analytics.daily_rollforward. */
  readonly columns: readonly string[];
  /** The categories whose amounts it sums up. */
  readonly categories: readonly Category[];
  readonly hasFees?: true;
};

type PieceOfChain = Pick<PieceOfBills, "title" | "columns"> & {
  /** What a bill of analytics.activity adds; undefined where no bill does. */
  readonly ofBill: string | undefined;
};

const ofBills = {
  profit: { title: "Profit", columns: ["realised_pnl"], categories: ["trade"] },
  fees: {
    title: "Fees",
    columns: ["fees_paid", "fee_rebates", "fee_bills"],
    categories: ["fee-bills"],
    hasFees: true,
  },
  funding: {
    title: "Funding",
    columns: ["funding_received", "funding_paid"],
    categories: ["funding"],
  },
  liquidations: {
    title: "Liquidations",
    columns: ["liquidation"],
    categories: ["liquidation"],
  },
  gains: {
    title: "Other results",
    columns: ["bonus", "copy", "delivery", "interest"],
    categories: ["bonus", "copy", "delivery", "interest"],
  },
  /** Types that nobody put into a category: a result, until somebody says otherwise. */
  unclassified: { title: "Unclassified", columns: ["unclassified"], categories: ["unclassified"] },
  transfers: {
    title: "Transfers",
    columns: ["transfers_in", "transfers_out", "deposits", "withdrawals"],
    categories: ["transfer", "deposit", "withdrawal"],
  },
  other: {
    title: "Other",
    columns: ["margin", "conversion", "spot", "loan"],
    categories: ["margin", "conversion", "spot", "loan"],
  },
} as const satisfies Readonly<Record<string, PieceOfBills>>;

const resultNames = ["profit", "fees", "funding", "liquidations", "gains", "unclassified"] as const;

const ofChain = {
  rounding: { title: "Rounding", columns: ["rounding"], ofBill: "rounding" },
  discrepancy: { title: "Discrepancy", columns: ["discrepancy"], ofBill: "discrepancy" },
  unreconciled: {
    title: "Not reconciled yet",
    columns: ["unreconciled"],
    ofBill: "unreconciled",
  },
  leftBehind: { title: "Left behind", columns: ["left_behind"], ofBill: undefined },
} as const satisfies Readonly<Record<string, PieceOfChain>>;

const union = (names: readonly (keyof typeof ofBills)[]) => ({
  columns: names.flatMap((name) => [...ofBills[name].columns]),
  categories: names.flatMap((name): Category[] => [...ofBills[name].categories]),
});

export const pieces = {
  ...ofBills,
  /** What is earned or lost. All other pieces only move coins from one place to another. */
  result: { title: "Result", ...union(resultNames), hasFees: true },
  ...ofChain,
} as const satisfies Readonly<Record<string, PieceOfBills | PieceOfChain>>;

export type PieceName = keyof typeof pieces;
export type Figures = Readonly<Record<PieceName, string>>;

export const pieceNames = Object.keys(pieces) as readonly PieceName[];

/** The parts of the result, in the order of columns. */
export const resultParts: readonly PieceName[] = resultNames;
/** With the result, all of a balance's movement. The first two are always shown, the others where not zero. */
export const movementPieces: readonly PieceName[] = [
  "transfers",
  "other",
  "rounding",
  "discrepancy",
  "unreconciled",
  "leftBehind",
];
/** What no bill explains. */
export const isOfChain = (name: PieceName): boolean => name in ofChain;

/** The piece of an amount of this category. */
export const pieceOf = (category: string): PieceName =>
  (Object.entries(ofBills).find(([, piece]) =>
    (piece.categories as readonly string[]).includes(category),
  )?.[0] as PieceName | undefined) ?? "unclassified";

/** A piece's sum on a day, over a row of analytics.daily_rollforward. */
export const sumOfDay = (name: PieceName): SQL => sql.raw(pieces[name].columns.join(" + "));

/** What a bill adds to a piece: over rows of analytics.activity, or of analytics.entries unless isOfChain. */
export function partOfBill(name: PieceName): SQL {
  const piece: PieceOfBills | PieceOfChain = pieces[name];
  if ("ofBill" in piece) return sql.raw(piece.ofBill ?? "0");
  const { categories, hasFees } = piece;
  return sql`case when category = any(${textArray(categories)}::text[]) then wallet_amount else 0 end${hasFees ? sql` + wallet_fee` : sql``}`;
}
