import { businessTypes } from "../../src/core/contract/business-types.ts";
import { isDemoProductType, type ProductType } from "../../src/core/contract/product-types.ts";
import { unifiedBusinessTypes } from "../../src/core/contract/unified-business-types.ts";
import {
  accountCounter,
  type Book,
  type LedgerBill,
  snowflake,
  snowflakeTime,
  type WireBill,
} from "../../src/wings/sandbox/entry.ts";
import type { WireAccountMode } from "../../src/wings/sandbox/exchange/credential.ts";
import { type AccountBills, type BooksOptions, openBooks } from "../../src/wings/sandbox/ledger.ts";
import { decimalText, type Units, unifiedPlaces, units } from "../../src/wings/sandbox/money.ts";
import { profiles } from "../../src/wings/sandbox/profiles.ts";
import { unifiedOpenings } from "../../src/wings/sandbox/unified/rows.ts";
import { withId } from "./ledger.ts";

export type LedgerOptions = Omit<BooksOptions, "types" | "unifiedDensity"> & {
  /** Whether every bill's type has a category. Default false: types occur that nobody has heard of. */
  readonly isClassified?: boolean;
  /** The account's modes over time, oldest first. Default classic at all times. */
  readonly modes?: readonly ModeChange[];
  readonly unified?: UnifiedKind;
};

/** Behaviours of unified accounts that are not known. The real exchange may show any of them. */
export type UnifiedKind = {
  /** Whether a futures row's amount contains its fee. Default false. */
  readonly isFuturesFeeInside?: boolean;
  /** Whether two categories may use the same id. Default false. */
  readonly areIdsReused?: boolean;
  /** Rows before this time have no position fields, in ms since the epoch. Default all have them. */
  readonly positionsSince?: number;
  /** Factor on the number of trades. Default the whole ledger's density. */
  readonly density?: number;
};

/** Types that are in no list: a program must keep bills of unknown types. */
export const unheardOfTypes = ["pre_market_vault_adjust_v3", "Loyalty-Yield"] as const;
const unheardOfUnifiedTypes = ["PRE_MARKET_VAULT_ADJUST", "Loyalty-Yield-UTA"] as const;

const everyType = {
  classic: [...businessTypes.map(({ code }) => code), ...unheardOfTypes],
  unified: [...unifiedBusinessTypes.map(({ code }) => code), ...unheardOfUnifiedTypes],
};

/** The ledger of an account that may change its mode, as an exchange may serve it. */
export function makeLedger(options: LedgerOptions): AccountBills {
  const { isClassified = false, modes = alwaysClassic, unified: kind = {}, ...others } = options;
  const { classic, unified, span, ledger } = openBooks({
    ...others,
    ...(!isClassified && { types: everyType }),
    ...(kind.density !== undefined && { unifiedDensity: kind.density }),
  });
  const sides = { classic: classicSide(classic), unified: unifiedSide(unified) };
  let before: { readonly side: Side; readonly to: number } | undefined;
  for (const phase of phasesOf(modes, span.from, span.to)) {
    const side = phase.isUnified ? sides.unified : sides.classic;
    // A classic account that opens gets its balances by its first bills.
    if (before === undefined && phase.isUnified) side.enter(phase.from, new Map());
    if (before !== undefined && before.side !== side)
      side.enter(phase.from, before.side.leave(before.to));
    side.play(phase);
    before = { side, to: phase.to };
  }
  return ofKind(ledger(), kind, options.account ?? 0);
}

/** An amount of each coin, in units of 1e-8. */
type Amounts = ReadonlyMap<string, Units>;

/** An account while it is of one mode. */
type Side = Pick<Book, "play"> & {
  /** Books what the account brings when it comes into this mode. */
  enter(at: number, amounts: Amounts): void;
  /** Takes out everything just before `at`. @returns what it was. */
  leave(at: number): Amounts;
};

const classicSide = (books: ReturnType<typeof openBooks>["classic"]): Side => ({
  play(phase) {
    for (const book of books) book.play(phase);
  },
  enter(at, amounts) {
    for (const { productType, balances, transfer } of books)
      for (const { coin, opening } of profiles[productType].coins) {
        const amount = amounts.get(coin) ?? (balances.has(coin) ? 0n : opening);
        if (amount > 0n) transfer(at, coin, amount);
      }
  },
  leave(at) {
    const sums = new Map<string, Units>();
    // Demo trading has its own coins, which stay where they are.
    for (const { balances, transfer } of books.filter(
      (book) => !isDemoProductType(book.productType),
    ))
      for (const [coin, balance] of balances) {
        if (balance <= 0n) continue;
        transfer(at - 1, coin, -balance);
        sums.set(coin, (sums.get(coin) ?? 0n) + balance);
      }
    return sums;
  },
});

/** How many unified units of 1e-16 make a classic unit of 1e-8. */
const finer: Units = 10n ** 8n;

/** One transfer for each coin, all in one millisecond. An account that opens also gets the usual other coins. */
const unifiedSide = ({ play, balances, transfer }: Book): Side => ({
  play,
  enter(at, amounts) {
    const brought = [...amounts].map(([coin, amount]) => [coin, amount * finer] as const);
    const all = new Map([...(balances.size === 0 ? unifiedOpenings : []), ...brought]);
    for (const [coin, amount] of all) transfer(at, coin, amount);
  },
  leave(at) {
    const taken = [...balances]
      .map(([coin, balance]) => [coin, balance / finer] as const)
      .filter(([, amount]) => amount > 0n);
    for (const [coin, amount] of taken) transfer(at - 1, coin, -amount * finer);
    return new Map(taken);
  },
});

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

/** The ledger with its unified bills as such an account has them. */
function ofKind(ledger: AccountBills, kind: UnifiedKind, account: number): AccountBills {
  const { isFuturesFeeInside = false, areIdsReused = false, positionsSince = 0 } = kind;
  const change = (productType: ProductType, all: readonly LedgerBill[]) => {
    if (!/^UTA-(SPOT|MARGIN|OTHER|.*-FUTURES)$/.test(productType)) return all;
    const counters = new Map<number, number>();
    return all.map((bill): LedgerBill => {
      let row = bill.row as WireBill;
      if (bill.cTime < positionsSince) row = withoutPosition(row);
      if (isFuturesFeeInside && productType.endsWith("-FUTURES")) row = withFeeInside(row);
      if (!areIdsReused) return { ...bill, row };
      const bookedAt = snowflakeTime(bill.billId);
      const counter = (counters.get(bookedAt) ?? -1) + 1;
      counters.set(bookedAt, counter);
      const billId = snowflake(bookedAt, accountCounter(counter, account));
      return { ...bill, billId, row: withId(row, billId) };
    });
  };
  const changed = Object.entries(ledger.bills).map(([type, all]) => [
    type,
    change(type as ProductType, all),
  ]);
  return { ...ledger, bills: Object.fromEntries(changed) };
}

const withoutPosition = ({
  positionType: _,
  positionAmount: __,
  positionBalance: ___,
  ...row
}: WireBill): WireBill => row;

function withFeeInside(row: WireBill): WireBill {
  const [amount, fee] = [String(row["amount"]), String(row["fee"])];
  const sum = units(amount, unifiedPlaces) + units(fee, unifiedPlaces);
  const places = /\.\d{16}$/.test(amount) ? "all" : "needed";
  return { ...row, amount: decimalText(sum, places, unifiedPlaces) };
}
