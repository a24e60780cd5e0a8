import { type SQL, sql } from "drizzle-orm";

/**
 * A time, to the millisecond, as text that every session writes and reads alike: ISO 8601 in UTC. A
 * cast to text depends on the session's DateStyle and time zone: Shanghai's "CST" was read as
 * Chicago's, 14 hours later.
 */
export const timeText = (time: SQL): SQL =>
  sql`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
