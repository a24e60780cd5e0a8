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
 * operation. The prefix `UTA-` tells them from the classic product types, some of which have the same names.
 */
export const unifiedProductTypes = [
  "UTA-SPOT",
  "UTA-MARGIN",
  "UTA-USDT-FUTURES",
  "UTA-COIN-FUTURES",
  "UTA-USDC-FUTURES",
  "UTA-OTHER",
] as const;

/** All product types under which bills are stored. */
export const productTypes = [...classicProductTypes, ...unifiedProductTypes] as const;

export type ClassicProductType = (typeof classicProductTypes)[number];
export type UnifiedProductType = (typeof unifiedProductTypes)[number];
export type ProductType = ClassicProductType | UnifiedProductType;

const unifiedPrefix = "UTA-";

/** The one wallet of a unified account. */
export const unifiedWallet = "UTA";

export const isUnified = (productType: string): productType is UnifiedProductType =>
  productType.startsWith(unifiedPrefix);

/** The exchange's name for a ledger of a unified account: the product type without `UTA-`. */
export const categoryOf = (productType: UnifiedProductType): string =>
  productType.slice(unifiedPrefix.length);

/** The exchange's names for all ledgers of a unified account. */
export const unifiedCategories = unifiedProductTypes.map(categoryOf);

/**
 * The wallet that holds a product type's coins, as reports name it. A classic product type has its own
 * wallet. A unified account has one wallet for all its categories.
 */
export const walletOf = (productType: string): string =>
  isUnified(productType) ? unifiedWallet : productType;

/**
 * Whether it is one of a live account's demo products, which have their own coins and were delisted in
 * August 2025. A live key reads them. Demo trading is something else: a demo key with the header
 * `paptrading: 1` reads the other three classic product types, and is refused these. Source: reports of
 * the exchange's users.
 */
export const isDemoProductType = (productType: string): boolean =>
  /^S\w+-FUTURES$/.test(productType);

/** The product types that a demo trading key can read. */
export const demoKeyProductTypes: readonly ProductType[] = productTypes.filter(
  (productType) => !isDemoProductType(productType),
);

/** The product types whose contracts are read. The demo products' contracts were delisted with them. */
export const contractProductTypes = ["USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES"] as const;

export type ContractProductType = (typeof contractProductTypes)[number];

/** The product type whose contracts the bills of this one name; undefined where no contracts are read for it. */
export const contractTypeOf = (productType: ProductType): ContractProductType | undefined =>
  contractProductTypes.find(
    (type) => type === (isUnified(productType) ? categoryOf(productType) : productType),
  );
