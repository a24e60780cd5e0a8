import { walletOf } from "../contract/product-types.ts";
import { type EpochMs, isoTime } from "../contract/time.ts";
import {
  type Booking,
  bookings,
  closingBooking,
  feeBooking,
  openingBooking,
  roundingBooking,
  unexplainedBooking,
} from "./bookings.ts";
import { type DayOf, utcDay } from "./days.ts";
import {
  add,
  type Decimal,
  decimalOf,
  isAtMost,
  isZero,
  magnitude,
  negate,
  subtract,
  zero,
} from "./decimal.ts";
import type { BillPages, Closing, ExportedBill, FormatOptions } from "./exported-bill.ts";
import { walletChange } from "./wallet-change.ts";

/** An account's name in parts: the first is one of the five roots, the others are anyone's words. */
export type AccountName = readonly string[];

export type Posting = {
  readonly account: AccountName;
  readonly coin: string;
  readonly amount: Decimal;
};

/** What an entry that no bill stands for is about. */
export type Adjustment = "opening" | "rounding" | "unexplained";

/** Each with its day: 2026-11-21. */
export type JournalEntry = { readonly day: string } & (
  | {
      readonly kind: "bill" | Adjustment;
      /** Of an adjustment, the one whose balance shows it. */
      readonly bill: ExportedBill;
      readonly postings: readonly Posting[];
    }
  | {
      readonly kind: "closing";
      /** The last of the wallet. */
      readonly bill: ExportedBill;
      readonly at: EpochMs;
      readonly postings: readonly Posting[];
    }
  | {
      /** At the day's end. */
      readonly kind: "balance";
      readonly account: AccountName;
      readonly coin: string;
      readonly balance: Decimal;
    }
);

/**
 * What one step of the balance may be off and still count as the exchange's rounding: one unit in
 * its last place. 15 of 79 real steps were off by exactly that.
 */
const roundingMax: Decimal = { units: 1n, scale: 8 };

/** One coin of a wallet. */
type Wallet = {
  readonly account: AccountName;
  last: ExportedBill;
  /** What was moved before the first balance that is known. */
  moved: Decimal;
  balance: Decimal | undefined;
  /** Bills since the last balance that the exchange reported: each may have been rounded. */
  steps: bigint;
  /** The day of that balance, until it is asserted. */
  reportedOn: string | undefined;
};

/** A time as its day's entry shows it. */
export type TimeOf = (time: EpochMs) => string;

/** Of the day in UTC; where a day is another zone's, with the date that the moment has in UTC. */
export const timeIn =
  (zone = "UTC"): TimeOf =>
  (time) =>
    zone === "UTC" ? isoTime(time).slice(11) : isoTime(time);

/** What a closing is about. */
export const closingText =
  "closing: the account is of the other kind from here on, and the exchange no longer serves this wallet";

/** The text of a journal. */
export async function* printJournal(
  pages: BillPages,
  { dayOf = utcDay, before, closings = [] }: FormatOptions,
  print: (entry: JournalEntry) => string,
): AsyncIterable<string> {
  const journal = new Journal(dayOf, closings);
  const text = (entries: readonly JournalEntry[]) => entries.map(print).join("");
  if (before !== undefined) {
    // Printed for nobody: what is declared or opened here is not again.
    for await (const bills of before) {
      text(journal.book(bills));
      yield "";
    }
    text(journal.end());
  }
  for await (const bills of pages) yield text(journal.book(bills));
  yield text([...journal.end(), ...journal.close()]);
}

/**
 * The bills as balanced entries, one each, with a balance assertion at the end of every day on
 * which the exchange reported one: the last it reported, and what was moved after it that day.
 *
 * The journal always checks. What does not add up is booked where it shows, to Equity:Rounding or
 * Equity:Unexplained; what was there before the first known balance, to Equity:Opening.
 */
class Journal {
  readonly #dayOf: DayOf;
  readonly #closings: ReadonlyMap<string, EpochMs>;
  /** Of each wallet, its coins. */
  readonly #wallets = new Map<string, Map<string, Wallet>>();
  #wallet = "";
  #day = "";

  constructor(dayOf: DayOf, closings: readonly Closing[]) {
    this.#dayOf = dayOf;
    this.#closings = new Map(closings.map((closing) => [keyOf(closing), closing.at]));
  }

  book(bills: readonly ExportedBill[]): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (const bill of bills) {
      const key = keyOf({ account: bill.account, wallet: walletOf(bill.productType) });
      const day = this.#dayOf(bill.cTime);
      if (key !== this.#wallet || day !== this.#day) entries.push(...this.end());
      this.#wallet = key;
      this.#day = day;
      const coins = this.#wallets.get(key) ?? new Map<string, Wallet>();
      this.#wallets.set(key, coins);
      const wallet = coins.get(bill.coin) ?? openWallet(bill);
      coins.set(bill.coin, wallet);
      entries.push(...bookBill(wallet, bill, day));
    }
    return entries;
  }

