import { sql } from "drizzle-orm";
import type { EpochMs } from "../../contract/time.ts";
import type { Database, Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { isOneOf } from "../sql/one-of.ts";
import { msOf, timeFrom } from "../sql/time-text.ts";

/** Since when accounts are paused, by name. The exchange's 90 days run on while an account is paused. */
export type Pauses = ReadonlyMap<string, EpochMs>;

/** @param accounts only these; default all. */
export async function readPauses(db: Queryable, accounts?: readonly string[]): Promise<Pauses> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string; paused_at: string }>(sql`
      select
        account,
        ${msOf(sql`paused_at`)} as paused_at
      from streams
      where product_type = ''
        and paused_at is not null
        and ${isOneOf(accounts)}`);
    return new Map(rows.map((row) => [row.account, timeFrom(row.paused_at)]));
  });
}

/** Pauses an account. One that is paused already keeps its time. */
export async function pause(db: Database, account: string): Promise<void> {
  await withDatabaseErrors(() =>
    db.execute(sql`
      insert into streams as known (account, product_type, paused_at)
      values (${account}, '', statement_timestamp())
      on conflict (account, product_type) do update
      set paused_at = excluded.paused_at
      where known.paused_at is null`),
  );
}

/** @returns whether it was paused. */
export async function resume(db: Database, account: string): Promise<boolean> {
  return withDatabaseErrors(async () => {
    const { rowCount } = await db.execute(sql`
      update streams
      set paused_at = null
      where account = ${account}
        and product_type = ''
        and paused_at is not null`);
    return rowCount === 1;
  });
}
