import { type SQL, sql } from "drizzle-orm";
import { nonFinancialTypes } from "../../../core/contract/business-types.ts";
import { isSpotOrFunding } from "../../../core/contract/product-types.ts";
import type { Execute } from "../../../core/postgres/connect.ts";
import { msOf, onlyRow, timeFrom } from "../../../core/postgres/values.ts";
import { isOpenRejection } from "../../../core/store/rejected-bills.ts";
import type { Ledger } from "../../../core/words/ledger.ts";
import { type EpochMs, isoTime } from "../../../lib/time.ts";

/** The parts of a wallet's type: see groupedType of src/core/contract/business-types.ts. */
export const typeGroup = sql`split_part(business_type, '/', 1)`;
export const typeName = sql`substr(business_type, strpos(business_type, '/') + 1)`;

type BillPageQuestion = {
  readonly ledger: Ledger;
  /** The JSON of a row of `bills` as text, in one line. */
  readonly json: SQL;
  /** Both inclusive. */
  readonly from: EpochMs | undefined;
  readonly to: EpochMs | undefined;
  /** Only bills older than the one with this id. Where that one is not stored, the page is empty. */
  readonly below: string | undefined;
  readonly symbol: string | undefined;
  readonly coin: string | undefined;
  /** Of a wallet whose types have groups, the name in the group. */
  readonly businessType: string | undefined;
  readonly groupType?: string | undefined;
  /** Whether to leave out the types that move margin within the account. */
  readonly onlyFunding: boolean;
  readonly limit: number;
};

/** Bills, newest first; within one millisecond by descending id, compared as numbers of any length. */
export type BillPage = {
  /** Their JSON, with {@link rowSeparator} between them. */
  readonly json: string;
  readonly count: number;
  /** Each bill's `extra`; undefined where no bill has one. */
  readonly extras: readonly (string | null)[] | undefined;
  /** The page's last bill; undefined where the page is empty. */
  readonly oldest: { readonly billId: string; readonly time: EpochMs } | undefined;
  /** The time of the bill that `below` asked for; undefined where it is not stored. */
  readonly below: EpochMs | undefined;
  /** The ledger's version at the same moment. */
  readonly version: string;
};

/** Separates the rows: the JSON of a row has no line break. */
export const rowSeparator = ",\n";

type PageRow = {
  version: string;
  json: string | null;
  count: number;
  extras: readonly (string | null)[] | null;
  oldest_id: string | null;
  oldest_ms: string | null;
  below_ms: string | null;
};

/**
 * Reads a page as JSON that the server builds: reading 100 bills as rows and serialising them here took
 * this process twice as long. Aggregates over the sorted subquery keep its order.
 *
 * For each API the statement has one of only two texts, whatever is asked for, so that a kept plan serves all requests.
 */
export async function readBillPage(
  execute: Execute,
  { ledger, json, from, to, below, limit, ...only }: BillPageQuestion,
): Promise<BillPage> {
  const isOf = sql`account = ${ledger.account} and product_type = ${ledger.productType}`;
  const cursorTime =
    below === undefined
      ? sql`null::timestamptz`
      : sql`(select c_time from bills where ${isOf} and bill_id = ${below})`;
  const isBelow =
    below === undefined
      ? sql`true`
      : // The time condition is redundant, but lets the index scan begin there.
        sql`c_time <= ${cursorTime}
        and (c_time, length(bill_id), bill_id)
          < (${cursorTime}, ${below.length}, ${below} collate "C")`;
  const isAnyOr = (column: SQL, value: string | undefined) =>
    sql`(${value ?? null}::text is null or ${column} = ${value ?? null})`;
  const { rows } = await execute<PageRow>(sql`
    select
      ${ledgerVersion(ledger)} as version,
      string_agg(${json}, ${rowSeparator}) as json,
      count(*)::int,
      case when count(extra) > 0 then array_agg(extra::text) end as extras,
      (array_agg(bill_id))[count(*)::int] as oldest_id,
      ${msOf(sql`min(c_time)`)} as oldest_ms,
      ${msOf(cursorTime)} as below_ms
    from (
      select
        bill_id, c_time, symbol, amount, fee, fee_by_coupon, business_type, coin, balance,
        position_type, position_amount, position_balance, extra
      from bills
      where ${isOf}
        and c_time >= ${from === undefined ? "-infinity" : isoTime(from)}
        and c_time <= ${to === undefined ? "infinity" : isoTime(to)}
        and ${isBelow}
        and ${isAnyOr(sql`symbol`, only.symbol)}
        and ${isAnyOr(sql`coin`, only.coin)}
        and ${isAnyOr(isSpotOrFunding(ledger.productType) ? typeName : sql`business_type`, only.businessType)}
        and ${isAnyOr(typeGroup, only.groupType)}
        and (not ${only.onlyFunding}::boolean or business_type not in ${nonFinancialTypes})
      order by c_time desc, length(bill_id) desc, bill_id desc
      limit ${limit}
    ) as page`);
  const page = onlyRow(rows, "a page of bills");
  return {
    version: page.version,
    json: page.json ?? "",
    count: page.count,
    extras: page.extras ?? undefined,
    oldest:
      page.oldest_id === null || page.oldest_ms === null
        ? undefined
        : { billId: page.oldest_id, time: timeFrom(page.oldest_ms) },
    below: timeFrom(page.below_ms),
  };
}

/**
 * A text that changes whenever a row changes that records a ledger's time: a new row version has a later
 * transaction's number, and a deleted row is missing from the count.
 */
export const ledgerVersion = ({ account, productType }: Ledger): SQL => {
  const isOf = sql`account = ${account} and product_type = ${productType}`;
  return sql`concat_ws(
        ' ',
        (select concat_ws('/', count(*), max(xmin::text::bigint)) from windows where ${isOf}),
        (
          select concat_ws('/', count(*), max(xmin::text::bigint))
          from rejected_bills
          where ${isOf}
            and ${isOpenRejection}
        ),
        (
          select concat_ws('/', count(*), max(xmin::text::bigint))
          from ledger_breaks
          where account = ${account}
            and ledger = ${productType}
            and kind = 'lost'
            and state = 'accepted'
        ),
        (
          select concat_ws('/', count(*), max(xmin::text::bigint))
          from ledgers
          where account = ${account}
            and product_type in ('', ${productType})
        )
      )`;
};
