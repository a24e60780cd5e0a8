import { minuteMs, secondMs } from "../contract/time.ts";
import type { ExchangeError, ExchangeErrorKind } from "../errors.ts";

const firstDelayMs = 500;
const delayMaxMs = 30 * secondMs;
const retryAfterMaxMs = 2 * minuteMs;

/** How often a request is sent at most, by what came back. */
const attemptsMax: Readonly<Record<ExchangeErrorKind, number>> = {
  "refused-credentials": 1,
  "refused-permission": 1,
  "refused-request": 1,
  "time-range": 1,
  clock: 3,
  "unknown-code": 3,
  malformed: 6,
  unavailable: 8,
  "rate-limited": 10,
};

/** The most attempts that any kind of failure is worth. */
export const attemptsBound = Math.max(...Object.values(attemptsMax));

/**
 * How long to wait before the next attempt: exponential backoff with full jitter, but at
 * least what Retry-After asked for; "stop" where another attempt is of no use.
 *
 * @param attempt how many attempts have failed, this one included.
 * @param random uniform in [0, 1).
 */
export function retryDelayMs(
  failure: Pick<ExchangeError, "kind" | "retryAfterMs">,
  attempt: number,
  random: () => number,
): number | "stop" {
  if (attempt >= attemptsMax[failure.kind]) return "stop";
  if (failure.kind === "clock") return 0;
  const retryAfterMs = failure.retryAfterMs ?? 0;
  if (retryAfterMs > retryAfterMaxMs) return "stop";
  const backoffMs = random() * Math.min(delayMaxMs, firstDelayMs * 2 ** (attempt - 1));
  return Math.max(backoffMs, retryAfterMs);
}

/** A Retry-After header in milliseconds: seconds, or an HTTP date against the exchange's time. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) : undefined;
  const waitMs = seconds === undefined ? Date.parse(header) - now : seconds * secondMs;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
