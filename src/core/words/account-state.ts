import type { ExchangeError } from "../../lib/errors.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { KeyInfo } from "../contract/key-info.ts";
import { isOfUnifiedAccount, type ProductType, productTypes } from "../contract/product-types.ts";

/** The API that serves an account. Each of the exchange's two APIs refuses accounts of the other mode. */
export type AccountMode = "classic" | "unified";

export const modeOf = (productType: ProductType): AccountMode =>
  isOfUnifiedAccount(productType) ? "unified" : "classic";

/** All product types of an account of this mode. */
export const productTypesOf = (mode: AccountMode): readonly ProductType[] =>
  productTypes.filter((productType) => modeOf(productType) === mode);

/** A product type that the exchange refuses to an account's key. Times are the exchange's. */
export type NotAvailable = {
  readonly productType: ProductType;
  /** When it was first refused. */
  readonly since: EpochMs;
  /** When it was last asked for. */
  readonly askedAt: EpochMs;
  /** The exchange's refusal. */
  readonly reason: string;
};

/** A product type that was read until its account changed its mode. */
export type Ended = { readonly productType: ProductType; readonly endedAt: EpochMs };

/** What earlier runs have learned about an account. */
export type AccountState = {
  readonly mode: { readonly name: AccountMode; readonly since: EpochMs } | undefined;
  readonly notAvailable: readonly NotAvailable[];
  readonly ended: readonly Ended[];
  /** When the exchange last refused to tell the key what a wallet holds; only of wallets of which it does. */
  readonly balancesRefusedAt?: ReadonlyMap<string, EpochMs>;
  /** When it last refused the records of the account's withdrawals to the key; undefined where it does not. */
  readonly withdrawalsRefusedAt?: EpochMs | undefined;
};

/** The product types that the user wants to have read. */
export type Wanted = {
  /** The product types that were named; with `readsAll`, all that there may be. */
  readonly productTypes: readonly ProductType[];
  /** Whether all product types are read that the account has and its key can read. Default false. */
  readonly readsAll?: boolean;
};

/** The product types that were refused to a key, and those that were answered. */
export type Availability = {
  readonly refused: readonly { readonly productType: ProductType; readonly reason: string }[];
  readonly answered: readonly ProductType[];
  /** The exchange's time. */
  readonly askedAt: EpochMs;
};

/** What the exchange told of an account and its key. */
export type KeyAnswer = {
  /** The error where it did not tell. */
  readonly info: KeyInfo | ExchangeError;
  /** The product types that are asked for. */
  readonly productTypes: readonly ProductType[];
};
