import { z } from "zod";
import {
  add,
  type Decimal,
  decimalOf,
  decimalText,
  isZero,
  subtract,
  zero,
} from "../../lib/decimal.ts";
import type { Operation } from "./operation.ts";
import {
  classicProductTypes,
  fundingWallet,
  spotWallet,
  unifiedWallet,
  type Wallet,
} from "./product-types.ts";
import { asPrinted, optionalDecimal, optionalText, text } from "./scalars.ts";
import { spotCoin } from "./spot-bills.ts";

/** What a wallet holds of a coin now. */
export type WalletBalance = {
  readonly coin: string;
  /** Null where the answer does not say. */
  readonly balance: string | null;
  /** Whether nobody has shown that such a balance is that of the coin's bills. */
  readonly mayDiffer: boolean;
};

/** A list without a row may be null. */
const listOf = (row: z.ZodType<WalletBalance>) =>
  z
    .array(row)
    .nullable()
    .transform((rows) => rows ?? []);

/** An amount that may be null or empty, as some coins' was, but not left out. */
const held = z
  .unknown()
  .refine((value): boolean => value !== undefined, "is missing")
  .pipe(optionalDecimal);

const sent = (text: string | null): Decimal => (text === null ? zero : decimalOf(asPrinted(text)));

/** Get Account List: the wallet of one product type of a classic account, one row a margin coin. */
const classicBalances = {
  name: "account balances",
  path: "/api/v2/mix/account/accounts",
  access: "signed",
  query: z.strictObject({
    productType: z.string().toUpperCase().pipe(z.enum(classicProductTypes)),
  }),
  data: listOf(
    z
      .looseObject({
        marginCoin: text,
        accountEquity: held,
        available: optionalDecimal,
        unrealizedPL: optionalDecimal,
        assetMode: optionalText,
      })
      .transform(
        ({ marginCoin, accountEquity, available, unrealizedPL, assetMode }): WalletBalance => ({
          coin: marginCoin,
          // The profit of open positions is in the equity and in no bill.
          balance: accountEquity && decimalText(subtract(sent(accountEquity), sent(unrealizedPL))),
          // All coins are one margin, or a profit may be in the equity that is not told.
          mayDiffer:
            assetMode === "union" || (unrealizedPL === null && accountEquity !== available),
        }),
      ),
  ),
  limit: { requests: 10, scope: "uid" },
} as const satisfies Operation;

/**
 * Get Account Assets of a unified account, one row a coin. In a public answer the balance was without what orders lock, which
 * moves no bill.
 */
const unifiedBalances = {
  name: "account assets",
  path: "/api/v3/account/assets",
  access: "signed",
  query: z.strictObject({}),
  data: z
    .looseObject({
      assets: listOf(
        z
          .looseObject({ coin: text, balance: held, locked: optionalDecimal })
          .transform(({ coin, balance, locked }) => ({
            coin,
            balance: balance && decimalText(add(sent(balance), sent(locked))),
            mayDiffer: true,
          })),
      ),
    })
    .transform(({ assets }) => assets),
  limit: { requests: 20, scope: "uid" },
} as const satisfies Operation;

/**
 * Get Account Assets of the spot wallet: the coins that it holds. What is frozen by an order, or locked, moved no bill. Whether
 * this holds for every kind of lock, and for what copy trading restricts, nobody has shown.
 */
const spotBalances = {
  name: "spot assets",
  path: "/api/v2/spot/account/assets",
  access: "signed",
  query: z.strictObject({}),
  data: listOf(
    z
      .looseObject({
        coin: text,
        available: held,
        frozen: optionalDecimal,
        locked: optionalDecimal,
        limitAvailable: optionalDecimal,
      })
      .transform(
        ({ coin, available, frozen, locked, limitAvailable }): WalletBalance => ({
          coin: spotCoin(coin),
          balance: available && decimalText([available, frozen, locked].map(sent).reduce(add)),
          mayDiffer: ![frozen, locked, limitAvailable].map(sent).every(isZero),
        }),
      ),
  ),
  limit: { requests: 10, scope: "uid" },
} as const satisfies Operation;

/** Get Funding Assets of a unified account. The balance contains what is frozen: a withdrawal's bill comes when it is done. */
const fundingBalances = {
  name: "funding assets",
  path: "/api/v3/account/funding-assets",
  access: "signed",
  query: z.strictObject({}),
  data: listOf(
    z.looseObject({ coin: text, balance: held, frozen: optionalDecimal }).transform(
      ({ coin, balance, frozen }): WalletBalance => ({
        coin,
        balance,
        mayDiffer: !isZero(sent(frozen)),
      }),
    ),
  ),
  limit: { requests: 20, scope: "uid" },
} as const satisfies Operation;

export const balancesOperations = {
  classic: classicBalances,
  unified: unifiedBalances,
  spot: spotBalances,
  funding: fundingBalances,
};

/** The question for what a wallet holds. */
export function balancesQuestion(wallet: Wallet) {
  switch (wallet) {
    case spotWallet:
      return { operation: spotBalances, query: {} };
    case fundingWallet:
      return { operation: fundingBalances, query: {} };
    case unifiedWallet:
      return { operation: unifiedBalances, query: {} };
    default:
      return { operation: classicBalances, query: { productType: wallet } };
  }
}
