import { type EpochMs, epochMs } from "../contract/time.ts";

/** One answer's evidence: it was taken at `requestTime`, somewhere between the two local times. */
export type ClockSample = {
  readonly sentAt: EpochMs;
  readonly answeredAt: EpochMs;
  /** The exchange's clock. */
  readonly requestTime: EpochMs;
};

/** The exchange's time, told from this machine's clock and the answers so far. */
export type ExchangeClock = {
  now(): EpochMs;
  observe(sample: ClockSample): void;
  /** Believes this sample alone: the exchange just refused what the others led to. */
  reset(sample: ClockSample): void;
  /** Exchange time less local time, in ms; undefined before the first answer. */
  offsetMs(): number | undefined;
};

/**
 * Keeps the offset of the sample with the shortest round trip: its error is at most half of
 * that. A machine whose clock is minutes off so signs with the exchange's time.
 */
export function createExchangeClock(localNow: () => EpochMs): ExchangeClock {
  let offsetMs: number | undefined;
  let bestRoundTripMs = Number.POSITIVE_INFINITY;

  const adopt = ({ sentAt, answeredAt, requestTime }: ClockSample) => {
    bestRoundTripMs = answeredAt - sentAt;
    offsetMs = Math.round(requestTime - (sentAt + answeredAt) / 2);
  };

  return {
    now: () => epochMs(localNow() + (offsetMs ?? 0)),
    observe(sample) {
      if (sample.answeredAt - sample.sentAt <= bestRoundTripMs) adopt(sample);
    },
    reset: adopt,
    offsetMs: () => offsetMs,
  };
}
