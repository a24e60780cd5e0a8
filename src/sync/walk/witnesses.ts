import type { EpochMs } from "../../contract/time.ts";
import type { PlacedRow, RowPlace } from "./id-order.ts";

/** The reason why an answer cannot be true, in words. */
export type Doubt = string;

/**
 * Checks an answer against its witnesses: bills that were served before and belong to this answer, too. An
 * answer without any of them cannot be true. Witnesses older than `servedFrom` do not count.
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
  `bill ${billId} was served before and is missing from an answer that should have it`;
