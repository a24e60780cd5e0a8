// (id >> 22) + this == the time of the bill on all public ids of futures bills.
const startMs = 1_435_725_920_677;
const counterBits = 22n;
const accountBits = 10;

/** An id as the exchange's look: time and a counter, more than 2^53, as decimal text. */
export const snowflake = (time: number, counter: number): string =>
  String((BigInt(time - startMs) << counterBits) | BigInt(counter));

/** A counter whose low bits are the account's own: funding falls on one millisecond in all accounts. */
export const accountCounter = (counter: number, account: number): number =>
  (counter << accountBits) | account;
