import type { ExchangeError, ExchangeErrorKind } from "../../lib/errors.ts";
import { minuteMs, secondMs } from "../../lib/time.ts";

const firstDelayMs = 500;
const delayMaxMs = 30 * secondMs;
const retryAfterMaxMs = 2 * minuteMs;

/**
 * How often a request may fail with each kind of error. The last failure ends the request. `banned` counts
 * the bans of the address, whichever request met them. Each kind has its own count: five failures of the network must not
 * use up the attempt that then sets the clock.
 */
const attemptsMax: Readonly<Record<ExchangeErrorKind, number>> = {
  "refused-credentials": 1,
  "other-mode": 1,
  banned: 3,
  "refused-permission": 1,
  "refused-request": 1,
  "time-range": 1,
  clock: 3,
  "unknown-code": 4,
  malformed: 6,
  unavailable: 8,
  "rate-limited": 10,
};

/** The most attempts that a request can take: as many as all kinds of errors allow together. */
export const attemptsBound = Object.values(attemptsMax).reduce((sum, most) => sum + most, 0);

/**
 * How long to wait before the next attempt, in ms: exponential backoff with full jitter, and at least
 * the time that Retry-After asks for. "stop" if another attempt is of no use.
 *
 * @param attempt how many attempts have failed with this kind of error, this one included.
 * @param random uniform in [0, 1).
 */
export function retryDelayMs(
  failure: Pick<ExchangeError, "kind" | "retryAfterMs">,
  attempt: number,
  random: () => number,
): number | "stop" {
  if (attempt >= attemptsMax[failure.kind]) return "stop";
  if (failure.kind === "clock") return 0;
  // Each further request may prolong a ban, so another is sent only where Retry-After says when the ban ends.
  if (failure.kind === "banned" && failure.retryAfterMs === undefined) return "stop";
  const retryAfterMs = failure.retryAfterMs ?? 0;
  if (retryAfterMs > retryAfterMaxMs) return "stop";
  const backoffMs = random() * Math.min(delayMaxMs, firstDelayMs * 2 ** (attempt - 1));
  return Math.max(backoffMs, retryAfterMs);
}

/** A Retry-After header in ms. It holds seconds, or an HTTP date, which is compared with `now`, the exchange's time. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : undefined;
  const waitMs = seconds === undefined ? Date.parse(header) - now : seconds * secondMs;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
