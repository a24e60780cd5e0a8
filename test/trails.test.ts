// Bills whose times do not tell in which order they moved the balance can be one trail, whatever their ids, or a bill
// is missing: then no order hides it (properties).

import fc from "fast-check";
import { expect, test } from "vitest";
import { beginOf, bestOrder, type Move } from "../src/check/reconcile/trails.ts";

type Drawn = { readonly moved: bigint; readonly gapMs?: number; readonly lateMs?: number };

const start = 10n ** 13n;

/** Bills in true order. Their ids are true, too. */
function trueMoves(drawn: readonly Drawn[]): Move[] {
  let [balance, at] = [start, 0];
  return drawn.map(({ moved, gapMs = 0, lateMs = 0 }, index) => {
    balance += moved;
    at += gapMs;
    const billId = String(1_000 + index);
    return { productType: "USDT-FUTURES", billId, time: at - lateMs, moved, after: balance };
  });
}

const endOf = (bills: readonly Move[]) => bills.at(-1)?.after ?? start;

/** The same bills with ids that say nothing. */
const withOtherIds = (bills: readonly Move[], ids: readonly number[]): Move[] =>
  bills.map((bill, index) => ({ ...bill, billId: String(1_000 + (ids[index] ?? 0)) }));

const byIds = (bills: readonly Move[]) =>
  bills.toSorted((a, b) => a.time - b.time || Number(a.billId) - Number(b.billId));

const shuffledIds = (count: number) =>
  fc.shuffledSubarray([...Array(count).keys()], { minLength: count });

const amount = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n });
// Few different values, so that there are many paths, and rings.
const coarse = fc.bigInt({ min: -3n, max: 3n });
const exact = { tolerance: 0n, bookedMaxMs: 0 };

const groups = (moved: fc.Arbitrary<bigint>, maxLength: number) =>
  fc
    .array(fc.record({ moved }), { minLength: 1, maxLength })
    .chain((drawn) => fc.record({ drawn: fc.constant(drawn), ids: shuffledIds(drawn.length) }));

test.each([
  ["up to 150", amount, 150],
  ["with many equal balances", coarse, 40],
])("bills of one millisecond are one trail, whatever their ids: %s", (_, moved, maxLength) => {
  fc.assert(
    fc.property(groups(moved, maxLength), fc.boolean(), fc.boolean(), (group, knows, rounds) => {
      const bills = byIds(withOtherIds(trueMoves(group.drawn), group.ids));
      const ends = { start, end: knows ? endOf(trueMoves(group.drawn)) : undefined };
      // A bill that moves less than the tolerance is not taken for rounding.
      const order = bestOrder({ ...exact, ...ends, bills, tolerance: rounds ? 1n : 0n });
      expect(order.jumps).toBe(0);
      expect(new Set(order.bills)).toEqual(new Set(bills));
      let balance = start;
      for (const bill of rounds ? [] : order.bills) {
        expect(bill.after).toBe(balance + bill.moved);
        balance = bill.after ?? 0n;
      }
    }),
    { numRuns: 250 },
  );
});

test("a bill that is missing among those of one millisecond leaves one jump, of its size", () => {
  fc.assert(
    fc.property(groups(amount, 60), fc.nat(), ({ drawn, ids }, place) => {
      const all = trueMoves(drawn);
      const lost = place % all.length;
      fc.pre(all[lost]?.moved !== 0n);
      const bills = byIds(withOtherIds(all.toSpliced(lost, 1), ids));
      const order = bestOrder({ ...exact, bills, start, end: endOf(all) });
      expect(order.jumps).toBe(1);
      const offs = [...order.bills, { after: endOf(all), moved: 0n }].map(
        ({ after, moved }, index) => {
          const before = index === 0 ? start : order.bills[index - 1]?.after;
          return (after ?? 0n) - moved - (before ?? 0n);
        },
      );
      expect(offs.filter((off) => off !== 0n)).toEqual([all[lost]?.moved]);
    }),
  );
});

test("a bill that moves nothing, at a balance that no other one has, is a jump", () => {
  const bills = trueMoves([{ moved: 5n }, { moved: 0n }, { moved: 7n }]).map((bill) =>
    bill.moved === 0n ? { ...bill, after: 4n } : bill,
  );
  expect(bestOrder({ ...exact, bills, start, end: start + 12n }).jumps).toBeGreaterThan(0);
});

test("the order of the ids stands where it follows, and where no other one follows better", () => {
  const bills = trueMoves([5n, -5n, 5n, -5n].map((moved) => ({ moved })));
  expect(bestOrder({ ...exact, bills, start, end: start }).bills).toEqual(bills);
  const apart = bills.map((bill, index) => ({ ...bill, after: BigInt(index * 1_000) }));
  expect(bestOrder({ ...exact, bills: apart, start, end: start }).bills).toEqual(apart);
});

test("bills of one time say with which balance they begin, whatever their order", () => {
  fc.assert(
    fc.property(groups(amount, 60), ({ drawn, ids }) => {
      fc.pre(endOf(trueMoves(drawn)) !== start);
      expect(beginOf(byIds(withOtherIds(trueMoves(drawn), ids)))).toBe(start);
    }),
  );
  const [shown] = trueMoves([{ moved: 5n }]);
  if (shown === undefined) throw new Error("none");
  expect(beginOf([shown, { ...shown, after: undefined }])).toBeUndefined();
});

const bookedMaxMs = 5_000;
const late = fc.oneof(fc.constant(0), fc.integer({ min: 1_000, max: 2_000 }));
const gap = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_500 }));

test("bills that are booked after their times are put in an order that follows, and none is later than it may be", () => {
  const drawn = fc.array(fc.record({ moved: amount, gapMs: gap, lateMs: late }), {
    minLength: 1,
    maxLength: 120,
  });
  fc.assert(
    fc.property(
      drawn.chain((bills) => fc.tuple(fc.constant(bills), shuffledIds(bills.length))),
      fc.boolean(),
      ([moves, ids], knowsIds) => {
        const all = trueMoves(moves);
        const bills = byIds(knowsIds ? all : withOtherIds(all, ids));
        const order = bestOrder({ bills, start, end: endOf(all), tolerance: 0n, bookedMaxMs });
        expect(order.jumps).toBe(0);
        let latest = 0;
        for (const { time } of order.bills) {
          latest = Math.max(latest, time);
          expect(latest - time).toBeLessThanOrEqual(bookedMaxMs);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("a bill never stands behind one that is later than it may be, though only that order would follow", () => {
  const rows = [
    { billId: "1", time: 0, moved: 1n, after: start + 3n },
    { billId: "2", time: bookedMaxMs + 1, moved: 2n, after: start + 2n },
  ].map((row) => ({ productType: "UTA-OTHER", ...row }));
  const ends = { start, end: start + 3n, tolerance: 0n, bookedMaxMs };
  const ids = (bills: readonly Move[]) => bestOrder({ ...ends, bills }).bills.map((b) => b.billId);
  expect(ids(rows)).toEqual(["1", "2"]);
  expect(ids(rows.map((row) => ({ ...row, time: Math.min(row.time, bookedMaxMs) })))).toEqual([
    ...["2", "1"],
  ]);
});
