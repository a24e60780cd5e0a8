import { sql } from "drizzle-orm";
import { type EpochMs, isoTime, retentionMs, secondMs } from "../../lib/time.ts";
import { frequentTypes } from "../contract/business-types.ts";
import { fundingWallet, spotWallet } from "../contract/product-types.ts";
import type { Withdrawal, WithdrawingWallet } from "../contract/withdrawals.ts";
import type { Queryable, Transaction } from "../postgres/connect.ts";
import { msOf, textArray, timeFrom } from "../postgres/values.ts";
import { readBillsByKey } from "./bill-rows.ts";
import { askServer, writeBills } from "./upsert-bills.ts";

const isWithdrawal = sql`
        bills.business_type <> all(${textArray(frequentTypes)}::text[])
        and bills.business_type in (select code from business_types where category = 'withdrawal')`;

/** A wallet's withdrawals without a record, and the times between which they were booked. */
export type UnrecordedWithdrawals = {
  readonly wallet: WithdrawingWallet;
  readonly from: EpochMs;
  readonly to: EpochMs;
};

/** The wallets that have withdrawals without a record, of the time that the exchange still serves. */
export async function readUnrecorded(
  db: Queryable,
  account: string,
  now: EpochMs,
): Promise<readonly UnrecordedWithdrawals[]> {
  const { rows } = await db.execute<{ wallet: WithdrawingWallet; from: string; to: string }>(sql`
    select
      bills.product_type as wallet,
      ${msOf(sql`min(bills.c_time)`)} as from,
      ${msOf(sql`max(bills.c_time)`)} as to
    from bills
    left join withdrawals using (account, product_type, bill_id)
    where bills.account = ${account}
      and bills.product_type = any(${textArray([spotWallet, fundingWallet])}::text[])
      and bills.c_time >= ${isoTime(now)}::timestamptz - ${retentionMs} * interval '1 ms'
      and ${isWithdrawal}
      and withdrawals.order_id is null
    group by bills.product_type
    order by bills.product_type`);
  return rows.map(({ wallet, from, to }) => ({ wallet, from: timeFrom(from), to: timeFrom(to) }));
}

export type WithdrawalsCommit = {
  readonly wallet: WithdrawingWallet;
  readonly withdrawals: readonly Withdrawal[];
};

/**
 * Stores records of withdrawals, finds the bill of each, and gives a bill of the funding wallet the fee of its record:
 * the wallet's own rows have none.
 */
export async function commitWithdrawals(
  tx: Transaction,
  account: string,
  { wallet, withdrawals }: WithdrawalsCommit,
): Promise<void> {
  const column = (pick: (one: Withdrawal) => string | null) => textArray(withdrawals.map(pick));
  await tx.execute(sql`
    insert into withdrawals (
      account, product_type, order_id, coin, size, fee, status, transaction_id, chain, created_at, updated_at, extra
    )
    select ${account}, ${wallet}, told.*
    from unnest(
      ${column(({ orderId }) => orderId)}::text[],
      ${column(({ coin }) => coin)}::text[],
      ${column(({ size }) => size)}::numeric[],
      ${column(({ fee }) => fee)}::numeric[],
      ${column(({ status }) => status)}::text[],
      ${column(({ transactionId }) => transactionId)}::text[],
      ${column(({ chain }) => chain)}::text[],
      ${column(({ createdAt }) => isoTime(createdAt))}::timestamptz[],
      ${column(({ updatedAt }) => isoTime(updatedAt))}::timestamptz[],
      ${column(({ extra }) => (extra === null ? null : JSON.stringify(extra)))}::json[]
    ) as told
    on conflict (account, product_type, order_id) do update
    set
      size = excluded.size,
      fee = excluded.fee,
      status = excluded.status,
      transaction_id = excluded.transaction_id,
      chain = excluded.chain,
      updated_at = excluded.updated_at,
      extra = excluded.extra`);
  const found = await findBills(tx, account, wallet);
  if (wallet === fundingWallet) await giveFees(tx, account, found);
}

// In a public answer the bill has the time of the record's last change. A later change, by another confirmation of the
// chain say, is no reason not to find it.
const aboutMs = 5 * secondMs;

