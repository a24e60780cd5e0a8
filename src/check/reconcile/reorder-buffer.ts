import { dayMs } from "../../lib/time.ts";
import { isFar } from "./bill-numbers.ts";
import { chainedOrder, followingOrder, type Group } from "./booking-order.ts";
import { byId, byTime, type ChainBill, inOrder, movesTo, type Place } from "./order.ts";

type JumpOptions = {
  /** How far equal balances may differ, for each bill between them. */
  readonly tolerance: bigint;
  /** How long after its time a bill may be booked. */
  readonly bookedMaxMs: number;
};

/** A bill whose balance does not follow. */
type Jump = {
  readonly bill: ChainBill;
  readonly off: bigint;
  /** The last bill with a balance before it, and those between the two. */
  readonly since: readonly ChainBill[];
};

/** What the bills beside one that does not follow say about it. */
type Facts = {
  /** Whether no third bill can have changed places with it and the one before it. */
  readonly isAlone: boolean;
  /** Two bills that are equal except for their ids, and explain by how much it is off. */
  readonly double: readonly [billId: string, twinId: string] | undefined;
};

/** @param held all bills that may have changed places with it. */
function factsAbout(
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
type Span = { readonly from: number; readonly to: number };

/**
 * The time around all bills that do not follow, their bases and the bills between them, joined by bills that are known
 * to be booked late. No span passes midnight, since the last balance of a day is kept with it.
 */
function spansOf(
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

/** The balance at a place of the chain, and how many bills were passed since one was served. */
type Level = { balance: bigint | undefined; hidden: number };

function pass(level: Level, { after, moved }: ChainBill): void {
  level.balance = after ?? (level.balance === undefined ? undefined : level.balance + moved);
  level.hidden = after === undefined ? level.hidden + 1 : 0;
}

// One millisecond may have thousands of bills. Where as many within seconds do not follow each other,
// they are not out of order: a rule is still to be learned.
const groupMax = 5_000;
// Where more bills than this before or after a group have no balance, its start or end is unknown.
const neighboursMax = 16;
// Bills in memory, of a chain that does not follow or shows no balance.
const heldMax = 2 * groupMax;
// Each round finds orders from what does not follow in those of the round before.
const roundsMax = 100;

/**
 * All bills near a period are held once one was booked after this. A period ends at midnight at the latest, and bills
 * beside its last one may be later.
 */
const neededFor = (to: number, { bookedMaxMs }: JumpOptions): number => to + 2 * bookedMaxMs;

const noFacts: Facts = { isAlone: false, double: undefined };

/**
 * The last bills of a chain, for as long as one that is still to come may show that they have changed places. Then
 * they are released in the order in which they moved the balance. In a classic account bills may change places
 * within their millisecond; in a unified one, within the seconds that a bill may be booked after its time.
 */
export class ReorderBuffer {
  readonly #options: JumpOptions;
  readonly #release: (bill: ChainBill) => void;
  /** Bills that may be booked after one that is still to come. */
  #waiting: ChainBill[] = [];
  /** In the order in which they move the balance. */
  readonly #held: ChainBill[] = [];
  /** Before the first of these. */
  readonly #before: Level = { balance: undefined, hidden: 0 };
  /** After the last of these. */
  #after: Level = { balance: undefined, hidden: 0 };
  /** The last bill with a balance, and those without one that came after it. */
  #base: ChainBill | undefined;
  #hidden: ChainBill[] = [];
  /** The last bill with a balance that was released. */
  #releasedBase: ChainBill | undefined;
  /** Bills that do not follow, of which not all neighbours are held yet. */
  #jumps: Jump[] = [];
  /** The first time among these and their bases. */
  #jumpsFrom = Number.POSITIVE_INFINITY;
  /** The end of the first period in which they lie. */
  #jumpsTo = Number.NEGATIVE_INFINITY;
  /** How many bills came after it. */
  #beyond = 0;
  /** Up to there no bills have changed places. */
  #orderedTo = Number.NEGATIVE_INFINITY;
  readonly #facts = new Map<ChainBill, Facts>();
  /** Bills that were found in another place. */
  readonly #moved = new Set<ChainBill>();

  constructor(options: JumpOptions, release: (bill: ChainBill) => void) {
    this.#options = options;
    this.#release = release;
  }

  take(bill: ChainBill): void {
    const last = this.#waiting.at(-1);
    if (last !== undefined && last.time < bill.time) this.#followUntil(bill.time);
    this.#waiting.push(bill);
  }

  end(): void {
    this.#followUntil(Number.POSITIVE_INFINITY);
    if (this.#jumps.length > 0) this.#judge(Number.POSITIVE_INFINITY);
    this.#releaseUntil(Number.POSITIVE_INFINITY);
  }

  /** The bills that were found in another place since the last call. */
  takeMoved(): readonly ChainBill[] {
    const moved = [...this.#moved];
    this.#moved.clear();
    return moved;
  }

  factsOf(bill: ChainBill): Facts {
    return this.#facts.get(bill) ?? noFacts;
  }

  #followUntil(time: number): void {
    const waiting = this.#waiting;
    const [only] = waiting;
    if (only !== undefined && waiting.length === 1 && only.at < time) {
      waiting.pop();
      this.#follow(only);
      return;
    }
    this.#waiting = waiting.filter(({ at }) => at >= time);
    for (const bill of waiting.filter(({ at }) => at < time).toSorted(inOrder)) this.#follow(bill);
  }

  #follow(bill: ChainBill): void {
    const isNewTime = this.#held.at(-1)?.time !== bill.time;
    this.#held.push(bill);
    this.#step(bill);
    if (this.#jumps.length > 0) {
      const isBeyond = bill.at > neededFor(this.#jumpsTo, this.#options);
      if (isBeyond) this.#beyond++;
      // At the beginning of a chain, bills that show no balance are placed by those that come later.
      const isStartKnown = this.#before.balance !== undefined;
      const isEndKnown = isStartKnown && bill.after !== undefined;
      if (isBeyond && (isEndKnown || this.#beyond >= neighboursMax)) this.#judge(bill.at);
      // So many are not out of order.
      else if (isNewTime && this.#held.length > heldMax) this.#settle(Number.POSITIVE_INFINITY);
    } else if (isNewTime && this.#held.length > heldMax) this.#releaseFirst(groupMax);
    const from = this.#base === undefined ? bill.time : this.#base.time;
    this.#releaseUntil(Math.min(from, this.#jumpsFrom) - 3 * this.#options.bookedMaxMs);
  }

  /** Computes the balance after the bill, which may not be the one that it shows. */
  #step(bill: ChainBill): void {
    const { balance, hidden } = this.#after;
    pass(this.#after, bill);
    if (bill.after === undefined) {
      if (this.#base === undefined) return;
      if (this.#hidden.length >= heldMax) this.#hidden.splice(0, groupMax);
      this.#hidden.push(bill);
      return;
    }
    const off = balance === undefined ? 0n : bill.after - balance - bill.moved;
    const isOff = off !== 0n && isFar(off, 0n, BigInt(hidden + 1) * this.#options.tolerance);
    if (isOff && !this.#facts.has(bill)) {
      const since = this.#base === undefined ? this.#hidden : [this.#base, ...this.#hidden];
      this.#jumps.push({ bill, off, since });
      this.#widen([...since, bill]);
    }
    this.#base = bill;
    if (this.#hidden.length > 0) this.#hidden = [];
  }

  /** A jump may lie in the first period, extend it, or lie behind it. */
  #widen(bills: readonly ChainBill[]): void {
    const late = this.#options.bookedMaxMs;
    const isFirst = this.#jumpsTo === Number.NEGATIVE_INFINITY;
    for (const { time } of bills) {
      this.#jumpsFrom = Math.min(this.#jumpsFrom, time);
      const isTouching = isFirst || time - late <= this.#jumpsTo;
      if (isTouching) this.#jumpsTo = Math.max(this.#jumpsTo, time + late);
    }
  }

  /**
   * Puts the bills near those that do not follow in order, and keeps what they say of those that still do not.
   * @param seen all bills that were booked before this time are held.
   */
  #judge(seen: number): void {
    this.#beyond = 0;
    for (let round = 1; this.#jumps.length > 0; round++) {
      const spans = spansOf(this.#jumps, this.#held, this.#options);
      const ready = spans.filter(({ to }) => neededFor(to, this.#options) < seen);
      const moves = this.#nextMoves(ready);
      if (moves.length > 0 && round <= roundsMax) {
        this.#move(moves);
        continue;
      }
      const [unready] = spans.slice(ready.length);
      const to = ready.at(-1)?.to ?? Number.NEGATIVE_INFINITY;
      this.#orderedTo = Math.max(this.#orderedTo, to);
      this.#settle(to);
      // Known late bills may connect it with later ones.
      if (unready !== undefined && ready.length === 0)
        this.#jumpsTo = Math.max(this.#jumpsTo, unready.to);
      return;
    }
  }

  /** Jumps up to there are judged. The others are looked at once more bills are held. */
  #settle(to: number): void {
    const jumps = this.#jumps;
    this.#forgetJumps();
    for (const jump of jumps) {
      if (Math.max(jump.bill.time, ...jump.since.map(({ time }) => time)) <= to) {
        this.#facts.set(jump.bill, factsAbout(jump, this.#held, this.#options));
      } else {
        this.#jumps.push(jump);
        this.#widen([...jump.since, jump.bill]);
      }
    }
  }

  #forgetJumps(): void {
    this.#jumps = [];
    this.#jumpsFrom = Number.POSITIVE_INFINITY;
    this.#jumpsTo = Number.NEGATIVE_INFINITY;
  }

  /** Those of one span: two that are neighbours begin and end with each other's balances, and would change in turn. */
  #nextMoves(spans: readonly Span[]): readonly Place[] {
    for (const span of spans.filter(({ to }) => to > this.#orderedTo)) {
      const moves = this.#movesIn(span);
      if (moves.length > 0) return moves;
    }
    return this.#movesFromStart(spans);
  }

  /** The others of a span need not be off themselves: a bill that moves nothing fits in more than one place. */
  #movesIn({ from, to }: Span): readonly Place[] {
    const bills = this.#held.filter(({ time }) => time >= from && time <= to);
    if (bills.length < 2 || (bills.length > groupMax && from !== to)) return [];
    return movesTo(chainedOrder(this.#group(bills, { from, to })));
  }

  /**
   * Before the first balance, a bill that shows none fits before and after its neighbours, and only later bills tell
   * where it belongs. So where no span by itself has a better order, all bills of the first day are searched.
   */
  #movesFromStart(spans: readonly Span[]): readonly Place[] {
    if (this.#before.balance !== undefined) return [];
    const dayOf = (time: number) => Math.floor(time / dayMs);
    for (const { from, to } of spans.toReversed()) {
      if (dayOf(from) !== dayOf(this.#held[0]?.time ?? from)) continue;
      const bills = this.#held.filter(({ time }) => time <= to);
      const group = this.#group(bills, { from: Number.NEGATIVE_INFINITY, to });
      const moves = movesTo(followingOrder(group) ?? []);
      if (moves.length > 0) return moves;
    }
    return [];
  }

  #group(bills: readonly ChainBill[], { from, to }: Span): Group {
    const { tolerance, bookedMaxMs } = this.#options;
    return {
      steps: bills.toSorted(byTime),
      ...(bookedMaxMs > 0 && { byId: bills.toSorted(byId) }),
      start: this.#balanceBefore(from),
      end: this.#balanceAfter(to),
      tolerance,
      bookedMaxMs,
    };
  }

  #balanceBefore(time: number): bigint | undefined {
    const level = { ...this.#before };
    for (const bill of this.#held) if (bill.time < time) pass(level, bill);
    return level.hidden < neighboursMax ? level.balance : undefined;
  }

  #balanceAfter(time: number): bigint | undefined {
    let moved = 0n;
    for (const bill of this.#held.filter((bill) => bill.time > time).slice(0, neighboursMax)) {
      moved += bill.moved;
      if (bill.after !== undefined) return bill.after - moved;
    }
    return undefined;
  }

  #move(moves: readonly Place[]): void {
    for (const { bill, place, at } of moves) {
      bill.place = place;
      bill.at = at;
      this.#moved.add(bill);
    }
    this.#held.sort(inOrder);
    this.#orderedTo = Number.NEGATIVE_INFINITY;
    this.#forgetJumps();
    this.#after = { ...this.#before };
    this.#base = this.#releasedBase;
    this.#hidden = [];
    for (const bill of this.#held) this.#step(bill);
  }

  #releaseUntil(at: number): void {
    while ((this.#held[0]?.at ?? Number.POSITIVE_INFINITY) < at) this.#releaseFirst(1);
  }

  #releaseFirst(count: number): void {
    for (let released = 0; released < count; released++) {
      const bill = this.#held.shift();
      if (bill === undefined) return;
      pass(this.#before, bill);
      if (bill.after !== undefined) this.#releasedBase = bill;
      this.#release(bill);
      if (this.#facts.size > 0) this.#facts.delete(bill);
    }
  }
}
