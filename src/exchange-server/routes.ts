import { accountBills, pageSizeDefault, pageSizeMax } from "../contract/account-bills.ts";
import { contracts } from "../contract/contracts.ts";
import { financialRecords } from "../contract/financial-records.ts";
import { keyInfo } from "../contract/key-info.ts";
import { loanToValue, unifiedLoanToValue } from "../contract/loan-to-value.ts";
import type { Operation } from "../contract/operation.ts";
import {
  categoryOf,
  isDemoProductType,
  type ProductType,
  unifiedProductTypes,
} from "../contract/product-types.ts";
import { emptyLists, serverTimes } from "../contract/public-lists.ts";
import { symbols } from "../contract/symbols.ts";
import { classicTaxRecords, taxRowsMax, unifiedTaxRecords } from "../contract/tax-records.ts";
import { type EpochMs, epochMs, historyMs } from "../contract/time.ts";
import { accountSettings } from "../contract/unified-account.ts";
import { balancesOperations } from "../contract/wallet-balances.ts";
import { type OperationApi, wrongEnvironment } from "./authenticate.ts";
import { readQuery, unknownProduct } from "./read-query.ts";
import {
  type Credential,
  credentialMode,
  type Permission,
  Refusal,
  type Source,
  type WirePage,
} from "./source.ts";

/** What is needed to serve an admitted request. */
export type Context = {
  readonly source: Source;
  readonly query: Readonly<Record<string, string>>;
  readonly now: EpochMs;
  /** The exchange's time: history begins 90 days before it. */
  readonly clock: EpochMs;
  /** Whether the request asks for the demo environment. */
  readonly demo: boolean;
  readonly numericCursor: boolean;
};

type Serve<Arguments extends unknown[]> = (...given: Arguments) => Promise<object | Refusal>;

export type Route =
  | { access: "public"; operation: Operation; serve: Serve<[Context]> }
  | {
      access: "signed";
      operation: Operation;
      api: OperationApi;
      /** Undefined where every key may ask. */
      permission: Permission | undefined;
      serve: Serve<[Context, Credential]>;
    };

const signed = (
  operation: Operation,
  api: OperationApi,
  permission: Permission | undefined,
  serve: Serve<[Context, Credential]>,
): readonly [string, Route] => [
  operation.path,
  { access: "signed", operation, api, permission, serve },
];

export const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  signed(accountBills, "classic", "bills", serveBills),
  signed(loanToValue, "classic", "loan-to-value", serveLoanToValue),
  signed(balancesOperations.classic, "classic", "bills", serveBalances),
  signed(balancesOperations.unified, "unified", "uta-mgt", serveAssets),
  signed(financialRecords, "unified", "uta-mgt", serveRecords),
  signed(classicTaxRecords, "classic", "tax", serveClassicTax),
  signed(unifiedTaxRecords, "unified", "tax", serveUnifiedTax),
  signed(unifiedLoanToValue, "unified", "uta-mgt", serveLoanToValue),
  signed(accountSettings, "unified-mode", "uta-mgt", serveSettings),
  signed(keyInfo.classic, "classic", "spot", serveClassicInfo),
  signed(keyInfo.unified, "unified-mode", undefined, serveUnifiedInfo),
  [symbols.path, { access: "public", operation: symbols, serve: serveSymbols }],
  [contracts.path, { access: "public", operation: contracts, serve: serveContracts }],
  ...serverTimes.map((operation): [string, Route] => [
    operation.path,
    { access: "public", operation, serve: serveTime },
  ]),
  ...emptyLists.map((operation): [string, Route] => [
    operation.path,
    { access: "public", operation, serve: async () => [] },
  ]),
]);

