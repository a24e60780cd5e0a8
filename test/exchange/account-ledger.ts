import { businessTypes } from "../../src/core/contract/business-types.ts";
import {
  classicProductTypes,
  isDemoProductType,
  isUnified,
  type ProductType,
} from "../../src/core/contract/product-types.ts";
import { unifiedBusinessTypes } from "../../src/core/contract/unified-business-types.ts";
import type { Book } from "../../src/wings/sandbox/book.ts";
import {
  type LedgerBill,
  snowflakes,
  snowflakeTime,
  type WireBill,
} from "../../src/wings/sandbox/entry.ts";
import type { WireAccountMode } from "../../src/wings/sandbox/exchange/credential.ts";
import { type AccountBills, type BooksOptions, openBooks } from "../../src/wings/sandbox/ledger.ts";
import { decimalText, type Units, units } from "../../src/wings/sandbox/money.ts";
import { type DrawnType, openingOf } from "../../src/wings/sandbox/profiles.ts";
import { withId } from "./ledger.ts";

export type LedgerOptions = Omit<BooksOptions, "typesOf" | "unifiedDensity"> & {
  /** Whether every bill's type has a category. Default false: types occur that nobody has heard of. */
  readonly isClassified?: boolean;
  /** The account's modes over time, oldest first. Default classic at all times. */
  readonly modes?: readonly ModeChange[];
  readonly unified?: UnifiedKind;
};

/** Behaviours of unified accounts that are not known. The real exchange may show any of them. */
type UnifiedKind = {
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

/** Each type occurs in one ledger: of a classic account the first wanted one, of a unified account the one that its name tells. */
const everyTypeOf =
  (wanted: readonly ProductType[]) =>
  (productType: DrawnType): readonly string[] => {
    if (!isUnified(productType)) return productType === wanted[0] ? everyClassicType : [];
    return everyUnifiedType.filter((type) => unifiedLedgerOf(type) === productType);
  };
const everyClassicType = [...businessTypes.map(({ code }) => code), ...unheardOfTypes];
const everyUnifiedType = [
  ...unifiedBusinessTypes.map(({ code }) => code),
  ...unheardOfUnifiedTypes,
];

function unifiedLedgerOf(type: string): DrawnType {
  if (/TRANSFER|REFUND|PAPTRADING|BONUS|EXCHANGE|CONVER|DELIST|SMALL_ASSET|REBASE|TRACE/.test(type))
    return "UTA-OTHER";
  if (/BORROW|REPAYMENT|INTEREST|^LIQ_|Loyalty/.test(type)) return "UTA-MARGIN";
  return type.startsWith("ORDER_") ? "UTA-SPOT" : "UTA-USDT-FUTURES";
}

/** The ledger of an account that may change its mode, as an exchange may serve it. */
export function makeLedger(options: LedgerOptions): AccountBills {
  const { isClassified = false, modes = alwaysClassic, unified: kind = {}, ...others } = options;
  const { books, span, ledger } = openBooks({
    ...others,
    ...(!isClassified && { typesOf: everyTypeOf(options.productTypes ?? classicProductTypes) }),
    ...(kind.density !== undefined && { unifiedDensity: kind.density }),
  });
  let before: { readonly books: readonly Book[]; readonly to: number } | undefined;
  for (const { isUnified, from, to } of phasesOf(modes, span.from, span.to)) {
    const now = isUnified ? books.unified : books.classic;
    if (before?.books !== now)
      enter(now, from, before === undefined ? new Map() : leave(before.books, before.to));
    for (const book of now) book.play({ from, to });
    before = { books: now, to };
  }
  return ofKind(ledger(), kind, options.account ?? 0);
}

/** Books what the account brings when it comes into a mode. A wallet gets of other coins what wallets usually begin with. */
function enter(books: readonly Book[], at: number, amounts: ReadonlyMap<string, Units>): void {
  for (const { coins, balances, transfer } of books)
    for (const coin of coins) {
      const amount = amounts.get(coin) ?? (balances.has(coin) ? 0n : openingOf(coin));
      if (amount > 0n) transfer(at, coin, amount);
    }
}

/** Takes out everything just before `at`, but demo coins. @returns what it was. */
function leave(books: readonly Book[], at: number): ReadonlyMap<string, Units> {
  const sums = new Map<string, Units>();
  for (const { balances, bills, transfer } of books) {
    if (Object.keys(bills).some(isDemoProductType)) continue;
    for (const [coin, balance] of balances) {
      if (balance <= 0n) continue;
      transfer(at - 1, coin, -balance);
      sums.set(coin, (sums.get(coin) ?? 0n) + balance);
    }
  }
  return sums;
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

/** The ledger with its unified bills as such an account has them. */
function ofKind(ledger: AccountBills, kind: UnifiedKind, account: number): AccountBills {
  const { isFuturesFeeInside = false, areIdsReused = false, positionsSince = 0 } = kind;
  const change = (productType: ProductType, all: readonly LedgerBill[]) => {
    if (!isUnified(productType)) return all;
    const idAt = snowflakes(account);
    return all.map((bill): LedgerBill => {
      let row = bill.row as WireBill;
      if (bill.cTime < positionsSince) row = withoutPosition(row);
      if (isFuturesFeeInside && productType.endsWith("-FUTURES")) row = withFeeInside(row);
      if (!areIdsReused) return { ...bill, row };
      const billId = idAt(snowflakeTime(bill.billId));
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
  const sum = units(amount) + units(fee);
  return { ...row, amount: decimalText(sum) };
}
