/** A number literal of a JSON text, kept as its digits because a JavaScript number would change them. */
export type RawNumber = { readonly rawJSON: string };

// TypeScript 7.0 does not know these parts of ES2026 yet; Node 24 has them.
declare global {
  interface JSON {
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source: string }) => unknown,
    ): unknown;
  }
}

// Matches numbers that may not print as they were written. Every other number is an integer of at most
// 15 digits. A match inside a string only costs the slower parsing.
const suspect = /[[:,\s](?:-0|-?\d{16}|-?\d+[.eE])|^-?\d/;

/**
 * Parses JSON without losing a digit: a number literal that would not print as it came
 * (an id past 2^53, a price with trailing zeros) stays a {@link RawNumber}, which
 * `JSON.stringify` writes back letter for letter.
 *
 * @throws SyntaxError where the text is not JSON.
 */
export function parseExactJson(text: string): unknown {
  // Parsing with a reviver is slow, since it is called for every value. It is rarely needed: the exchange
  // writes its numbers as strings.
  if (!suspect.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value, context) =>
    typeof value === "number" && String(value) !== context.source
      ? JSON.rawJSON(context.source)
      : value,
  );
}

/** JSON with sorted keys: values that differ only in the order of their keys give the same text. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, member) =>
    typeof member !== "object" || member === null || Array.isArray(member) || JSON.isRawJSON(member)
      ? member
      : Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))),
  );
}

/** A number as text, as it was written; every other value unchanged. */
export function numberAsText(value: unknown): unknown {
  if (typeof value === "number") return String(value);
  return JSON.isRawJSON(value) ? value.rawJSON : value;
}

/** Where a value broke the contract, and how. */
export type RowFault = { readonly path: string; readonly reason: string };

// Postgres refuses JSON that is nested too deeply for its stack. One such row would fail its whole page.
const depthMax = 32;

/** Why Postgres could not keep this value unchanged as text or JSON; undefined where it can. */
export function unstorable(value: unknown): RowFault | undefined {
  return isPlainRecord(value) ? undefined : faultOf(value, []);
}

/** Whether the value is a record of storable strings, as almost all rows are. Checked without allocating. */
function isPlainRecord(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const key in value) {
    const member: unknown = value[key as keyof typeof value];
    if (typeof member !== "string" || unstorableText(member) !== undefined) return false;
    if (unstorableText(key) !== undefined) return false;
  }
  return true;
}

function faultOf(value: unknown, path: readonly string[]): RowFault | undefined {
  const unstorableHere = typeof value === "string" ? unstorableText(value) : undefined;
  const reason = unstorableHere ?? (path.length > depthMax ? tooDeep : undefined);
  if (reason !== undefined) return { path: printable(path.join(".")), reason };
  if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const keyFault = unstorableText(key);
    const memberPath = [...path, key];
    if (keyFault !== undefined) return { path: printable(memberPath.join(".")), reason: keyFault };
    const fault = faultOf(member, memberPath);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const tooDeep = `is nested deeper than ${depthMax} levels`;

function unstorableText(text: string): string | undefined {
  if (text.includes("\0")) return "holds a NUL character";
  return text.isWellFormed() ? undefined : "holds half of a surrogate pair";
}

const printable = (path: string): string => path.replaceAll("\0", "").toWellFormed();
