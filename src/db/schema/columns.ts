import { sql } from "drizzle-orm";
import { check, customType, type PgColumn, timestamp } from "drizzle-orm/pg-core";

/** Text compared byte by byte: 1.7 times faster to insert as a key than in a language's order. */
export const key = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

/** Finer than a millisecond, nothing is ever known. */
export const time = (name: string) =>
  timestamp(name, { withTimezone: true, precision: 3, mode: "date" });

/** Stretches of time apart from each other, half-open. */
export const times = customType<{ data: string }>({ dataType: () => "tstzmultirange" });

/** Money has as many digits as the exchange sent, and is a number: never NaN or Infinity. */
export const finite = (name: string, column: PgColumn) =>
  check(name, sql`${column} not in ('NaN', 'Infinity', '-Infinity')`);

/** The same for every number of a table. */
export const allFinite = (name: string, columns: Readonly<Record<string, PgColumn>>) => {
  // By its name: here a column is not an instance of its class.
  const numbers = Object.values(columns).filter(({ columnType }) => columnType === "PgNumeric");
  const parts = numbers.map((column) => sql`${column} not in ('NaN', 'Infinity', '-Infinity')`);
  return check(name, sql.join(parts, sql` and `));
};
