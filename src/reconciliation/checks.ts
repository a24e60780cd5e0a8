import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { transfersOf } from "../db/days/transfers-of.ts";
import { bookedMaxOf, chainOrder, joinOrder } from "../db/sql/chain-order.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { timeText } from "../db/sql/time-text.ts";
import { productTypesOf } from "../db/sql/wallet.ts";
import { joinRules, walletMoves } from "../db/sql/wallet-moves.ts";
import { type AccountScope, type BillsToCheck, within } from "./bills-to-check.ts";
import type { BreakKind, FoundBreak } from "./breaks.ts";
import { findBreaks } from "./find-breaks.ts";
import { hasTransferLegs, isBetweenProducts } from "./transfer-legs.ts";

/**
 * Days whose bills, added up by category and regardless of their order, do not lead from one closing
 * balance to the next. This checks the chain once more, by other sums.
 */
export const findRollforwardBreaks = (
  tx: Transaction,
  { account }: AccountScope,
): Promise<readonly FoundBreak[]> =>
  findBreaks(
    tx,
    "rollforward",
    sql`
    with off as (
      select account, wallet, coin, (c_time at time zone 'UTC')::date as day, sum(residual) as residual
      from residuals
      group by 1, 2, 3, 4
    ),
    days as (
      select
        day_sums.account,
        wallet,
        coin,
        day,
        sum(${walletMoves("day_sums").moved}) as moved,
        max(last_time) as last_time
      from day_sums
      ${joinRules("day_sums", account)}
      group by 1, 2, 3, 4
    ),
    closed as (
      select
        days.account,
        wallet,
        days.coin,
        day,
        last_time,
        last_bill.bill_id,
        last_bill.product_type,
        last_bill.balance,
        sum(days.moved + coalesce(residual, 0)) over (
          partition by days.account, wallet, days.coin
          order by day
        ) as moved
      from days
      left join off using (account, wallet, coin, day)
      cross join lateral (
        select bills.bill_id, bills.product_type, balance
        from bills
        ${joinOrder("bills", account)}
        where bills.account = ${account}
          and bills.product_type = any(${productTypesOf("wallet")})
          and bills.coin = days.coin
          and bills.c_time between last_time - ${bookedMaxOf("wallet")} and last_time
        order by ${chainOrder("bills", "desc")}
        limit 1
      ) as last_bill
    ),
    stepped as (
      select
        closed.*,
        lag(balance) over chain + moved - lag(moved) over chain as expected,
        lag(bill_id) over chain as last_good_bill,
        lag(product_type) over chain as last_good_product_type
      from closed
      where balance is not null
      window chain as (partition by account, wallet, coin order by day)
    )
    select
      account,
      wallet as "productType",
      coin,
      to_char(day, 'YYYY-MM-DD') as anchor,
      ${timeText(sql`last_time`)} as "happenedAt",
      expected::text,
      balance::text as observed,
      (balance - expected)::text as difference,
      bill_id as "firstBadBill",
      nullif(product_type, wallet) as "firstBadProductType",
      last_good_bill as "lastGoodBill",
      nullif(last_good_product_type, wallet) as "lastGoodProductType",
      'the day''s categories do not add up to its balances' as explanation
    from stepped
    where balance <> expected
    order by account, wallet, coin, day`,
  );

/** Transfers between two product types of an account whose legs are of different amounts. */
export async function findTransferBreaks(
  tx: Transaction,
  { account, productTypes }: AccountScope,
): Promise<readonly FoundBreak[]> {
  const { rowCount: legs } = await tx.execute(sql`select 1 where ${hasTransferLegs}`);
  if (legs === 0) return [];
  return findBreaks(
    tx,
    "transfer",
    sql`
    with legs as (
      select account, product_type, coin, bill_id, c_time, amount
      from (${transfersOf(account)}) as transfers
      where state = 'one_sided'
        and ${isBetweenProducts}
    )
    select distinct on (sent.account, sent.product_type, sent.bill_id)
      sent.account,
      sent.product_type as "productType",
      sent.coin,
      sent.bill_id as anchor,
      ${timeText(sql`sent.c_time`)} as "happenedAt",
      (-sent.amount)::text as expected,
      received.amount::text as observed,
      (received.amount + sent.amount)::text as difference,
      received.bill_id as "firstBadBill",
      sent.bill_id as "lastGoodBill",
      'bill ' || received.bill_id || ' of ' || received.product_type
        || ' looks like its other leg, with another amount' as explanation
    from legs as sent
    join legs as received
      on received.account = sent.account
      and received.coin = sent.coin
      and received.product_type <> sent.product_type
      and received.amount > 0
      -- Legs of equal amounts are no break. They are left over where two equal transfers are a second apart,
      -- since the inner two legs are then paired with each other.
      and received.amount <> -sent.amount
      and received.c_time between sent.c_time - interval '1 second' and sent.c_time + interval '10 seconds'
    where sent.amount < 0
      and ${within("sent.product_type", productTypes)}
    order by sent.account, sent.product_type, sent.bill_id, received.c_time`,
  );
}

