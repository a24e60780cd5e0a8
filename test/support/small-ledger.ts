import { type Bill, noPosition } from "../../src/core/contract/bill.ts";
import { businessTypes } from "../../src/core/contract/business-types.ts";
import type { Database } from "../../src/core/postgres/connect.ts";
import { dayMs, epochMs, hourMs } from "../../src/lib/time.ts";
import { snowflake } from "../../src/wings/sandbox/entry.ts";
import { decimalText, grain, type Units, units } from "../../src/wings/sandbox/money.ts";
import { drawMovement, movesBalance } from "../../src/wings/sandbox/moves.ts";
import { integer, pick, type Random } from "../../src/wings/sandbox/random.ts";
import { unheardOfTypes } from "../exchange/account-ledger.ts";
import { shuffled } from "./shuffled.ts";
import { coverLedger, ledgerOf, storeBills } from "./stored-ledger.ts";

/** What an exchange may do differently from its documentation. */
export type Habits = {
  /** Margin moves leave the balance, or come back to it. */
  readonly marginMoves?: boolean;
  /** What a coupon paid leaves the balance, too. */
  readonly couponMoves?: boolean;
  /** One balance of five is served one unit off in the last place. */
  readonly rounds?: boolean;
  /** Of 100 bills, how many have no balance. Default 1. */
  readonly missingPercent?: number;
  /** The number of bills in the largest cluster of one millisecond. Default 12. */
  readonly largestCluster?: number;
  /** Bills of this kind move the balance by an amount that is in none of their numbers. */
  readonly erratic?: string;
};

/** A bill, and by how much its numbers say that it moves the balance. */
export type TrueBill = Bill & { readonly moved: Units };

export const smallLedgerStart = Date.UTC(2026, 2, 1);
const opening = units("25000");
// Each of these occurs three times alone in its millisecond: enough to learn from.
const told = ["append_margin", "open_long", "settle_interest"];

/**
 * Bills of every known kind and of some unknown ones, in true order, many of them in one
 * millisecond with their ids out of order. The balance after each is the one before plus what the
 * bill moves, to the last digit.
 */
export function smallLedger(random: Random, habits: Habits = {}): TrueBill[] {
  let balance = opening;
  const bills: TrueBill[] = [];
  for (const { cTime, businessType, billId } of schedule(random, habits)) {
    const drawn = withCoupons(random, businessType, habits, balance);
    const moves = habits.marginMoves === true || movesBalance(businessType);
    const coupon = habits.couponMoves === true ? drawn.feeByCoupon : 0n;
    const moved = moves ? drawn.amount + drawn.fee + coupon : 0n;
    balance += moved + oddity(random, businessType, habits);
    const isShown = random() * 100 >= (habits.missingPercent ?? 1);
    bills.push({
      billId,
      symbol: null,
      amount: decimalText(drawn.amount),
      fee: decimalText(drawn.fee),
      feeByCoupon: drawn.feeByCoupon === 0n ? null : decimalText(drawn.feeByCoupon),
      businessType,
      coin: "USDT",
      balance: isShown ? decimalText(balance) : null,
      cTime: epochMs(cTime),
      ...noPosition,
      extra: null,
      moved,
    });
  }
  return bills;
}

/** If coupons count, they pay for every third trade, and for nothing else. */
function withCoupons(
  random: Random,
  businessType: string,
  { couponMoves }: Habits,
  balance: Units,
) {
  const drawn = drawMovement(random, businessType, balance, opening);
  if (couponMoves !== true) return drawn;
  const isPaid = drawn.fee < 0n && categories.get(businessType) === "trade" && random() < 0.33;
  return isPaid ? { ...drawn, fee: 0n, feeByCoupon: drawn.fee } : { ...drawn, feeByCoupon: 0n };
}

const categories = new Map(businessTypes.map(({ code, category }) => [code, category]));

function oddity(random: Random, businessType: string, { rounds, erratic }: Habits): Units {
  if (businessType === erratic) return BigInt(integer(random, 1_000, 1_000_000)) * grain;
  return rounds === true && random() < 0.2 ? (random() < 0.5 ? grain : -grain) : 0n;
}

type Moment = { readonly cTime: number; readonly businessType: string; readonly billId: string };

function schedule(random: Random, { largestCluster = 12 }: Habits): readonly Moment[] {
  const kinds = [...businessTypes.map(({ code }) => code), ...unheardOfTypes];
  const trades = ["open_long", "close_long", "close_short", "buy", "sell", "contract_settle_fee"];
  const sizes = [largestCluster, ...Array.from({ length: 6 }, () => integer(random, 2, 6))];
  const groups = shuffled(random, [
    ...kinds.map((kind) => [kind]),
    ...[...told, ...told, ...told].map((kind) => [kind]),
    ...sizes.map((size) =>
      Array.from({ length: size }, () => pick(random, [...trades, pick(random, kinds)])),
    ),
  ]);
  let time = smallLedgerStart;
  return groups.flatMap((group) => {
    time += integer(random, 1, 4 * hourMs);
    const counters = shuffled(
      random,
      group.map((_, index) => index),
    );
    return group.map((businessType, index) => ({
      cTime: time,
      businessType,
      billId: snowflake(time, counters[index] ?? 0),
    }));
  });
}

export const smallLedgerEnd = smallLedgerStart + 30 * dayMs;

/** Stores ledgers, each as an account. All of their time is covered, except the spans that are left out. */
export async function storeLedgers(
  db: Database,
  ledgers: ReadonlyMap<string, readonly Bill[]>,
  { unread = new Map() }: { readonly unread?: ReadonlyMap<string, readonly [number, number]> } = {},
): Promise<void> {
  for (const [account, bills] of ledgers) {
    await storeBills(db, ledgerOf(account), bills);
    const [from, to] = unread.get(account) ?? [smallLedgerEnd, smallLedgerEnd];
    if (from > smallLedgerStart) await coverLedger(db, ledgerOf(account), smallLedgerStart, from);
    if (to < smallLedgerEnd) await coverLedger(db, ledgerOf(account), to, smallLedgerEnd);
  }
}
