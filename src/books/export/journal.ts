import { HeldBills, type Released } from "../../check/reconcile/held-bills.ts";
import type { Move } from "../../check/reconcile/trails.ts";
import { bookedMaxMsOf, walletOf } from "../../core/contract/product-types.ts";
import {
  add,
  type Decimal,
  decimalOf,
  isAtMost,
  isZero,
  magnitude,
  negate,
  subtract,
  unitsAt,
  zero,
} from "../../lib/decimal.ts";
import type { EpochMs } from "../../lib/time.ts";
import {
  type Booking,
  bookings,
  closingBooking,
  discrepancyBooking,
  feeBooking,
  openingBooking,
  roundingBooking,
} from "./bookings.ts";
import { balanceChange, type ExportedBill, type Opening, type WalletEnd } from "./exported-bill.ts";
import type { DayOf } from "./time-zone.ts";

/** An account's name in parts: the first is one of the five roots, the others are anyone's words. */
type AccountName = readonly string[];

export type Posting = {
  readonly account: AccountName;
  readonly coin: string;
  readonly amount: Decimal;
};

/** The subject of an entry that stands for no bill. */
type Adjustment = "opening" | "rounding" | "discrepancy";

/** Each with its day: 2026-11-21. */
export type JournalEntry = { readonly day: string } & (
  | {
      readonly kind: "bill";
      readonly bill: ExportedBill;
      readonly postings: readonly Posting[];
    }
  | {
      readonly kind: Adjustment | "closing";
      readonly at: EpochMs;
      /** The reason, in words. */
      readonly why: string;
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

/** Decimal places in which balances are compared to find the order of bills. Finer ones, which nobody has seen, are cut off. */
const heldPlaces = 24;

/** A bill that waits until it is known which other ones moved the balance before it. */
type HeldBill = Move & { readonly bill: ExportedBill };

/** Whose balance it is: of a bill's product type, or of a wallet. */
type Owner = Pick<ExportedBill, "account" | "productType" | "coin">;

/** The balance of one coin in a wallet, as the journal has booked it so far. */
type CoinBalance = {
  readonly account: AccountName;
  readonly owner: Owner;
  readonly held: HeldBills<HeldBill>;
  /** The sum of the bills before the first known balance. */
  moved: Decimal;
  balance: Decimal | undefined;
  /** Bills since the last balance that the exchange reported: each may have been rounded. */
  steps: bigint;
  /** The day of that balance, until it is asserted. */
  reportedOn: string | undefined;
};

/** The text of a closing's entry. */
const closingText =
  "closing: the account is in the other mode from here on, and the exchange no longer serves this wallet";

/**
 * The bills as balanced entries, one each, with a balance assertion at the end of every day on
 * which the exchange reported one: the last it reported, and what was moved after it that day.
 *
 * The journal always checks. A difference is booked to Equity:Rounding or Equity:Discrepancy, at the bill whose
 * balance shows it. The balance before the first one that is known is booked to Equity:Opening.
 */
export class Journal {
  readonly #dayOf: DayOf;
  readonly #walletEnds: ReadonlyMap<string, EpochMs>;
  /** The balances of each wallet's coins, by the wallet's key. */
  readonly #coinsByWallet = new Map<string, Map<string, CoinBalance>>();
  /** The wallet whose day is being booked. */
  #currentWalletKey = "";
  #day = "";
  /** What bills that no longer wait have become. */
  #booked: JournalEntry[] = [];

  constructor(dayOf: DayOf, walletEnds: readonly WalletEnd[]) {
    this.#dayOf = dayOf;
    this.#walletEnds = new Map(walletEnds.map((end) => [keyOf(end), end.at]));
  }

  /** What the wallets hold when the journal begins. A coin that is booked already goes on as it is. */
  open(openings: readonly Opening[]): readonly JournalEntry[] {
    return openings.flatMap(({ account, wallet, coin, balance: text, at }) => {
      const coins = this.#coinsOf({ account, wallet });
      if (coins.has(coin)) return [];
      const coinBalance = this.#openBalance({ account, productType: wallet, coin });
      coins.set(coin, coinBalance);
      const balance = decimalOf(text);
      coinBalance.balance = balance;
      coinBalance.held.begin(unitsIn(balance));
      const postings = adjustment(coinBalance, "opening", balance);
      const why = "what the wallet held at the start";
      const day = this.#dayOf(at);
      return isZero(balance) ? [] : [{ kind: "opening" as const, day, at, why, postings }];
    });
  }

  #coinsOf(wallet: Omit<WalletEnd, "at">): Map<string, CoinBalance> {
    const coins = this.#coinsByWallet.get(keyOf(wallet)) ?? new Map<string, CoinBalance>();
    this.#coinsByWallet.set(keyOf(wallet), coins);
    return coins;
  }

  book(bills: readonly ExportedBill[]): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (const bill of bills) {
      const wallet = { account: bill.account, wallet: walletOf(bill.productType) };
      const key = keyOf(wallet);
      const day = this.#dayOf(bill.cTime);
      if (key !== this.#currentWalletKey || day !== this.#day) entries.push(...this.end());
      this.#currentWalletKey = key;
      this.#day = day;
      const coins = this.#coinsOf(wallet);
      const coinBalance = coins.get(bill.coin) ?? this.#openBalance(bill);
      coins.set(bill.coin, coinBalance);
      coinBalance.held.add(heldBillOf(bill));
    }
    return [...entries, ...this.#takeBooked()];
  }

  /** The last bills and the assertions of the day that is being booked. On the day of an end, {@link close} asserts. */
  end(): readonly JournalEntry[] {
    const coins = this.#coinsByWallet.get(this.#currentWalletKey) ?? new Map<string, CoinBalance>();
    for (const { held } of coins.values()) held.end();
    const booked = this.#takeBooked();
    const endedAt = this.#walletEnds.get(this.#currentWalletKey);
    if (endedAt !== undefined && this.#dayOf(endedAt) === this.#day) return booked;
    return [...booked, ...assertions(coins, this.#day)];
  }

  #openBalance({ account, productType, coin }: Owner): CoinBalance {
    const coinBalance: CoinBalance = {
      account: ["Assets", "Exchange", account, walletOf(productType), coin],
      owner: { account, productType, coin },
      held: new HeldBills(
        {
          tolerance: unitsIn(roundingMax),
          bookedMaxMs: bookedMaxMsOf(walletOf(productType)),
        },
        (released) => {
          this.#booked.push(...bookBill(coinBalance, released, this.#day));
        },
      ),
      moved: zero,
      balance: undefined,
      steps: 0n,
      reportedOn: undefined,
    };
    return coinBalance;
  }

  #takeBooked(): readonly JournalEntry[] {
    const booked = this.#booked;
    this.#booked = [];
    return booked;
  }

  /** Empties each wallet that ended, and asserts that it is empty. */
  close(): readonly JournalEntry[] {
    return [...this.#walletEnds].flatMap(([key, at]) =>
      [...(this.#coinsByWallet.get(key)?.values() ?? [])].flatMap((coinBalance) =>
        closingEntries(coinBalance, at, this.#dayOf(at)),
      ),
    );
  }
}

const keyOf = ({ account, wallet }: Omit<WalletEnd, "at">): string => `${account}\n${wallet}`;

function closingEntries(
  coinBalance: CoinBalance,
  at: EpochMs,
  day: string,
): readonly JournalEntry[] {
  const { account, owner, balance } = coinBalance;
  if (balance === undefined) return [];
  const { coin } = owner;
  const left = negate(balance);
  const postings = [{ account, coin, amount: left }, counter(owner, closingBooking, left)];
  const isEmpty = isZero(balance);
  return [
    ...(isEmpty ? [] : [{ kind: "closing", day, at, why: closingText, postings } as const]),
    { kind: "balance", day, account, coin, balance: zero },
  ];
}

const unitsIn = (decimal: Decimal): bigint =>
  decimal.scale > heldPlaces
    ? decimal.units / 10n ** BigInt(decimal.scale - heldPlaces)
    : unitsAt(decimal, heldPlaces);

const heldBillOf = (bill: ExportedBill): HeldBill => ({
  productType: bill.productType,
  billId: bill.billId,
  time: bill.cTime,
  moved: unitsIn(balanceChange(bill)),
  after: bill.balance === null ? undefined : unitsIn(decimalOf(bill.balance)),
  bill,
});

function bookBill(
  coinBalance: CoinBalance,
  { bill: { bill }, isVague }: Released<HeldBill>,
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
  coinBalance.steps += 1n;
  if (bill.balance === null) {
    if (computed === undefined) coinBalance.moved = add(coinBalance.moved, change);
    else coinBalance.balance = computed;
    return [entry];
  }
  const reported = decimalOf(bill.balance);
  const difference = subtract(reported, computed ?? add(coinBalance.moved, change));
  const kind = computed === undefined ? "opening" : differenceKind(difference, coinBalance.steps);
  if (isVague && kind === "discrepancy" && computed !== undefined) {
    coinBalance.balance = computed;
    return [entry];
  }
  coinBalance.balance = reported;
  coinBalance.steps = 0n;
  coinBalance.reportedOn = day;
  if (isZero(difference)) return [entry];
  const why = `as the balance of bill ${bill.billId} shows`;
  const postings = adjustment(coinBalance, kind, difference);
  return [entry, { kind, day, at: bill.cTime, why, postings }];
}

function differenceKind(difference: Decimal, steps: bigint): Adjustment {
  const most = { ...roundingMax, units: roundingMax.units * steps };
  return isAtMost(magnitude(difference), most) ? "rounding" : "discrepancy";
}

const adjustmentBookings: Readonly<Record<Adjustment, Booking>> = {
  opening: openingBooking,
  rounding: roundingBooking,
  discrepancy: discrepancyBooking,
};

function adjustment(
  { account, owner }: CoinBalance,
  kind: Adjustment,
  amount: Decimal,
): readonly Posting[] {
  return [{ account, coin: owner.coin, amount }, counter(owner, adjustmentBookings[kind], amount)];
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
function counter(
  { account, productType, coin }: Owner,
  booking: Booking,
  amount: Decimal,
): Posting {
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
