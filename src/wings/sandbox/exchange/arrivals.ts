import type { Operation } from "../../../core/contract/operation.ts";
import {
  type RollingWindow,
  remembered,
  rollingWindow,
} from "../../../core/server/rolling-window.ts";
import { minuteMs, secondMs } from "../../../lib/time.ts";

/** The limit over all operations, and its lock-out. Source: reports of the exchange's users. */
const addressLimit = { requests: 6_000, perMs: minuteMs, lockoutMs: 5 * minuteMs };

/** Counts an arrival. @returns whether it is within the limit. */
export type Arrivals = {
  /** By the address limit over all operations. */
  admitsAddress(address: string, at: number): boolean;
  /** By the operation's own limit. */
  admits(operation: Operation, scope: string, at: number): boolean;
};

/**
 * Counts every arrival, refused ones included. This is the strictest reading of the API's limits: a client
 * that does not pause stays refused.
 */
export function countArrivals(): Arrivals {
  const windows = new Map<string, RollingWindow>();
  const addresses = new Map<string, { window: RollingWindow; lockedUntil: number }>();
  return {
    admitsAddress(address, at) {
      const entry = remembered(addresses, address, () => ({
        window: rollingWindow(addressLimit.perMs),
        lockedUntil: 0,
      }));
      const count = entry.window.arrive(at);
      if (at >= entry.lockedUntil && count > addressLimit.requests)
        entry.lockedUntil = at + addressLimit.lockoutMs;
      return at >= entry.lockedUntil;
    },
    admits({ name, limit }, scope, at) {
      const window = remembered(windows, `${name} ${scope}`, () => rollingWindow(secondMs));
      return window.arrive(at) <= limit.requests;
    },
  };
}
