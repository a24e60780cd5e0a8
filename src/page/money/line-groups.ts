import { sql } from "drizzle-orm";
import { type Line, type LineName, lineOf, lines, resultLines } from "./lines.ts";
import { sumOf } from "./stretches.ts";
import type { Stretch } from "./wallet-days.ts";

// Lines that readers take together: a column of the rollforward, and a figure of the selection.

export type GroupName = "result" | `all_${"fees" | "funding" | "transfers" | "earned" | "moved"}`;

/** Several lines as one figure, with the expressions of a {@link Line}. */
export type LineGroup = Pick<Line, "title" | "ofBill" | "isOfBill"> & {
  /** The name in addresses. The prefix tells it from lines of the same name, such as "fees". */
  readonly name: GroupName;
  readonly lines: readonly Line[];
};

const feeNames: readonly LineName[] = ["trading_fees", "fee_rebates", "fees"];
const fundingNames: readonly LineName[] = ["funding_received", "funding_paid"];
const transferNames: readonly LineName[] = ["transfers_in", "transfers_out"];

// A column of its own each: the usual result, and what the balance chain says.
const isAlone = ({ name, isOfChain }: Line): boolean => name === "realised_pnl" || isOfChain;
const named = new Set([...feeNames, ...fundingNames, ...transferNames]);
const others = lines.filter((line) => !isAlone(line) && !named.has(line.name));

const group = (name: GroupName, title: string, own: readonly Line[]): LineGroup => {
  // One bill may have a part in several: a trade has a profit and a fee.
  const parts = own.map(
    ({ isOfBill, ofBill }) => sql`case when ${isOfBill} then ${ofBill} else 0 end`,
  );
  const conditions = own.map(({ isOfBill }) => sql`(${isOfBill})`);
  return {
    name,
    title,
    lines: own,
    ofBill: sql.join(parts, sql` + `),
    isOfBill: sql.join(conditions, sql` or `),
  };
};

const groups = {
  fees: group("all_fees", "fees", feeNames.map(lineOf)),
  funding: group("all_funding", "funding", fundingNames.map(lineOf)),
  earned: group(
    "all_earned",
    "other results",
    others.filter(({ isResult }) => isResult),
  ),
  result: group("result", "Result", resultLines),
  transfers: group("all_transfers", "transfers", transferNames.map(lineOf)),
  moved: group(
    "all_moved",
    "other movements",
    others.filter(({ isResult }) => !isResult),
  ),
} as const;

export const { result: resultGroup } = groups;

/** What is earned or lost, in a few columns. Their sum is the result. */
export const earningColumns: readonly (Line | LineGroup)[] = [
  lineOf("realised_pnl"),
  groups.fees,
  groups.funding,
  groups.earned,
];

/** All other lines between opening and closing, in a few columns. */
export const otherColumns: readonly (Line | LineGroup)[] = [
  groups.transfers,
  groups.moved,
  ...lines.filter(({ isOfChain }) => isOfChain),
];

export const groupNamed = (name: string): LineGroup | undefined =>
  Object.values(groups).find((each) => each.name === name);

/** The lines of a group, or the line itself. */
export const linesOf = (piece: Line | LineGroup): readonly Line[] =>
  "lines" in piece ? piece.lines : [piece];

/** By how much a group, or a line, moved the balance. */
export const movedBy = ({ moved }: Stretch, piece: Line | LineGroup): string =>
  sumOf(linesOf(piece).map(({ name }) => moved[name]));
