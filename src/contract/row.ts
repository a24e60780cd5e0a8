import type { z } from "zod";
import { type Fault, unstorable } from "./json.ts";
import {
  decimal,
  epochMsText,
  optionalDecimal,
  optionalEpochMs,
  printsAsWritten,
} from "./scalars.ts";

type Fields = Readonly<Record<string, z.ZodType>>;

type Values<Of extends Fields> = { readonly [Name in keyof Of]: z.output<Of[Name]> };

/**
 * What the columns of a record cannot give back: fields that the contract does not list, and,
 * under its own name, a number that Postgres would print differently from how it was sent.
 */
export type Extra = Readonly<Record<string, unknown>> | null;

export type RowReading<Of extends Fields> =
  | { readonly values: Values<Of> & { readonly extra: Extra } }
  | { readonly fault: Fault };

/** Reads a record's fields. Never throws: a row that breaks the contract comes back as its fault. */
export function readRow<Of extends Fields>(
  fields: Of,
  schema: z.ZodType<Values<Of>>,
  row: unknown,
): RowReading<Of> {
  const fault = unstorable(row);
  if (fault !== undefined) return { fault };
  const parsed = schema.safeParse(row);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return {
      fault: { path: issue?.path.join(".") ?? "", reason: issue?.message ?? "is not a record" },
    };
  }
  // From the row itself: zod drops a field that is named __proto__.
  const extra: Record<string, unknown> = Object.fromEntries(
    Object.entries(row as object).filter(([name]) => !Object.hasOwn(fields, name)),
  );
  for (const [name, scalar] of Object.entries(fields)) {
    const value: unknown = parsed.data[name];
    if (typeof value === "string" && isRespelled(scalar, value)) extra[name] = value;
  }
  return {
    values: { ...parsed.data, extra: Object.keys(extra).length === 0 ? null : extra },
  };
}

/** Whether the column of such a value keeps it and not its spelling. */
function isRespelled(scalar: z.ZodType, text: string): boolean {
  if (scalar === decimal || scalar === optionalDecimal) return !printsAsWritten(text);
  if (scalar === epochMsText || scalar === optionalEpochMs) return String(Number(text)) !== text;
  return false;
}
