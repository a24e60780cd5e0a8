// Bills of one millisecond are ordered so that their balances follow; what moves the wallet is learned.
// Bills that are booked after their times are in one order everywhere, and no order hides one that is missing
// (properties).

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as bookingOrder from "../src/check/reconcile/booking-order.ts";
import type { ChainBill } from "../src/check/reconcile/order.ts";
import { newTally } from "../src/check/reconcile/rules.ts";
import { amountAndFee } from "../src/core/views/wallet-moves.ts";

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
  type Moves = fc.Arbitrary<{ moved: bigint; isShown: boolean }[]>;
  const hidden: Moves = fc
    .array(amount, { minLength: 1, maxLength: 150 })
    .chain((drawn) =>
      fc
        .uniqueArray(fc.nat(drawn.length - 1), { maxLength: 12 })
        .map((places) =>
          drawn.map((moved, index) => ({ moved, isShown: !places.includes(index) })),
        ),
    );
  test.each<[string, Moves, "exact" | "hidden" | "rounded"]>([
    ["up to 150", fc.array(shown(amount), { maxLength: 150 }), "exact"],
    ["with many equal balances", fc.array(shown(coarse), { maxLength: 40 }), "exact"],
    ["up to twelve of which show no balance", hidden, "hidden"],
    ["with balances that are a unit off", fc.array(shown(amount), { maxLength: 60 }), "rounded"],
    ["that move no more than is rounded", fc.array(shown(coarse), { maxLength: 8 }), "rounded"],
  ])("%s, are put in one that chains", (_, moves, kind) => {
    const units = fc.array(fc.constantFrom(-1n, 0n, 1n), { minLength: 60, maxLength: 60 });
    // Whether the balances before and after them are known.
    const known = kind === "exact" ? fc.boolean() : fc.constant(true);
    fc.assert(
      fc.property(shuffledSteps(moves), known, known, units, (drawn, knowsStart, knowsEnd, off) => {
        // The shown balance is rounded, so that the next bill begins with the rounded one.
        const steps = drawn.steps.map((step, place) =>
          kind === "rounded" ? { ...step, moved: step.moved + (off[place] ?? 0n) } : step,
        );
        const ends = {
          ...{ start: knowsStart ? start : undefined, end: knowsEnd ? drawn.end : undefined },
        };
        const group = { steps, ...ends, tolerance: kind === "rounded" ? 1n : 0n };
        const order = chainedOrder(group);
        expect(order.toSorted()).toEqual(steps.map(({ billId }) => billId).toSorted());
        expect(jumpsOf(order, group)).toBe(0);
        // Where some move no more than is rounded, the order that chains exactly is taken if there is one.
        if (kind === "exact")
          expect(jumpsOf(chainedOrder({ ...group, tolerance: 1n }), group)).toBe(0);
      }),
      { numRuns: 250 },
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
