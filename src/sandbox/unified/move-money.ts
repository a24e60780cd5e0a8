import type { Units } from "../money.ts";
import type { UnifiedBook } from "./book.ts";
import { unifiedOpenings } from "./coins.ts";
import type { Happening } from "./happenings.ts";

/** How many unified units of 1e-16 make a classic unit of 1e-8. */
const finer: Units = 10n ** 8n;

/**
 * Books what comes in when the account becomes unified: one transfer for each coin, all in one
 * millisecond.
 *
 * @param amounts what the account had as a classic one, in units of 1e-8. An account that opens
 * also gets the usual opening balances of other coins.
 */
export function moveIn(book: UnifiedBook, at: number, amounts: ReadonlyMap<string, Units>): void {
  const brought = [...amounts].map(([coin, amount]) => [coin, amount * finer] as const);
  const isOpening = book.balances.size === 0;
  const all = new Map([...(isOpening ? unifiedOpenings : []), ...brought]);
  book.book([...all].map(([coin, amount]) => transfer(at, coin, amount)));
}

/** Takes out everything just before `at`. @returns how much of each coin, in units of 1e-8. */
export function moveOut(book: UnifiedBook, at: number): ReadonlyMap<string, Units> {
  const taken = [...book.balances]
    .map(([coin, balance]) => [coin, balance / finer] as const)
    .filter(([, amount]) => amount > 0n);
  book.book(taken.map(([coin, amount]) => transfer(at - 1, coin, -amount * finer)));
  return new Map(taken);
}

const transfer = (at: number, coin: string, amount: Units): Happening => ({
  at,
  bookedMs: 0,
  lateMs: 0,
  productType: "UTA-OTHER",
  act: { kind: "row", type: amount < 0n ? "TRANSFER_OUT" : "TRANSFER_IN", coin, amount },
});
