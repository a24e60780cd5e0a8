import { isFar as areFar } from "./bill-numbers.ts";
import type { ChainBill } from "./order.ts";

/** Bills of one millisecond, or of a few seconds where a bill may be booked after its time. */
export type Group = {
  /** Sorted by time, then by id: the order that is kept unless another one has fewer jumps. */
  readonly steps: readonly ChainBill[];
  /** The same bills sorted by id alone, which is the order of booking if ids are what they look like. */
  readonly byId?: readonly ChainBill[];
  /** The balance before the first bill; undefined where it is not known. */
  readonly start: bigint | undefined;
  /** The balance with which the bill after the last one begins; undefined where it is not known. */
  readonly end: bigint | undefined;
  /** How far equal balances may differ, because the exchange rounds. */
  readonly tolerance: bigint;
  /** How long after its time a bill may be booked, ms. No bill comes after one that is later by more. */
  readonly bookedMaxMs: number;
};

/**
 * Finds the order in which each bill begins with the balance that the one before it ended with. Where no
 * order does so throughout, finds one with the fewest jumps: a missing bill leaves a jump in any order.
 *
 * Balances are the nodes of a graph, bills its edges, and the order is a trail through all edges
 * (Hierholzer's algorithm, linear in the number of bills). One more edge, from the end back to the start,
 * stands for the rest of the ledger. Bills that show no balance go where what they move fills a jump, or
 * else where a jump is left.
 *
 * @returns the bills; in the order of `steps` where no order is better.
 */
export function chainedOrder(group: Group): readonly ChainBill[] {
  const { steps, byId = [], tolerance } = group;
  const isAllowed = (order: readonly ChainBill[]) => order.length > 0 && isInTime(order, group);
  // A bill that moves less than the tolerance has one place in which it is not taken for rounding.
  const exact = { ...group, tolerance: 0n };
  const trails = (tolerance > 0n ? [exact, group] : [group]).map(trailOrder);
  const orders = [byId, ...trails].filter(isAllowed);
  const exactOrder = [steps, ...orders].find((order) => jumps(order, exact) === 0);
  if (exactOrder !== undefined) return exactOrder;
  let best = { order: steps, jumps: jumps(steps, group) };
  for (const order of orders) {
    const count = jumps(order, group);
    if (count < best.jumps) best = { order, jumps: count };
  }
  return best.jumps === 0 ? best.order : (followingOrder(group) ?? best.order);
}

/** Whether no bill comes after one that is later by more than `bookedMaxMs`. */
function isInTime(order: readonly ChainBill[], { bookedMaxMs }: Group): boolean {
  let latest = Number.NEGATIVE_INFINITY;
  return order.every(({ time }) => {
    latest = Math.max(latest, time);
    return latest - time <= bookedMaxMs;
  });
}

/** An order with the fewest jumps, regardless of times. */
function trailOrder(group: Group): readonly ChainBill[] {
  const { steps, start, end } = group;
  const nodeOf = nodes(group);
  const shown = steps.flatMap((step): readonly Edge[] =>
    step.after === undefined
      ? []
      : [{ steps: [step], from: nodeOf(step.after - step.moved), to: nodeOf(step.after) }],
  );
  const rest: Edge = {
    steps: [],
    from: end === undefined ? "after" : nodeOf(end),
    to: start === undefined ? "before" : nodeOf(start),
  };
  const unshown = steps.filter(({ after }) => after === undefined);
  const bridges = bridgesOf([rest, ...shown], unshown, nodeOf);
  const bridged = new Set(bridges.flatMap((edge) => edge.steps));
  return throughAll(
    [rest, ...bridges, ...shown],
    rest,
    unshown.filter((step) => !bridged.has(step)),
  );
}

// Few tries suffice: among amounts of many digits hardly ever more than one bill fits.
const searchedMax = 100;
const triesMax = 100_000;

/**
 * Searches for an order without a jump, bill by bill, within a number of tries. It finds orders that the
 * graph misses. The graph merges balances within the tolerance, so it can go wrong where bills move less
 * than that. It takes the first bills without a balance whose sum fits, which may not be those that belong
 * there. It also ignores times, so of several trails it may take one that the times rule out.
 */
