import { type SQL, sql } from "drizzle-orm";
import { isOneOf, timeOf } from "../../core/postgres/values.ts";
import { ledgerTimes } from "../../core/store/known-time.ts";
import { comparedBalances } from "../../core/store/wallet-balances.ts";
import { walletColumn } from "../../core/views/wallet-moves.ts";
import { horizonAt } from "../../core/words/plan.ts";
import { unexplainedDetail, unexplainedSums } from "../reconcile/unexplained.ts";
import { type FindingScope, findingRows, isWithinSpan } from "./finding-rows.ts";
import { unprovenBalances } from "./proof.ts";

/** What does not add up, or is not known to. */
export function sumFindings(scope: FindingScope): readonly SQL[] {
  const { accounts, now, span } = scope;
  const isOne = isOneOf(accounts);
  const open = openBreaks(scope);
  // Time beside these was read since they were found.
  const isOutdated = sql`kind = 'unread' and has_loss is not true`;
  return [
    findingRows(
      sql`kind`,
      [
        "ledger",
        "coin",
        "since",
        "until",
        "count",
        "detail",
        "difference",
        "breakIds",
        "isRepairable",
      ],
      sql`(
        select
          account,
          ledger,
          coin,
          case kind when 'restated' then kind else 'broken' end as kind,
          min(happened_at) as since,
          max(happened_at) + interval '1 ms' as until,
          count(*) as count,
          string_agg(distinct kind, ', ') as detail,
          -- Of restatements it would be their number.
          case count(*)
            when 1 then sum(nullif(difference, 0)) filter (where kind <> 'restated')
            else sum(abs(difference)) filter (where kind in ('balance', 'unread') and difference <> 0)
          end as difference,
          string_agg(break_id::text, ',' order by break_id) as break_ids,
          bool_or(
            coin <> '' and ledger <> '' and repair_failed_at is null and happened_at > ${timeOf(horizonAt(now))}
          ) as is_repairable
        from ${open}
        where not (${isOutdated})
        group by account, ledger, coin, case kind when 'restated' then kind else 'broken' end
      ) as found`,
    ),
    // Chains with balances that do not follow any more.
    findingRows(
      "broken",
      ["ledger", "coin", "since", "until", "count", "detail", "difference"],
      sql`(
        select account, wallet as ledger, coin, since, until, balances as count, detail, difference
        from ${unprovenBalances(scope)} as unproven
      ) as found`,
    ),
    findingRows(
      "unexplained",
      ["ledger", "coin", "since", "until", "count", "detail"],
      sql`(
        select account, wallet as ledger, coin, since, until, balances as count, ${unexplainedDetail} as detail
        from ${unexplainedSums(accounts, isWithinSpan(sql`at`, span))} as sums
      ) as found`,
    ),
    // The exchange's balance of a wallet differs from its bills', and both may be right.
    findingRows(
      "unexplained",
      ["ledger", "coin", "since", "difference"],
      sql`(
        select account, wallet as ledger, coin, last_seen_at as since, balance - expected as difference
        from ${comparedBalances(accounts)}
        where differs
          and may_differ
      ) as found`,
    ),
    // Ledgers whose newest bills no reconcile has checked.
    findingRows(
      "unchecked",
      ["ledger", "since"],
      sql`(
        select account, ledger, min(checked) as since
        from (
          select account, ledger, case when isfinite(checked) then checked end as checked
          from (
            select account, ${walletColumn("product_type")} as ledger, max(stored_at) as stored_at
            from ledgers
            where bills > 0
              and ${isOne}
            group by 1, 2
          ) as stored
          left join (
            select
              account,
              wallet as ledger,
              case when bool_and(isfinite(checked_before)) then max(checked_before) end as checked,
              max(stored_through) as stored_through
            from reconciled_chains
            where ${isOne}
            group by 1, 2
          ) as chains using (account, ledger)
          where checked is null
            or stored_at > stored_through
          union all
          select account, ledger, null
          from ${open}
          where ${isOutdated}
        ) as due
        group by account, ledger
      ) as found`,
    ),
    // Bills of a type without a category.
    findingRows(
      "unclassified",
      ["ledger", "coin", "since", "until", "count", "detail"],
      sql`(
        select
          account,
          product_type as ledger,
          coin,
          business_type as detail,
          count(*) as count,
          date_trunc('day', min(c_time), 'UTC') as since,
          date_trunc('day', max(c_time), 'UTC') + interval '24 hours' as until
        from unclassified_bills
        where (amount <> 0 or fee <> 0)
          and ${isWithinSpan(sql`c_time`, span)}
          and ${isOne}
        group by account, product_type, coin, business_type
      ) as found`,
    ),
  ];
}

/** The open breaks. A balance beside unread or lost time does not follow: that time is the finding. */
const openBreaks = (scope: FindingScope): SQL => sql`(
      select account, ledger, coin, break_id, kind, happened_at, difference, repair_failed_at, has_loss
      from (
        select
          account, ledger, coin, break_id, kind, happened_at, difference, repair_failed_at
        from ledger_breaks
        where state = 'open'
          and kind <> 'lost'
          and (kind = 'restated' or happened_at is null or ${isWithinSpan(sql`happened_at`, scope.span)})
          and ${isOneOf(scope.accounts)}
      ) as open_breaks
      left join (
        select
          account,
          ${walletColumn("ledger")} as ledger,
          bool_or(not isempty(unread) or not isempty(lost)) as has_hole
        from ${ledgerTimes(scope)}
        group by 1, 2
      ) as wallets using (account, ledger)
      left join (
        select account, ${walletColumn("product_type")} as ledger, bool_or(not isempty(lost)) as has_loss
        from ledgers
        where ${isOneOf(scope.accounts)}
        group by 1, 2
      ) as losses using (account, ledger)
      where not (kind = 'unread' and has_hole is true)
    ) as breaks`;