type Found = { readonly billId: string; readonly fee: string; readonly isChecked: boolean };

/** Finds the bills of records that have none: of a record and a bill, each must be the other's nearest. */
async function findBills(
  tx: Transaction,
  account: string,
  wallet: WithdrawingWallet,
): Promise<readonly Found[]> {
  const { rows } = await tx.execute<Found>(sql`
    with pairs as (
      select
        withdrawals.order_id,
        bills.bill_id,
        abs(extract(epoch from withdrawals.updated_at - bills.c_time)) as distance
      from withdrawals
      join bills
        on bills.account = ${account}
        and bills.product_type = ${wallet}
        and bills.coin = withdrawals.coin
        and bills.c_time between withdrawals.created_at - ${aboutMs} * interval '1 ms'
          and withdrawals.updated_at + ${aboutMs} * interval '1 ms'
        -- Whether a spot bill's amount contains its fee differs between accounts.
        and (
          -bills.amount = withdrawals.size - abs(withdrawals.fee)
          or ${wallet} = ${spotWallet} and -bills.amount = withdrawals.size
        )
        and ${isWithdrawal}
      where withdrawals.account = ${account}
        and withdrawals.product_type = ${wallet}
        and withdrawals.bill_id is null
        and not exists (
          select 1
          from withdrawals as others
          where others.account = ${account}
            and others.product_type = ${wallet}
            and others.bill_id = bills.bill_id
        )
    ),
    ranked as (
      select
        order_id,
        bill_id,
        row_number() over (partition by order_id order by distance, bill_id) as place_of_bill,
        row_number() over (partition by bill_id order by distance, order_id) as place_of_record
      from pairs
    ),
    found as (
      update withdrawals
      set bill_id = ranked.bill_id
      from ranked
      where withdrawals.account = ${account}
        and withdrawals.product_type = ${wallet}
        and withdrawals.order_id = ranked.order_id
        and place_of_bill = 1
        and place_of_record = 1
      returning withdrawals.bill_id, withdrawals.coin, -abs(withdrawals.fee) as fee
    )
    select
      found.bill_id as "billId",
      found.fee::text,
      coalesce(bool_or(checked_before > bills.ingested_at), false) as "isChecked"
    from found
    join bills
      on bills.account = ${account}
      and bills.product_type = ${wallet}
      and bills.bill_id = found.bill_id
    left join reconciled_chains
      on reconciled_chains.account = ${account}
      and reconciled_chains.wallet = ${wallet}
      and reconciled_chains.coin = found.coin
    where found.fee <> 0
      and bills.fee = 0
    group by 1, 2`);
  return rows;
}

/** A bill whose content without the fee a check has seen is restated. One of this run is not. */
async function giveFees(tx: Transaction, account: string, found: readonly Found[]): Promise<void> {
  if (found.length === 0) return;
  const productType: WithdrawingWallet = fundingWallet;
  const keys = found.map(({ billId }) => ({ productType, billId }));
  const stored = await readBillsByKey(tx, account, keys);
  const foundOf = new Map(found.map((one) => [one.billId, one]));
  const written = stored.map(({ bill }) => ({
    productType,
    bill: { ...bill, fee: foundOf.get(bill.billId)?.fee ?? bill.fee },
  }));
  const replaced = stored
    .filter(({ bill }) => foundOf.get(bill.billId)?.isChecked)
    .map((row) => ({ ...row, index: 0 }));
  const counts = [{ new: 0, unchanged: 0, restated: written.length }];
  const pages = [{ ledger: { account, productType }, bills: [] }];
  const before = { ...(await askServer(tx)), stored, missingTypes: [] };
  await writeBills(tx, pages, { account, counts, written, replaced }, before);
}

/** The ids of the bills of the funding wallet whose fee is known from their record. */
export async function readRecorded(db: Queryable, account: string): Promise<ReadonlySet<string>> {
  const { rows } = await db.execute<{ billId: string }>(sql`
    select bill_id as "billId"
    from withdrawals
    where account = ${account}
      and product_type = ${fundingWallet}
      and bill_id is not null`);
  return new Set(rows.map(({ billId }) => billId));
}
