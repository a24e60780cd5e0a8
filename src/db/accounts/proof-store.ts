import { type SQL, sql } from "drizzle-orm";
import { productTypes } from "../../contract/product-types.ts";
import { isoTime } from "../../contract/time.ts";
import type { BillMark, ProofStore } from "../../sync/account-proof.ts";
import type { Database } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";
import { msOf, timeFrom } from "../sql/time-text.ts";

/** Reads what proves whose ledger is stored under a name. Writes nothing. */
export function openProofStore(db: Database): ProofStore {
  const read = <Row extends Record<string, unknown>>(statement: SQL) =>
    withDatabaseErrors(async () => (await db.execute<Row>(statement)).rows);
  return {
    async spans(account, since) {
      // One product type at a time, so that an index finds its oldest and its newest bill.
      const rows = await read<{ product_type: string; oldest: string; newest: string }>(sql`
        select
          product_type,
          ${msOf(sql`oldest`)} as oldest,
          ${msOf(sql`newest`)} as newest
        from unnest(${textArray(productTypes)}::text[]) as stream (product_type)
        cross join lateral (
          select min(c_time) as oldest, max(c_time) as newest
          from bills
          where bills.account = ${account}
            and bills.product_type = stream.product_type
            and c_time >= ${isoTime(since)}
        ) as span
        where newest is not null`);
      return productTypes.flatMap((productType) => {
        const row = rows.find((one) => one.product_type === productType);
        if (row === undefined) return [];
        const [oldest, newest] = [timeFrom(row.oldest), timeFrom(row.newest)];
        return [{ productType, oldest, newest }];
      });
    },
    async hasBills(account) {
      const rows = await read(sql`select 1 from bills where account = ${account} limit 1`);
      return rows.length > 0;
    },
    async countStored({ account, productType }, marks) {
      const rows = await read(sql`
        select 1
        from ${served(marks)}
        join bills using (bill_id, c_time, coin, amount, fee)
        where account = ${account}
          and product_type = ${productType}`);
      return rows.length;
    },
    async productTypesOfOthers(account) {
      const rows = await read<{ product_type: string }>(sql`
        select distinct product_type
        from bill_counts
        where account <> ${account}
          and bills > 0`);
      return productTypes.filter((type) => rows.some(({ product_type }) => product_type === type));
    },
    async otherAccount({ account, productType }, marks) {
      // One account at a time: the primary key of `bills` begins with the account.
      const rows = await read<{ account: string }>(sql`
        select account
        from bill_counts
        where account <> ${account}
          and product_type = ${productType}
          and exists (
            select 1
            from ${served(marks)}
            join bills using (bill_id, c_time, coin, amount, fee)
            where bills.account = bill_counts.account
              and bills.product_type = ${productType}
          )
        order by account
        limit 1`);
      return rows[0]?.account;
    },
  };
}

/** Bills as a table: bill_id, c_time, coin, amount, fee. */
function served(marks: readonly BillMark[]): SQL {
  const column = (pick: (mark: BillMark) => string) => textArray(marks.map(pick));
  return sql`
        unnest(
          ${column(({ billId }) => billId)}::text[],
          ${column(({ cTime }) => isoTime(cTime))}::timestamptz[],
          ${column(({ coin }) => coin)}::text[],
          ${column(({ amount }) => amount)}::numeric[],
          ${column(({ fee }) => fee)}::numeric[]
        ) as served (bill_id, c_time, coin, amount, fee)`;
}
