// Bills of one millisecond are ordered so that their balances follow; what moves the wallet is learned.
// Bills that are booked after their times are in one order everywhere, and no order hides one that is missing
// (properties).

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as bookingOrder from "../src/audit/booking-order.ts";
import type { ChainBill } from "../src/audit/order.ts";
import { newTally } from "../src/audit/rules.ts";
import { amountAndFee } from "../src/sql/wallet-moves.ts";

/** What the order of bills depends on. */
type Step = Pick<ChainBill, "billId" | "time" | "moved" | "after">;
type Group = Pick<bookingOrder.Group, "start" | "end"> & {
  readonly steps: readonly Step[];
  readonly byId?: readonly Step[];
  /** Both 0 unless given. */
  readonly tolerance?: bigint;
  readonly bookedMaxMs?: number;
};

const productType = "USDT-FUTURES";
const type = newTally({
  productType,
  businessType: "t",
  category: "trade",
  isTestable: true,
  rule: amountAndFee,
});
const blank: ChainBill = {
  ...{ productType, billId: "", time: 0, at: 0, place: 0, type },
  ...{ amount: 0n, fee: 0n, coupon: 0n, moved: 0n, after: undefined },
};

/** The ids of the bills in the order that chains. */
function chainedOrder({ steps, byId = [], ...others }: Group): readonly string[] {
  const bills = new Map<Step, ChainBill>(
    steps.map((step) => [
      step,
      Object.defineProperties({ ...blank }, Object.getOwnPropertyDescriptors(step)),
    ]),
  );
  const billsOf = (some: readonly Step[]) => some.flatMap((step) => bills.get(step) ?? []);
  const order = bookingOrder.chainedOrder({
    ...{ tolerance: 0n, bookedMaxMs: 0, ...others },
    ...{ steps: billsOf(steps), byId: billsOf(byId) },
  });
  return order.map(({ billId }) => billId);
}

/** Bills in true order, starting at a balance: what each moves, and whether it shows its balance. */
function trueSteps(start: bigint, moves: readonly { moved: bigint; isShown: boolean }[]): Step[] {
  let balance = start;
  return moves.map(({ moved, isShown }, index) => {
    balance += moved;
    return { billId: String(index), time: 0, moved, after: isShown ? balance : undefined };
  });
}

const endOf = (start: bigint, steps: readonly Step[]) =>
  steps.reduce((balance, { moved }) => balance + moved, start);

/** How many bills do not follow from the one before them in the given order. */
function jumpsOf(order: readonly string[], { steps, start, end, tolerance = 0n }: Group): number {
  const byId = new Map(steps.map((step) => [step.billId, step]));
  let balance = start;
  let jumps = 0;
  const isOff = (a: bigint | undefined, b: bigint | undefined) =>
    a !== undefined && b !== undefined && (a > b ? a - b : b - a) > tolerance;
  for (const billId of order) {
    const step = byId.get(billId);
    const expected = balance === undefined || step === undefined ? undefined : balance + step.moved;
    if (isOff(step?.after, expected)) jumps += 1;
    balance = step?.after ?? expected;
  }
  return jumps + (isOff(balance, end) ? 1 : 0);
}

const amount = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n });
// Few different values, so that there are many paths, and rings.
const coarse = fc.bigInt({ min: -3n, max: 3n });
const shown = (moved: fc.Arbitrary<bigint>) => fc.record({ moved, isShown: fc.constant(true) });
const start = 10n ** 13n;

const shuffledSteps = (moves: fc.Arbitrary<{ moved: bigint; isShown: boolean }[]>) =>
  moves
    .map((drawn) => trueSteps(start, drawn))
    .chain((steps) =>
      fc.record({
        steps: fc.shuffledSubarray(steps, { minLength: steps.length }),
        end: fc.constant(endOf(start, steps)),
      }),
    );

