import type { SQL } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import type { BreakKind, FoundBreak } from "./breaks.ts";

type Finding = Partial<Omit<FoundBreak, "kind">> &
  Pick<FoundBreak, "account" | "anchor" | "explanation">;

/** A statement that finds breaks of one kind; columns that it leaves out are null. */
export async function findBreaks(
  tx: Transaction,
  kind: BreakKind,
  statement: SQL,
): Promise<readonly FoundBreak[]> {
  const { rows } = await tx.execute<Finding>(statement);
  return rows.map((row) => ({
    productType: "",
    coin: "",
    happenedAt: null,
    expected: null,
    observed: null,
    difference: null,
    firstBadBill: null,
    firstBadProductType: null,
    lastGoodBill: null,
    lastGoodProductType: null,
    ...row,
    kind,
  }));
}
