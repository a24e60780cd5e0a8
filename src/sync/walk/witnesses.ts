import type { EpochMs } from "../../contract/time.ts";
import type { PlacedRow, RowPlace } from "./id-order.ts";

/** Why an answer cannot be believed. */
export type Doubt = string;

/**
 * Bills that were served before and belong to this answer too are its witnesses: an answer without
 * any of them, an empty one above all, cannot be true. Those that the horizon took may be missing.
 */
export function unservedWitness(
  witnesses: readonly PlacedRow[],
  { rows, servedFrom }: { readonly rows: readonly RowPlace[]; readonly servedFrom: EpochMs },
): Doubt | undefined {
  const wanted = witnesses.filter(({ cTime }) => cTime >= servedFrom);
  const [first] = wanted;
  if (first === undefined) return undefined;
  const ids = new Set(wanted.map(({ billId }) => billId));
  const isServed = rows.some(({ billId }) => billId !== undefined && ids.has(billId));
  return isServed ? undefined : missing(first);
}

export const missing = ({ billId }: PlacedRow): Doubt =>
  `bill ${billId} was served before, and is missing where it was asked for again`;
