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
 * A counter whose low bits are specific to the account: in all accounts, funding falls on the same
 * millisecond.
 */
export const accountCounter = (counter: number, account: number): number =>
  (counter << accountBits) | account;
