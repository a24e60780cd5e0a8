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

/** The exchange's demo trading: same host, a demo key and the header `paptrading: 1`. */
export const isDemoProductType = (productType: string): boolean =>
  /^S\w+-FUTURES$/.test(productType);