async function serveBills(context: Context, credential: Credential): Promise<object | Refusal> {
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

async function serveBalances(
  { query, source, now, demo }: Context,
  { uid, name, refused }: Credential,
): Promise<object | Refusal> {
  const asked = readQuery(balancesOperations.classic.query, query);
  if (asked instanceof Refusal) return asked;
  const { productType } = asked;
  if (isDemoProductType(productType) && demo) return wrongEnvironment();
  const refusal = refused?.get(productType);
  const rows = refusal ?? (await source.balances({ caller: { uid, name }, now, productType }));
  if (rows instanceof Refusal) return rows;
  return rows.map(({ coin, balance }) => ({
    marginCoin: coin,
    locked: "0",
    available: balance,
    accountEquity: balance,
    unrealizedPL: "",
    assetMode: "single",
  }));
}

async function serveAssets(
  { source, now }: Context,
  { uid, name }: Credential,
): Promise<object | Refusal> {
  const rows = await source.balances({ caller: { uid, name }, now, productType: undefined });
  if (rows instanceof Refusal) return rows;
  return {
    assets: rows.map(({ coin, balance }) => ({ coin, equity: balance, balance, locked: "0" })),
  };
}

/** A page of a unified account's bills: the same content under other names. */
async function serveRecords(context: Context, credential: Credential): Promise<object | Refusal> {
  const query = readQuery(financialRecords.query, context.query);
  if (query instanceof Refusal) return query;
  const productType = unifiedProductTypes.find((type) => categoryOf(type) === query.category);
  if (productType === undefined) return unknownProduct("category");
  const page = await pageOf(context, credential, {
    ...query,
    productType,
    businessType: query.type,
    defaultLimit: pageSizeMax,
  });
  if (page instanceof Refusal) return page;
  const { bills: list, endId } = page;
  const cursor = endId && context.numericCursor ? JSON.rawJSON(endId) : endId;
  return { list, ...(cursor !== undefined && { cursor }) };
}

async function serveClassicTax(context: Context, credential: Credential) {
  const query = readQuery(classicTaxRecords.query, context.query);
  return query instanceof Refusal ? query : serveTax(context, credential, query);
}

async function serveUnifiedTax(context: Context, credential: Credential) {
  const query = readQuery(unifiedTaxRecords.query, context.query);
  if (query instanceof Refusal) return query;
  const productType = unifiedProductTypes.find((type) => categoryOf(type) === query.bizType);
  if (productType === undefined) return unknownProduct("bizType");
  return serveTax(context, credential, { ...query, productType });
}

type TaxQuery = {
  readonly productType: ProductType;
  readonly startTime: string;
  readonly endTime: string;
  readonly limit?: string | undefined;
};

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

async function serveSettings(context: Context, credential: Credential): Promise<object | Refusal> {
  const query = readQuery(accountSettings.query, context.query);
  if (query instanceof Refusal) return query;
  return {
    uid: credential.uid,
    accountMode: credentialMode(credential),
    assetMode: "multi_assets",
    accountLevel: "advanced",
    holdMode: "hedge_mode",
    stpMode: "none",
    symbolConfigList: [
      { category: "USDT-FUTURES", symbol: "BTCUSDT", marginMode: "crossed", leverage: "10" },
    ],
    coinConfigList: [{ coin: "BTC", leverage: "3" }],
  };
}

async function serveClassicInfo({ query }: Context, credential: Credential) {
  const authorities = credential.permissions.includes("bills")
    ? ["coor", "cpor", "stor"]
    : ["stor"];
  const info = { userId: credential.uid, ips: "", authorities, regisTime: "1700000000000" };
  return answerOf(query, { ...info, ...credential.info });
}

async function serveUnifiedInfo({ query }: Context, credential: Credential) {
  const permissions = credential.permissions.includes("uta-mgt") ? ["uta_mgt"] : [];
  const info = { userId: credential.uid, permType: "read-only", permissions, ips: "" };
  return answerOf(query, { ...info, regisTime: "1700000000000", ...credential.info });
}

/** An answer to a question without parameters. */
function answerOf(query: Context["query"], data: object): object | Refusal {
  const read = readQuery(keyInfo.unified.query, query);
  return read instanceof Refusal ? read : data;
}

async function serveLoanToValue(
  context: Context,
  { uid, name }: Credential,
): Promise<object | Refusal> {
  const query = readQuery(loanToValue.query, context.query);
  if (query instanceof Refusal) return query;
  const { now, source } = context;
  return source.loanToValue({ caller: { uid, name }, now, riskUnitId: query.riskUnitId });
}

async function serveSymbols(context: Context): Promise<object | Refusal> {
  const query = readQuery(symbols.query, context.query);
  if (query instanceof Refusal) return query;
  return context.source.symbols(query.symbol?.trim() || undefined);
}

async function serveTime({ clock }: Context): Promise<object> {
  return { serverTime: String(clock) };
}

async function serveContracts(context: Context): Promise<object | Refusal> {
  const query = readQuery(contracts.query, context.query);
  if (query instanceof Refusal) return query;
  return context.source.contracts(query.productType, query.symbol?.trim() || undefined);
}

const optionalTime = (digits: string | undefined): EpochMs | undefined =>
  digits === undefined ? undefined : epochMs(Number(digits));
