import { z } from "zod";
import type { Operation } from "./operation.ts";
import { type ClassicProductType, classicProductTypes } from "./product-types.ts";
import { decimal, optionalDecimal, optionalText, text } from "./scalars.ts";

/** A wallet's coin, as it is now: its balance is `equity` less `unrealized`. */
export type WalletBalance = {
  readonly coin: string;
  readonly equity: string;
  /** The profit of open positions, which is in the equity and in no bill; null where there is none. */
  readonly unrealized: string | null;
  /** Whether all coins are one margin. Nobody has shown that a coin's balance is then that of its bills. */
  readonly isUnion: boolean;
};

/** Get Account List: the wallet of one product type of a classic account, one row a margin coin. */
const classicBalances = {
  name: "account balances",
  path: "/api/v2/mix/account/accounts",
  access: "signed",
  query: z.strictObject({
    productType: z.string().toUpperCase().pipe(z.enum(classicProductTypes)),
  }),
  data: z.array(
    z
      .looseObject({
        marginCoin: text,
        accountEquity: decimal,
        unrealizedPL: optionalDecimal,
        assetMode: optionalText,
      })
      .transform(
        ({ marginCoin, accountEquity, unrealizedPL, assetMode }): WalletBalance => ({
          coin: marginCoin,
          equity: accountEquity,
          unrealized: unrealizedPL,
          isUnion: assetMode === "union",
        }),
      ),
  ),
  limit: { requests: 10, scope: "uid" },
} as const satisfies Operation;

/** Get Account Assets of a unified account, one row a coin. */
const unifiedBalances = {
  name: "account assets",
  path: "/api/v3/account/assets",
  access: "signed",
  query: z.strictObject({}),
  data: z
    .looseObject({ assets: z.array(z.looseObject({ coin: text, balance: decimal })) })
    .transform(({ assets }) =>
      assets.map(
        ({ coin, balance }): WalletBalance => ({
          coin,
          equity: balance,
          unrealized: null,
          isUnion: true,
        }),
      ),
    ),
  limit: { requests: 20, scope: "uid" },
} as const satisfies Operation;

export const balancesOperations = { classic: classicBalances, unified: unifiedBalances };

/** The question for a wallet's balances. @param productType undefined for the one wallet of a unified account. */
export const balancesQuestion = (productType: ClassicProductType | undefined) =>
  productType === undefined
    ? { operation: unifiedBalances, query: {} }
    : { operation: classicBalances, query: { productType } };
