import { type SQL, sql } from "drizzle-orm";
import { textArray } from "./array-literal.ts";

/** The condition that a row's account, or product type, is among these. True where no list is given. */
export function isOneOf(
  words: readonly string[] | undefined,
  column: "account" | "product_type" = "account",
): SQL {
  if (words === undefined) return sql`true`;
  // A distributed database would ask every node for the rows of an empty list.
  if (words.length === 0) return sql`false`;
  const name = column === "account" ? sql`account` : sql`product_type`;
  return sql`${name} = any(${textArray(words)}::text[])`;
}
