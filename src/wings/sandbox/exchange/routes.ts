import { z } from "zod";
import {
  accountBills,
  pageSizeDefault,
  pageSizeMax,
} from "../../../core/contract/account-bills.ts";
import { contracts } from "../../../core/contract/contracts.ts";
import { financialRecords } from "../../../core/contract/financial-records.ts";
import { fundingRecords } from "../../../core/contract/funding-records.ts";
import { keyInfo } from "../../../core/contract/key-info.ts";
import { loanToValue, unifiedLoanToValue } from "../../../core/contract/loan-to-value.ts";
import type { Operation } from "../../../core/contract/operation.ts";
import {
  fundingWallet,
  isDemoProductType,
  type ProductType,
  spotWallet,
  unifiedTypeOf,
  unifiedWallet,
  type Wallet,
} from "../../../core/contract/product-types.ts";
import { emptyLists, serverTimes } from "../../../core/contract/public-lists.ts";
import { spotBills } from "../../../core/contract/spot-bills.ts";
import { symbols } from "../../../core/contract/symbols.ts";
import {
  classicTaxRecords,
  spotTaxRecords,
  taxRowsMax,
  unifiedTaxRecords,
} from "../../../core/contract/tax-records.ts";
import { accountSettings } from "../../../core/contract/unified-account.ts";
import { balancesOperations } from "../../../core/contract/wallet-balances.ts";
import { withdrawalOperations } from "../../../core/contract/withdrawals.ts";
import { Refusal } from "../../../core/server/answer.ts";
import { type ListQuery, readQuery } from "../../../core/server/request.ts";
import { type EpochMs, epochMs, retentionMs } from "../../../lib/time.ts";
import {
  type Credential,
  type OperationApi,
  type Permission,
  wrongEnvironment,
} from "./credential.ts";
import type { Context, WirePage, WithdrawalsRequest } from "./source.ts";

type Data = object | Refusal;

export type Route =
  | {
      access: "public";
      operation: Operation;
      serve: (context: Context) => Promise<Data>;
    }
  | {
      access: "signed";
      operation: Operation;
      api: OperationApi;
      /** Undefined where every key may ask. */
      permission: Permission | undefined;
      serve: (context: Context, credential: Credential) => Promise<Data>;
    };

type Asking<Query extends z.ZodType> = Operation & { readonly query: Query };

const open = <Query extends z.ZodType>(
  operation: Asking<Query>,
  serve: (query: z.output<Query>, context: Context) => Promise<Data>,
): Route => ({
  access: "public",
  operation,
  async serve(context) {
    const query = readQuery(operation.query, context.query);
    return query instanceof Refusal ? query : serve(query, context);
  },
});

const signed = <Query extends z.ZodType>(
  operation: Asking<Query>,
  api: OperationApi,
  permission: Permission | undefined,
  serve: (query: z.output<Query>, context: Context, credential: Credential) => Promise<Data>,
): Route => ({
  ...{ access: "signed", operation, api, permission },
  async serve(context, credential) {
    const query = readQuery(operation.query, context.query);
    return query instanceof Refusal ? query : serve(query, context, credential);
  },
});

/** ccxt sends these two. The exchange accepts them, but what they do is not known: clients filter themselves. */
const leniently = z.preprocess(
  ({ symbol: _, marginCoin: __, ...query }: Context["query"]) => query,
  accountBills.query,
);

const listed: readonly Route[] = [
  signed({ ...accountBills, query: leniently }, "classic", "bills", (query, context, credential) =>
    pageOf(context, credential, { limit: String(pageSizeDefault), ...query }),
  ),
  signed(spotBills, "classic", "spot", async (query, context, credential) => {
    const page = await pageOf(context, credential, { ...query, productType: spotWallet });
    return page instanceof Refusal ? page : (page.bills ?? []);
  }),
  signed(financialRecords, "unified", "uta-mgt", (query, context, credential) =>
    recordsOf(context, credential, { ...query, productType: unifiedTypeOf(query.category) }),
  ),
  signed(fundingRecords, "unified", "uta-mgt", (query, context, credential) =>
    recordsOf(context, credential, { ...query, productType: fundingWallet }),
  ),
  signed(classicTaxRecords, "classic", "tax", taxRecordsOf),
  signed(unifiedTaxRecords, "unified", "tax", (query, context, credential) =>
    taxRecordsOf({ ...query, productType: unifiedTypeOf(query.bizType) }, context, credential),
  ),
  signed(withdrawalOperations.classic, "classic", "spot", (query, context, credential) =>
    withdrawalsOf({ ...query, wallet: spotWallet, below: query.idLessThan }, context, credential),
  ),
  signed(withdrawalOperations.unified, "unified", "uta-mgt", (query, context, credential) =>
    withdrawalsOf({ ...query, wallet: fundingWallet, below: query.cursor }, context, credential),
  ),
  signed(spotTaxRecords, "classic", "tax", (query, context, credential) =>
    taxRecordsOf({ ...query, productType: spotWallet }, context, credential),
  ),
  signed(loanToValue, "classic", "loan-to-value", serveLoanToValue),
  signed(unifiedLoanToValue, "unified", "uta-mgt", serveLoanToValue),
  signed(balancesOperations.classic, "classic", "bills", serveBalances),
  signed(balancesOperations.unified, "unified", "uta-mgt", serveAssets),
  signed(balancesOperations.spot, "classic", "spot", (_, context, credential) =>
    balancesOf(spotWallet, context, credential, ({ coin, balance }) => ({
      ...{ coin, available: balance, frozen: "0", locked: "0", limitAvailable: "0" },
    })),
  ),
  signed(balancesOperations.funding, "unified", "uta-mgt", (_, context, credential) =>
    balancesOf(fundingWallet, context, credential, ({ coin, balance }) => ({
      ...{ coin, balance, available: balance, frozen: "0" },
    })),
  ),
  signed(accountSettings, "unified-mode", "uta-mgt", async (_, __, credential) => ({
    uid: credential.uid,
    accountMode: credential.accountMode,
    assetMode: "multi_assets",
    accountLevel: "advanced",
    holdMode: "hedge_mode",
  })),
  signed(keyInfo.classic, "classic", "spot", serveClassicInfo),
  signed(keyInfo.unified, "unified-mode", undefined, serveUnifiedInfo),
  open(symbols, ({ symbol }, { source }) => source.symbols(symbol?.trim() || undefined)),
  open(contracts, ({ productType, symbol }, { source }) =>
    source.contracts(productType, symbol?.trim() || undefined),
  ),
  ...serverTimes.map((operation) =>
    open(operation, async (_, { clock }) => ({ serverTime: String(clock) })),
  ),
  ...emptyLists.map((operation) => open(operation, async () => [])),
];

