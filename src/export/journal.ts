import { isoTime } from "../contract/time.ts";
import type { BillPages, ExportedBill } from "./bill.ts";
import {
  type Booking,
  bookings,
  feeBooking,
  openingBooking,
  roundingBooking,
  unexplainedBooking,
} from "./bookings.ts";
import { inChainOrder } from "./chain-order.ts";
import {
  add,
  type Decimal,
  decimalOf,
  isAtMost,
  isZero,
  magnitude,
  negate,
  subtract,
} from "./decimal.ts";
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

export type JournalEntry =
  | { readonly kind: "bill"; readonly bill: ExportedBill; readonly postings: readonly Posting[] }
  | {
      readonly kind: Adjustment;
      /** The bill whose balance shows it. */
      readonly bill: ExportedBill;
      readonly postings: readonly Posting[];
    }
  | {
      readonly kind: "balance";
      /** UTC, at its end: 2026-11-21. */
      readonly day: string;
      readonly account: AccountName;
      readonly coin: string;
      readonly balance: Decimal;
    };

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
  /** The day of the last balance that the exchange reported, until it is asserted. */
  reportedOn: string | undefined;
};

/**
 * The bills as balanced entries, one each, with a balance assertion at the end of every day on
 * which the exchange reported one: the last it reported, and what was moved after it that day.
 *
 * The journal always checks. What does not add up is booked where it shows, to Equity:Rounding or
 * Equity:Unexplained; what was there before the first known balance, to Equity:Opening.
 */
export async function* journalOf(pages: BillPages): AsyncIterable<readonly JournalEntry[]> {
  let stream = "";
  let day = "";
  let wallets = new Map<string, Wallet>();
  for await (const groups of millisecondsOf(pages)) {
    const entries: JournalEntry[] = [];
    for (const group of groups) {
      const [first] = group;
      if (first === undefined) continue;
      const nextStream = streamKey(first);
      const nextDay = dayOf(first);
      if (nextStream !== stream || nextDay !== day) entries.push(...assertions(wallets, day));
      if (nextStream !== stream) wallets = new Map();
      stream = nextStream;
      day = nextDay;
      bookGroup(wallets, group, entries);
    }
    yield entries;
  }
  yield [...assertions(wallets, day)];
}

const streamKey = ({ account, productType }: ExportedBill): string => `${account}\n${productType}`;

/** The UTC day: 2026-11-21. */
export const dayOf = ({ cTime }: ExportedBill): string => isoTime(cTime).slice(0, 10);

/** The pages cut into the bills of one stream and one millisecond, which may span two pages. */
async function* millisecondsOf(
  pages: BillPages,
): AsyncIterable<readonly (readonly ExportedBill[])[]> {
  let open: ExportedBill[] = [];
  for await (const bills of pages) {
    const done: (readonly ExportedBill[])[] = [];
    for (const bill of bills) {
      const [first] = open;
      if (first?.cTime === bill.cTime && streamKey(first) === streamKey(bill)) open.push(bill);
      else {
        if (first !== undefined) done.push(open);
        open = [bill];
      }
    }
    yield done;
  }
  yield [open];
}

function bookGroup(
  wallets: Map<string, Wallet>,
  group: readonly ExportedBill[],
  entries: JournalEntry[],
): void {
  for (const [coin, bills] of Map.groupBy(group, (bill) => bill.coin)) {
    const wallet = wallets.get(coin) ?? openWallet(bills[0], coin);
    wallets.set(coin, wallet);
    for (const bill of inChainOrder(bills, wallet.balance)) bookBill(wallet, bill, entries);
  }
}

function openWallet(bill: ExportedBill | undefined, coin: string): Wallet {
  const { account = "", productType = "" } = bill ?? {};
  return {
    account: ["Assets", "Exchange", account, productType, coin],
    moved: { units: 0n, scale: 0 },
    balance: undefined,
    reportedOn: undefined,
  };
}

function bookBill(wallet: Wallet, bill: ExportedBill, entries: JournalEntry[]): void {
  const change = walletChange(bill);
  entries.push({ kind: "bill", bill, postings: billPostings(wallet, bill, change) });
  const computed = wallet.balance === undefined ? undefined : add(wallet.balance, change);
  if (bill.balance === null) {
    if (computed === undefined) wallet.moved = add(wallet.moved, change);
    else wallet.balance = computed;
    return;
  }
  const reported = decimalOf(bill.balance);
  const difference = subtract(reported, computed ?? add(wallet.moved, change));
  if (!isZero(difference)) {
    const kind = computed === undefined ? "opening" : differenceKind(difference);
    entries.push({ kind, bill, postings: adjustment(wallet, bill, kind, difference) });
  }
  wallet.balance = reported;
  wallet.reportedOn = dayOf(bill);
}

const differenceKind = (difference: Decimal): Adjustment =>
  isAtMost(magnitude(difference), roundingMax) ? "rounding" : "unexplained";

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

function billPostings(wallet: Wallet, bill: ExportedBill, change: Decimal): readonly Posting[] {
  const postings: Posting[] = [{ account: wallet.account, coin: bill.coin, amount: change }];
  if (bill.category === "margin") return postings;
  for (const [text, booking] of [
    [bill.amount, bookings[bill.category]],
    [bill.fee, feeBooking],
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
