import { isFar } from "./bill-numbers.ts";
import { compare } from "./rules.ts";

/** What a bill does to the balance of its chain. Amounts are in units of the same decimal place. */
export type Move = {
  readonly productType: string;
  readonly billId: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly moved: bigint;
  /** The balance after it; undefined where none was served. */
  readonly after: bigint | undefined;
};

/** Ids are compared as src/core/views/chain-order.ts does. */
export const byId = (a: Move, b: Move): number =>
  a.billId.length - b.billId.length ||
  compare(a.billId, b.billId) ||
  compare(a.productType, b.productType);

export const byTime = (a: Move, b: Move): number => a.time - b.time || byId(a, b);

/** Bills whose times do not say in which order they moved the balance. */
type Group<Bill extends Move> = {
  /** Sorted by time, then by id: the order that stands unless another one has fewer jumps. */
  readonly bills: readonly Bill[];
  /** The balance before the first bill; undefined where it is not known. */
  readonly start: bigint | undefined;
  /** The balance with which the bill after the last one begins; undefined where it is not known. */
  readonly end: bigint | undefined;
  /** How far equal balances may differ, because the exchange rounds. */
  readonly tolerance: bigint;
  /** How long after its time a bill may be booked, ms. No bill comes after one that is later by more. */
  readonly bookedMaxMs: number;
};

type Order<Bill> = { readonly bills: readonly Bill[]; readonly jumps: number };

/**
 * The order with the fewest jumps: bills that do not begin with the balance that the one before them ended with. A
 * missing bill leaves a jump in any order.
 *
 * Balances are the nodes of a graph and bills its edges. If they can be one trail, an order without a jump is a path
 * through all edges; else it is the fewest trails (Hierholzer's algorithm, linear in the number of bills).
 */
export function bestOrder<Bill extends Move>(group: Group<Bill>): Order<Bill> {
  let best = orderOf(group.bills, group);
  const orders = [
    () => group.bills.toSorted(byId),
    // A bill that moves less than the tolerance has one place in which it is not taken for rounding.
    () => trailOrder({ ...group, tolerance: 0n }),
    () => trailOrder(group),
  ];
  for (const order of orders) {
    if (best.jumps === 0) break;
    const bills = order();
    if (!isInTime(bills, group)) continue;
    const other = orderOf(bills, group);
    if (other.jumps < best.jumps) best = other;
  }
  return best;
}

/** The same bills in an order, with how often one does not begin where the one before it ended. */
function orderOf<Bill extends Move>(
  bills: readonly Bill[],
  { start, end, tolerance }: Group<Bill>,
): Order<Bill> {
  let [balance, jumps, hidden] = [start, 0, 0n];
  const isOff = (other: bigint) =>
    balance !== undefined && isFar(other, balance, (hidden + 1n) * tolerance);
  for (const { after, moved } of bills) {
    if (after === undefined) {
      if (balance !== undefined) balance += moved;
      hidden += 1n;
      continue;
    }
    if (isOff(after - moved)) jumps++;
    balance = after;
    hidden = 0n;
  }
  if (end !== undefined && isOff(end)) jumps++;
  return { bills, jumps };
}

/** Whether no bill comes after one that is later by more than `bookedMaxMs`. */
function isInTime(bills: readonly Move[], { bookedMaxMs }: Group<Move>): boolean {
  let latest = Number.NEGATIVE_INFINITY;
  return bills.every(({ time }) => {
    latest = Math.max(latest, time);
    return latest - time <= bookedMaxMs;
  });
}

/** A balance; or "before" and "after" where the balance before or after the group is not known. */
type Node = bigint | "before" | "after";

/** A bill that leads from one balance to another; without a bill, the rest of the chain. */
type Edge<Bill> = { readonly bill?: Bill; readonly from: Node; readonly to: Node };

/**
 * All bills in the fewest trails. One more edge, from the end back to the start, stands for the rest of the chain: the
 * trail that follows it comes first. Bills that show no balance, which may be anywhere, go to the last jump.
 */
function trailOrder<Bill extends Move>(group: Group<Bill>): readonly Bill[] {
  const { bills, start, end } = group;
  const nodeOf = nodes(group);
  const shown = bills.flatMap((bill): readonly Edge<Bill>[] =>
    bill.after === undefined
      ? []
      : [{ bill, from: nodeOf(bill.after - bill.moved), to: nodeOf(bill.after) }],
  );
  const rest: Edge<Bill> = {
    from: end === undefined ? "after" : nodeOf(end),
    to: start === undefined ? "before" : nodeOf(start),
  };
  const edges = [rest, ...shown];
  const open = Map.groupBy(edges.toReversed(), ({ from }) => from);
  // What remains after the trails are rings.
  const begins = [...beginsOf(edges), rest.to, ...edges.map(({ from }) => from)];
  const trails = begins.map((from) => trail(open, from)).filter((edges) => edges.length > 0);
  const outer = trails.find((edges) => edges.includes(rest)) ?? [];
  const others = trails
    .filter((edges) => edges !== outer)
    .toSorted((a, b) => firstTime(a) - firstTime(b));
  const turn = outer.indexOf(rest);
  const billsOf = (part: readonly Edge<Bill>[]) => part.flatMap(({ bill }) => bill ?? []);
  return [
    ...billsOf(outer.slice(turn + 1)),
    ...billsOf(others.flat()),
    ...bills.filter(({ after }) => after === undefined),
    ...billsOf(outer.slice(0, turn)),
  ];
}

/** One representative for balances that lie within the tolerance of each other. */
function nodes({ bills, start, end, tolerance }: Group<Move>): (value: bigint) => bigint {
  if (tolerance === 0n) return (value) => value;
  const shown = bills.flatMap(({ after, moved }) =>
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
  return (value) => representative.get(value) ?? value;
}

/** The balances with which more bills begin than end: there, trails begin. */
function beginsOf(edges: readonly Edge<Move>[]): readonly Node[] {
  const surplus = new Map<Node, number>();
  for (const { from, to } of edges) {
    surplus.set(from, (surplus.get(from) ?? 0) + 1);
    surplus.set(to, (surplus.get(to) ?? 0) - 1);
  }
  return [...surplus].flatMap(([node, more]) => Array<Node>(Math.max(0, more)).fill(node));
}

/** The time of a trail's first bill. */
const firstTime = (trail: readonly Edge<Move>[]): number => trail[0]?.bill?.time ?? 0;

/** Follows unused bills from a balance until none is left there, with detours through rings. */
function trail<Bill>(open: ReadonlyMap<Node, Edge<Bill>[]>, from: Node): readonly Edge<Bill>[] {
  const path: Edge<Bill>[] = [];
  const done: Edge<Bill>[] = [];
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

/** The balance with which bills of one time begin, whatever their order; undefined where they do not say. */
export function beginOf(bills: readonly Move[]): bigint | undefined {
  const edges = bills.flatMap(({ after, moved }): readonly Edge<Move>[] =>
    after === undefined ? [] : [{ from: after - moved, to: after }],
  );
  if (edges.length < bills.length) return undefined;
  const [begin, other] = edges.length === 1 ? edges.map(({ from }) => from) : beginsOf(edges);
  return other === undefined && typeof begin === "bigint" ? begin : undefined;
}
