import { accountBills, pageSizeDefault, pageSizeMax } from "../contract/account-bills.ts";
import { financialRecords } from "../contract/financial-records.ts";
import { fundingRecords } from "../contract/funding-records.ts";
import {
  categoryOf,
  fundingWallet,
  isDemoProductType,
  type ProductType,
  spotWallet,
  unifiedProductTypes,
} from "../contract/product-types.ts";
import { spotBills } from "../contract/spot-bills.ts";
import { classicTaxRecords, taxRowsMax, unifiedTaxRecords } from "../contract/tax-records.ts";
import { type EpochMs, epochMs, historyMs } from "../contract/time.ts";
import { wrongEnvironment } from "./authenticate.ts";
import {
  type Context,
  type Credential,
  Refusal,
  readQuery,
  unknownProduct,
  type WirePage,
} from "./source.ts";

// Pages of bills and tax records.

export async function serveBills(
  context: Context,
  credential: Credential,
): Promise<object | Refusal> {
  // ccxt sends these two. The exchange accepts them, but what they do is not known: clients filter themselves.
  const { symbol: _, marginCoin: __, ...listed } = context.query;
  const query = readQuery(accountBills.query, listed);
  if (query instanceof Refusal) return query;
  const { productType } = query;
  if (isDemoProductType(productType) && context.demo) return wrongEnvironment();
  return pageOf(context, credential, {
    ...query,
    productType,
    cursor: query.idLessThan,
    defaultLimit: pageSizeDefault,
  });
}

/** A page of a unified account's bills: the same content under other names. */
export async function serveRecords(
  context: Context,
  credential: Credential,
): Promise<object | Refusal> {
  const query = readQuery(financialRecords.query, context.query);
  if (query instanceof Refusal) return query;
  const productType = unifiedProductTypes.find((type) => categoryOf(type) === query.category);
  if (productType === undefined) return unknownProduct("category");
  return recordsOf(context, credential, { ...query, productType });
}

type RecordsQuery = Omit<PageQuery, "defaultLimit"> & { readonly type?: string | undefined };

async function recordsOf(context: Context, credential: Credential, query: RecordsQuery) {
  const page = await pageOf(context, credential, {
    ...query,
    businessType: query.type,
    defaultLimit: pageSizeMax,
  });
  if (page instanceof Refusal) return page;
  const { bills: list, endId } = page;
  const cursor = endId && context.numericCursor ? JSON.rawJSON(endId) : endId;
  return { list, ...(cursor !== undefined && { cursor }) };
}

export async function serveSpotBills(context: Context, credential: Credential) {
  const query = readQuery(spotBills.query, context.query);
  if (query instanceof Refusal) return query;
  const page = await pageOf(context, credential, {
    ...query,
    productType: spotWallet,
    cursor: query.idLessThan,
    defaultLimit: pageSizeMax,
  });
  return page instanceof Refusal ? page : (page.bills ?? []);
}

export async function serveFunding(context: Context, credential: Credential) {
  const query = readQuery(fundingRecords.query, context.query);
  return query instanceof Refusal
    ? query
    : recordsOf(context, credential, { ...query, productType: fundingWallet });
}

export async function serveClassicTax(context: Context, credential: Credential) {
  const query = readQuery(classicTaxRecords.query, context.query);
  return query instanceof Refusal ? query : serveTax(context, credential, query);
}

export async function serveUnifiedTax(context: Context, credential: Credential) {
  const query = readQuery(unifiedTaxRecords.query, context.query);
  if (query instanceof Refusal) return query;
  const productType = unifiedProductTypes.find((type) => categoryOf(type) === query.bizType);
  if (productType === undefined) return unknownProduct("bizType");
  return serveTax(context, credential, { ...query, productType });
}

type TaxQuery = Pick<PageQuery, "productType" | "limit"> & Record<"startTime" | "endTime", string>;

async function serveTax(
  { source, now }: Context,
  { uid, name }: Credential,
  { productType, startTime, endTime, limit }: TaxQuery,
): Promise<readonly unknown[] | Refusal> {
  if (source.taxRecords === undefined) return new Refusal(404, "40404", "Request URL NOT FOUND");
  return source.taxRecords({
    caller: { uid, name },
    now,
    productType,
    startTime: epochMs(Number(startTime)),
    endTime: epochMs(Number(endTime)),
    limit: Number(limit ?? taxRowsMax),
  });
}

type PageQuery = {
  readonly productType: ProductType;
  readonly coin?: string | undefined;
  readonly businessType?: string | undefined;
  readonly onlyFunding?: "yes" | "no" | undefined;
  readonly cursor?: string | undefined;
  readonly startTime?: string | undefined;
  readonly endTime?: string | undefined;
  readonly limit?: string | undefined;
  readonly defaultLimit: number;
};

async function pageOf(
  { source, now, clock }: Context,
  { uid, name, refused }: Credential,
  query: PageQuery,
): Promise<WirePage | Refusal> {
  const refusal = refused?.get(query.productType);
  if (refusal !== undefined) return refusal;
  return source.bills({
    caller: { uid, name },
    now,
    productType: query.productType,
    coin: query.coin,
    businessType: query.businessType,
    onlyFunding: query.onlyFunding === "yes",
    idLessThan: query.cursor,
    startTime: optionalTime(query.startTime),
    endTime: optionalTime(query.endTime),
    horizon: epochMs(clock - historyMs),
    limit: query.limit === undefined ? query.defaultLimit : Number(query.limit),
  });
}

const optionalTime = (digits: string | undefined): EpochMs | undefined =>
  digits === undefined ? undefined : epochMs(Number(digits));
