import { type SQL, sql } from "drizzle-orm";
import { textArray } from "./array-literal.ts";

/** Whether a row's account is one of these; true of every row where none are named. */
export const isOneOf = (accounts: readonly string[] | undefined): SQL =>
  accounts === undefined ? sql`true` : sql`account = any(${textArray(accounts)}::text[])`;
