import { type SQL, sql } from "drizzle-orm";
import { fundingWallet, spotWallet, unifiedProductTypes } from "../../contract/product-types.ts";

/**
 * `walletOf` of src/contract/product-types.ts in SQL. Returns a wallet unchanged.
 * @param productType a column.
 */
export const walletOf = (productType: string): SQL =>
  sql.raw(`(case when ${isUnifiedText(productType)} then 'UTA' else ${productType} end)`);

/** `isUnified` of src/contract/product-types.ts in SQL, of a column. */
export const isUnifiedText = (productType: string): string =>
  `(${productType} like 'UTA-%' and ${productType} <> '${fundingWallet}')`;

/** `mayContainFee` of src/contract/product-types.ts in SQL, of a column. */
export const mayContainFeeText = (productType: string): string =>
  `(${isUnifiedText(productType)} or ${productType} = '${spotWallet}')`;

/**
 * A bill's amount or fee in analytics.entries, so that no fee is in both: a unified account's `amount` may
 * contain its fee, and its `wallet_amount` does not.
 */
export const apart = (column: "amount" | "fee", productType: string): SQL =>
  sql.raw(`(case when ${mayContainFeeText(productType)} then wallet_${column} else ${column} end)`);

/** The product types that share a unified account's one wallet, as an array. */
export const unifiedArray: SQL = sql.raw(
  `array[${unifiedProductTypes.map((name) => `'${name}'`).join(", ")}]`,
);

/**
 * The product types that share a wallet, as an array. Looks bills up through an index that begins with
 * their product type.
 * @param wallet a column.
 */
export const productTypesOf = (wallet: string): SQL =>
  sql`(case when ${sql.raw(wallet)} = 'UTA' then ${unifiedArray} else array[${sql.raw(wallet)}] end)`;
