import type { EpochMs } from "../../lib/time.ts";

/** A bill as the exchange sends it. All values are text, except in undocumented fields. */
export type WireBill = Readonly<Record<string, unknown>>;

/** A bill of the ledger: its row as served, and what the sandbox knows about it. */
export type LedgerBill = {
  readonly billId: string;
  readonly cTime: EpochMs;
  /** When the exchange begins to serve it: its cTime, or up to 10 minutes later. */
  readonly visibleAt: EpochMs;
  readonly businessType: string;
  readonly coin: string;
  /** An object as the API sends it; any value if the row was broken on purpose. */
  readonly row: unknown;
  /** How the row was broken on purpose; undefined if it was not. */
  readonly broken?: string;
  /** Of a withdrawal: its record as the API sends it. */
  readonly withdrawal?: {
    readonly orderId: string;
    readonly madeAt: number;
    readonly record: WireBill;
  };
  /** Other content that is served from a time on. */
  readonly restated?: { readonly at: EpochMs; readonly row: WireBill };
};

// (id >> 22) + this is the bill's time, for all public ids of futures bills.
const startMs = 1_435_725_920_677;
const counterBits = 22n;
const accountBits = 10;

/** An id like the exchange's: time and counter, larger than 2^53, as decimal text. */
export const snowflake = (time: number, counter: number): string =>
  String((BigInt(time - startMs) << counterBits) | BigInt(counter));

/** When an id was made, in ms since the epoch. */
export const snowflakeTime = (id: string): number => Number(BigInt(id) >> counterBits) + startMs;

/**
 * Makes ids of their times, all different. Their low bits are those of the account: in all accounts, funding falls
 * on the same millisecond.
 * @param account the account's number within the exchange, below 1,024.
 */
export function snowflakes(account: number): (time: number) => string {
  const counters = new Map<number, number>();
  return (time) => {
    const counter = (counters.get(time) ?? -1) + 1;
    counters.set(time, counter);
    return snowflake(time, (counter << accountBits) | account);
  };
}
