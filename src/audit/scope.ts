import { type SQL, sql } from "drizzle-orm";
import { isUnified, unifiedProductTypes, unifiedWallet } from "../contract/product-types.ts";
import { epochMs, isoTime } from "../contract/time.ts";

/** The ledgers to reconcile. */
export type Scope = {
  /** Undefined for all stored accounts. */
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly string[] | undefined;
};

/** The product type of a break's last good bill. @param alias of the break's row. */
export const lastGoodProductType = (alias: string): SQL =>
  sql.raw(`coalesce(${alias}.last_good_product_type, ${alias}.product_type)`);

/**
 * Widens a scope to whole wallets. All product types of a wallet share its balance, so where one of them is
 * asked for, all are checked, and so is what is stored under the wallet's name.
 */
export function withWholeWallets({ accounts, productTypes }: Scope): Scope {
  if (productTypes === undefined || !productTypes.some(isUnified))
    return { accounts, productTypes };
  const others = productTypes.filter((productType) => !isUnified(productType));
  return { accounts, productTypes: [...others, ...unifiedProductTypes, unifiedWallet] };
}

/** A time for Postgres. */
export const timeOf = (ms: number): string =>
  ms === Number.NEGATIVE_INFINITY ? "-infinity" : isoTime(epochMs(ms));
