import type pg from "pg";
import type { Statements } from "./database.ts";

/**
 * Whether the transaction, which is about to commit, wrote bills of days that are not marked: of these
 * somebody has to look whether they are stored as their bills say. Of a bill that it replaced both
 * contents count.
 */
export async function isDayUnmarked(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ is_unmarked: boolean }>(`
    select exists (
      select account, product_type, c_time
      from bills
      where xmin = pg_current_xact_id()::xid
        and ${notMarked("bills")}
      union all
      select account, product_type, c_time
      from bill_revisions
      where xmin = pg_current_xact_id()::xid
        and ${notMarked("bill_revisions")}
    ) as is_unmarked`);
  return rows[0]?.is_unmarked === true;
}

const notMarked = (table: string) => `
  not exists (
    select 1
    from dirty_days
    where dirty_days.account = ${table}.account
      and wallet = case when ${table}.product_type like 'UTA-%' then 'UTA' else ${table}.product_type end
      and day = (${table}.c_time at time zone 'UTC')::date
  )`;

/** Whether a transaction stored days, which the bills tell: nothing new. */
export const areDays = (statements: Statements): boolean =>
  statements.some(
    ([text]) => typeof text === "string" && text.includes('lock table "meaning_turns'),
  );
