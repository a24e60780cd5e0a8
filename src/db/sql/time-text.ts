import { type SQL, sql } from "drizzle-orm";

/**
 * A time, no finer than a column's millisecond, as text that is the same in every session and that
 * every session reads back: ISO 8601 in UTC. What a cast to text prints depends on the session's
 * DateStyle and time zone: "CST" of Shanghai was read as that of Chicago, 14 hours later.
 */
export const timeText = (time: SQL): SQL =>
  sql`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
