/** A bill of one millisecond, in units of the ledger's smallest decimal. */
export type Step = {
  readonly billId: string;
  readonly moved: bigint;
  /** The balance after it; undefined where none was served. */
  readonly after: bigint | undefined;
};

export type Millisecond = {
  /** In the order of their ids, which stands where no other has fewer jumps. */
  readonly steps: readonly Step[];
  /** The balance before the first of them, where it is known. */
  readonly start: bigint | undefined;
  /** How far two balances may be apart and still be one: what the exchange rounds by. */
  readonly tolerance: bigint;
};

/**
 * The order in which bills of one millisecond follow each other: each begins with the balance
 * that the one before it ended with. Where no order does so throughout, one with as few jumps
 * as there are. The bills are the edges of a graph between balances, and the order is a trail
 * through all of them (Hierholzer's algorithm, linear in the number of bills). A bill that
 * shows no balance goes where its amount fills a jump, or to the end.
 *
 * @returns the bills' ids; as they came where nothing is won.
 */
export function chainedOrder(group: Millisecond): readonly string[] {
  const { steps, start, tolerance } = group;
  const nodeOf = nodes(steps, start, tolerance);
  const known = steps.flatMap(({ after, ...step }) =>
    after === undefined
      ? []
      : [{ ...step, after, from: nodeOf(after - step.moved), to: nodeOf(after) }],
  );
  const unshown = steps.filter(({ after }) => after === undefined);
  const edges = Map.groupBy(known.toReversed(), ({ from }) => from);
  const order: Step[] = startsOf(known, start === undefined ? undefined : nodeOf(start)).flatMap(
    (from) => trail(edges, from),
  );
  for (const step of unshown) order.splice(placeFor(step, order, group), 0, step);
  const isBetter = jumps(order, group) < jumps(steps, group);
  return (isBetter ? order : steps).map(({ billId }) => billId);
}

type Edge = Step & { readonly after: bigint; readonly from: bigint; readonly to: bigint };

/** One representative for balances that lie within the tolerance of each other. */
function nodes(steps: readonly Step[], start: bigint | undefined, tolerance: bigint) {
  const shown = steps.flatMap(({ after, moved }) =>
    after === undefined ? [] : [after, after - moved],
  );
  const values = [...shown, ...(start === undefined ? [] : [start])];
  const representative = new Map<bigint, bigint>();
  let last: { readonly value: bigint; readonly node: bigint } | undefined;
  for (const value of values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))) {
    const node: bigint = last !== undefined && value - last.value <= tolerance ? last.node : value;
    representative.set(value, node);
    last = { value, node };
  }
  return (value: bigint): bigint => representative.get(value) ?? value;
}

/**
 * Where trails begin: at the known start, then wherever more bills begin than end, then anywhere:
 * what is left over are rings, which begin and end with one balance.
 */
function startsOf(edges: readonly Edge[], start: bigint | undefined): readonly bigint[] {
  const surplus = new Map<bigint, number>();
  for (const { from, to } of edges) {
    surplus.set(from, (surplus.get(from) ?? 0) + 1);
    surplus.set(to, (surplus.get(to) ?? 0) - 1);
  }
  const open = [...surplus].flatMap(([node, more]) => Array<bigint>(Math.max(0, more)).fill(node));
  return [...(start === undefined ? [] : [start]), ...open, ...edges.map(({ from }) => from)];
}

/** Follows unused bills from a balance until there is none, detours through rings included. */
function trail(edges: ReadonlyMap<bigint, Edge[]>, from: bigint): readonly Step[] {
  const path: Edge[] = [];
  const done: Edge[] = [];
  for (;;) {
    const last = path.at(-1);
    const next = edges.get(last?.to ?? from)?.pop();
    if (next !== undefined) path.push(next);
    else if (last !== undefined) {
      path.pop();
      done.push(last);
    } else return done.toReversed();
  }
}

const isNear = (a: bigint, b: bigint, tolerance: bigint): boolean =>
  a - b <= tolerance && b - a <= tolerance;

/** Where a bill without a balance makes two others meet. */
function placeFor({ moved }: Step, order: readonly Step[], group: Millisecond): number {
  let balance = group.start;
  for (const [index, step] of order.entries()) {
    const before = step.after === undefined ? undefined : step.after - step.moved;
    if (before !== undefined && balance !== undefined && before !== balance) {
      if (isNear(before - balance, moved, group.tolerance)) return index;
    }
    balance = step.after ?? (balance === undefined ? undefined : balance + step.moved);
  }
  return order.length;
}

/** How often a bill does not begin where the one before it ended. */
function jumps(order: readonly Step[], { start, tolerance }: Millisecond): number {
  let balance = start;
  let count = 0;
  for (const { after, moved } of order) {
    const expected = balance === undefined ? undefined : balance + moved;
    if (after !== undefined && expected !== undefined && !isNear(after, expected, tolerance)) {
      count += 1;
    }
    balance = after ?? expected;
  }
  return count;
}
