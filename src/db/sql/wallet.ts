import { type SQL, sql } from "drizzle-orm";
import { unifiedProductTypes } from "../../contract/product-types.ts";

/**
 * `walletOf` of src/contract/product-types.ts in SQL; the views say it in the same words. What is a
 * wallet already stays as it is.
 * @param productType a column.
 */
export const walletOf = (productType: string): SQL =>
  sql.raw(`(case when ${productType} like 'UTA-%' then 'UTA' else ${productType} end)`);

const unifiedArray = unifiedProductTypes.map((productType) => `'${productType}'`).join(", ");

/**
 * The product types that share a wallet, as an array: to look bills up by, where an index begins
 * with their product type.
 * @param wallet a column.
 */
export const productTypesOf = (wallet: string): SQL =>
  sql.raw(`(case when ${wallet} = 'UTA' then array[${unifiedArray}] else array[${wallet}] end)`);
