import { type SQL, sql } from "drizzle-orm";
import { isOneOf, textArray, timeOf } from "../../core/postgres/values.ts";
import { dayOf, nearestShown, withAnyBalance } from "../../core/views/bill-sums.ts";
import { bookedMaxOf, chainOrder } from "../../core/views/chain-order.ts";
import {
  joinRules,
  productTypesArray,
  walletColumn,
  walletMoves,
} from "../../core/views/wallet-moves.ts";
import { bookedMaxMs, dayMs, epochMs } from "../../lib/time.ts";
import { roundingMin, roundingShareMin } from "../reconcile/check-chain.ts";
import type { FindingScope, Span } from "./finding-rows.ts";

/*
 * Opening plus the sum of a period's bills is the closing that the exchange served, if each balance follows from the one
 * before. `reconcile` has judged each of them, and stored which do not follow. One that does not follow now, and is not
 * among these, followed then: somebody changed or deleted rows by hand.
 */

/**
 * Without a period, the balances of so many days are compared, so that who looks once a day sees each change. A bill takes
 * 5 µs of CPU: of a ledger with a million bills a year, two days take 30 ms, a month 0.4 s.
 */
const newestMs = 2 * dayMs;

/** Of more ledgers, only those of named accounts or of a period are compared. */
const ledgersMax = 1_000;

// One unit in the last place of a balance, by which each bill may be rounded.
const lastPlace = sql`0.00000001`;

const moves = walletMoves("bills");

type Rows = { readonly from: SQL; readonly where: SQL };

const rowsOf = ({ from, where }: Rows): SQL => sql`
          select
            bills.account,
            ${walletColumn("bills.product_type")} as wallet,
            bills.coin,
            bills.product_type,
            bills.bill_id,
            bills.c_time,
            bills.balance,
            ${moves.amount} + ${moves.fee} as moved
          from ${from}
          ${joinRules("bills")}
          where ${where}`;

/** The bills of checked chains from the last one before a period that shows a balance, or up to the first one after it. */
function rowsBeside(isOne: SQL, isBefore: boolean, end: number): Rows {
  const [edge, late] = [timeOf(end), bookedMaxOf("chains.wallet")];
  const day = dayOf("bills");
  const dayAt = (time: SQL) => sql`((${time}) at time zone 'UTC')::date`;
  // Columns both: beside a constant, all bills of that side are read.
  const [first, last] = isBefore
    ? [sql`nearest.c_time - ${late}`, sql`chains.edge`]
    : [sql`chains.edge`, sql`nearest.c_time + ${late} + interval '1 ms'`];
  const isNear = isBefore
    ? sql`${day} <= ${dayAt(edge)} and bills.c_time < ${edge}`
    : sql`${day} >= ${dayAt(edge)} and bills.c_time >= ${edge}`;
  return {
    from: sql`(
            select account, wallet, coin, ${productTypesArray("wallet")} as product_types, ${edge} as edge
            from reconciled_chains
            where ${isOne}
          ) as chains
          cross join lateral (${nearestShown(isBefore ? sql`desc` : sql`asc`, isNear)}
          ) as nearest
          join bills
            on bills.account = chains.account
            and bills.product_type = any(chains.product_types)
            and bills.coin = chains.coin
            and ${withAnyBalance("bills")}
            and ${day} between ${dayAt(first)} and ${dayAt(last)}`,
    where: sql`bills.c_time >= ${first} and bills.c_time < ${last}`,
  };
}

/**
 * Each bill that shows a balance, and how far that is off the one before and what was moved since.
 * @param isWhole whether from the balance before the period to the one after it.
 */