describe("bills of one millisecond in any order of their ids", () => {
  test.each([
    ["up to 150", fc.array(shown(amount), { maxLength: 150 })],
    ["with many equal balances", fc.array(shown(coarse), { maxLength: 40 })],
  ])("%s, are put in one that chains, whatever of its ends is known", (_, moves) => {
    fc.assert(
      fc.property(
        shuffledSteps(moves),
        fc.boolean(),
        fc.boolean(),
        ({ steps, end }, knowsStart, knowsEnd) => {
          const group = {
            steps,
            start: knowsStart ? start : undefined,
            end: knowsEnd ? end : undefined,
          };
          const order = chainedOrder(group);
          expect(order.toSorted()).toEqual(steps.map(({ billId }) => billId).toSorted());
          expect(jumpsOf(order, group)).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("up to 150, up to twelve of them without a balance, chain", () => {
    const moves = fc
      .array(amount, { minLength: 1, maxLength: 150 })
      .chain((drawn) =>
        fc
          .uniqueArray(fc.nat(drawn.length - 1), { maxLength: 12 })
          .map((hidden) =>
            drawn.map((moved, index) => ({ moved, isShown: !hidden.includes(index) })),
          ),
      );
    fc.assert(
      fc.property(shuffledSteps(moves), ({ steps, end }) => {
        const group = { steps, start, end };
        expect(jumpsOf(chainedOrder(group), group)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ["chain as if unrounded where each balance is a unit off", amount, 60],
    ["chain where they move no more than the exchange rounds by", coarse, 8],
  ])("%s", (_, moved, most) => {
    const moves = fc.array(shown(moved), { maxLength: most });
    const units = fc.constantFrom(-1n, 0n, 1n);
    const rounding = fc.array(units, { minLength: most, maxLength: most });
    fc.assert(
      fc.property(shuffledSteps(moves), rounding, ({ steps: exact, end }, off) => {
        // The shown balance is rounded, so that the next bill begins with the rounded one.
        const steps = exact.map((step, index) => ({
          ...step,
          moved: step.moved + (off[index] ?? 0n),
        }));
        const group = { steps, start, end, tolerance: 1n };
        expect(jumpsOf(chainedOrder(group), group)).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("chain where two move one way to the same balance, by no more than is rounded", () => {
    const steps = [
      { billId: "1", time: 0, moved: -1n, after: start - 2n },
      { billId: "0", time: 0, moved: -3n, after: start - 2n },
    ];
    expect(chainedOrder({ steps, start, end: start - 2n, tolerance: 1n })).toEqual(["0", "1"]);
  });

  test("chain exactly if they can, where some move no more than the exchange rounds by", () => {
    const moves = fc.array(shown(coarse), { maxLength: 40 });
    fc.assert(
      fc.property(shuffledSteps(moves), ({ steps, end }) => {
        const group = { steps, start, end, tolerance: 1n };
        expect(jumpsOf(chainedOrder(group), { ...group, tolerance: 0n })).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("never jump more often than in the order of their ids, whatever they say", () => {
    const step = fc.record({ moved: coarse, after: fc.option(coarse, { nil: undefined }) });
    const end = fc.option(coarse, { nil: undefined });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), end, end, (drawn, before, after) => {
        const steps = drawn.map((given, index) => ({ ...given, time: 0, billId: String(index) }));
        const group = { steps, start: before, end: after };
        const ids = steps.map(({ billId }) => billId);
        const order = chainedOrder(group);
        expect(order.toSorted()).toEqual(ids.toSorted());
        expect(jumpsOf(order, group)).toBeLessThanOrEqual(jumpsOf(ids, group));
      }),
      { numRuns: 500 },
    );
  });
});

test("the order of the ids stands where it chains, and where no other chains better", () => {
  const steps = trueSteps(
    100n,
    [5n, -5n, 5n, -5n].map((moved) => ({ moved, isShown: true })),
  );
  const ids = steps.map(({ billId }) => billId);
  expect(chainedOrder({ steps, start: 100n, end: 100n })).toEqual(ids);
  const apart = steps.map((step, index) => ({ ...step, after: BigInt(index * 1_000) }));
  expect(chainedOrder({ steps: apart, start: 100n, end: 100n })).toEqual(ids);
});

test("the search among bills that show no balance is bounded for their group as a whole", () => {
  let reads = 0;
  const steps = trueSteps(
    0n,
    Array.from({ length: 1_200 }, (_, index) => ({
      moved: BigInt(index + 1) ** 3n,
      isShown: index % 3 === 0,
    })),
  ).map(({ moved, ...step }) => ({
    ...step,
    get moved() {
      reads += 1;
      return moved;
    },
  }));
  const order = chainedOrder({
    steps: steps.toReversed(),
    start: 0n,
    end: endOf(0n, steps),
  });
  expect(new Set(order).size).toBe(steps.length);
  // Each combination that is tried reads the moves of one more bill.
  expect(reads).toBeLessThan(100_000);
});

describe("bills that are booked after their times", () => {
  const bookedMaxMs = 5_000;
  const start = 10n ** 13n;
  type Drawn = { moved: bigint; gapMs: number; lateMs: number; isShown: boolean };

  /** Bills in the order in which they were booked. Their ids may or may not show it. */
  const booked = (drawn: readonly Drawn[]): Step[] => {
    let at = 0;
    const moves = drawn.map(({ gapMs, lateMs, ...move }) => {
      at += gapMs;
      return { ...move, time: at - lateMs };
    });
    return trueSteps(start, moves).map((step, index) => ({
      ...step,
      time: moves[index]?.time ?? 0,
    }));
  };
  const late = fc.oneof(fc.constant(0), fc.integer({ min: 1_000, max: 2_000 }));
  const drawn = (moved: fc.Arbitrary<bigint>, maxLength: number) =>
    fc.array(
      fc.record({
        moved,
        gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_500 })),
        lateMs: late,
        isShown: fc.constant(true),
      }),
      { minLength: 1, maxLength },
    );
  const byTime = (steps: readonly Step[]) => steps.toSorted((a, b) => a.time - b.time);
  const isInTime = (order: readonly string[], steps: readonly Step[]) => {
    const times = new Map(steps.map(({ billId, time }) => [billId, time]));
    let latest = 0;
    return order.every((billId) => {
      latest = Math.max(latest, times.get(billId) ?? 0);
      return latest - (times.get(billId) ?? 0) <= bookedMaxMs;
    });
  };

  test("are put in an order that chains, and in which none is later than it may be", () => {
    fc.assert(
      fc.property(drawn(amount, 120), fc.boolean(), (moves, knowsIds) => {
        const steps = booked(moves);
        const group = {
          steps: byTime(steps),
          byId: knowsIds ? steps : [],
          start,
          end: endOf(start, steps),
          bookedMaxMs,
        };
        const order = chainedOrder(group);
        expect(jumpsOf(order, group)).toBe(0);
        expect(isInTime(order, steps)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("go by their ids where several orders chain, and those where times are the ids'", () => {
    fc.assert(
      fc.property(drawn(coarse, 60), (moves) => {
        const steps = booked(moves);
        const ends = { start, end: endOf(start, steps), bookedMaxMs };
        const group = { ...ends, steps: byTime(steps), byId: steps };
        const order = chainedOrder(group);
        const ids = (some: readonly Step[]) => some.map(({ billId }) => billId);
        const doTimesChain = jumpsOf(ids(group.steps), group) === 0;
        expect(order).toEqual(ids(doTimesChain ? group.steps : steps));
      }),
      { numRuns: 300 },
    );
  });

  test("one of them that is missing is a jump in whatever order, and the only one", () => {
    fc.assert(
      fc.property(drawn(amount, 60), fc.nat(), fc.boolean(), (moves, place, knowsIds) => {
        const steps = booked(moves);
        const lost = steps[place % steps.length];
        fc.pre(lost !== undefined && lost.moved !== 0n);
        const left = steps.filter((step) => step !== lost);
        const ends = { start, end: endOf(start, steps), bookedMaxMs };
        const group = { ...ends, steps: byTime(left), byId: knowsIds ? left : [] };
        expect(jumpsOf(chainedOrder(group), group)).toBe(1);
      }),
      { numRuns: 300 },
    );
  });

  test("never stand behind one that is later than a bill may be, though only that order would chain", () => {
    const steps = [
      { billId: "early", time: 0, moved: 1n, after: start + 3n },
      { billId: "later", time: bookedMaxMs + 1, moved: 2n, after: start + 2n },
    ];
    const ends = { start, end: start + 3n, bookedMaxMs };
    expect(chainedOrder({ steps, ...ends })).toEqual(["early", "later"]);
    const near = steps.map((step) => ({ ...step, time: Math.min(step.time, bookedMaxMs) }));
    expect(chainedOrder({ steps: near, ...ends })).toEqual(["later", "early"]);
  });
});
