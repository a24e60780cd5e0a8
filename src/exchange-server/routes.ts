import { accountBills } from "../contract/account-bills.ts";
import { contracts } from "../contract/contracts.ts";
import { financialRecords } from "../contract/financial-records.ts";
import { fundingRecords } from "../contract/funding-records.ts";
import { keyInfo } from "../contract/key-info.ts";
import { loanToValue, unifiedLoanToValue } from "../contract/loan-to-value.ts";
import type { Operation } from "../contract/operation.ts";
import { isDemoProductType } from "../contract/product-types.ts";
import { emptyLists, serverTimes } from "../contract/public-lists.ts";
import { spotBills } from "../contract/spot-bills.ts";
import { symbols } from "../contract/symbols.ts";
import { classicTaxRecords, unifiedTaxRecords } from "../contract/tax-records.ts";
import { accountSettings } from "../contract/unified-account.ts";
import { balancesOperations } from "../contract/wallet-balances.ts";
import { type OperationApi, wrongEnvironment } from "./authenticate.ts";
import {
  serveBills,
  serveClassicTax,
  serveFunding,
  serveRecords,
  serveSpotBills,
  serveUnifiedTax,
} from "./ledger-routes.ts";
import {
  type Context,
  type Credential,
  credentialMode,
  type Permission,
  Refusal,
  readQuery,
} from "./source.ts";

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
  signed(spotBills, "classic", "spot", serveSpotBills),
  signed(fundingRecords, "unified", "uta-mgt", serveFunding),
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

async function serveSettings(context: Context, credential: Credential): Promise<object | Refusal> {
  const query = readQuery(accountSettings.query, context.query);
  if (query instanceof Refusal) return query;
  return {
    uid: credential.uid,
    accountMode: credentialMode(credential),
    assetMode: "multi_assets",
    accountLevel: "advanced",
    holdMode: "hedge_mode",
  };
}

async function serveClassicInfo({ query }: Context, credential: Credential) {
  const words = { bills: ["coor", "cpor"], spot: ["stor"], tax: ["taxr"] };
  const authorities = Object.entries(words).flatMap(([right, named]) =>
    credential.permissions.some((permission) => permission === right) ? named : [],
  );
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
