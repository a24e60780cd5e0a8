import { chainedOrder } from "../reports/reconciliation/millisecond-order.ts";
import type { ExportedBill } from "./bill.ts";
import { type Decimal, decimalOf, unitsAt, zero } from "./decimal.ts";
import { walletChange } from "./wallet-change.ts";

/**
 * Bills of one coin and one millisecond, in the order in which the balance moved: by id, and where
 * that does not chain, in the order that does best, as a reconciliation finds it.
 *
 * @param before the balance before them; undefined where it is not known.
 */
export function inChainOrder(
  bills: readonly ExportedBill[],
  before: Decimal | undefined,
): readonly ExportedBill[] {
  if (bills.length < 2) return bills;
  const moves = bills.map((bill) => ({
    moved: walletChange(bill),
    after: bill.balance === null ? undefined : decimalOf(bill.balance),
  }));
  const decimals = moves.flatMap(({ moved, after }) => [moved, after ?? zero]);
  const scale = decimals.reduce((most, one) => Math.max(most, one.scale), before?.scale ?? 0);
  const units = (decimal: Decimal | undefined) => decimal && unitsAt(decimal, scale);
  const order = chainedOrder({
    steps: moves.map(({ moved, after }, place) => ({
      billId: String(place),
      moved: unitsAt(moved, scale),
      after: units(after),
    })),
    start: units(before),
    end: undefined,
    tolerance: 0n,
  });
  return order.flatMap((place) => bills[Number(place)] ?? []);
}
