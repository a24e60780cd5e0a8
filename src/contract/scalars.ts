import { z } from "zod";
import { numberAsText } from "./json.ts";

// Long enough for everything the exchange was ever seen to send, short enough for an index entry.
const nameLengthMax = 200;
const digitsMax = 200;

const decimalPattern = new RegExp(
  `^[+-]?(?:\\d{1,${digitsMax}}(?:\\.\\d{0,${digitsMax}})?|\\.\\d{1,${digitsMax}})(?:[eE][+-]?\\d{1,2})?$`,
);
const printedPattern = /^(?:-(?!0(?:\.0*)?$))?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** What is wrong with a text; undefined where nothing is. */
type FaultOf = (text: string) => string | undefined;

/**
 * A value that is sent as text; of a number of JSON, its digits. In one step: a chain of them left
 * 5 kB of garbage behind for each bill.
 */
const sentAsText = (faultOf: FaultOf) =>
  z.transform((value: unknown, context) => readText(value, context, faultOf));

/** One that may be absent: null, missing and the empty string all mean "none". */
const optionallySentAsText = (faultOf: FaultOf, never?: string) =>
  z.transform((value: unknown, context) =>
    value === "" ||
    value === undefined ||
    value === null ||
    (never !== undefined && numberAsText(value) === never)
      ? null
      : readText(value, context, faultOf),
  );

function readText(value: unknown, context: z.RefinementCtx, faultOf: FaultOf): string {
  const text = numberAsText(value);
  const fault = typeof text === "string" ? faultOf(text) : noText(value);
  if (typeof text === "string" && fault === undefined) return text;
  context.addIssue({ code: "custom", message: fault });
  return z.NEVER;
}

const noText = (value: unknown): string =>
  value === undefined ? "is missing" : "is neither text nor a number";

const nameFault: FaultOf = ({ length }) => {
  if (length === 0) return "is empty";
  return length > nameLengthMax ? `is longer than ${nameLengthMax} characters` : undefined;
};

const decimalFault: FaultOf = (text) =>
  decimalPattern.test(text) ? undefined : `is not a decimal number of at most ${digitsMax} digits`;

// Year 10000: what Postgres and ISO 8601 write with four digits of year ends here.
const timeEndMs = 253_402_300_800_000;

const timeFault: FaultOf = (text) => {
  if (!/^\d{1,15}$/.test(text)) return "is not a time in milliseconds since the Unix epoch";
  return Number(text) < timeEndMs ? undefined : "is past the year 9999";
};

// What a JSON schema says of them: it cannot be told from a transform.
const decimalText = { type: "string", description: "A decimal number, with all its digits." };
const timeText = { type: "string", description: "Milliseconds since the Unix epoch." };

/** A decimal number as text, never a JavaScript number. A number literal keeps its digits. */
export const decimal = sentAsText(decimalFault).meta(decimalText);
export const optionalDecimal = optionallySentAsText(decimalFault).meta(decimalText);

/** A name or an id as text. Ids exceed 2^53, so they are text everywhere. */
export const text = sentAsText(nameFault).meta({ type: "string" });
export const optionalText = optionallySentAsText(nameFault).meta({ type: "string" });

/** Milliseconds since the Unix epoch, sent as text. */
export const epochMsText = sentAsText(timeFault).meta(timeText);
export const optionalEpochMs = optionallySentAsText(timeFault).meta(timeText);
/** One that is -1 where there is no such time. */
export const optionalEpochMsOrNever = optionallySentAsText(timeFault, "-1");

/**
 * Whether Postgres prints this `numeric` letter for letter as it was written: not so for
 * "0E-8", "-0" or ".5", whose value it keeps and whose spelling it does not.
 */
export const printsAsWritten = (text: string): boolean => printedPattern.test(text);
