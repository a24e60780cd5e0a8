import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import {
  accountBills,
  pageSizeDefault,
  pageSizeMax,
} from "../../../core/contract/account-bills.ts";
import { financialRecords } from "../../../core/contract/financial-records.ts";
import { fundingRecords } from "../../../core/contract/funding-records.ts";
import {
  categoryOf,
  classicProductTypes,
  fundingWallet,
  type ProductType,
  spotWallet,
  type UnifiedProductType,
  unifiedCategories,
  unifiedTypeOf,
} from "../../../core/contract/product-types.ts";
import { epochMsText } from "../../../core/contract/scalars.ts";
import { spotBills } from "../../../core/contract/spot-bills.ts";
import { msOf } from "../../../core/postgres/values.ts";
import type { ListQuery } from "../../../core/server/request.ts";
import { typeGroup, typeName } from "./read-bill-page.ts";

/** The most rows of a page. The exchange serves 100. */
const rowsMax = 1_000;

// The longest name that the contract allows. An id has at most 20 digits.
const nameLengthMax = 200;
const name = z.string().min(1).max(nameLengthMax).optional();
const cursor = z
  .string()
  .regex(/^\d{1,40}$/)
  .optional();
const oneOf = <const Names extends readonly string[]>(names: Names) =>
  z.string().toUpperCase().pipe(z.enum(names));

/** What is asked of a list of the mirror. */
export type Question = ListQuery & {
  readonly symbol?: string | undefined;
  readonly marginCoin?: string | undefined;
  readonly groupType?: string | undefined;
};

/** The query of a list: the exchange's parameters in any combination, of any age, and some more. */
const listQuery = <Names extends z.ZodRawShape>(names: Names) =>
  z
    .strictObject({
      ...names,
      coin: name,
      startTime: epochMsText.optional(),
      endTime: epochMsText.optional(),
      limit: z
        .string()
        .regex(/^\d{1,4}$/)
        .refine((size) => Number(size) >= 1 && Number(size) <= rowsMax, `is not 1 to ${rowsMax}`)
        .optional(),
    })
    .refine(isInOrder, { path: ["endTime"], error: "is before startTime" });

function isInOrder(query: object): boolean {
  const { startTime, endTime } = query as Question;
  return startTime === undefined || endTime === undefined || Number(startTime) <= Number(endTime);
}

/** An operation that lists bills. */
export type Listing<Query extends z.ZodType<Question> = z.ZodType<Question>> = {
  readonly path: string;
  readonly query: Query;
  productTypeOf(query: z.output<Query>): ProductType;
  /** How many rows a page has if no limit is asked for. */
  readonly usualRows: number;
  /** The JSON of one row of `bills`. */
  json(productType: ProductType): SQL;
  /** An answer's data, from the JSON of its rows and the id of the last one, which is empty if no bill is older. */
  dataOf(rows: string, endId: string): string;
};

const listing = <Query extends z.ZodType<Question>>(one: Listing<Query>): Listing => one;

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

const pageOfV3 = (rows: string, endId: string) => `{"list":${rows},"cursor":"${endId}"}`;

export const listings: readonly Listing[] = [
  listing({
    path: accountBills.path,
    query: listQuery({
      productType: oneOf(classicProductTypes),
      symbol: name,
      /** Equal to coin: a bill is in its margin coin. */
      marginCoin: name,
      businessType: name,
      onlyFunding: z.enum(["yes", "no"]).optional(),
      /** The endId of the page before. */
      idLessThan: cursor,
    }),
    productTypeOf: ({ productType }) => productType,
    usualRows: pageSizeDefault,
    json: () => wireBill,
    dataOf: (rows, endId) => `{"bills":${rows},"endId":"${endId}"}`,
  }),
  listing({
    path: financialRecords.path,
    query: listQuery({
      category: oneOf(unifiedCategories),
      symbol: name,
      type: name,
      /** That of the page before. */
      cursor,
    }),
    productTypeOf: ({ category }) => unifiedTypeOf(category),
    usualRows: pageSizeMax,
    // The position fields were added in 2026: older rows do not have them.
    json: (productType) => sql`format(
        '{"category":%s,"id":%s,"symbol":%s,"coin":%s,"type":%s%s,"amount":"%s","fee":"%s"%s%s,'
          '"balance":"%s","ts":"%s"}',
        to_json(${categoryOf(productType as UnifiedProductType)}::text), to_json(bill_id), to_json(coalesce(symbol, '')),
        to_json(coin), to_json(business_type), ',"positionType":' || to_json(position_type)::text,
        amount, fee, ',"positionAmount":"' || position_amount || '"',
        ',"positionBalance":"' || position_balance || '"', balance, ${timeMs}
      )`,
    dataOf: pageOfV3,
  }),
  listing({
    path: spotBills.path,
    query: listQuery({
      groupType: name,
      businessType: name,
      /** The id of the last bill of the page before. */
      idLessThan: cursor,
    }),
    productTypeOf: () => spotWallet,
    usualRows: pageSizeMax,
    json: () => sql`format(
        '{"billId":%s,"coin":%s,"groupType":%s,"businessType":%s,"size":"%s","balance":"%s","fees":"%s","cTime":"%s"}',
        to_json(bill_id), to_json(coin), to_json(${typeGroup}), to_json(${typeName}), amount, balance, fee, ${timeMs}
      )`,
    dataOf: (rows) => rows,
  }),
  listing({
    path: fundingRecords.path,
    query: listQuery({ type: name, cursor }),
    productTypeOf: () => fundingWallet,
    usualRows: pageSizeMax,
    json: () => sql`format(
        '{"id":%s,"coin":%s,"groupType":%s,"type":%s,"amount":"%s","balance":"%s","ts":"%s"}',
        to_json(bill_id), to_json(coin), to_json(${typeGroup}), to_json(${typeName}), amount, balance, ${timeMs}
      )`,
    dataOf: pageOfV3,
  }),
];
