import { type SQL, sql } from "drizzle-orm";
import { isoTime } from "../../contract/time.ts";
import type { BillMark, ProofStore } from "../../sync/account-proof.ts";
import type { Stream } from "../../sync/store.ts";
import type { Database, Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";
import { onlyRow } from "../sql/only-row.ts";
import { msOf, timeFrom } from "../sql/time-text.ts";

/** Reads what proves whose ledger is stored under a name. Writes nothing. */
export function openProofStore(db: Database): ProofStore {
  const read = <Row extends Record<string, unknown>>(statement: SQL) =>
    withDatabaseErrors(async () => (await db.execute<Row>(statement)).rows);
  return {
    async newestBill({ account, productType }, since, before) {
      const rows = await read<{ newest: string | null }>(sql`
        select ${msOf(sql`max(c_time)`)} as newest
        from bills
        where account = ${account}
          and product_type = ${productType}
          and c_time >= ${isoTime(since)}
          and (${before === undefined ? null : isoTime(before)}::timestamptz is null
            or c_time < ${before === undefined ? null : isoTime(before)})`);
      return timeFrom(onlyRow(rows, "the newest bill").newest);
    },
    async hasBills(account) {
      const rows = await read(sql`select 1 from bills where account = ${account} limit 1`);
      return rows.length > 0;
    },
    async storedTimes({ account, productType }, marks) {
      const rows = await read<{ at: string }>(sql`
        select distinct ${msOf(sql`c_time`)} as at
        from ${served(marks)}
        join bills using (bill_id, c_time, coin, amount, fee)
        where account = ${account}
          and product_type = ${productType}`);
      return rows.map(({ at }) => timeFrom(at));
    },
  };
}

/**
 * Another account that has one of these bills stored, if any: its key has proven that they are its bills, or
 * was used before this account's. Of two names of one account, the later one stores nothing.
 */
export const accountWith = (
  db: Queryable,
  stream: Stream,
  since: string,
  marks: readonly BillMark[],
): Promise<string | undefined> => otherAccount(db, stream, marks, { since, least: 1 });

/** Another account that has all of these bills stored, as far as they are compared. */
export const accountWithAll = (
  db: Queryable,
  stream: Stream,
  marks: readonly BillMark[],
): Promise<string | undefined> =>
  otherAccount(db, stream, marks, {
    since: "infinity",
    least: Math.min(marks.length, comparedMax),
  });

// All bills of a page, in each of many accounts, would be slow.
const comparedMax = 5;

async function otherAccount(
  db: Queryable,
  { account, productType }: Stream,
  marks: readonly BillMark[],
  { since, least }: { readonly since: string; readonly least: number },
): Promise<string | undefined> {
  // The oldest: the other account may not have read the very newest yet.
  const compared = marks.toSorted((a, b) => a.cTime - b.cTime).slice(0, comparedMax);
  // One account at a time: the primary key of `bills` begins with the account.
  const { rows } = await db.execute<{ account: string }>(sql`
    select streams.account
    from streams
    cross join ${served(compared)}
    join bills
      on bills.account = streams.account
      and bills.product_type = streams.product_type
      and bills.bill_id = served.bill_id
    left join streams as whole
      on whole.account = streams.account
      and whole.product_type = ''
    where streams.account <> ${account}
      and streams.product_type = ${productType}
      and streams.bills > 0
      and (bills.c_time, bills.coin, bills.amount, bills.fee)
        = (served.c_time, served.coin, served.amount, served.fee)
      and (
        whole.unproven_key is null
        or (whole.unproven_since, streams.account) < (${since}::timestamptz, ${account})
      )
    group by streams.account
    having count(*) >= ${least}
    order by streams.account
    limit 1`);
  return rows[0]?.account;
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
