/** A bill of a group, in units of the ledger's smallest decimal. */
export type Step = {
  readonly billId: string;
  /** Milliseconds since the Unix epoch. */
  readonly time: number;
  readonly moved: bigint;
  /** The balance after it; undefined where none was served. */
  readonly after: bigint | undefined;
};

/** Bills of one millisecond; or of a few seconds, where a bill may be booked after its time. */
export type Group = {
  /** By their times, then by their ids: the order that stands where no other has fewer jumps. */
  readonly steps: readonly Step[];
  /** The same bills by their ids alone, which tell when they were booked if they are what they look like. */
  readonly byId?: readonly Step[];
  /** The balance before the first of them, where it is known. */
  readonly start: bigint | undefined;
  /** The balance that the bill after the last of them begins with, where it is known. */
  readonly end: bigint | undefined;
  /** How far two balances may be apart and still be one: what the exchange rounds by. */
  readonly tolerance: bigint;
  /** How long after its time a bill may be booked, ms: none stands behind one that is later by more. */
  readonly bookedMaxMs: number;
};

/**
 * The order in which bills follow each other: each begins with the balance that the one before it
 * ended with. Where no order does so throughout, one with as few jumps as there are: whatever the
 * order, what is missing among bills is missing between the balances before and after them, and
 * stays a jump. The bills are the edges of a graph between balances, and the order is a trail
 * through all of them (Hierholzer's algorithm, linear in the number of bills). One more edge,
 * from the end back to the start, stands for the rest of the ledger. Bills that show no balance
 * go where what they move fills a jump, or where one is left.
 *
 * @returns the bills' ids; as they came where nothing is won.
 */
export function chainedOrder(group: Group): readonly string[] {
  const { steps, byId = [] } = group;
  const isAllowed = (order: readonly Step[]) => order.length > 0 && isInTime(order, group);
  const orders = [byId, trailOrder(group)].filter(isAllowed);
  let best = { order: steps, jumps: jumps(steps, group) };
  for (const order of orders) {
    const count = jumps(order, group);
    if (count < best.jumps) best = { order, jumps: count };
  }
  const order = best.jumps === 0 ? best.order : (searched(group) ?? best.order);
  return order.map(({ billId }) => billId);
}

/** Whether no bill stands behind one that is later by more than a bill may be. */
function isInTime(order: readonly Step[], { bookedMaxMs }: Group): boolean {
  let latest = Number.NEGATIVE_INFINITY;
  return order.every(({ time }) => {
    latest = Math.max(latest, time);
    return latest - time <= bookedMaxMs;
  });
}

/** An order with as few jumps as there are, whatever the times. */
function trailOrder(group: Group): readonly Step[] {
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

// A step that fits is found at once among amounts of many digits.
const searchedMax = 100;
const triesMax = 20_000;

/**
 * An order without a jump, one bill after the other, within so many tries. The graph takes balances
 * that lie within the tolerance for one: where bills move no more than that, it can lose the way. And
 * it knows no times: of several ways through it may take one that no bill can have taken.
 */
function searched(group: Group): readonly Step[] | undefined {
  const { steps, start, end, tolerance, bookedMaxMs } = group;
  if ((tolerance === 0n && bookedMaxMs === 0) || steps.length > searchedMax) return undefined;
  let tries = 0;
  const from = (
    balance: bigint | undefined,
    left: readonly Step[],
  ): readonly Step[] | undefined => {
    const [oldest] = left;
    if (oldest === undefined) return isFar(balance, end, tolerance) ? undefined : [];
    for (const step of left) {
      if (step.time - oldest.time > bookedMaxMs || tries++ > triesMax) return undefined;
      const expected = balance === undefined ? undefined : balance + step.moved;
      if (isFar(step.after, expected, tolerance)) continue;
      const others = left.filter((other) => other !== step);
      const rest = from(step.after ?? expected, others);
      if (rest !== undefined) return [step, ...rest];
    }
    return undefined;
  };
  return from(start, steps);
}

/** A balance; or, where the ledger before or after the millisecond shows none, that. */
type Node = bigint | "before" | "after";
/** Bills that lead from one balance to another. */
type Edge = { readonly steps: readonly Step[]; readonly from: Node; readonly to: Node };
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
  // What a bill without a balance leads to need not be one of the values itself.
  return (value) =>
    representative.get(value) ??
    representative.get(value - tolerance) ??
    representative.get(value + tolerance) ??
    value;
}

/** How many more edges begin than end at a balance. */
function surplusOf(edges: readonly Edge[]): Map<Node, number> {
  const surplus = new Map<Node, number>();
  for (const { from, to } of edges) {
    surplus.set(from, (surplus.get(from) ?? 0) + 1);
    surplus.set(to, (surplus.get(to) ?? 0) - 1);
  }
  return surplus;
}

