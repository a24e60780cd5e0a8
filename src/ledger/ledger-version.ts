import { type SQL, sql } from "drizzle-orm";
import type { Stream } from "../sync/store.ts";

/**
 * A text that changes whenever a row changes that records a ledger's time: a new row version has a later
 * transaction's number, and a deleted row is missing from the count.
 */
export const ledgerVersion = ({ account, productType }: Stream): SQL => {
  const isOf = sql`account = ${account} and product_type = ${productType}`;
  return sql`concat_ws(
        ' ',
        (select concat_ws('/', count(*), max(xmin::text::bigint)) from checkpoints where ${isOf}),
        (
          select concat_ws('/', count(*), max(xmin::text::bigint))
          from rejected_bills
          where ${isOf}
            and resolved_at is null
            and superseded_at is null
        ),
        (select xmin::text from stream_states where ${isOf})
      )`;
};
