import { isoTime } from "../contract/time.ts";
import {
  type Booking,
  bookings,
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
import type { BillPages, ExportedBill, FormatOptions } from "./exported-bill.ts";
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

/** A coin's wallet in one account and product type. */
type Wallet = {
  readonly account: AccountName;
  /** What was moved before the first balance that is known. */
  moved: Decimal;
  balance: Decimal | undefined;
  /** Bills since the last balance that the exchange reported: each may have been rounded. */
  steps: bigint;
  /** The day of that balance, until it is asserted. */
  reportedOn: string | undefined;
};

/** A bill's time as its day's entry shows it. */
export type TimeOf = (bill: ExportedBill) => string;

/** Of the day in UTC; where a day is another zone's, with the date that the moment has in UTC. */
export const timeIn =
  (zone = "UTC"): TimeOf =>
  ({ cTime }) =>
    zone === "UTC" ? isoTime(cTime).slice(11) : isoTime(cTime);

/** The text of a journal. */
export async function* printJournal(
  pages: BillPages,
  { dayOf = utcDay, before }: FormatOptions,
  print: (entry: JournalEntry) => string,
): AsyncIterable<string> {
  const journal = new Journal(dayOf);
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
  yield text(journal.end());
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
  readonly #streams = new Map<string, Map<string, Wallet>>();
  #stream = "";
  #day = "";

  constructor(dayOf: DayOf) {
    this.#dayOf = dayOf;
  }

  book(bills: readonly ExportedBill[]): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (const bill of bills) {
      const stream = `${bill.account}\n${bill.productType}`;
      const day = this.#dayOf(bill.cTime);
      if (stream !== this.#stream || day !== this.#day) entries.push(...this.end());
      this.#stream = stream;
      this.#day = day;
      const wallets = this.#streams.get(stream) ?? new Map<string, Wallet>();
      this.#streams.set(stream, wallets);
      const wallet = wallets.get(bill.coin) ?? openWallet(bill);
      wallets.set(bill.coin, wallet);
      entries.push(...bookBill(wallet, bill, day));
    }
    return entries;
  }

  /** The assertions of the day that is booked. */
  end(): readonly JournalEntry[] {
    return [...assertions(this.#streams.get(this.#stream) ?? new Map(), this.#day)];
  }
}

const openWallet = ({ account, productType, coin }: ExportedBill): Wallet => ({
  account: ["Assets", "Exchange", account, productType, coin],
  moved: zero,
  balance: undefined,
  steps: 0n,
  reportedOn: undefined,
});

function bookBill(wallet: Wallet, bill: ExportedBill, day: string): readonly JournalEntry[] {
  const change = walletChange(bill);
  const entry: JournalEntry = { kind: "bill", day, bill, postings: billPostings(wallet, bill) };
  const computed = wallet.balance === undefined ? undefined : add(wallet.balance, change);
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
  const owner = booking.ofAccount ? [account] : [account, productType];
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
