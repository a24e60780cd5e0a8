import {
  classicProductTypes,
  fundingWallet,
  isDemoProductType,
  isUnified,
  type ProductType,
  productTypes,
  spotWallet,
} from "../../core/contract/product-types.ts";
import type { WireAccountMode } from "../../core/server/source.ts";
import { dayMs, type EpochMs, epochMs } from "../../lib/time.ts";
import { classicBook } from "./classic-book.ts";
import { accountCounter, type Book, type LedgerBill } from "./entry.ts";
import { type UnifiedKind, unifiedBook } from "./unified/book.ts";
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
  /**
   * The product types with bills, for the time in which the account is in their mode. Default all.
   */
  readonly productTypes?: readonly ProductType[];
  /** How many days the ledger reaches back, and into the future. Default 100 and 2. */
  readonly days?: number;
  readonly futureDays?: number;
  /** Factor on the number of trades. Default 1: see profiles.ts. */
  readonly density?: number;
  /**
   * Moments with a bill each, and one bill in the millisecond before and after. Default every
   * seventh day from the horizon on, every thirtieth in a unified account.
   */
  readonly edges?: readonly number[];
  /**
   * The account's number within the exchange, below 1,024: accounts of different numbers share no
   * id. Default 0.
   */
  readonly account?: number;
  /** Whether every bill's type has a category. Default false: types occur that nobody has heard of. */
  readonly isClassified?: boolean;
  /** The account's modes over time, oldest first. Default classic at all times. */
  readonly modes?: readonly ModeChange[];
  readonly unified?: UnifiedKind;
};

/**
 * Makes a ledger that adds up to the last digit. In a classic account, each balance of a product
 * type and coin is the previous one plus amount plus fee. In a unified account, a coin has one
 * balance over all categories, and whether an amount contains its fee depends on the category. The
 * same options give the same ledger, letter for letter.
 */
export function makeLedger(options: LedgerOptions): AccountBills {
  const { days = 100, futureDays = 2, modes = alwaysClassic, account = 0, edges } = options;
  const { seed, density = 1, isClassified = false, productTypes: wanted = productTypes } = options;
  const now = Math.floor(options.now);
  const span = { now, from: now - days * dayMs, to: now + futureDays * dayMs };
  const counterOf = (counter: number) => accountCounter(counter, account);
  const common = { ...span, seed, density, isClassified, counterOf, ...(edges && { edges }) };
  const classicTypes = classicProductTypes.filter((productType) => wanted.includes(productType));
  const [first] = classicTypes.filter((productType) => productType === wanted[0]);
  const classic = classicBook(classicTypes, first, common);
  const unified = unifiedBook({
    ...common,
    ...options.unified,
    productTypes: wanted.filter(isUnified),
  });
  let before: { readonly book: Book; readonly to: number } | undefined;
  for (const phase of phasesOf(modes, span.from, span.to)) {
    const book = phase.isUnified ? unified : classic;
    // A classic account that opens gets its balances by its first bills.
    if (before === undefined && phase.isUnified) book.enter(phase.from, new Map());
    if (before !== undefined && before.book !== book)
      book.enter(phase.from, before.book.leave(before.to));
    book.play(phase);
    before = { book, to: phase.to };
  }
  const bills = { ...classic.bills, ...unified.bills };
  const walletOf = (wallet: ApartWallet, others: readonly ProductType[]) => ({
    [wallet]: wanted.includes(wallet)
      ? walletBills(
          wallet,
          others.flatMap((other) => bills[other] ?? []),
          { seed, counterOf },
        )
      : [],
  });
  return {
    now: epochMs(now),
    bills: {
      ...(Object.fromEntries(
        productTypes.map((type) => [type, []]),
      ) as unknown as AccountBills["bills"]),
      ...bills,
      ...walletOf(
        spotWallet,
        classicProductTypes.filter((productType) => !isDemoProductType(productType)),
      ),
      ...walletOf(fundingWallet, ["UTA-OTHER"]),
    },
  };
}

/** The account's mode from a time on, in milliseconds since the Unix epoch. */
export type ModeChange = { readonly at: number; readonly mode: WireAccountMode };

export const alwaysClassic: readonly ModeChange[] = [
  { at: Number.NEGATIVE_INFINITY, mode: "classic" },
];

/** @param changes oldest first. The first mode also applies to the time before it. */
export const modeAt = (changes: readonly ModeChange[], time: number): WireAccountMode =>
  (changes.findLast(({ at }) => at <= time) ?? changes[0])?.mode ?? "classic";

/** An interval `[from, to)` in which an account's ledger is in one mode. */
type Phase = { readonly isUnified: boolean; readonly from: number; readonly to: number };

/**
 * The intervals in which bills are booked, and the kind of ledger. In transit no bill is booked.
 */
function phasesOf(changes: readonly ModeChange[], from: number, to: number): Phase[] {
  return changes
    .map(({ at, mode }, index) => ({
      mode,
      from: index === 0 ? from : Math.max(at, from),
      to: Math.min(changes[index + 1]?.at ?? to, to),
    }))
    .filter((phase) => phase.from < phase.to && !isInTransit(phase.mode))
    .map((phase) => ({ ...phase, isUnified: phase.mode !== "classic" }));
}

/**
 * Whether the account is on its way between the two APIs. In the modes classic, unified and hybrid,
 * one of the APIs serves it.
 */
export const isInTransit = (mode: WireAccountMode): boolean =>
  mode !== "classic" && mode !== "unified" && mode !== "hybrid";
