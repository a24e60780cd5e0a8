import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, epochMs, isoTime } from "../../lib/time.ts";
import type { Interval } from "../words/intervals.ts";

/**
 * The Postgres array literal of a column of values, to be cast to its type: `{"a",null,"b\"c"}`.
 * Binding one text a column costs Node a fraction of binding each value.
 */
export function textArray(values: readonly (string | null)[]): string {
  const json = JSON.stringify(values);
  // JSON writes it faster, and alike but for the brackets, where it escapes only quotes and backslashes.
  return /\\[^"\\]/.test(json) ? `{${values.map(element).join(",")}}` : `{${json.slice(1, -1)}}`;
}

const element = (value: string | null): string =>
  value === null ? "NULL" : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;

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

/**
 * The row of a statement that always returns one. A missing row must not pass for a count of 0 or for
 * "nothing found".
 * @throws where there is no row, which is a defect.
 */
export function onlyRow<Row>(rows: readonly Row[], what: string): Row {
  const [row] = rows;
  if (row === undefined) throw new Error(`defect: ${what} came back without a row`);
  return row;
}

/**
 * A time, to the millisecond, as text that every session writes and reads alike: ISO 8601 in UTC. A
 * cast to text depends on the session's DateStyle and time zone: Shanghai's "CST" was read as
 * Chicago's, 14 hours later.
 */
export const timeText = (time: SQL): SQL =>
  sql`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A time of this program in a statement. */
export const timeOf = (ms: number): SQL =>
  Number.isFinite(ms)
    ? sql`${isoTime(epochMs(ms))}::timestamptz`
    : sql`${ms > 0 ? "infinity" : "-infinity"}::timestamptz`;

/** A time in milliseconds since the Unix epoch, as text: {@link timeFrom} reads it. */
export const msOf = (time: SQL): SQL => sql`(extract(epoch from ${time}) * 1000)::bigint::text`;

/** A time that {@link msOf} wrote; undefined where it is null. */
export function timeFrom(ms: string): EpochMs;
export function timeFrom(ms: string | null): EpochMs | undefined;
export function timeFrom(ms: string | null): EpochMs | undefined {
  return ms === null ? undefined : epochMs(Number(ms));
}

/** A multirange as JSON, oldest first: {@link intervalsFrom} reads it. */
export const intervalsOf = (times: SQL): SQL => sql`(
        select json_agg(array[${msOf(sql`lower(span)`)}, ${msOf(sql`upper(span)`)}] order by span)
        from unnest(${times}) as span
      )`;

export type IntervalsJson = readonly (readonly [from: string, to: string])[] | null;

/** What {@link intervalsOf} wrote; empty where it is null. */
export const intervalsFrom = (json: IntervalsJson | undefined): readonly Interval[] =>
  (json ?? []).map(([from, to]) => ({ from: timeFrom(from), to: timeFrom(to) }));

/** Intervals as a multirange. */
export const multirange = (intervals: readonly Interval[]): SQL =>
  sql`${multirangeText(intervals)}::tstzmultirange`;

/** The literal of a multirange, to be cast to it. */
export const multirangeText = (intervals: readonly Interval[]): string =>
  `{${intervals.map(({ from, to }) => `[${isoTime(from)},${isoTime(to)})`).join(",")}}`;
