import { sql } from "drizzle-orm";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import type { Stream } from "../sync/store.ts";

/** How many unresolved rejected rows a stream has. */
export type RejectedCount = Stream & { readonly rows: number };

/** Counts unresolved rows that broke the contract, in this run or an earlier one. */
export async function countRejected(
  db: Queryable,
  /** Default all. */
  accounts?: readonly string[],
): Promise<readonly RejectedCount[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      account: string;
      product_type: Stream["productType"];
      rows: string;
    }>(sql`
      select account, product_type, count(*) as rows
      from rejected_bills
      where resolved_at is null
        and ${isOneOf(accounts)}
      group by account, product_type
      order by account, product_type`);
    return rows.map((row) => ({
      account: row.account,
      productType: row.product_type,
      rows: Number(row.rows),
    }));
  });
}
