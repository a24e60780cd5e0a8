import { type EpochMs, epochMs, isoTime } from "../../contract/time.ts";

/**
 * A bill's place in the order of its wallet's bills. The bill's own fields suffice to compute it.
 */
export type BillPlace = {
  readonly cTime: EpochMs;
  readonly billId: string;
  readonly productType: string;
};

/** The place as text in an address: `2026-11-22T01:09:33.123Z/1234/USDT-FUTURES`. */
export const placeText = ({ cTime, billId, productType }: BillPlace): string =>
  [isoTime(cTime), billId, productType].join("/");

// Sorts before every bill of its millisecond.
const first = { billId: "", productType: "" };

/**
 * The place that an address gives. A time alone is the place before all its bills. Undefined if the
 * text is neither.
 */
export function placeOf(text: string | null): BillPlace | undefined {
  const [time = "", ...rest] = text?.split("/") ?? [];
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time)) return undefined;
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return undefined;
  const [productType = "", billId = ""] = [rest.at(-1), rest.slice(0, -1).join("/")];
  const cTime = epochMs(ms);
  return rest.length < 2 ? { cTime, ...first } : { cTime, billId, productType };
}