const idTimeShareMax = 0.01;
const findingsMax = 1_000;

/**
 * Whether all bills must be checked for ids that tell another time than the bill: where some such ids are
 * not known breaks, or where they have become too many to count as breaks and known ones are to be resolved.
 */
export async function isAnyIdNew(tx: Transaction, scope: AccountScope): Promise<boolean> {
  const { odd, known, areFew } = await countOddIds(tx, scope);
  return areFew ? known < Math.min(odd, findingsMax) : known > 0;
}

/** How many odd ids the account's days have, and how many of them are known breaks. */
async function countOddIds(tx: Transaction, { account, productTypes }: AccountScope) {
  const isOwn = sql`account = ${account} and ${within("product_type", productTypes)}`;
  const { rows } = await tx.execute<Record<"odd" | "bills" | "known", string>>(sql`
    select
      (
        select coalesce(sum(bills), 0)
        from current_check_days
        where ${isOwn}
          and "check" = 'ids that tell another time'
      ) as odd,
      (
        select coalesce(sum(bills), 0)
        from streams
        where ${isOwn}
      ) as bills,
      (
        select count(*)
        from ledger_breaks
        where ${isOwn}
          and kind = ${"id-time" satisfies BreakKind}
          and state <> 'resolved'
      ) as known`);
  const counts = onlyRow(rows, "a count of ids");
  const odd = Number(counts.odd);
  const areFew = odd <= Number(counts.bills) * idTimeShareMax;
  return { odd, known: Number(counts.known), areFew };
}

/** A query of its own: for a million bills, ids and sums in one pass took longer. */
async function areAllFew(tx: Transaction, bills: BillsToCheck): Promise<boolean> {
  const { rows } = await tx.execute<{ are_few: boolean }>(sql`
    select
      count(*) > 0
        and count(*) <= ${idTimeShareMax}::numeric * (select sum(bills) from day_sums) as are_few
    ${bills.fromView}
    where ${bills.where}
      and is_id_odd`);
  return rows[0]?.are_few === true;
}

/** Bills whose id tells another time than the bill, where nearly all of the account's ids tell the right one. */
export async function findIdBreaks(
  tx: Transaction,
  scope: AccountScope,
  { bills, checked }: { readonly bills: BillsToCheck; readonly checked: "all" | "changed" },
): Promise<readonly FoundBreak[]> {
  const areFew =
    checked === "all" ? await areAllFew(tx, bills) : (await countOddIds(tx, scope)).areFew;
  if (!areFew) return [];
  return findBreaks(
    tx,
    "id-time",
    sql`
    select
      bills.account,
      bills.product_type as "productType",
      bills.coin,
      bills.bill_id as anchor,
      ${timeText(sql`bills.c_time`)} as "happenedAt",
      bills.bill_id as "firstBadBill",
      'the bill''s id is not one of its time' as explanation
    ${bills.fromView}
    where ${bills.where}
      and is_id_odd
    order by bills.account, bills.product_type, bills.c_time, bills.bill_id
    limit ${findingsMax}`,
  );
}

/**
 * Restatements and rejected rows since the last sign-off: more exactly, since the check whose count was
 * signed off, because whoever signed has not seen what came between that check and the signature.
 */
export async function findUnsigned(
  tx: Transaction,
  { account, productTypes }: AccountScope,
): Promise<readonly FoundBreak[]> {
  const since = (kind: BreakKind) => sql`
      select account, product_type, max(last_seen_at) as seen_at
      from ledger_breaks
      where account = ${account}
        and kind = ${kind}
        and signed_off_at is not null
      group by account, product_type`;
  const counted = (
    table: string,
    time: string,
    kind: BreakKind,
    condition: SQL,
    what: string,
  ) => sql`
    select
      entries.account,
      entries.product_type as "productType",
      'since ' || coalesce(${timeText(sql`seen_at`)}, 'the beginning') as anchor,
      ${timeText(sql`min(${sql.raw(time)})`)} as "happenedAt",
      '0' as expected,
      count(*)::text as observed,
      count(*)::text as difference,
      count(*) || ${` ${what}`} as explanation
    from ${sql.raw(table)} as entries
    left join (${since(kind)}) as signed
      on signed.account = entries.account
      and signed.product_type = entries.product_type
    where ${condition}
      and (seen_at is null or ${sql.raw(time)} > seen_at)
      and entries.account = ${account}
      and ${within("entries.product_type", productTypes)}
    group by entries.account, entries.product_type, seen_at
    order by 1, 2`;
  return [
    ...(await findBreaks(
      tx,
      "restatement",
      counted(
        "bill_revisions",
        "replaced_at",
        "restatement",
        sql`true`,
        "restated, see bill_revisions",
      ),
    )),
    ...(await findBreaks(
      tx,
      "quarantine",
      counted(
        "rejected_bills",
        "rejected_at",
        "quarantine",
        sql`resolved_at is null`,
        "in rejected_bills",
      ),
    )),
  ];
}