function stepsOf(accounts: readonly string[] | undefined, { from, to }: Span, isWhole: boolean) {
  const ofPeriod = sql.join(
    [
      accounts === undefined ? sql`true` : sql`bills.account = any(${textArray(accounts)}::text[])`,
      ...(from === undefined ? [] : [sql`bills.c_time >= ${timeOf(from)}`]),
      ...(to === undefined ? [] : [sql`bills.c_time < ${timeOf(to)}`]),
    ],
    sql` and `,
  );
  // No index begins with the time: each ledger's newest bills are looked up.
  const ofLedgers = sql`ledgers
          join bills
            on bills.account = ledgers.account
            and bills.product_type = ledgers.product_type`;
  const rows = [
    { from: ofLedgers, where: ofPeriod },
    ...(from === undefined || !isWhole ? [] : [rowsBeside(isOneOf(accounts), true, from)]),
    ...(to === undefined || !isWhole ? [] : [rowsBeside(isOneOf(accounts), false, to)]),
  ];
  // By columns, so that the second window needs no sort of its own.
  const chainOf = (bills: string) =>
    sql`partition by account, wallet, coin order by ${chainOrder(bills)}`;
  const late = bookedMaxOf("wallet");
  return sql`(
      select
        account, wallet, coin, product_type, bill_id, c_time,
        base - lag(base) over chain as off,
        position - lag(position) over chain as steps,
        lag(c_time) over chain as base_time,
        lag(product_type) over chain as base_type,
        lag(bill_id) over chain as base_bill
      from (
        select
          compared.*,
          -- Bills beside one that does not follow may have changed places with it: they are only summed.
          is_order_open and case when ${late} > interval '0' then bool_or(is_off) over late else bool_or(is_off) over at_once end
            as is_summed
        from (
          select
            running.*,
            -- The first one follows no other, so it cannot tell which bills of its time came before it.
            coalesce(abs(base - lag(base) over chain) > ${lastPlace}, true) as is_off,
            least(gap, lag(gap) over chain) <= ${late} as is_order_open
          from (
            select
              bills.*,
              balance - sum(moved) over (chain rows unbounded preceding) as base,
              row_number() over chain as position,
              least(c_time - lag(c_time) over chain, lead(c_time) over chain - c_time) as gap
            from (${sql.join(rows.map(rowsOf), sql` union all `)}
            ) as bills
            window chain as (${chainOf("bills")})
          ) as running
          where balance is not null
          window chain as (${chainOf("running")})
        ) as compared
        -- Frames that move with their rows: one up to the chain's end was read anew for each bill.
        window
          late as (
            partition by account, wallet, coin order by c_time
            range between ${bookedMaxMs} * interval '1 ms' preceding and ${bookedMaxMs} * interval '1 ms' following
          ),
          at_once as (partition by account, wallet, coin order by c_time range between current row and current row)
      ) as followed
      where is_summed is not true
      window chain as (${chainOf("followed")})
    ) as shown`;
}

/**
 * The chains with balances that do not follow though the last check found that they do, with the first one. Nothing is
 * said of wallets of which bills were stored since that check: they are `unchecked`.
 * @param span the period. Default the newest days.
 */
export function unprovenBalances({ accounts, now, span }: FindingScope): SQL {
  const period = span ?? { from: epochMs(now - newestMs) };
  const isOne = isOneOf(accounts);
  const isAnchor = (bill: SQL, type: SQL) => sql`anchor in (${bill}, ${type} || '/' || ${bill})`;
  // A wrong balance, after which the next one is right again.
  const isUndone = sql`abs(difference + off) <= 100 * ${lastPlace}`;
  // Where bills were only summed, one of them may be what the check found.
  const isBetween = (at: SQL) => sql`steps > 1 and ${at} between base_time and c_time`;
  const isFew = sql`(select count(*) from ledgers where ${isOne}) <= ${ledgersMax}`;
  return sql`(
      select
        account,
        wallet,
        coin,
        count(*) as balances,
        min(base_time) as since,
        max(c_time) + interval '1 ms' as until,
        (array_agg(
          'bill ' || bill_id || ' does not follow from bill ' || base_bill || ', and rows were changed or deleted by hand'
          order by c_time, bill_id
        ))[1] as detail,
        trim_scale(case count(*) when 1 then sum(off) else sum(abs(off)) end) as difference
      from ${stepsOf(accounts, period, span !== undefined)}
      join (
        select
          account, wallet, coin, checked_before, stored_through, reconciled_through, unexplained,
          lower(covered) as covered_from,
          rounded >= greatest(${roundingMin}::bigint, tested * ${roundingShareMin}::numeric) as does_round
        from reconciled_chains
        where ${isOne}
      ) as chains using (account, wallet, coin)
      join (
        select account, ${walletColumn("product_type")} as wallet, max(stored_at) as stored_at
        from ledgers
        where ${isOne}
        group by 1, 2
      ) as stored using (account, wallet)
      where off <> 0
        and ${period.from === undefined ? sql`true` : sql`c_time >= ${timeOf(period.from)}`}
        and ${period.to === undefined ? sql`true` : sql`base_time < ${timeOf(period.to)}`}
        and ${span === undefined ? isFew : sql`true`}
        and isfinite(checked_before)
        and coalesce(stored_at <= stored_through, true)
        and coalesce(c_time < reconciled_through, true)
        -- Before, another product type may have moved it.
        and (wallet <> 'UTA' or base_time >= covered_from)
        and not (does_round and abs(off) <= steps * ${lastPlace})
        and not exists (
          select 1
          from ledger_breaks
          where ledger_breaks.account = shown.account
            and ledger_breaks.ledger = shown.wallet
            and ledger_breaks.coin = shown.coin
            and state <> 'resolved'
            and (
              difference = off and ${isAnchor(sql`bill_id`, sql`product_type`)}
              or ${isUndone} and ${isAnchor(sql`base_bill`, sql`base_type`)}
              or ${isBetween(sql`happened_at`)} and first_bad_bill is not null
            )
        )
        and not exists (
          select 1
          from jsonb_to_recordset(unexplained) as one (at timestamptz, difference numeric)
          where difference = off and at = c_time
            or ${isUndone} and at = base_time
            or ${isBetween(sql`at`)}
        )
      group by account, wallet, coin
    )`;
}
