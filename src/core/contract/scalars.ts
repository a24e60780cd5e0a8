import { z } from "zod";
import { numberAsText } from "./json.ts";

// Longer than anything that the exchange was seen to send, and short enough for an index entry.
const nameLengthMax = 200;
const digitsMax = 200;

const decimalPattern = new RegExp(
  `^[+-]?(?:\\d{1,${digitsMax}}(?:\\.\\d{0,${digitsMax}})?|\\.\\d{1,${digitsMax}})(?:[eE][+-]?\\d{1,2})?$`,
);
const printedPattern = /^(?:-(?!0(?:\.0*)?$))?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** Says what is wrong with a text; undefined where nothing is. */
type FaultOf = (text: string) => string | undefined;

/**
 * A value that is sent as text. A JSON number is read as its digits. It is a single transform because a
 * chain of zod steps allocated 5 kB of garbage per bill.
 */
const sentAsText = (faultOf: FaultOf) =>
  z.transform((value: unknown, context) => readText(value, context, faultOf));

/** A value that may be absent: null, missing, the empty string and `never` are read as null. */
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

// The start of the year 10000: Postgres and ISO 8601 write earlier years with four digits.
const timeEndMs = 253_402_300_800_000;

const timeFault: FaultOf = (text) => {
  if (!/^\d{1,15}$/.test(text)) return "is not a time in milliseconds since the Unix epoch";
  return Number(text) < timeEndMs ? undefined : "is past the year 9999";
};

/** A decimal number as text, never a JavaScript number. A number literal keeps its digits. */
export const decimal = sentAsText(decimalFault);
export const optionalDecimal = optionallySentAsText(decimalFault);

/** A name or an id, as text. Ids exceed 2^53, so they are text everywhere. */
export const text = sentAsText(nameFault);
export const optionalText = optionallySentAsText(nameFault);

/** A list of names that may be absent. */
export const optionalTexts = z
  .array(text)
  .nullish()
  .transform((texts) => texts ?? null);

/** Milliseconds since the Unix epoch, sent as text. */
export const epochMsText = sentAsText(timeFault);
/** -1, too, means that there is none. */
export const optionalEpochMs = optionallySentAsText(timeFault, "-1");

/**
 * Whether Postgres prints this `numeric` exactly as it was written. Of "0E-8", "-0" or ".5" it keeps the
 * value, but not the spelling.
 */
export const printsAsWritten = (text: string): boolean => printedPattern.test(text);

/**
 * A decimal as Postgres prints its `numeric`: "0.00000000" for "0E-8", "0" for "-0", "0.5" for ".5". Another
 * text, such as "NaN", stays.
 */
export function asPrinted(text: string): string {
  if (printsAsWritten(text) || !decimalPattern.test(text)) return text;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE](.*))?$/.exec(text) ?? [];
  const shift = Number(exponent);
  const scale = Math.max(0, fraction.length - shift);
  const digits = whole + fraction + "0".repeat(Math.max(0, shift - fraction.length));
  const padded = digits.padStart(scale + 1, "0");
  const point = padded.length - scale;
  const integer = padded.slice(0, point).replace(/^0+(?=\d)/, "");
  const printed = scale === 0 ? integer : `${integer}.${padded.slice(point)}`;
  return sign === "-" && /[1-9]/.test(digits) ? `-${printed}` : printed;
}
