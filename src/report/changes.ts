import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { timeText } from "../db/sql/time-text.ts";
import { joinRules, walletMoves } from "../db/sql/wallet-moves.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import type { Interval } from "../sync/intervals.ts";
import type { Change } from "./month-report.ts";

/** Selects rows by the bills' own product types. */
export const isOf = ({ account, productTypes }: ReportedWallet): SQL =>
  sql`account = ${account} and product_type = any(${textArray(productTypes)}::text[])`;

export const isWithin = (column: SQL, { from, to }: Interval): SQL =>
  sql`${column} >= ${isoTime(from)}::timestamptz and ${column} < ${isoTime(to)}::timestamptz`;

/**
 * What bills of the period moved since a time more than what was stored of them then. A bill that was first stored later is
 * late, or recovered; of a restated one, the revision of that time is taken off.
 */
export async function readChanges(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
  knownOn: EpochMs,
): Promise<readonly Change[]> {
  const at = sql`${isoTime(knownOn)}::timestamptz`;
  const columns = sql.raw(
    "account, product_type, bill_id, business_type, coin, amount, fee, fee_by_coupon, source",
  );
  const moves = walletMoves("contents");
  const { rows } = await tx.execute<Change & { readonly bills: string }>(sql`
    select
      case when is_restated then 'restated' when is_recovered then 'recovered' else 'late' end as kind,
      category,
      coin,
      count(*) as bills,
      sum(moved)::text as difference,
      ${timeText(sql`min(changed_at)`)} as since,
      ${timeText(sql`max(changed_at)`)} as until
    from (
      select
        contents.product_type,
        contents.bill_id,
        contents.coin,
        coalesce(business_types.category, 'unknown') as category,
        bool_or(bool_or(is_then)) over (
          partition by contents.product_type, contents.bill_id
        ) as is_restated,
        bool_or(contents.source = 'tax') as is_recovered,
        sum((case when is_then then -1 else 1 end) * (${moves.amount} + ${moves.fee})) as moved,
        max(changed_at) as changed_at
      from (
        select ${columns}, false as is_then, ingested_at as changed_at
        from bills
        where ${isOf(wallet)}
          and ${isWithin(sql`c_time`, span)}
          and ingested_at > ${at}
        union all
        select ${columns}, true, replaced_at
        from bill_revisions
        where ${isOf(wallet)}
          and ${isWithin(sql`c_time`, span)}
          and ingested_at <= ${at}
          and replaced_at > ${at}
      ) as contents
      ${joinRules("contents", wallet.account)}
      group by contents.product_type, contents.bill_id, contents.coin, 4
    ) as changed
    group by 1, category, coin
    order by 1, category, coin`);
  return rows.map((row) => ({ ...row, bills: Number(row.bills) }));
}
