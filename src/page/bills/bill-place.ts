import { type EpochMs, epochMs, isoTime } from "../../contract/time.ts";

/** A bill's place among all of a wallet, by what is known of it without the others. */
export type BillPlace = {
  readonly cTime: EpochMs;
  readonly billId: string;
  readonly productType: string;
};

/** As an address has it: `2026-11-22T01:09:33.123Z/1234/USDT-FUTURES`. */
export const placeText = ({ cTime, billId, productType }: BillPlace): string =>
  [isoTime(cTime), billId, productType].join("/");

// Before the first bill of a millisecond, whatever its id is.
const first = { billId: "", productType: "" };

/** The place in an address, or that before all bills of a time; undefined where it is neither. */
export function placeOf(text: string | null): BillPlace | undefined {
  const [time = "", ...rest] = text?.split("/") ?? [];
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time)) return undefined;
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return undefined;
  const [productType = "", billId = ""] = [rest.at(-1), rest.slice(0, -1).join("/")];
  const cTime = epochMs(ms);
  return rest.length < 2 ? { cTime, ...first } : { cTime, billId, productType };
}
