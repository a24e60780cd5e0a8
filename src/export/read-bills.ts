import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import { textArray } from "../db/array-literal.ts";
import type { Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { type BillText, billTextColumns } from "../db/stored-bills.ts";
import { type BillPages, categoryOf, type ExportedBill } from "./bill.ts";

/** Which bills. What is undefined narrows nothing. */
export type Selection = {
  readonly accounts?: readonly string[] | undefined;
  readonly productTypes?: readonly string[] | undefined;
  readonly from?: EpochMs | undefined;
  /** Not included itself. */
  readonly to?: EpochMs | undefined;
};

// A page is 2 MB of text.
const pageBills = 5_000;

type Row = BillText & {
  readonly account: string;
  readonly productType: string;
  readonly ingestedAtMs: string;
  readonly category: string | null;
};

/**
 * The selected bills, a page at a time, through a cursor: the whole is never in memory. Inside one
 * transaction, of which this is the only user until it ends.
 */
export async function* readBills(tx: Transaction, selection: Selection): BillPages {
  await withDatabaseErrors(() => tx.execute(declareCursor(selection)));
  const fetch = sql.raw(`fetch ${pageBills} from exported`);
  for (;;) {
    const { rows } = await withDatabaseErrors(() => tx.execute<Row>(fetch));
    if (rows.length > 0) yield rows.map(billOf);
    if (rows.length < pageBills) return;
  }
}

function billOf({ cTimeMs, ingestedAtMs, category, ...row }: Row): ExportedBill {
  return {
    ...row,
    cTime: epochMs(Number(cTimeMs)),
    ingestedAt: epochMs(Number(ingestedAtMs)),
    category: categoryOf(category),
  };
}

// An id is compared as a number, which is by length first: it may have more digits than a bigint.
const declareCursor = (selection: Selection): SQL => sql`
  declare exported no scroll cursor for
  select
    account,
    product_type as "productType",
    ${billTextColumns},
    (extract(epoch from ingested_at) * 1000)::bigint::text as "ingestedAtMs",
    category
  from bills
  left join business_types on code = business_type
  where ${isSelected(selection)}
  order by account, product_type, c_time, length(bill_id), bill_id`;

function isSelected({ accounts, productTypes, from, to }: Selection): SQL {
  const conditions = [
    accounts && sql`account = any (${textArray(accounts)}::text[])`,
    productTypes && sql`product_type = any (${textArray(productTypes)}::text[])`,
    from === undefined ? undefined : sql`c_time >= ${isoTime(from)}::timestamptz`,
    to === undefined ? undefined : sql`c_time < ${isoTime(to)}::timestamptz`,
  ].filter((condition) => condition !== undefined);
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}
