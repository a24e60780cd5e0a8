import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../../contract/time.ts";
import { textArray } from "../../db/sql/array-literal.ts";
import { msOf, timeFrom } from "../../db/sql/time-text.ts";
import type { BillFilter } from "../money/bill-links.ts";
import type { WalletContext } from "../section.ts";
import type { BillPlace } from "./bill-place.ts";
import {
  isInTime,
  isOfChain,
  isOfWallet,
  isWanted,
  oddDays,
  partOf,
  productTypesOf,
} from "./wanted-bills.ts";

/** A bill on the page of bills. Decimals are text. */
export type ListedBill = BillPlace & {
  readonly symbol: string | null;
  readonly businessType: string;
  readonly category: string;
  readonly amount: string;
  readonly fee: string;
  /**
   * What the bill contributes to the requested pieces; without pieces, what it moves the wallet by.
   */
  readonly part: string;
  /** Undefined if the bill's days hold too many bills to place each in the chain. */
  readonly chain: BillChain | undefined;
};

/**
 * The bill's place in the wallet's balance chain, and whether its balance follows from the bills
 * before it.
 */
export type BillChain = {
  readonly position: string;
  /** Null where no bill of the ledger shows a balance. */
  readonly before: string | null;
  readonly after: string | null;
  readonly difference: string | null;
  readonly rounding: string;
  readonly isSettled: boolean;
};

export type BillList = {
  /** Newest first. */
  readonly bills: readonly ListedBill[];
  /** The last listed bill, after which older bills follow; undefined if there are none. */
  readonly next: BillPlace | undefined;
};

export const listedMax = 200;
// Placing one bill in the chain takes ordering all bills of its day: 25,000 took 0.2 s.
const chainedMax = 25_000;

type Row = Omit<ListedBill, "cTime" | "chain"> & { readonly cTimeMs: string };

/** The newest requested bills that are older than `before`. */
export async function listBills(
  context: WalletContext,
  filter: BillFilter,
  before: BillPlace | undefined,
): Promise<BillList> {
  const found = isOfChain(filter)
    ? await oddBills(context, filter, before)
    : await newestBills(context, filter, before);
  const bills = found.slice(0, listedMax);
  const chains = await chainsOf(context, bills);
  const chained = bills.map((bill) => ({ ...bill, chain: chains.get(keyOf(bill)) }));
  return {
    bills: chained.toSorted(newestFirst),
    next: found.length > listedMax ? bills.at(-1) : undefined,
  };
}

const keyOf = ({ productType, billId }: Pick<BillPlace, "productType" | "billId">): string =>
  `${productType}/${billId}`;

/** Orders by the chain where it is known: the ids of one millisecond may have another order. */
const newestFirst = (a: ListedBill, b: ListedBill): number =>
  b.cTime - a.cTime || Number(BigInt(b.chain?.position ?? 0) - BigInt(a.chain?.position ?? 0));

const isBefore = (place: BillPlace | undefined): SQL =>
  place === undefined
    ? sql`true`
    : sql`c_time <= ${isoTime(place.cTime)}::timestamptz
      and (c_time, length(bill_id), bill_id, product_type)
        < (${isoTime(place.cTime)}::timestamptz, length(${place.billId}), ${place.billId}, ${place.productType})`;

const columns = (pieces: BillFilter["pieces"]): SQL => sql`
      product_type as "productType",
      bill_id as "billId",
      ${msOf(sql`c_time`)} as "cTimeMs",
      symbol,
      business_type as "businessType",
      category,
      amount::text,
      fee::text,
      (${partOf(pieces)})::text as part`;

const newestOrder = sql`order by c_time desc, length(bill_id) desc, bill_id desc, product_type desc
    limit ${listedMax + 1}`;

const timed = ({ cTimeMs, ...row }: Row) => ({ ...row, cTime: timeFrom(cTimeMs) });

/**
 * Reads analytics.entries, which computes no chains: only the days of listed bills are chained,
 * later.
 *
 * Reads each product type by itself, in an index's order. One query over all of them would make
 * Postgres sort every bill of the selected time, 0.3 s at 250,000.
 */
async function newestBills(
  context: WalletContext,
  filter: BillFilter,
  before: BillPlace | undefined,
): Promise<readonly (BillPlace & Omit<ListedBill, "chain">)[]> {
  const { account, coin } = context.selection;
  const { rows } = await context.tx.execute<Row>(sql`
    select newest.*
    from unnest(${productTypesOf(context)}::text[]) as own (product_type)
    cross join lateral (
      select ${columns(filter.pieces)}
      from analytics.entries
      where account = ${account}
        and product_type = own.product_type
        and coin = ${coin}
        and ${isInTime(context)}
        and ${isBefore(before)}
        and ${isWanted(filter)}
      ${newestOrder}
    ) as newest
    order by
      "cTimeMs"::bigint desc,
      length("billId") desc,
      "billId" desc,
      "productType" desc
    limit ${listedMax + 1}`);
  return rows.map(timed);
}

/**
 * The bills whose balance does not follow from the bills before them, read from the days that have
 * such bills.
 */
async function oddBills(
  context: WalletContext,
  filter: BillFilter,
  before: BillPlace | undefined,
): Promise<readonly (BillPlace & Omit<ListedBill, "chain">)[]> {
  const { rows } = await context.tx.execute<Row>(sql`
    select ${columns(filter.pieces)}
    from analytics.activity
    where ${isOfWallet(context)}
      and day = any(${textArray(await oddDays(context))}::date[])
      and ${isBefore(before)}
      and ${isWanted(filter)}
    ${newestOrder}`);
  return rows.map(timed);
}

type ChainRow = BillChain & Pick<BillPlace, "productType" | "billId">;

/**
 * The chain values of these bills. Empty if the bills' days hold more than {@link chainedMax}
 * bills.
 */
async function chainsOf(
  context: WalletContext,
  bills: readonly BillPlace[],
): Promise<ReadonlyMap<string, BillChain>> {
  const days = [...new Set(bills.map(({ cTime }) => dayOf(cTime)))];
  if (days.length === 0 || (await billsIn(context, days)) > chainedMax) return new Map();
  const { rows } = await context.tx.execute<ChainRow>(sql`
    select
      product_type as "productType",
      bill_id as "billId",
      position::text,
      balance_before::text as before,
      running_balance::text as after,
      difference::text,
      rounding::text,
      is_settled as "isSettled"
    from analytics.activity
    where ${isOfWallet(context)}
      and day = any(${textArray(days)}::date[])
      and (product_type, bill_id) in (
        select listed.product_type, listed.bill_id
        from unnest(
          ${textArray(bills.map(({ productType }) => productType))}::text[],
          ${textArray(bills.map(({ billId }) => billId))}::text[]
        ) as listed (product_type, bill_id)
      )`);
  return new Map(
    rows.map(({ productType, billId, ...chain }) => [keyOf({ productType, billId }), chain]),
  );
}

const dayOf = (time: EpochMs): string => isoTime(time).slice(0, 10);

/** The number of the wallet's bills on these days, of its coin. */
async function billsIn({ tx, selection }: WalletContext, days: readonly string[]): Promise<number> {
  const { account, product, coin } = selection;
  const { rows } = await tx.execute<{ bills: string }>(sql`
    select coalesce(sum(bills), 0) as bills
    from current_ledger_days
    where account = ${account}
      and wallet = ${product}
      and coin = ${coin}
      and day = any(${textArray(days)}::date[])`);
  return Number(rows[0]?.bills);
}