export function followingOrder(group: Group): readonly ChainBill[] | undefined {
  const { steps, start, end, tolerance, bookedMaxMs } = group;
  if (steps.length > searchedMax) return undefined;
  let tries = 0;
  const from = (
    balance: bigint | undefined,
    left: readonly ChainBill[],
    previous?: ChainBill,
  ): readonly ChainBill[] | undefined => {
    const [oldest] = left;
    if (oldest === undefined) return isFar(balance, end, tolerance) ? undefined : [];
    tries += left.length;
    if (tries > triesMax) return undefined;
    const fits = left.filter(
      ({ time, moved, after }) =>
        time - oldest.time <= bookedMaxMs &&
        !isFar(after, balance === undefined ? undefined : balance + moved, tolerance),
    );
    // Bills without a balance always fit. One order of neighbours among them does for all: that of `steps`.
    const isAfterPrevious = (step: ChainBill) =>
      previous === undefined || steps.indexOf(step) > steps.indexOf(previous);
    const hidden = fits.filter((step) => step.after === undefined && isAfterPrevious(step));
    for (const step of [...fits.filter(({ after }) => after !== undefined), ...hidden]) {
      const others = left.filter((other) => other !== step);
      const isHidden = step.after === undefined;
      const expected = balance === undefined ? undefined : balance + step.moved;
      const rest = from(step.after ?? expected, others, isHidden ? step : undefined);
      if (rest !== undefined) return [step, ...rest];
    }
    return undefined;
  };
  return from(start, steps);
}

/** A balance; or "before" and "after" where the balance before or after the group is not known. */
type Node = bigint | "before" | "after";

/** Bills that lead from one balance to another. */
type Edge = { readonly steps: readonly ChainBill[]; readonly from: Node; readonly to: Node };
type NodeOf = (value: bigint) => bigint;

/** One representative for balances that lie within the tolerance of each other. */
function nodes({ steps, start, end, tolerance }: Group): NodeOf {
  const shown = steps.flatMap(({ after, moved }) =>
    after === undefined ? [] : [after, after - moved],
  );
  const values = [...shown, ...[start, end].filter((value) => value !== undefined)];
  const representative = new Map<bigint, bigint>();
  let last: { readonly value: bigint; readonly node: bigint } | undefined;
  for (const value of values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))) {
    const node: bigint = last !== undefined && value - last.value <= tolerance ? last.node : value;
    representative.set(value, node);
    last = { value, node };
  }
  // A bill without a balance may lead to a value that is not one of these.
  return (value) =>
    representative.get(value) ??
    representative.get(value - tolerance) ??
    representative.get(value + tolerance) ??
    value;
}

// Of up to 12 bills without a balance, all 4,095 combinations are tried; of more, those of the fewest bills.
const combinationsMax = 5_000;
// For all bridges of a group together. So many take about 0.2 s.
const bridgeTriesMax = 2_000_000;

/**
 * Bills without a balance that together lead from the end of a trail to the beginning of another one. Amounts have
 * so many digits that a sum that fits is hardly ever a coincidence. The search has a limit: beyond it, the bridges
 * found so far are all.
 */
function bridgesOf(
  edges: readonly Edge[],
  unshown: readonly ChainBill[],
  nodeOf: NodeOf,
): readonly Edge[] {
  const bridges: Edge[] = [];
  const surplus = surplusOf(edges);
  let left = unshown.filter(({ moved }) => moved !== 0n);
  let tries = bridgeTriesMax;
  const nextBridge = (): Edge | undefined => {
    tries -= surplus.size;
    const ends = [...surplus].flatMap(([node, more]) =>
      more < 0 && typeof node === "bigint" ? [node] : [],
    );
    for (const { steps, moved } of ends.length === 0 ? [] : combinations(left)) {
      for (const from of ends) {
        if (tries-- <= 0) return undefined;
        const to = nodeOf(from + moved);
        if ((surplus.get(to) ?? 0) > 0) return { steps, from, to };
      }
    }
    return undefined;
  };
  for (let bridge = nextBridge(); bridge !== undefined; bridge = nextBridge()) {
    const { steps } = bridge;
    bridges.push(bridge);
    count(surplus, bridge);
    left = left.filter((step) => !steps.includes(step));
  }
  return bridges;
}

