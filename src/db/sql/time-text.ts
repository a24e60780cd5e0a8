import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../../contract/time.ts";

/**
 * A time, to the millisecond, as text that every session writes and reads alike: ISO 8601 in UTC. A
 * cast to text depends on the session's DateStyle and time zone: Shanghai's "CST" was read as
 * Chicago's, 14 hours later.
 */
export const timeText = (time: SQL): SQL =>
  sql`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A time in milliseconds since the Unix epoch, as text: {@link timeFrom} reads it. */
export const msOf = (time: SQL): SQL => sql`(extract(epoch from ${time}) * 1000)::bigint::text`;

/** A time that {@link msOf} wrote; undefined where it is null. */
export function timeFrom(ms: string): EpochMs;
export function timeFrom(ms: string | null): EpochMs | undefined;
export function timeFrom(ms: string | null): EpochMs | undefined {
  return ms === null ? undefined : epochMs(Number(ms));
}
