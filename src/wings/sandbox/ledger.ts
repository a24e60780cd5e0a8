import {
  classicProductTypes,
  fundingWallet,
  isDemoProductType,
  isUnified,
  type ProductType,
  productTypes,
  spotWallet,
} from "../../core/contract/product-types.ts";
import type { AccountMode } from "../../core/words/account-state.ts";
import { dayMs, type EpochMs, epochMs } from "../../lib/time.ts";
import { type Book, openBook } from "./book.ts";
import type { LedgerBill } from "./entry.ts";
import type { EventOptions } from "./events.ts";
import { openingOf } from "./profiles.ts";
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
  const { books, span, ledger } = openBooks(options);
  for (const book of books[mode]) {
    for (const coin of book.coins) book.transfer(span.from, coin, openingOf(coin));
    book.play(span);
  }
  return ledger();
}

export type BooksOptions = LedgerOptions &
  Pick<EventOptions, "edges" | "typesOf"> & {
    /** How many days the ledger reaches back. Default 100. */
    readonly days?: number;
    /** Factors on the number of trades. Default 1: see profiles.ts. */
    readonly density?: number;
    readonly unifiedDensity?: number;
  };

/** An account's empty books of both modes, and the ledger that they make once they are played. */
export function openBooks(options: BooksOptions) {
  const { days = 100, futureDays = 2, account = 0, density = 1, ...others } = options;
  const { seed, unifiedDensity = density, productTypes: wanted = productTypes } = options;
  const now = Math.floor(options.now);
  const span = { from: now - days * dayMs, to: now + futureDays * dayMs };
  const common = { ...others, ...span, now, account, density };
  const [first, ...more] = wanted.filter(isUnified);
  const books: Readonly<Record<AccountMode, readonly Book[]>> = {
    classic: classicProductTypes
      .filter((productType) => wanted.includes(productType))
      .map((productType) => openBook([productType], common)),
    unified:
      first === undefined
        ? []
        : [openBook([first, ...more], { ...common, density: unifiedDensity })],
  };

  function ledger(): AccountBills {
    const drawn = [...books.classic, ...books.unified].map((book) => book.bills);
    const bills: AccountBills["bills"] = Object.assign(
      Object.fromEntries(productTypes.map((type) => [type, []])) as never,
      ...drawn,
    );
    const billsIn = (wallet: ApartWallet, others: readonly ProductType[]) =>
      wanted.includes(wallet)
        ? walletBills(
            wallet,
            others.flatMap((other) => bills[other]),
            { seed, account },
          )
        : [];
    const live = classicProductTypes.filter((productType) => !isDemoProductType(productType));
    return {
      now: epochMs(now),
      bills: {
        ...bills,
        [spotWallet]: billsIn(spotWallet, live),
        [fundingWallet]: billsIn(fundingWallet, ["UTA-OTHER"]),
      },
    };
  }
  return { books, span, ledger };
}