export const routes: ReadonlyMap<string, Route> = new Map(
  listed.map((route) => [route.operation.path, route]),
);

type PageQuery = ListQuery & { readonly productType: ProductType };

async function pageOf(
  { source, now, clock, demo }: Context,
  caller: Credential,
  query: PageQuery,
): Promise<WirePage | Refusal> {
  const { productType } = query;
  if (isDemoProductType(productType) && demo) return wrongEnvironment();
  return source.bills({
    ...{ caller, now, productType, coin: query.coin },
    businessType: query.businessType ?? query.type,
    onlyFunding: query.onlyFunding === "yes",
    idLessThan: query.idLessThan ?? query.cursor,
    startTime: optionalTime(query.startTime),
    endTime: optionalTime(query.endTime),
    horizon: epochMs(clock - retentionMs),
    limit: Number(query.limit ?? pageSizeMax),
  });
}

const optionalTime = (digits: string | undefined): EpochMs | undefined =>
  digits === undefined ? undefined : epochMs(Number(digits));

/** A page of v3: the same content under other names. */
async function recordsOf(context: Context, credential: Credential, query: PageQuery) {
  const page = await pageOf(context, credential, query);
  if (page instanceof Refusal) return page;
  const { bills: list, endId: cursor } = page;
  return { list, ...(cursor !== undefined && { cursor }) };
}

type TaxQuery = Pick<PageQuery, "productType" | "limit"> & Record<"startTime" | "endTime", string>;

async function taxRecordsOf(
  { productType, startTime, endTime, limit }: TaxQuery,
  { source, now }: Context,
  caller: Credential,
): Promise<Data> {
  return source.taxRecords({
    ...{ caller, now, productType },
    startTime: epochMs(Number(startTime)),
    endTime: epochMs(Number(endTime)),
    limit: Number(limit ?? taxRowsMax),
  });
}

type WithdrawalsQuery = Pick<WithdrawalsRequest, "wallet" | "below"> &
  Record<"startTime" | "endTime", string> & { readonly limit?: string | undefined };

async function withdrawalsOf(
  { wallet, below, startTime, endTime, limit }: WithdrawalsQuery,
  { source, now }: Context,
  caller: Credential,
): Promise<Data> {
  return source.withdrawals({
    ...{ caller, now, wallet, below },
    startTime: epochMs(Number(startTime)),
    endTime: epochMs(Number(endTime)),
    limit: Number(limit ?? pageSizeDefault),
  });
}

async function serveLoanToValue(
  { riskUnitId }: z.output<typeof loanToValue.query>,
  { now, source }: Context,
  caller: Credential,
): Promise<Data> {
  return source.loanToValue({ caller, now, riskUnitId });
}

type CoinBalance = { readonly coin: string; readonly balance: string };

/** The balances of a wallet's coins, in the words of an API. */
async function balancesOf(
  wallet: Wallet,
  { source, now }: Context,
  caller: Credential,
  inWords: (balance: CoinBalance) => object,
): Promise<readonly object[] | Refusal> {
  const rows = await source.balances({ caller, now, wallet });
  return rows instanceof Refusal ? rows : rows.map(inWords);
}

async function serveBalances(
  { productType }: z.output<typeof balancesOperations.classic.query>,
  context: Context,
  credential: Credential,
): Promise<Data> {
  if (isDemoProductType(productType) && context.demo) return wrongEnvironment();
  return balancesOf(productType, context, credential, ({ coin, balance }) => ({
    ...{ marginCoin: coin, locked: "0", available: balance, accountEquity: balance },
    ...{ unrealizedPL: "", assetMode: "single" },
  }));
}

async function serveAssets(_: object, context: Context, credential: Credential): Promise<Data> {
  const assets = await balancesOf(unifiedWallet, context, credential, ({ coin, balance }) => ({
    ...{ coin, equity: balance, balance, locked: "0" },
  }));
  return assets instanceof Refusal ? assets : { assets };
}

async function serveClassicInfo(_: object, __: Context, credential: Credential): Promise<Data> {
  const words = { bills: ["coor", "cpor"], spot: ["stor"], tax: ["taxr"] };
  const authorities = Object.entries(words).flatMap(([right, named]) =>
    credential.permissions.some((permission) => permission === right) ? named : [],
  );
  return { userId: credential.uid, ips: "", authorities, regisTime: "1700000000000" };
}

async function serveUnifiedInfo(_: object, __: Context, credential: Credential): Promise<Data> {
  const permissions = credential.permissions.includes("uta-mgt") ? ["uta_mgt"] : [];
  const regisTime = "1700000000000";
  return { userId: credential.uid, permType: "read-only", permissions, ips: "", regisTime };
}
