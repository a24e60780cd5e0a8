import { type SQL, sql } from "drizzle-orm";
import type { Category } from "../contract/business-types.ts";

type Sign = "in" | "out";
/** What a balance is moved by: amounts of a category, or the fees of all bills. */
export type Cause = Category | "every fee";

/**
 * What bills move a balance by: columns of chain_days and of the rollforwards, in the order of all reports, the result
 * first. Each is the amounts of a category, or the fees of all bills; one with a sign only what came in or went out.
 */
const ofBills = [
  ["realised_pnl", "realised profit and loss", "trade"],
  ["fees_paid", "fees paid", "every fee", "out"],
  ["fee_rebates", "fee rebates", "every fee", "in"],
  ["separate_fees", "separate fees", "fee-bills"],
  ["funding_received", "funding received", "funding", "in"],
  ["funding_paid", "funding paid", "funding", "out"],
  ["liquidation", "liquidation", "liquidation"],
  ["delivery", "delivery", "delivery"],
  ["bonus", "bonus", "bonus"],
  ["copy", "copy trading", "copy"],
  ["interest", "interest", "interest"],
  ["unclassified", "unclassified", "unclassified"],
  ["transfers_in", "transfers in", "transfer", "in"],
  ["transfers_out", "transfers out", "transfer", "out"],
  ["deposits", "deposits", "deposit"],
  ["withdrawals", "withdrawals", "withdrawal"],
  ["margin", "margin moves", "margin"],
  ["conversion", "conversion", "conversion"],
  ["spot", "coins bought and sold", "spot"],
  ["loan", "loans borrowed and repaid", "loan"],
] as const satisfies readonly (readonly [column: string, title: string, of: Cause, sign?: Sign])[];

/** The causes of a balance's change. Last come those without a bill: the rest of an ended wallet, rounding, discrepancies. */
export const movements = [
  ...ofBills.map(([column, title]) => [column, title] as const),
  ["left_behind", "left behind"],
  ["rounding", "rounding"],
  ["discrepancy", "discrepancy"],
  ["unreconciled", "not reconciled yet"],
] as const;

export type Movement = (typeof movements)[number][0];

export type BillMovement = (typeof ofBills)[number][0];
export const billMovements: readonly BillMovement[] = ofBills.map(([column]) => column);

/** The columns of some causes. */
export const columnsOf = (causes: readonly Cause[]): readonly BillMovement[] =>
  ofBills.flatMap(([column, , of]) => (causes.includes(of) ? column : []));

const sumOf = ([column, , of, sign]: (typeof ofBills)[number]): string => {
  if (of === "every fee") return `coalesce(sum(fee_${sign}), 0) as ${column}`;
  const amount = sign === undefined ? "amount_in + amount_out" : `amount_${sign}`;
  // A category without a column must not vanish from the sums.
  const isOf = of === "unclassified" ? `category not in (${columned})` : `category = '${of}'`;
  return `coalesce(sum(${amount}) filter (where ${isOf}), 0) as ${column}`;
};

const columned = ofBills.flatMap(([, , of]) => (of === "unclassified" ? [] : `'${of}'`)).join(", ");

const list = (textOf: (movement: (typeof ofBills)[number]) => string, separator = ",\n  "): SQL =>
  sql.raw(ofBills.map(textOf).join(separator));

/** What stands in the files of views for these columns. */
export const movementPlaceholders = {
  movements: list(([column]) => column),
  movement_sums: list(sumOf),
  movement_month_sums: list(([column]) => `sum(${column}) as ${column}`),
  movement_total: list(([column]) => column, " + "),
};