// Of at most 12 bills without a balance, all 4,095 combinations are tried; of more, those of up to three bills.
const exhaustiveBillsMax = 12;
const combinedBillsMax = 3;
const combinationsMax = 5_000;

/**
 * Bills without a balance that together lead from where a trail ends to where one begins, or to
 * a ring that no trail passes. Amounts have so many digits that a sum which fits is hardly ever a
 * coincidence.
 */
function bridgesOf(
  edges: readonly Edge[],
  unshown: readonly Step[],
  nodeOf: NodeOf,
): readonly Edge[] {
  const movers = unshown.filter(({ moved }) => moved !== 0n);
  const bridges: Edge[] = [];
  for (let left = movers; left.length > 0; ) {
    const bridge = nextBridge([...edges, ...bridges], left, nodeOf);
    if (bridge === undefined) break;
    bridges.push(bridge);
    left = left.filter((step) => !bridge.steps.includes(step));
  }
  return bridges;
}

function nextBridge(
  edges: readonly Edge[],
  left: readonly Step[],
  nodeOf: NodeOf,
): Edge | undefined {
  const surplus = surplusOf(edges);
  const begins = new Set([...surplus].flatMap(([node, more]) => (more > 0 ? [node] : [])));
  const ends = [...surplus].flatMap(([node, more]) =>
    more < 0 && typeof node === "bigint" ? [node] : [],
  );
  if (ends.length === 0) return undefined;
  const rings = ringsOf(edges, surplus);
  for (const { steps, moved } of combinations(left)) {
    for (const from of ends) {
      const to = nodeOf(from + moved);
      if (begins.has(to) || rings.has(to)) return { steps, from, to };
    }
  }
  return undefined;
}

/** The balances that only rings pass: as many bills begin as end there, and so all around. */
function ringsOf(edges: readonly Edge[], surplus: ReadonlyMap<Node, number>): ReadonlySet<Node> {
  const neighbours = new Map<Node, Node[]>();
  for (const { from, to } of edges) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  const reached = new Set([...surplus].flatMap(([node, more]) => (more === 0 ? [] : [node])));
  // A set's walk goes on to what is added to it meanwhile.
  for (const node of reached) for (const next of neighbours.get(node) ?? []) reached.add(next);
  return new Set([...surplus.keys()].filter((node) => !reached.has(node)));
}

type Combination = { readonly steps: readonly Step[]; readonly moved: bigint };

/** Those of one bill first, then those of two, and so on. */
function* combinations(steps: readonly Step[]): Generator<Combination> {
  const most = steps.length <= exhaustiveBillsMax ? steps.length : combinedBillsMax;
  type Grown = Combination & { readonly next: number };
  let grown: readonly Grown[] = [{ steps: [], moved: 0n, next: 0 }];
  let count = 0;
  for (let size = 1; size <= most && grown.length > 0; size++) {
    const larger: Grown[] = [];
    for (const combination of grown) {
      for (const [offset, step] of steps.slice(combination.next).entries()) {
        if (count++ >= combinationsMax) return;
        const next = {
          steps: [...combination.steps, step],
          moved: combination.moved + step.moved,
          next: combination.next + offset + 1,
        };
        yield next;
        larger.push(next);
      }
    }
    grown = larger;
  }
}

/**
 * All bills, in as few trails as there are; what follows the rest of the ledger first. Those that
 * fit nowhere go where the last jump is.
 */
function throughAll(edges: readonly Edge[], rest: Edge, unfit: readonly Step[]): readonly Step[] {
  const open = Map.groupBy(edges.toReversed(), ({ from }) => from);
  const begins = [...surplusOf(edges)].flatMap(([node, more]) =>
    Array<Node>(Math.max(0, more)).fill(node),
  );
  // Trails begin wherever more bills begin than end; what is left over are rings.
  const trails = [...begins, rest.to, ...edges.map(({ from }) => from)].map((from) =>
    trail(open, from),
  );
  const isRest = (edge: Edge) => edge === rest;
  const outer = trails.find((edges) => edges.some(isRest)) ?? [];
  const others = trails
    .filter((edges) => edges !== outer)
    .toSorted((a, b) => timeOf(a) - timeOf(b));
  const turn = outer.findIndex(isRest);
  const stepsOf = (part: readonly Edge[]) => part.flatMap(({ steps }) => steps);
  return [
    ...stepsOf(outer.slice(turn + 1)),
    ...stepsOf(others.flat()),
    ...unfit,
    ...stepsOf(outer.slice(0, Math.max(0, turn))),
  ];
}

/** Of its first bill. */
const timeOf = (trail: readonly Edge[]): number => trail[0]?.steps[0]?.time ?? 0;

/** Follows unused bills from a balance until there is none, detours through rings included. */
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
function jumps(order: readonly Step[], { start, end, tolerance }: Group): number {
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
  a !== undefined && b !== undefined && (a - b > tolerance || b - a > tolerance);
