import { type SQL, sql } from "drizzle-orm";
import { type Database, inTransaction, type Queryable, type Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { pauseHolder } from "../db/lease/lease.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import type { Stream } from "../sync/store.ts";

/**
 * Stores the sums of an account's checkpoints, one row a stream, which is what status reads of a hundred
 * thousand accounts at once. Call it in every transaction that changes checkpoints other than by a cursor.
 */
export async function refreshStreamTimes(
  tx: Transaction,
  account: string,
  productTypes: readonly string[],
): Promise<void> {
  const wanted = sql`unnest(${textArray([...new Set(productTypes)].toSorted())}::text[])`;
  await tx.execute(sql`
    insert into streams as known (
      account, product_type, covered, lost, open, settled_to, read_at, lost_at, told_at
    )
    select ${account}, product_type, covered, lost, open, settled_to, read_at, lost_at, told_at
    from (${byCheckpoints(account, wanted)}) as computed
    on conflict (account, product_type) do update
    set
      covered = excluded.covered,
      lost = excluded.lost,
      open = excluded.open,
      settled_to = excluded.settled_to,
      read_at = excluded.read_at,
      lost_at = excluded.lost_at,
      told_at = excluded.told_at`);
}

/** The accounts that have a ledger, in the order of their names. @param accounts only these; default all. */
export async function readTimedAccounts(
  db: Queryable,
  accounts?: readonly string[],
): Promise<readonly string[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string }>(sql`
      select distinct account
      from streams
      where ${isOneOf(accounts)}
      order by account`);
    return rows.map(({ account }) => account);
  });
}

/** Computes the rows of `streams` from the checkpoints of an account's product types. */
const byCheckpoints = (account: string, productTypes: SQL): SQL => sql`
    select
      product_type,
      covered,
      lost,
      open,
      least((select min(upper(span)) from unnest(covered + lost) as span), lower(open))
        as settled_to,
      read_at,
      lost_at,
      told_at
    from (
      select
        wanted.product_type,
        ${union("complete")} as covered,
        ${union("expired")} as lost,
        ${union("open")} as open,
        max(updated_at) filter (where state = 'complete') as read_at,
        max(updated_at) filter (where state = 'expired') as lost_at,
        max(started_at) as told_at
      from ${productTypes} as wanted (product_type)
      left join checkpoints
        on checkpoints.account = ${account}
        and checkpoints.product_type = wanted.product_type
      group by wanted.product_type
    ) as grouped`;

/**
 * The streams of an account whose stored times differ from what their checkpoints say, since somebody
 * changed rows by hand. `told_at` is not compared: a sync that moves a cursor does not update it.
 */
export async function findWrongTimes(db: Queryable, account: string): Promise<readonly Stream[]> {
  const known = sql`(
      select product_type from checkpoints where account = ${account}
      union
      select product_type from streams where account = ${account}
    )`;
  const { rows } = await db.execute<Stream>(sql`
    select ${account}::text as account, product_type as "productType"
    from (${byCheckpoints(account, known)}) as computed
    left join (
      select product_type, covered, lost, open, settled_to, read_at, lost_at
      from streams
      where account = ${account}
    ) as stored using (product_type)
    where (stored.covered, stored.lost, stored.open, stored.settled_to, stored.read_at, stored.lost_at)
      is distinct from (
        computed.covered, computed.lost, computed.open, computed.settled_to, computed.read_at,
        computed.lost_at
      )
    order by product_type`);
  return rows;
}

/** Stores wrong times anew, while no other process writes the account. @returns the corrected streams. */
export function setTimesRight(db: Database, account: string): Promise<readonly Stream[]> {
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      await pauseHolder(tx, account);
      const wrong = await findWrongTimes(tx, account);
      if (wrong.length > 0) {
        const productTypes = wrong.map(({ productType }) => productType);
        await refreshStreamTimes(tx, account, productTypes);
      }
      return wrong;
    }),
  );
}

const union = (state: "complete" | "expired" | "open"): SQL => sql`
        coalesce(
          range_agg(tstzrange(window_start, window_end)) filter (where state = ${state}),
          '{}'
        )`;