/** For each balance, how many more edges begin there than end there: a trail begins where there are more. */
function surplusOf(edges: readonly Edge[]): Map<Node, number> {
  const surplus = new Map<Node, number>();
  for (const edge of edges) count(surplus, edge);
  return surplus;
}

function count(surplus: Map<Node, number>, { from, to }: Edge): void {
  surplus.set(from, (surplus.get(from) ?? 0) + 1);
  surplus.set(to, (surplus.get(to) ?? 0) - 1);
}

type Combination = { readonly steps: readonly ChainBill[]; readonly moved: bigint };

/** Combinations of the bills: those of one bill first, then of two, and so on. */
function* combinations(bills: readonly ChainBill[]): Generator<Combination> {
  type Grown = Combination & { readonly next: number };
  const grown: Grown[] = [{ steps: [], moved: 0n, next: 0 }];
  for (const { steps, moved, next } of grown) {
    for (let index = next; index < bills.length; index++) {
      const bill = bills[index];
      if (bill === undefined || grown.length > combinationsMax) return;
      const larger = { steps: [...steps, bill], moved: moved + bill.moved, next: index + 1 };
      grown.push(larger);
      yield larger;
    }
  }
}

/**
 * All bills in the fewest trails. The trail that follows the rest of the ledger comes first. Bills that fit
 * nowhere go to the last jump.
 */
function throughAll(
  edges: readonly Edge[],
  rest: Edge,
  unfit: readonly ChainBill[],
): readonly ChainBill[] {
  const open = Map.groupBy(edges.toReversed(), ({ from }) => from);
  // What remains after the trails are rings.
  const begins = [...surplusOf(edges)].flatMap(([node, more]) =>
    Array<Node>(Math.max(0, more)).fill(node),
  );
  const trails = [...begins, rest.to, ...edges.map(({ from }) => from)].map((from) =>
    trail(open, from),
  );
  const isRest = (edge: Edge) => edge === rest;
  const outer = trails.find((edges) => edges.some(isRest)) ?? [];
  const others = trails
    .filter((edges) => edges !== outer)
    .toSorted((a, b) => startOf(a) - startOf(b));
  const turn = outer.findIndex(isRest);
  const stepsOf = (part: readonly Edge[]) => part.flatMap(({ steps }) => steps);
  return [
    ...stepsOf(outer.slice(turn + 1)),
    ...stepsOf(others.flat()),
    ...unfit,
    ...stepsOf(outer.slice(0, Math.max(0, turn))),
  ];
}

/** The time of a trail's first bill. */
const startOf = (trail: readonly Edge[]): number => trail[0]?.steps[0]?.time ?? 0;

/** Follows unused bills from a balance until none is left there, with detours through rings. */
function trail(open: ReadonlyMap<Node, Edge[]>, from: Node): readonly Edge[] {
  const path: Edge[] = [];
  const done: Edge[] = [];
  for (;;) {
    const last = path.at(-1);
    const next = open.get(last?.to ?? from)?.pop();
    if (next !== undefined) path.push(next);
    else if (last !== undefined) {
      path.pop();
      done.push(last);
    } else return done.toReversed();
  }
}

/** How often a bill does not begin where the one before it ended. */
function jumps(order: readonly ChainBill[], { start, end, tolerance }: Group): number {
  let balance = start;
  let count = 0;
  for (const { after, moved } of order) {
    const expected = balance === undefined ? undefined : balance + moved;
    if (isFar(after, expected, tolerance)) count += 1;
    balance = after ?? expected;
  }
  return count + (isFar(balance, end, tolerance) ? 1 : 0);
}

const isFar = (a: bigint | undefined, b: bigint | undefined, tolerance: bigint): boolean =>
  a !== undefined && b !== undefined && areFar(a, b, tolerance);
