import { dayMs } from "../../lib/time.ts";
import { isFar } from "./bill-numbers.ts";
import { byTime, type ChainBill } from "./order.ts";

export type JumpOptions = {
  /** How far equal balances may differ, for each bill between them. */
  readonly tolerance: bigint;
  /** How long after its time a bill may be booked. */
  readonly bookedMaxMs: number;
};

/** A bill whose balance does not follow. */
export type Jump = {
  readonly bill: ChainBill;
  readonly off: bigint;
  /** The last bill with a balance before it, and those between the two. */
  readonly since: readonly ChainBill[];
};

/** What the bills beside one that does not follow say about it. */
export type Facts = {
  /** Whether no third bill can have changed places with it and the one before it. */
  readonly isAlone: boolean;
  /** Two bills that are equal except for their ids, and explain by how much it is off. */
  readonly double: readonly [billId: string, twinId: string] | undefined;
};

/** @param held all bills that may have changed places with it. */
export function factsAbout(
  { bill, off, since }: Jump,
  held: readonly ChainBill[],
  { tolerance, bookedMaxMs }: JumpOptions,
): Facts {
  const [base = bill] = since;
  const isBeside = ({ time }: ChainBill) =>
    [base, bill].some((one) => Math.abs(one.time - time) <= bookedMaxMs);
  const from = Math.min(base.time, bill.time) - bookedMaxMs;
  const to = Math.max(base.time, bill.time);
  const isExplaining = (other: ChainBill) =>
    other.time >= from &&
    other.time <= to &&
    (other === bill || other.after === undefined) &&
    !isFar(off + other.amount + other.fee, 0n, tolerance);
  const doubles = held.filter(isExplaining).toSorted(byTime);
  const [double] = doubles.flatMap((one) => {
    const twin = held.find((other) => other !== one && isEqual(one, other));
    return twin === undefined ? [] : [[one.billId, twin.billId] as const];
  });
  return { isAlone: held.filter(isBeside).length === 2, double };
}

/** Whether two bills are equal except for their ids. */
const isEqual = (a: ChainBill, b: ChainBill): boolean =>
  a.time === b.time &&
  a.amount === b.amount &&
  a.fee === b.fee &&
  a.after === b.after &&
  a.type.businessType === b.type.businessType;

/** A period whose bills may have changed places, both ends included. */
export type Span = { readonly from: number; readonly to: number };

/**
 * The time around all bills that do not follow, their bases and the bills between them, joined by bills that are known
 * to be booked late. No span passes midnight, since the last balance of a day is kept with it.
 */
export function spansOf(
  jumps: readonly Jump[],
  held: readonly ChainBill[],
  { bookedMaxMs }: JumpOptions,
): readonly Span[] {
  const times = jumps.flatMap(({ bill, since }) => [...since, bill].map(({ time }) => time));
  const near = [...new Set(times)].map((time) => {
    const dayStart = Math.floor(time / dayMs) * dayMs;
    const from = Math.max(time - bookedMaxMs, dayStart);
    return { from, to: Math.min(time + bookedMaxMs, dayStart + dayMs - 1), isNear: true };
  });
  const late = held.filter(({ at, time }) => at > time);
  const booked = late.map(({ time, at }) => ({ from: time, to: at, isNear: false }));
  const joined: { from: number; to: number; isNear: boolean }[] = [];
  for (const span of [...near, ...booked].toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last === undefined || span.from > last.to) joined.push({ ...span });
    else {
      last.to = Math.max(last.to, span.to);
      last.isNear ||= span.isNear;
    }
  }
  return joined.filter(({ isNear }) => isNear);
}
