import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { dayOfColumn } from "../db/days/mark-days.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { walletOf } from "../db/sql/wallet.ts";
import { timeBetween } from "./chains.ts";
import { type AccountScope, lastGoodProductType } from "./scope.ts";

/**
 * Marks the days from a break's last good bill to its first bad one, days without bills included. A bill
 * that somebody deleted, changed or put back by hand, and that causes or removes a break, lies in that span,
 * and no writer has marked its day.
 */
export async function markDaysOfBreaks(
  tx: Transaction,
  { account }: AccountScope,
  breakIds: readonly string[],
): Promise<void> {
  if (breakIds.length === 0) return;
  await tx.execute(sql`
    insert into dirty_days (account, wallet, day, cause)
    select distinct ${account}, ${walletOf("product_type")}, first_day + day_offset, 'meaning'
    from (
      select
        broken.product_type,
        ${timeBetween("coalesce(good.c_time, happened_at)", "happened_at", "broken.product_type")} as span
      from ledger_breaks as broken
      left join bills as good
        on good.account = ${account}
        and good.product_type = ${lastGoodProductType("broken")}
        and good.bill_id = last_good_bill
      where broken.account = ${account}
        and break_id = any(${textArray(breakIds)}::bigint[])
        -- Of a wallet, and not of a loan-to-value record or of rows.
        and broken.product_type <> ''
        and broken.coin <> ''
    ) as places
    cross join lateral (
      select ${dayOfColumn(sql`lower(span)`)} as first_day, ${dayOfColumn(sql`upper(span)`)} as last_day
    ) as ends
    cross join lateral generate_series(0, last_day - first_day) as day_offset
    on conflict (account, wallet, day, cause) do nothing`);
}
