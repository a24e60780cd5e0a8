import { minuteMs, secondMs } from "../../lib/time.ts";
import type { Operation } from "../contract/operation.ts";

/** The limit over all operations, and its lock-out. Source: reports of the exchange's users. */
const addressLimit = { requests: 6_000, perMs: minuteMs, lockoutMs: 5 * minuteMs };
// Beyond this many counts of users, or of addresses, the oldest one is forgotten.
const windowsMax = 10_000;
const compactAfter = 1_024;

export type RollingWindow = {
  /** Counts an arrival. Returns how many there were in the `perMs` up to it, including itself. */
  arrive(at: number): number;
};

/** Counts arrivals in the half-open interval `(at - perMs, at]` at each arrival. */
export function rollingWindow(perMs: number): RollingWindow {
  let times: number[] = [];
  let first = 0;
  return {
    arrive(at) {
      const time = Math.max(at, times.at(-1) ?? at);
      while (first < times.length && (times[first] ?? time) <= time - perMs) first++;
      if (first > compactAfter && first * 2 > times.length) {
        times = times.slice(first);
        first = 0;
      }
      times.push(time);
      return times.length - first;
    },
  };
}

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

/** The value of a key, made where there is none. Where there are too many, the oldest is forgotten. */
export function remembered<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const value = map.get(key);
  if (value !== undefined) return value;
  const [oldest] = map.keys();
  if (map.size >= windowsMax && oldest !== undefined) map.delete(oldest);
  const made = make();
  map.set(key, made);
  return made;
}
