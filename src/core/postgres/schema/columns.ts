import { sql } from "drizzle-orm";
import { check, customType, type PgColumn, timestamp } from "drizzle-orm/pg-core";

/** Text that is compared byte by byte: 1.7 times faster to insert as a key than with a language's collation. */
export const textKey = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

/** A time to the millisecond, the exchange's precision. */
export const time = (name: string) =>
  timestamp(name, { withTimezone: true, precision: 3, mode: "date" });

/** Disjoint half-open ranges of time. */
export const times = customType<{ data: string }>({ dataType: () => "tstzmultirange" });

/** Checks that an amount is a number, never NaN or Infinity. Its digits are not limited. */
export const finite = (name: string, column: PgColumn) =>
  check(name, sql`${column} not in ('NaN', 'Infinity', '-Infinity')`);

/** The same check for every numeric column of a table. */
export const allFinite = (name: string, columns: Readonly<Record<string, PgColumn>>) => {
  // By name, since at this point a column is not yet an instance of its class.
  const numbers = Object.values(columns).filter(({ columnType }) => columnType === "PgNumeric");
  const parts = numbers.map((column) => sql`${column} not in ('NaN', 'Infinity', '-Infinity')`);
  return check(name, sql.join(parts, sql` and `));
};

/** The columns that name a ledger. */
export const ledger = () => ({
  account: textKey("account").notNull(),
  productType: textKey("product_type").notNull(),
});
