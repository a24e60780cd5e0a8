import { z } from "zod";
import { numberAsText } from "./json.ts";

// Long enough for everything the exchange was ever seen to send, short enough for an index entry.
const nameLengthMax = 200;
const digitsMax = 200;

const decimalPattern = new RegExp(
  `^[+-]?(?:\\d{1,${digitsMax}}(?:\\.\\d{0,${digitsMax}})?|\\.\\d{1,${digitsMax}})(?:[eE][+-]?\\d{1,2})?$`,
);
const printedPattern = /^(?:-(?!0(?:\.0*)?$))?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** A decimal number as text, never a JavaScript number. A number literal keeps its digits. */
export const decimal = z.preprocess(
  numberAsText,
  z.string().regex(decimalPattern, `is not a decimal number of at most ${digitsMax} digits`),
);

/** A decimal that may be absent: null, missing and the empty string all mean "none". */
export const optionalDecimal = z.preprocess(
  (value) => (value === "" || value === undefined ? null : value),
  decimal.nullable(),
);

/**
 * Whether Postgres prints this `numeric` letter for letter as it was written: not so for
 * "0E-8", "-0" or ".5", whose value it keeps and whose spelling it does not.
 */
export const printsAsWritten = (text: string): boolean => printedPattern.test(text);

/** A name or an id as text. Ids exceed 2^53, so they are text everywhere. */
export const text = z.preprocess(numberAsText, z.string().min(1).max(nameLengthMax));

/** A name that may be absent: null, missing and the empty string all mean "none". */
export const optionalText = z.preprocess(
  (value) => (value === "" || value === undefined ? null : value),
  text.nullable(),
);

// Year 10000: what Postgres and ISO 8601 write with four digits of year ends here.
const timeEndMs = 253_402_300_800_000;

/** Milliseconds since the Unix epoch, sent as text. */
export const epochMsText = z.preprocess(
  numberAsText,
  z
    .string()
    .regex(/^\d{1,15}$/, "is not a time in milliseconds since the Unix epoch")
    .refine((digits) => Number(digits) < timeEndMs, "is past the year 9999"),
);

/** Such a time that may be absent: null, missing and the empty string all mean "none". */
export const optionalEpochMs = z.preprocess(
  (value) => (value === "" || value === undefined ? null : value),
  epochMsText.nullable(),
);
