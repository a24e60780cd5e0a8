import { type SQL, sql } from "drizzle-orm";
import { textArray } from "./array-literal.ts";

/** Whether a row's account, or its product type, is one of these; true of every row where none are named. */
export function isOneOf(
  words: readonly string[] | undefined,
  column: "account" | "product_type" = "account",
): SQL {
  if (words === undefined) return sql`true`;
  const name = column === "account" ? sql`account` : sql`product_type`;
  return sql`${name} = any(${textArray(words)}::text[])`;
}
