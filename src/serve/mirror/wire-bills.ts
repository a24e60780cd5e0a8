import { sql } from "drizzle-orm";
import { parseExactJson } from "../../contract/json.ts";
import { categoryOf, type UnifiedProductType } from "../../contract/product-types.ts";
import { type BillPage, rowSeparator } from "../../db/ledger/read-bill-page.ts";

/** The JSON of a bill as the exchange served it. What was empty, null or missing there is empty here. */
export const wireBill = sql`(
        select row_to_json(wire)
        from (
          select
            bill_id as "billId",
            coalesce(symbol, '') as symbol,
            amount::text,
            fee::text,
            coalesce(fee_by_coupon::text, '') as "feeByCoupon",
            business_type as "businessType",
            coin,
            coalesce(balance::text, '') as balance,
            (extract(epoch from c_time) * 1000)::bigint::text as "cTime"
        ) as wire
      )`;

/** The same of a unified account. Its position's fields came in 2026: older rows have none. */
export const wireRecord = (productType: UnifiedProductType) => sql`(
        select json_strip_nulls(row_to_json(wire))
        from (
          select
            ${categoryOf(productType)}::text as category,
            bill_id as id,
            coalesce(symbol, '') as symbol,
            coin,
            business_type as type,
            position_type as "positionType",
            amount::text,
            fee::text,
            position_amount::text as "positionAmount",
            position_balance::text as "positionBalance",
            coalesce(balance::text, '') as balance,
            (extract(epoch from c_time) * 1000)::bigint::text as ts
        ) as wire
      )`;

/** A list of the page's rows as JSON. @param member to be added to each, behind the others. */
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

/** Fields that the contract does not list, and numbers in the exchange's spelling under their own names. */
const membersOf = (extra: string | null | undefined): object =>
  extra === null || extra === undefined ? {} : (parseExactJson(extra) as object);
