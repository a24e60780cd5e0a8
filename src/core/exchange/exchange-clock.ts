import { type EpochMs, epochMs } from "../../lib/time.ts";

/** An answer's times: the exchange received the request at `requestTime`, between the two local times. */
export type ClockSample = {
  readonly sentAt: EpochMs;
  readonly answeredAt: EpochMs;
  /** By the exchange's clock. */
  readonly requestTime: EpochMs;
};

/** The exchange's time, estimated from this machine's clock and the answers so far. */
export type ExchangeClock = {
  now(): EpochMs;
  observe(sample: ClockSample): void;
  /** Replaces the estimate by this sample's: the exchange has refused a request for its timestamp. */
  reset(sample: ClockSample): void;
  /** Exchange time less local time, in ms; undefined before the first answer. */
  offsetMs(): number | undefined;
};

/**
 * Keeps the offset of the sample with the shortest round trip. Its error is at most half the round trip.
 * So a machine whose clock is minutes off still signs with the exchange's time. The client refuses an answer
 * whose time cannot be true, before it gets here.
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
