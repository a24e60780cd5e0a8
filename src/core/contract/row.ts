import { z } from "zod";
import { type RowFault, unstorable } from "./json.ts";
import {
  decimal,
  epochMsText,
  optionalDecimal,
  optionalEpochMs,
  printsAsWritten,
} from "./scalars.ts";

export type Fields = Readonly<Record<string, z.ZodType>>;

type Values<Of extends Fields> = { readonly [Name in keyof Of]: z.output<Of[Name]> };

/** A record's fields as they were read, and what they cannot give back. */
export type Row<Of extends Fields> = Values<Of> & { readonly extra: Extra };

/**
 * The parts of a record that its columns cannot give back: fields that the contract does not list, numbers
 * that Postgres would print differently from how they were sent, and values that were read as null
 * without being empty, such as -1. Each is kept under its own field name.
 */
export type Extra = Readonly<Record<string, unknown>> | null;

type RowReading<Of extends Fields> = { readonly values: Row<Of> } | { readonly fault: RowFault };

/** How records of these fields are read. Never throws: for a row that breaks the contract it returns the fault. */
export function readerOf<Of extends Fields>(fields: Of): (row: unknown) => RowReading<Of> {
  const schema: z.ZodType = z.object(fields);
  return (row) => {
    const fault = unstorable(row);
    if (fault !== undefined) return { fault };
    const parsed = schema.safeParse(row);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return {
        fault: { path: issue?.path.join(".") ?? "", reason: issue?.message ?? "is not a record" },
      };
    }
    const values = parsed.data as Values<Of>;
    const extra = extraOf(fields, row as Readonly<Record<string, unknown>>, values);
    return { values: Object.assign(values, { extra }) };
  };
}

function extraOf<Of extends Fields>(
  fields: Of,
  row: Readonly<Record<string, unknown>>,
  values: Values<Of>,
): Extra {
  const extra: [string, unknown][] = [];
  // Taken from the row, not from zod's result: zod drops a field that is named __proto__.
  for (const name in row) if (!Object.hasOwn(fields, name)) extra.push([name, row[name]]);
  for (const name in fields) {
    const value: unknown = values[name];
    if (typeof value === "string" && isRespelled(fields[name], value)) extra.push([name, value]);
    if (value === null && !isEmpty(row[name])) extra.push([name, row[name]]);
  }
  return extra.length === 0 ? null : Object.fromEntries(extra);
}

const isEmpty = (sent: unknown): boolean => sent === "" || sent === undefined || sent === null;

/** Whether a field's column would keep this value but not its spelling. */
function isRespelled(scalar: z.ZodType | undefined, text: string): boolean {
  if (scalar === decimal || scalar === optionalDecimal) return !printsAsWritten(text);
  const isTime = scalar === epochMsText || scalar === optionalEpochMs;
  return isTime && String(Number(text)) !== text;
}
