import { type SQL, sql } from "drizzle-orm";
import { flagWords } from "../db/sql/is-demo.ts";
import { readSqlFile } from "../db/sql/sql-file.ts";

/**
 * The rows of the view `analytics.transfers` of one account: its query, with the entries of that account
 * under the name of those of all.
 */
export function transfersOf(account: string): SQL {
  const [, query = ""] = readSqlFile("views/transfers", flagWords).split(/ view \S+ as\nwith |;/);
  return sql`
      with known_entries as (select * from public.known_entries where account = ${account}),
      ${sql.raw(query)}`;
}
