import type { Units } from "../money.ts";
import type { UnifiedBook } from "./book.ts";
import { unifiedOpenings } from "./coins.ts";
import type { Happening } from "./happenings.ts";

/** What one unit of a classic account's 1e-8 is in those of a unified one. */
const finer: Units = 10n ** 8n;

/**
 * The account is unified from now on: all that it has comes in by one transfer a coin, in one
 * millisecond.
 *
 * @param amounts what it had as a classic one, in units of 1e-8; of other coins, what every one has.
 */
export function moveIn(book: UnifiedBook, at: number, amounts: ReadonlyMap<string, Units>): void {
  const brought = [...amounts].map(([coin, amount]) => [coin, amount * finer] as const);
  const isOpening = book.balances.size === 0;
  const all = new Map([...(isOpening ? unifiedOpenings : []), ...brought]);
  book.book([...all].map(([coin, amount]) => transfer(at, coin, amount)));
}

/** Takes out all that there is, just before `at`; says how much of each coin, in units of 1e-8. */
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
