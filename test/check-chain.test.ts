import fc from "fast-check";
import { expect, test } from "vitest";
import { FinerAmount, readNumbers } from "../src/check/reconcile/bill-numbers.ts";
import { Chain, type ChainBill } from "../src/check/reconcile/check-chain.ts";
import { newTally } from "../src/check/reconcile/rules.ts";
import { amountAndFee } from "../src/core/views/wallet-moves.ts";

test("a bill's numbers are read exactly, and refused where they have more decimal places than are computed with", () => {
  expect(
    readNumbers("1790187950042 -1234567890123456789.5 0.0000000000000001 7 -0.25", 16),
  ).toEqual({
    ...{ time: 1_790_187_950_042, amount: -12345678901234567895n * 10n ** 15n, fee: 1n },
    ...{ coupon: 7n * 10n ** 16n, balance: -25n * 10n ** 14n },
  });
  expect(readNumbers("0 0 0 0", 8).balance).toBeUndefined();
  expect(() => readNumbers("0 0.123456789 0 0 1", 8)).toThrow(FinerAmount);
});

const type = newTally({
  ...{ productType: "p", businessType: "t", category: "trade", isTestable: true },
  rule: amountAndFee,
});

type Drawn = { readonly moved: bigint; readonly isShown: boolean; readonly gapMs: number };

/** Bills in true order, each at the time of the one before or later. */
function billsOf(drawn: readonly Drawn[]): ChainBill[] {
  let [balance, time] = [10n ** 12n, 1_772_323_200_000];
  return drawn.map(({ moved, isShown, gapMs }, index) => {
    balance += moved;
    time += gapMs;
    return {
      ...{ productType: "USDT-FUTURES", billId: String(1_000 + index), type },
      ...{ time, amount: moved, fee: 0n, coupon: 0n, moved },
      after: isShown ? balance : undefined,
    };
  });
}

function checked(bills: readonly ChainBill[]): Chain {
  const chain = new Chain({
    ...{ wallet: "USDT-FUTURES", coin: "USDT", decimals: 8 },
    ...{ coverage: undefined, earlier: undefined },
  });
  for (const bill of bills) chain.add(bill);
  chain.end();
  return chain;
}

test("a chain follows whatever the ids of one millisecond say", () => {
  const moves = fc.record({
    // More than rounding.
    moved: fc.bigInt({ min: 1n, max: 10n ** 10n }).map((moved) => (moved - 5n * 10n ** 9n) * 999n),
    isShown: fc.integer({ min: 0, max: 9 }).map((tenth) => tenth > 0),
    gapMs: fc.integer({ min: 0, max: 3 }).map((gap) => (gap === 0 ? 60_000 : 0)),
  });
  const drawn = fc.array(moves, { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(drawn, fc.infiniteStream(fc.nat()), (moves, random) => {
      const bills = billsOf(moves);
      const shuffled = [...Map.groupBy(bills, ({ time }) => time).values()].flatMap((together) => {
        const keys = new Map(together.map(({ billId }) => [billId, random.next().value]));
        const ids = [...keys.keys()].toSorted((a, b) => Number(keys.get(a)) - Number(keys.get(b)));
        return together.map((bill, index) => ({ ...bill, billId: ids[index] ?? "" }));
      });
      const chain = checked(shuffled);
      expect(chain.mismatches).toEqual([]);
      expect(chain.bills).toBe(bills.length);
    }),
    // Of 4,000 such chains, 11 did not follow when bills at the beginning were ordered one millisecond at a time.
    { numRuns: 1_000 },
  );
});

test("a chain counts rounding apart, and a bill that is there twice is no rounding", () => {
  const moves = [10n, 20n, 30n, 40n].map((moved) => ({ moved, isShown: true, gapMs: 1_000 }));
  const bills = billsOf(moves);
  const chain = checked(
    bills.map(({ after = 0n, ...bill }, index) => ({
      ...{ ...bill, after: index === 2 ? after + 1n : after },
    })),
  );
  expect([chain.rounded, chain.rounding]).toEqual([2, 0n]);
  expect(chain.mismatches.every(({ isSmall }) => isSmall)).toBe(true);
  const [, second] = bills;
  const doubled = second && checked(bills.toSpliced(2, 0, { ...second, billId: "9999" }));
  expect(doubled?.mismatches).toMatchObject([{ off: -20n, isSmall: false }]);
});
