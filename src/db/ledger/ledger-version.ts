import { type SQL, sql } from "drizzle-orm";
import type { Stream } from "../../sync/store.ts";

/**
 * A text that is another one as soon as a row has changed that tells of a ledger's time. Each new row
 * version bears a later transaction's number, and one that was deleted is missing in the count.
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