  /** The assertions of the day that is booked; of the day of a closing, it makes them. */
  end(): readonly JournalEntry[] {
    const closedAt = this.#closings.get(this.#wallet);
    if (closedAt !== undefined && this.#dayOf(closedAt) === this.#day) return [];
    return [...assertions(this.#wallets.get(this.#wallet) ?? new Map(), this.#day)];
  }

  /** Takes what is left out of each wallet that was closed, and asserts that nothing is left. */
  close(): readonly JournalEntry[] {
    return [...this.#closings].flatMap(([key, at]) =>
      [...(this.#wallets.get(key)?.values() ?? [])].flatMap((wallet) =>
        closingEntries(wallet, at, this.#dayOf(at)),
      ),
    );
  }
}

const keyOf = ({ account, wallet }: Omit<Closing, "at">): string => `${account}\n${wallet}`;

function closingEntries(wallet: Wallet, at: EpochMs, day: string): readonly JournalEntry[] {
  const { account, last: bill, balance } = wallet;
  if (balance === undefined) return [];
  const { coin } = bill;
  const left = negate(balance);
  const postings = [{ account, coin, amount: left }, counter(bill, closingBooking, left)];
  const isEmpty = isZero(balance);
  return [
    ...(isEmpty ? [] : [{ kind: "closing", day, bill, at, postings } as const]),
    { kind: "balance", day, account, coin, balance: zero },
  ];
}

const openWallet = (bill: ExportedBill): Wallet => ({
  account: ["Assets", "Exchange", bill.account, walletOf(bill.productType), bill.coin],
  last: bill,
  moved: zero,
  balance: undefined,
  steps: 0n,
  reportedOn: undefined,
});

function bookBill(wallet: Wallet, bill: ExportedBill, day: string): readonly JournalEntry[] {
  const change = walletChange(bill);
  const entry: JournalEntry = { kind: "bill", day, bill, postings: billPostings(wallet, bill) };
  const computed = wallet.balance === undefined ? undefined : add(wallet.balance, change);
  wallet.last = bill;
  wallet.steps += 1n;
  if (bill.balance === null) {
    if (computed === undefined) wallet.moved = add(wallet.moved, change);
    else wallet.balance = computed;
    return [entry];
  }
  const reported = decimalOf(bill.balance);
  const difference = subtract(reported, computed ?? add(wallet.moved, change));
  const kind = computed === undefined ? "opening" : differenceKind(difference, wallet.steps);
  wallet.balance = reported;
  wallet.steps = 0n;
  wallet.reportedOn = day;
  if (isZero(difference)) return [entry];
  return [entry, { kind, day, bill, postings: adjustment(wallet, bill, kind, difference) }];
}

function differenceKind(difference: Decimal, steps: bigint): Adjustment {
  const most = { ...roundingMax, units: roundingMax.units * steps };
  return isAtMost(magnitude(difference), most) ? "rounding" : "unexplained";
}

const adjustmentBookings: Readonly<Record<Adjustment, Booking>> = {
  opening: openingBooking,
  rounding: roundingBooking,
  unexplained: unexplainedBooking,
};

function adjustment(
  wallet: Wallet,
  bill: ExportedBill,
  kind: Adjustment,
  amount: Decimal,
): readonly Posting[] {
  return [
    { account: wallet.account, coin: bill.coin, amount },
    counter(bill, adjustmentBookings[kind], amount),
  ];
}

function billPostings(wallet: Wallet, bill: ExportedBill): readonly Posting[] {
  const { coin, category, walletAmount, walletFee } = bill;
  const postings: Posting[] = [{ account: wallet.account, coin, amount: walletChange(bill) }];
  for (const [text, booking] of [
    [walletAmount, bookings[category]],
    [walletFee, feeBooking],
  ] as const) {
    const amount = decimalOf(text);
    if (isZero(amount)) continue;
    postings.push(counter(bill, amount.units > 0n ? booking.gain : booking.loss, amount));
  }
  return postings;
}

/** The other side of what a wallet gained or lost. */
function counter(bill: ExportedBill, booking: Booking, amount: Decimal): Posting {
  const { account, productType, coin } = bill;
  const owner = {
    account: [account],
    wallet: [account, walletOf(productType)],
    "product type": [account, productType],
  }[booking.owner ?? "product type"];
  return {
    account: [booking.root, "Exchange", ...owner, booking.name],
    coin,
    amount: negate(amount),
  };
}

function* assertions(wallets: ReadonlyMap<string, Wallet>, day: string): Iterable<JournalEntry> {
  for (const [coin, wallet] of wallets) {
    const { account, balance } = wallet;
    if (wallet.reportedOn !== day || balance === undefined) continue;
    wallet.reportedOn = undefined;
    yield { kind: "balance", day, account, coin, balance };
  }
}
