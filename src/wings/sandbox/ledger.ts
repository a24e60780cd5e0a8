import { businessTypes } from "../../core/contract/business-types.ts";
import {
  classicProductTypes,
  fundingWallet,
  isDemoProductType,
  isUnified,
  type ProductType,
  productTypes,
  spotWallet,
} from "../../core/contract/product-types.ts";
import { unifiedBusinessTypes } from "../../core/contract/unified-business-types.ts";
import type { AccountMode } from "../../core/words/account-state.ts";
import { dayMs, type EpochMs, epochMs } from "../../lib/time.ts";
import { classicBook } from "./classic-book.ts";
import { accountCounter, type LedgerBill } from "./entry.ts";
import { unifiedBook } from "./unified/book.ts";
import { unifiedOpenings } from "./unified/rows.ts";
import { type ApartWallet, walletBills } from "./wallet-books.ts";

export type AccountBills = {
  readonly now: EpochMs;
  /** Bills by product type, oldest first, in the order in which the balance moved. */
  readonly bills: Readonly<Record<ProductType, readonly LedgerBill[]>>;
};

export type LedgerOptions = {
  readonly seed: string | number;
  /** When the ledger is opened, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** The product types with bills. Default all of the account's mode. */
  readonly productTypes?: readonly ProductType[];
  /** How many days the ledger reaches into the future. Default 2. */
  readonly futureDays?: number;
  /**
   * The account's number within the exchange, below 1,024: accounts of different numbers share no
   * id. Default 0.
   */
  readonly account?: number;
};

/**
 * Makes a ledger that adds up to the last digit. In a classic account, each balance of a product
 * type and coin is the previous one plus amount plus fee. In a unified account, a coin has one
 * balance over all categories, and whether an amount contains its fee depends on the category. The
 * same options give the same ledger, letter for letter.
 */
export function makeLedger({
  mode,
  ...options
}: LedgerOptions & { readonly mode: AccountMode }): AccountBills {
  const { classic, unified, span, ledger } = openBooks(options);
  if (mode === "classic") for (const book of classic) book.play(span);
  else {
    for (const [coin, amount] of unifiedOpenings) unified.transfer(span.from, coin, amount);
    unified.play(span);
  }
  return ledger();
}

const classified = (listed: readonly { readonly code: string; readonly category: string }[]) =>
  listed.flatMap(({ code, category }) => (category === "unclassified" ? [] : [code]));

const classifiedTypes = {
  classic: classified(businessTypes),
  unified: classified(unifiedBusinessTypes),
};

export type BooksOptions = LedgerOptions & {
  /** How many days the ledger reaches back. Default 100. */
  readonly days?: number;
  /** Factors on the number of trades. Default 1: see profiles.ts. */
  readonly density?: number;
  readonly unifiedDensity?: number;
  /**
   * Moments with a bill each, and one bill in the millisecond before and after. Default every
   * seventh day from the horizon on, every thirtieth in a unified account.
   */
  readonly edges?: readonly number[];
  /** Business types of which each occurs. Default all that have a category. */
  readonly types?: typeof classifiedTypes;
};

/** An account's empty books of both modes, and the ledger that they make once they are played. */
export function openBooks(options: BooksOptions) {
  const { seed, days = 100, futureDays = 2, account = 0, edges, density = 1 } = options;
  const { unifiedDensity = density, types = classifiedTypes } = options;
  const { productTypes: wanted = productTypes } = options;
  const now = Math.floor(options.now);
  const span = { from: now - days * dayMs, to: now + futureDays * dayMs };
  const counterOf = (counter: number) => accountCounter(counter, account);
  const common = { ...span, now, seed, density, counterOf, ...(edges && { edges }) };
  const classic = classicProductTypes
    .filter((productType) => wanted.includes(productType))
    .map((productType) =>
      classicBook(productType, {
        ...common,
        types: productType === wanted[0] ? types.classic : [],
      }),
    );
  const unified = unifiedBook({
    ...{ ...common, density: unifiedDensity, types: types.unified },
    productTypes: wanted.filter(isUnified),
  });

  function ledger(): AccountBills {
    const none = Object.fromEntries(productTypes.map((type) => [type, []]));
    const bills: AccountBills["bills"] = Object.assign(
      none as never,
      ...[...classic, unified].map((book) => book.bills),
    );
    const walletOf = (wallet: ApartWallet, others: readonly ProductType[]) =>
      wanted.includes(wallet)
        ? walletBills(
            wallet,
            others.flatMap((other) => bills[other]),
            { seed, counterOf },
          )
        : [];
    const live = classicProductTypes.filter((productType) => !isDemoProductType(productType));
    return {
      now: epochMs(now),
      bills: {
        ...bills,
        [spotWallet]: walletOf(spotWallet, live),
        [fundingWallet]: walletOf(fundingWallet, ["UTA-OTHER"]),
      },
    };
  }
  return { classic, unified, span, ledger };
}
