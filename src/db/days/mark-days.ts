import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../connect.ts";
import { textArray } from "../sql/array-literal.ts";
import { walletOf as walletColumnOf } from "../sql/wallet.ts";

/** The UTC day of a time. */
export const dayOfColumn = (time: SQL): SQL => sql`(${time} at time zone 'UTC')::date`;

/**
 * Marks the days of an account's bills whose meaning this transaction changes. The caller holds the
 * account's meaning: see meaning-turns.ts.
 * @param bills the SQL that follows `select product_type, c_time`.
 */
export async function markMeaningOf(tx: Transaction, account: string, bills: SQL): Promise<void> {
  await tx.execute(sql`
    insert into dirty_days (account, wallet, day, cause)
    select distinct
      ${account},
      ${walletColumnOf("product_type")},
      ${dayOfColumn(sql`c_time`)},
      'meaning'
    from (select product_type, c_time ${bills}) as marked
    on conflict (account, wallet, day, cause) do nothing`);
}

/**
 * Marks the days of all bills of these types, of every account. The caller holds the meanings of
 * these accounts.
 */
export async function markTypes(tx: Transaction, codes: readonly string[]): Promise<void> {
  await tx.execute(sql`
    insert into dirty_days (account, wallet, day, cause)
    select distinct
      account,
      ${walletColumnOf("product_type")},
      ${dayOfColumn(sql`c_time`)},
      'meaning'
    from bills
    where business_type = any(${textArray(codes)}::text[])
    on conflict (account, wallet, day, cause) do nothing`);
}
