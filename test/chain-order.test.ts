import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ExportedBill } from "../src/export/bill.ts";
import { inChainOrder } from "../src/export/chain-order.ts";
import {
  add,
  type Decimal,
  decimalOf,
  decimalText,
  subtract,
  zero,
} from "../src/export/decimal.ts";
import { walletChange } from "../src/export/wallet-change.ts";
import { anExportedBill } from "./support/bills.ts";

/** Bills that chain from this balance on, in cents: what comes back makes circles. */
function chained(start: number, moves: readonly number[]): ExportedBill[] {
  let cents = start;
  return moves.map((move, index) => {
    cents += move;
    return anExportedBill({
      billId: String(1_000 + index),
      amount: String(move),
      fee: "0",
      balance: `${cents}.00`,
    });
  });
}

function isChain(bills: readonly ExportedBill[], before: Decimal): boolean {
  let at = before;
  return bills.every((bill) => {
    at = add(at, walletChange(bill));
    return decimalText(add(at, decimalOf("0.00"))) === bill.balance;
  });
}

const beforeOf = (bill: ExportedBill | undefined): Decimal =>
  bill === undefined ? zero : subtract(decimalOf(bill.balance ?? ""), walletChange(bill));

describe("bills of one millisecond", () => {
  test("are put into an order that chains, however their ids were dealt", () => {
    const dealt = fc
      .array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 40 })
      .map((moves) => chained(10, moves))
      .chain((bills) => {
        const all = { minLength: bills.length, maxLength: bills.length };
        return fc.tuple(fc.constant(bills), fc.shuffledSubarray(bills, all));
      });
    fc.assert(
      fc.property(dealt, fc.boolean(), ([bills, shuffled], isKnown) => {
        const before = decimalOf("10");
        const ordered = inChainOrder(shuffled, isKnown ? before : undefined);
        expect(ordered).toHaveLength(bills.length);
        expect(new Set(ordered)).toEqual(new Set(bills));
        // Where they go round, an unknown beginning may be any of the circle.
        const start = isKnown ? before : beforeOf(ordered[0]);
        expect(isChain(ordered, start)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  test("stay in the order of their ids where that chains", () => {
    const bills = chained(10, [1, -1, 1, -1]);
    expect(inChainOrder(bills, decimalOf("10.000"))).toEqual(bills);
  });

  test("break as seldom as they can where no order chains, and show where one is without a balance", () => {
    const [first, second, third] = chained(10, [1, 2, 3]);
    if (first === undefined || second === undefined || third === undefined) throw new Error();
    const before = decimalOf("10");
    expect(inChainOrder([third, first], before)).toEqual([first, third]);
    expect(inChainOrder([third, first], decimalOf("99"))).toEqual([third, first]);
    const silent = { ...second, balance: null };
    expect(inChainOrder([third, silent, first], before)).toEqual([first, silent, third]);
  });

  test("are ordered though 20,000 of them come back to one balance again and again", () => {
    const bills = chained(
      10,
      Array.from({ length: 20_000 }, (_, index) => (index % 2 === 0 ? 1 : -1)),
    );
    const ordered = inChainOrder(bills.toReversed(), decimalOf("10"));
    expect(isChain(ordered, decimalOf("10"))).toBe(true);
  });
});
