/** Milliseconds since the Unix epoch. */
export type EpochMs = number & { readonly __unit: "epoch-ms" };

export const epochMs = (value: number): EpochMs => value as EpochMs;

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** How far back the exchange serves bills. Source: the API's limits on account bills. */
export const retentionMs = 90 * dayMs;
/** The longest span from startTime to endTime. Source: the API's limits on account bills. */
export const intervalMaxMs = 7 * dayMs;
/** The longest span for a unified account's financial records. Source: their documentation. */
export const unifiedIntervalMaxMs = 30 * dayMs;
/**
 * How long after its time a row of a unified account may be booked. Funding carries the time at which it
 * was due, but moves the balance later: 1.5 s in the one public row of a unified account, whose id tells it, and
 * 3 to 13 s in classic accounts, whose funding is dated when it is booked (test/fixtures/real-ledger-2025-02.tsv).
 */
export const bookedMaxMs = 20 * secondMs;

/** ISO 8601 in UTC with milliseconds: the format for Postgres and for people. */
export const isoTime = (time: EpochMs): string => new Date(time).toISOString();
