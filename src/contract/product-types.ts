/** The product types of the account bills operation. Source: its parameter `productType`. */
export const productTypes = [
  "USDT-FUTURES",
  "COIN-FUTURES",
  "USDC-FUTURES",
  "SUSDT-FUTURES",
  "SCOIN-FUTURES",
  "SUSDC-FUTURES",
] as const;

export type ProductType = (typeof productTypes)[number];

/**
 * A live account's demo products, with their own coins, delisted in August 2025: a live key reads
 * them. Demo trading is another thing: a demo key and the header `paptrading: 1` read the other
 * three, and are refused these. Source: reports of its users.
 */
export const isDemoProductType = (productType: string): boolean =>
  /^S\w+-FUTURES$/.test(productType);

/** What a key of demo trading can read. */
export const demoKeyProductTypes: readonly ProductType[] = productTypes.filter(
  (productType) => !isDemoProductType(productType),
);
