import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../../../lib/time.ts";
import type { Transaction } from "../../postgres/connect.ts";
import { textArray } from "../../postgres/values.ts";

/** An account that was renamed. */
type Renamed = {
  readonly account: string;
  /** The name under which its bills were first stored. */
  readonly firstName: string;
};

const among = (accounts: readonly string[] | undefined): SQL =>
  accounts === undefined ? sql`` : sql`and account = any (${textArray(accounts)}::text[])`;

/** The accounts among these that were renamed, at or after a time if there is one. */
export async function readRenamed(
  tx: Transaction,
  accounts: readonly string[] | undefined,
  since?: EpochMs,
): Promise<readonly Renamed[]> {
  const isSince =
    since === undefined ? sql`` : sql`and renamed_at >= ${isoTime(since)}::timestamptz`;
  const { rows } = await tx.execute<Renamed>(sql`
    select account, first_name as "firstName"
    from ledgers
    where product_type = ''
      and renamed_at is not null
      ${isSince}
      ${among(accounts)}
    order by account`);
  return rows;
}

/** The business types whose category has changed at or after a time. */
export async function readRemapped(tx: Transaction, since: EpochMs): Promise<readonly string[]> {
  const { rows } = await tx.execute<{ code: string }>(sql`
    select code
    from business_types
    where changed_at >= ${isoTime(since)}::timestamptz
    order by code`);
  return rows.map(({ code }) => code);
}
