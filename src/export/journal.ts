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
import { balanceChange } from "./exported-bill.ts";
import { type DayOf, utcDay } from "./time-zone.ts";

/** An account's name in parts: the first is one of the five roots, the others are anyone's words. */
export type AccountName = readonly string[];

export type Posting = {
  readonly account: AccountName;
  readonly coin: string;
  readonly amount: Decimal;
};

/** What an entry is about that stands for no bill. */
export type Adjustment = "opening" | "rounding" | "unexplained";

/** Each with its day: 2026-11-21. */
export type JournalEntry = { readonly day: string } & (
  | {
      readonly kind: "bill" | Adjustment;
      /** For an adjustment: the bill whose balance shows it. */
      readonly bill: ExportedBill;
      readonly postings: readonly Posting[];
    }
  | {
      readonly kind: "closing";
      /** The wallet's last bill. */
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

/** The balance of one coin in a wallet, as the journal has booked it so far. */
type CoinBalance = {
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
    // These bills are booked and not printed, since earlier journals have them. So no account is declared twice.
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
 * The journal always checks. A difference is booked to Equity:Rounding or Equity:Unexplained, at the bill whose
 * balance shows it. The balance before the first one that is known is booked to Equity:Opening.
 */
class Journal {
  readonly #dayOf: DayOf;
  readonly #closings: ReadonlyMap<string, EpochMs>;
  /** The balances of each wallet's coins, by the wallet's key. */
  readonly #coinsByWallet = new Map<string, Map<string, CoinBalance>>();
  /** The wallet whose day is being booked. */
  #currentWalletKey = "";
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
      if (key !== this.#currentWalletKey || day !== this.#day) entries.push(...this.end());
      this.#currentWalletKey = key;
      this.#day = day;
      const coins = this.#coinsByWallet.get(key) ?? new Map<string, CoinBalance>();
      this.#coinsByWallet.set(key, coins);
      const coinBalance = coins.get(bill.coin) ?? openBalance(bill);
      coins.set(bill.coin, coinBalance);
      entries.push(...bookBill(coinBalance, bill, day));
    }
    return entries;
  }

  /** The assertions of the day that is being booked. On the day of a closing, {@link close} makes them. */
  end(): readonly JournalEntry[] {
    const closedAt = this.#closings.get(this.#currentWalletKey);
    if (closedAt !== undefined && this.#dayOf(closedAt) === this.#day) return [];
    return [...assertions(this.#coinsByWallet.get(this.#currentWalletKey) ?? new Map(), this.#day)];
  }

  /** Empties each wallet that was closed, and asserts that it is empty. */
  close(): readonly JournalEntry[] {
    return [...this.#closings].flatMap(([key, at]) =>
      [...(this.#coinsByWallet.get(key)?.values() ?? [])].flatMap((coinBalance) =>
        closingEntries(coinBalance, at, this.#dayOf(at)),
      ),
    );
  }
}

const keyOf = ({ account, wallet }: Omit<Closing, "at">): string => `${account}\n${wallet}`;

function closingEntries(
  coinBalance: CoinBalance,
  at: EpochMs,
  day: string,
): readonly JournalEntry[] {
  const { account, last: bill, balance } = coinBalance;
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

const openBalance = (bill: ExportedBill): CoinBalance => ({
  account: ["Assets", "Exchange", bill.account, walletOf(bill.productType), bill.coin],
  last: bill,
  moved: zero,
  balance: undefined,
  steps: 0n,
  reportedOn: undefined,
});

function bookBill(
  coinBalance: CoinBalance,
  bill: ExportedBill,
  day: string,
): readonly JournalEntry[] {
  const change = balanceChange(bill);
  const entry: JournalEntry = {
    kind: "bill",
    day,
    bill,
    postings: billPostings(coinBalance, bill),
  };
  const computed = coinBalance.balance === undefined ? undefined : add(coinBalance.balance, change);
  coinBalance.last = bill;
  coinBalance.steps += 1n;
  if (bill.balance === null) {
    if (computed === undefined) coinBalance.moved = add(coinBalance.moved, change);
    else coinBalance.balance = computed;
    return [entry];
  }
  const reported = decimalOf(bill.balance);
  const difference = subtract(reported, computed ?? add(coinBalance.moved, change));
  const kind = computed === undefined ? "opening" : differenceKind(difference, coinBalance.steps);
  coinBalance.balance = reported;
  coinBalance.steps = 0n;
  coinBalance.reportedOn = day;
  if (isZero(difference)) return [entry];
  return [entry, { kind, day, bill, postings: adjustment(coinBalance, bill, kind, difference) }];
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
  coinBalance: CoinBalance,
  bill: ExportedBill,
  kind: Adjustment,
  amount: Decimal,
): readonly Posting[] {
  return [
    { account: coinBalance.account, coin: bill.coin, amount },
    counter(bill, adjustmentBookings[kind], amount),
  ];
}

function billPostings(coinBalance: CoinBalance, bill: ExportedBill): readonly Posting[] {
  const { coin, category, walletAmount, walletFee } = bill;
  const postings: Posting[] = [{ account: coinBalance.account, coin, amount: balanceChange(bill) }];
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

function* assertions(coins: ReadonlyMap<string, CoinBalance>, day: string): Iterable<JournalEntry> {
  for (const [coin, coinBalance] of coins) {
    const { account, balance } = coinBalance;
    if (coinBalance.reportedOn !== day || balance === undefined) continue;
    coinBalance.reportedOn = undefined;
    yield { kind: "balance", day, account, coin, balance };
  }
}
