import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { isoTime } from "../../lib/time.ts";
import type { Bill, BillText } from "../contract/bill.ts";
import { sortedJson } from "../contract/json.ts";
import { fundingWallet, type ProductType } from "../contract/product-types.ts";
import { asPrinted } from "../contract/scalars.ts";
import type { Queryable } from "../postgres/connect.ts";
import { bills } from "../postgres/schema/schema.ts";
import { msOf, textArray, timeFrom, timeText } from "../postgres/values.ts";
import type { Ledger } from "../words/ledger.ts";

/** A bill of one account, and what it is stored with. */
export type BillRow = { readonly productType: ProductType; readonly bill: BillText };
export type StoredRow = BillRow & { readonly ingestedAt: string };
type BillKey = { readonly productType: ProductType; readonly billId: string };

const keyed = ["account", "product_type", "bill_id", "ingested_at"];

/** A bill's columns other than its key, each with the field of {@link BillText} that has its value. */
export const contents = Object.entries(getTableColumns(bills))
  .filter(([, { name }]) => !keyed.includes(name))
  .map(([property, column]) => ({
    name: column.name,
    field: (property === "cTime" ? "cTimeMs" : property) as Exclude<keyof BillText, "billId">,
    // An array takes its order from its column, not from its type.
    type: column
      .getSQLType()
      .replace(/ COLLATE .*$/, "")
      .replace(/^timestamp .*$/, "timestamptz"),
  }));

export const contentColumns = contents.map(({ name }) => name);

/** The columns of a bill's content, in the order of {@link billArrays}. */
export const contentList: SQL = sql.raw(contentColumns.join(", "));

/** The same of the row that a conflict kept out. */
export const excludedList: SQL = sql.raw(
  contentColumns.map((name) => `excluded.${name}`).join(", "),
);

/** What to select of `bills` for a {@link BillText}. */
export const billTextColumns = sql`
      bills.bill_id as "billId",
      bills.symbol,
      bills.amount::text,
      bills.fee::text,
      bills.fee_by_coupon::text as "feeByCoupon",
      bills.business_type as "businessType",
      bills.coin,
      bills.balance::text,
      ${msOf(sql`bills.c_time`)} as "cTimeMs",
      bills.position_type as "positionType",
      bills.position_amount::text as "positionAmount",
      bills.position_balance::text as "positionBalance",
      bills.extra::text,
      bills.source`;

/** The text of each column, as Postgres prints it: decimals keep their digits, 1.0 is not 1.00. */
export const billText = ({ cTime, extra, source = null, ...bill }: Bill): BillText => ({
  ...bill,
  source,
  amount: asPrinted(bill.amount),
  fee: asPrinted(bill.fee),
  feeByCoupon: printedOrNull(bill.feeByCoupon),
  balance: printedOrNull(bill.balance),
  positionAmount: printedOrNull(bill.positionAmount),
  positionBalance: printedOrNull(bill.positionBalance),
  cTimeMs: String(cTime),
  extra: extra === null ? null : sortedJson(extra),
});

const printedOrNull = (text: string | null) => (text === null ? null : asPrinted(text));

export const isSame = (one: BillText, other: BillText): boolean =>
  contents.every(({ field }) => one[field] === other[field]);

/**
 * What a served row says of a stored bill. The rows of the funding wallet have no fee, so that the one that a withdrawal's
 * record told stays.
 */
export const withKnownFee = (
  productType: string,
  stored: BillText | undefined,
  served: BillText,
): BillText =>
  productType === fundingWallet && stored !== undefined ? { ...served, fee: stored.fee } : served;

/** Bills as arrays for `unnest`: product type, id, and the columns of {@link contentList}. */
export const billArrays = (rows: readonly BillRow[]): SQL =>
  sql.join(
    [
      sql`${textArray(rows.map(({ productType }) => productType))}::text[]`,
      sql`${textArray(rows.map(({ bill }) => bill.billId))}::text[]`,
      ...contents.map(({ field, type }) => {
        const values = rows.map(({ bill }) =>
          field === "cTimeMs" ? isoTime(timeFrom(bill.cTimeMs)) : bill[field],
        );
        return sql`${textArray(values)}::${sql.raw(type)}[]`;
      }),
    ],
    sql`, `,
  );

/**
 * The stored bills among these of an account, within a transaction. Ordering by the key forces a look-up through
 * the primary key. A plain join, planned while the table has no statistics, reads the whole ledger for every page
 * (1,000 bills took 15 ms in an empty ledger and 37 ms after 90,000). For an account that the statistics do not
 * know, the planner would read all of it by time for each bill, and sort that: 580 ms a page after 6,000 bills. What else the
 * transaction sorts is a page's few rows.
 */
export async function readBillsByKey(
  db: Queryable,
  account: string,
  keys: readonly BillKey[],
): Promise<readonly StoredRow[]> {
  if (keys.length === 0) return [];
  const [, { rows }] = await Promise.all([
    db.execute(sql`set local enable_sort = off; set local enable_incremental_sort = off`),
    db.execute<BillText & { ledger: ProductType; ingestedAt: string }>(sql`
    select
      bills.product_type as ledger,
      ${timeText(sql`bills.ingested_at`)} as "ingestedAt",
      ${billTextColumns}
    from unnest(
      ${textArray(keys.map(({ productType }) => productType))}::text[],
      ${textArray(keys.map(({ billId }) => billId))}::text[]
    ) as asked (product_type, bill_id)
    cross join lateral (
      select *
      from bills
      where bills.account = ${account}
        and (bills.product_type, bills.bill_id) >= (asked.product_type, asked.bill_id)
        and (bills.product_type, bills.bill_id) <= (asked.product_type, asked.bill_id)
      order by bills.product_type, bills.bill_id
      limit 1
    ) as bills`),
  ]);
  return rows.map(({ ledger: productType, ingestedAt, ...bill }) => ({
    productType,
    ingestedAt,
    bill,
  }));
}

/** A ledger's bills, oldest first. */
export async function readStoredBills(
  db: Queryable,
  { account, productType }: Ledger,
): Promise<readonly BillText[]> {
  const { rows } = await db.execute<BillText>(sql`
    select ${billTextColumns}
    from bills
    where account = ${account}
      and product_type = ${productType}
    order by c_time, bill_id`);
  return rows;
}

/** The bills among these that are not stored, or with other content. */
export async function readUnstored(
  db: Queryable,
  { account, productType }: Ledger,
  bills: readonly Bill[],
): Promise<readonly Bill[]> {
  const keys = bills.map(({ billId }) => ({ productType, billId }));
  const rows = await readBillsByKey(db, account, keys);
  const stored = new Map(rows.map(({ bill }) => [bill.billId, bill]));
  return bills.filter((bill) => {
    const before = stored.get(bill.billId);
    return (
      before === undefined || !isSame(before, withKnownFee(productType, before, billText(bill)))
    );
  });
}
