import { sql } from "drizzle-orm";
import { parseExactJson } from "../../contract/json.ts";
import { categoryOf, type UnifiedProductType } from "../../contract/product-types.ts";
import { msOf } from "../../db/sql/time-text.ts";
import { type BillPage, rowSeparator } from "../../ledger/read-bill-page.ts";

const timeMs = msOf(sql`c_time`);

/**
 * A bill's JSON as the exchange served it. Values that the exchange left empty, null or out are
 * empty.
 *
 * Postgres builds it with format(): row_to_json looks up each column's name and type for every row,
 * and took half as long again.
 */
export const wireBill = sql`format(
        '{"billId":%s,"symbol":%s,"amount":"%s","fee":"%s","feeByCoupon":"%s","businessType":%s,'
          '"coin":%s,"balance":"%s","cTime":"%s"}',
        to_json(bill_id), to_json(coalesce(symbol, '')), amount, fee, fee_by_coupon,
        to_json(business_type), to_json(coin), balance, ${timeMs}
      )`;

/**
 * The JSON of a unified account's bill. The position fields were added in 2026: older rows do not
 * have them.
 */
export const wireRecord = (productType: UnifiedProductType) => sql`format(
        '{"category":%s,"id":%s,"symbol":%s,"coin":%s,"type":%s%s,"amount":"%s","fee":"%s"%s%s,'
          '"balance":"%s","ts":"%s"}',
        to_json(${categoryOf(productType)}::text), to_json(bill_id), to_json(coalesce(symbol, '')),
        to_json(coin), to_json(business_type), ',"positionType":' || to_json(position_type)::text,
        amount, fee, ',"positionAmount":"' || position_amount || '"',
        ',"positionBalance":"' || position_balance || '"', balance, ${timeMs}
      )`;

/** The page's rows as a JSON list. @param member added to each row, after its other members. */
export function wireRows(
  { json, extras }: Pick<BillPage, "json" | "extras">,
  member: Readonly<Record<string, string>> = {},
): string {
  const isAsStored = extras === undefined && Object.keys(member).length === 0;
  if (isAsStored || json === "") return `[${json}]`;
  const rows = json
    .split(rowSeparator)
    .map((row, place) => ({ ...JSON.parse(row), ...membersOf(extras?.[place]), ...member }));
  return JSON.stringify(rows);
}

/**
 * Fields that the contract does not list. Numbers that the exchange spelled differently are
 * included under their own names.
 */
const membersOf = (extra: string | null | undefined): object =>
  extra === null || extra === undefined ? {} : (parseExactJson(extra) as object);
