import type { ExportedBill } from "./bill.ts";
import { type Decimal, decimalOf, isZero, subtract } from "./decimal.ts";
import { walletChange } from "./wallet-change.ts";

/**
 * Bills of one coin and one millisecond, in the order in which the balance moved: by id, and where
 * that does not chain, the order that does, if there is one. As they are given otherwise.
 *
 * @param before the balance before them; undefined where it is not known.
 */
export function inChainOrder(
  bills: readonly ExportedBill[],
  before: Decimal | undefined,
): readonly ExportedBill[] {
  if (bills.length < 2) return bills;
  const steps = bills.map(stepOf).filter((step) => step !== undefined);
  if (steps.length < bills.length || chains(steps, before)) return bills;
  const path = eulerianPath(steps, before === undefined ? startOf(steps) : keyOf(before));
  return path.length === steps.length ? path.map(({ bill }) => bill) : bills;
}

/** A bill as an edge from the balance before it to the one after it. */
type Step = { readonly bill: ExportedBill; readonly from: string; readonly to: string };

function stepOf(bill: ExportedBill): Step | undefined {
  if (bill.balance === null) return undefined;
  const after = decimalOf(bill.balance);
  return { bill, from: keyOf(subtract(after, walletChange(bill))), to: keyOf(after) };
}

/** The same text for the same number. */
function keyOf(decimal: Decimal): string {
  if (isZero(decimal)) return "0";
  let { units, scale } = decimal;
  while (scale > 0 && units % 10n === 0n) {
    units /= 10n;
    scale -= 1;
  }
  return `${units}e-${scale}`;
}

function chains(steps: readonly Step[], before: Decimal | undefined): boolean {
  let at = before === undefined ? steps[0]?.from : keyOf(before);
  return steps.every(({ from, to }) => {
    const follows = from === at;
    at = to;
    return follows;
  });
}

/** The balance that more steps leave than reach; any where they go round. */
function startOf(steps: readonly Step[]): string {
  const surplus = new Map<string, number>();
  for (const { from, to } of steps) {
    surplus.set(from, (surplus.get(from) ?? 0) + 1);
    surplus.set(to, (surplus.get(to) ?? 0) - 1);
  }
  return steps.find(({ from }) => (surplus.get(from) ?? 0) > 0)?.from ?? steps[0]?.from ?? "0";
}

/**
 * Hierholzer's walk over every step once: linear, where trying orders is not. A millisecond can
 * hold thousands of bills, and balances that come back make a greedy walk end too early.
 */
function eulerianPath(steps: readonly Step[], start: string): readonly Step[] {
  const leaving = new Map<string, Step[]>();
  // From the back, so that the first by id is taken first.
  for (const step of steps.toReversed()) {
    const others = leaving.get(step.from);
    if (others === undefined) leaving.set(step.from, [step]);
    else others.push(step);
  }
  const walk: { readonly at: string; readonly by: Step | undefined }[] = [
    { at: start, by: undefined },
  ];
  const path: Step[] = [];
  for (let last = walk.at(-1); last !== undefined; last = walk.at(-1)) {
    const next = leaving.get(last.at)?.pop();
    if (next !== undefined) walk.push({ at: next.to, by: next });
    else {
      walk.pop();
      if (last.by !== undefined) path.push(last.by);
    }
  }
  path.reverse();
  const isPath = path.every((step, index) => index === 0 || path[index - 1]?.to === step.from);
  return isPath ? path : [];
}
