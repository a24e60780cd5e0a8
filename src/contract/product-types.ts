/** The product types of the v2 account bills operation. Source: its parameter `productType`. */
export const classicProductTypes = [
  "USDT-FUTURES",
  "COIN-FUTURES",
  "USDC-FUTURES",
  "SUSDT-FUTURES",
  "SCOIN-FUTURES",
  "SUSDC-FUTURES",
] as const;

/**
 * The ledgers of a unified account. Source: the parameter `category` of the v3 financial records
 * operation, with `UTA-` before it: their bills lie beside the classic ones.
 */
export const unifiedProductTypes = [
  "UTA-SPOT",
  "UTA-MARGIN",
  "UTA-USDT-FUTURES",
  "UTA-COIN-FUTURES",
  "UTA-USDC-FUTURES",
  "UTA-OTHER",
] as const;

/** All that bills are stored under. */
export const productTypes = [...classicProductTypes, ...unifiedProductTypes] as const;

export type ClassicProductType = (typeof classicProductTypes)[number];
export type UnifiedProductType = (typeof unifiedProductTypes)[number];
export type ProductType = ClassicProductType | UnifiedProductType;

const unifiedPrefix = "UTA-";

/** The one wallet of a unified account. */
export const unifiedWallet = "UTA";

export const isUnified = (productType: string): productType is UnifiedProductType =>
  productType.startsWith(unifiedPrefix);

/** What the exchange calls the ledger of a unified account. */
export const categoryOf = (productType: UnifiedProductType): string =>
  productType.slice(unifiedPrefix.length);

/** Of all ledgers of a unified account: what the exchange calls them. */
export const unifiedCategories = unifiedProductTypes.map(categoryOf);

/**
 * The wallet of a product type's coins, as reports name it: a classic product type has one of its
 * own, and a unified account one for all its categories.
 */
export const walletOf = (productType: string): string =>
  isUnified(productType) ? unifiedWallet : productType;

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

/** The product types whose contracts are read: those of the demo products were delisted with them. */
export const contractProductTypes = ["USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES"] as const;

export type ContractProductType = (typeof contractProductTypes)[number];

/** Whose contracts a product type's bills name; undefined where that is nobody's. */
export const contractTypeOf = (productType: ProductType): ContractProductType | undefined =>
  contractProductTypes.find(
    (type) => type === (isUnified(productType) ? categoryOf(productType) : productType),
  );
