import { bookedMaxMs } from "../../lib/time.ts";

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

/** The spot wallet of a classic account, and the funding wallet of a unified one. Each has an operation of its own. */
export const spotWallet = "SPOT";
export const fundingWallet = "UTA-FUNDING";

/** All product types under which bills are stored. */
export const productTypes = [
  ...classicProductTypes,
  spotWallet,
  ...unifiedProductTypes,
  fundingWallet,
] as const;

export type ClassicProductType = (typeof classicProductTypes)[number];
export type UnifiedProductType = (typeof unifiedProductTypes)[number];
export type ProductType = (typeof productTypes)[number];

const unifiedPrefix = "UTA-";

/** The one wallet of a unified account. */
export const unifiedWallet = "UTA";

/** A wallet that holds coins of its own, as reports name it. */
export type Wallet = Exclude<ProductType, UnifiedProductType> | typeof unifiedWallet;

/** Whether a unified account has it. A classic account has the others. */
export const isOfUnifiedAccount = (productType: string): boolean =>
  productType.startsWith(unifiedPrefix);

/** Whether it is one of the ledgers that share a unified account's one wallet. */
export const isUnified = (productType: string): productType is UnifiedProductType =>
  isOfUnifiedAccount(productType) && productType !== fundingWallet;

/** Whether it is a wallet beside futures and the unified account: its bills name a group, and have ids that miss their times. */
export const isSpotOrFunding = (
  productType: string,
): productType is typeof spotWallet | typeof fundingWallet =>
  productType === spotWallet || productType === fundingWallet;

/** The exchange's name for a ledger of a unified account: the product type without `UTA-`. */
export const categoryOf = (productType: UnifiedProductType): string =>
  productType.slice(unifiedPrefix.length);

/** The ledger of a unified account that the exchange calls by this name. */
export const unifiedTypeOf = (category: string): UnifiedProductType =>
  `${unifiedPrefix}${category}` as UnifiedProductType;

/** The exchange's names for all ledgers of a unified account. */
export const unifiedCategories = unifiedProductTypes.map(categoryOf);

/**
 * The wallet that holds a product type's coins, as reports name it. A unified account has one wallet for all its
 * categories. Each other product type has its own.
 */
export const walletOf = <Of extends string>(
  productType: Of,
): Exclude<Of, UnifiedProductType> | typeof unifiedWallet =>
  isUnified(productType) ? unifiedWallet : (productType as Exclude<Of, UnifiedProductType>);

/** Whether an amount of this product type may contain its fee: in a unified account and the spot wallet. */
export const mayContainFee = (productType: string): boolean =>
  productType === spotWallet || isUnified(productType);

/**
 * How long after its time a bill of a wallet or product type may be booked, in ms. Classic futures' bills have the time at
 * which they are booked.
 */
export const bookedMaxMsOf = (wallet: string): number =>
  /^(UTA|SPOT)/.test(wallet) ? bookedMaxMs : 0;

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
  (productType) => !isDemoProductType(productType) && !isSpotOrFunding(productType),
);

/** The product types whose contracts are read. The demo products' contracts were delisted with them. */
export const contractProductTypes = ["USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES"] as const;

export type ContractProductType = (typeof contractProductTypes)[number];

/** The product type whose contracts the bills of this one name; undefined where no contracts are read for it. */
export const contractTypeOf = (productType: ProductType): ContractProductType | undefined =>
  contractProductTypes.find(
    (type) => type === (isUnified(productType) ? categoryOf(productType) : productType),
  );
