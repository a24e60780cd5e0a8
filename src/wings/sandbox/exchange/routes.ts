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
import type { Context, WirePage } from "./source.ts";

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
      serve: (context: SignedContext) => Promise<Data>;
    };

/** What is needed to serve an admitted request that is signed. */
type SignedContext = Context & { readonly caller: Credential };

type Asking<Query extends z.ZodType> = Operation & { readonly query: Query };

type Serve<Query extends z.ZodType, Given extends Context> = (
  query: z.output<Query>,
  context: Given,
) => Promise<Data>;

/** Serves what a context asks, or refuses a query that is not the operation's. */
const reading =
  <Query extends z.ZodType, Given extends Context>(schema: Query, serve: Serve<Query, Given>) =>
  async (context: Given): Promise<Data> => {
    const query = readQuery(schema, context.query);
    return query instanceof Refusal ? query : serve(query, context);
  };

const open = <Query extends z.ZodType>(
  operation: Asking<Query>,
  serve: Serve<Query, Context>,
): Route => ({ access: "public", operation, serve: reading(operation.query, serve) });

const signed = <Query extends z.ZodType>(
  operation: Asking<Query>,
  api: OperationApi,
  permission: Permission | undefined,
  serve: Serve<Query, SignedContext>,
): Route => ({
  ...{ access: "signed", operation, api, permission },
  serve: reading(operation.query, serve),
});

/** ccxt sends these two. The exchange accepts them, but what they do is not known: clients filter themselves. */
const leniently = z.preprocess(
  ({ symbol: _, marginCoin: __, ...query }: Context["query"]) => query,
  accountBills.query,
);

const listed: readonly Route[] = [
  signed({ ...accountBills, query: leniently }, "classic", "bills", (query, context) =>
    pageOf(context, { limit: String(pageSizeDefault), ...query }),
  ),
  signed(spotBills, "classic", "spot", async (query, context) => {
    const page = await pageOf(context, { ...query, productType: spotWallet });
    return page instanceof Refusal ? page : (page.bills ?? []);
  }),
  signed(financialRecords, "unified", "uta-mgt", (query, context) =>
    recordsOf(context, { ...query, productType: unifiedTypeOf(query.category) }),
  ),
  signed(fundingRecords, "unified", "uta-mgt", (query, context) =>
    recordsOf(context, { ...query, productType: fundingWallet }),
  ),
  signed(classicTaxRecords, "classic", "tax", (query, { source, caller, now }) =>
    source.taxRecords({ caller, now, ...query }),
  ),
  signed(unifiedTaxRecords, "unified", "tax", (query, { source, caller, now }) =>
    source.taxRecords({ caller, now, ...query, productType: unifiedTypeOf(query.bizType) }),
  ),
  signed(spotTaxRecords, "classic", "tax", (query, { source, caller, now }) =>
    source.taxRecords({ caller, now, ...query, productType: spotWallet }),
  ),
  signed(withdrawalOperations.classic, "classic", "spot", (query, { source, caller, now }) =>
    source.withdrawals({ caller, now, ...query, wallet: spotWallet, below: query.idLessThan }),
  ),
  signed(withdrawalOperations.unified, "unified", "uta-mgt", (query, { source, caller, now }) =>
    source.withdrawals({ caller, now, ...query, wallet: fundingWallet, below: query.cursor }),
  ),
  signed(loanToValue, "classic", "loan-to-value", ({ riskUnitId }, { source, caller, now }) =>
    source.loanToValue({ caller, now, riskUnitId }),
  ),
  signed(unifiedLoanToValue, "unified", "uta-mgt", ({ riskUnitId }, { source, caller, now }) =>
    source.loanToValue({ caller, now, riskUnitId }),
  ),
  signed(balancesOperations.classic, "classic", "bills", async ({ productType }, context) =>
    isDemoProductType(productType) && context.demo
      ? wrongEnvironment()
      : balancesOf(productType, context, ({ coin, balance }) => ({
          ...{ marginCoin: coin, locked: "0", available: balance, accountEquity: balance },
          ...{ unrealizedPL: "", assetMode: "single" },
        })),
  ),
  signed(balancesOperations.unified, "unified", "uta-mgt", async (_, context) => {
    const assets = await balancesOf(unifiedWallet, context, ({ coin, balance }) => ({
      ...{ coin, equity: balance, balance, locked: "0" },
    }));
    return assets instanceof Refusal ? assets : { assets };
  }),
  signed(balancesOperations.spot, "classic", "spot", (_, context) =>
    balancesOf(spotWallet, context, ({ coin, balance }) => ({
      ...{ coin, available: balance, frozen: "0", locked: "0", limitAvailable: "0" },
    })),
  ),
  signed(balancesOperations.funding, "unified", "uta-mgt", (_, context) =>
    balancesOf(fundingWallet, context, ({ coin, balance }) => ({
      ...{ coin, balance, available: balance, frozen: "0" },
    })),
  ),
  signed(accountSettings, "unified-mode", "uta-mgt", async (_, { caller }) => ({
    uid: caller.uid,
    accountMode: caller.accountMode,
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
  { source, caller, now, clock, demo }: SignedContext,
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
async function recordsOf(context: SignedContext, query: PageQuery) {
  const page = await pageOf(context, query);
  if (page instanceof Refusal) return page;
  const { bills: list, endId: cursor } = page;
  return { list, ...(cursor !== undefined && { cursor }) };
}

type CoinBalance = { readonly coin: string; readonly balance: string };

/** The balances of a wallet's coins, in the words of an API. */
async function balancesOf(
  wallet: Wallet,
  { source, caller, now }: SignedContext,
  inWords: (balance: CoinBalance) => object,
): Promise<readonly object[] | Refusal> {
  const rows = await source.balances({ caller, now, wallet });
  return rows instanceof Refusal ? rows : rows.map(inWords);
}

async function serveClassicInfo(_: object, { caller }: SignedContext): Promise<Data> {
  const words = { bills: ["coor", "cpor"], spot: ["stor"], tax: ["taxr"] };
  const authorities = Object.entries(words).flatMap(([right, named]) =>
    caller.permissions.some((permission) => permission === right) ? named : [],
  );
  return { userId: caller.uid, ips: "", authorities, regisTime: "1700000000000" };
}

async function serveUnifiedInfo(_: object, { caller }: SignedContext): Promise<Data> {
  const permissions = caller.permissions.includes("uta-mgt") ? ["uta_mgt"] : [];
  const regisTime = "1700000000000";
  return { userId: caller.uid, permType: "read-only", permissions, ips: "", regisTime };
}
