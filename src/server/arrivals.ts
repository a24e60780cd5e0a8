import type { Operation } from "../contract/operation.ts";
import { minuteMs } from "../contract/time.ts";

/** The limit over all operations. Source: reports of the exchange's users, as is the lock-out. */
const addressLimit = { requests: 6_000, perMs: minuteMs, lockoutMs: 5 * minuteMs };
// A mirror meets any number of client addresses; the oldest are forgotten past this.
const windowsMax = 10_000;
const compactAfter = 1_024;

export type RollingWindow = {
  /** Counts an arrival; returns how many lie in the `perMs` that end with it, itself included. */
  arrive(at: number): number;
  /** The most arrivals that any rolling `perMs` ever held. */
  peak(): number;
  /** When an arrival would be one of at most `requests`, if none came before it. */
  freeAt(requests: number): number;
};

/**
 * Counts arrivals in the half-open stretch `(at - perMs, at]`. Every stretch of that length
 * that holds the most arrivals can be moved until it ends with one, so the peak is exact.
 */
export function rollingWindow(perMs: number): RollingWindow {
  let times: number[] = [];
  let first = 0;
  let peak = 0;
  return {
    arrive(at) {
      const time = Math.max(at, times.at(-1) ?? at);
      while (first < times.length && (times[first] ?? time) <= time - perMs) first++;
      if (first > compactAfter && first * 2 > times.length) {
        times = times.slice(first);
        first = 0;
      }
      times.push(time);
      peak = Math.max(peak, times.length - first);
      return times.length - first;
    },
    peak: () => peak,
    freeAt: (requests) => (times.at(-requests) ?? -perMs) + perMs,
  };
}

export type Peak = {
  readonly operation: string;
  /** A user ID or a client address, as the operation's limit counts. */
  readonly scope: string;
  readonly requests: number;
};

export type Statistics = {
  /** Requests by operation, whatever became of them. */
  readonly arrivals: Readonly<Record<string, number>>;
  /** Answers other than a success, by code. */
  readonly refusals: Readonly<Record<string, number>>;
  /** The most arrivals in any rolling second, refused ones included. */
  readonly peaks: readonly Peak[];
  /** Public requests that carried credentials which nobody asked for. */
  readonly strayCredentials: number;
};

/** undefined: within the limit; otherwise how long the client should wait. */
export type Verdict = { readonly retryAfterMs: number } | undefined;

export type Arrivals = {
  /** Counts against the address limit over all operations. */
  fromAddress(address: string, at: number): Verdict;
  /** Counts against the operation's own limit. */
  atOperation(operation: Operation, scope: string, at: number): Verdict;
};

/**
 * Counts every arrival, those that are refused included: the strictest reading of the API's
 * limits, under which a client that goes on asking is refused until it pauses.
 */
export function countArrivals(): Arrivals & { peaks(): readonly Peak[] } {
  const windows = new Map<string, Omit<Peak, "requests"> & { window: RollingWindow }>();
  const addresses = new Map<string, { window: RollingWindow; lockedUntil: number }>();
  return {
    fromAddress(address, at) {
      const entry = remembered(addresses, address, () => ({
        window: rollingWindow(addressLimit.perMs),
        lockedUntil: 0,
      }));
      const count = entry.window.arrive(at);
      if (at >= entry.lockedUntil && count > addressLimit.requests)
        entry.lockedUntil = at + addressLimit.lockoutMs;
      return at < entry.lockedUntil ? { retryAfterMs: entry.lockedUntil - at } : undefined;
    },
    atOperation({ name, limit }, scope, at) {
      const { window } = remembered(windows, `${name} ${scope}`, () => ({
        operation: name,
        scope,
        window: rollingWindow(limit.perMs),
      }));
      if (window.arrive(at) <= limit.requests) return undefined;
      return { retryAfterMs: window.freeAt(limit.requests) - at };
    },
    peaks: () =>
      [...windows.values()].map(({ operation, scope, window }) => ({
        operation,
        scope,
        requests: window.peak(),
      })),
  };
}

function remembered<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const [oldest] = map.keys();
  if (map.size >= windowsMax && oldest !== undefined) map.delete(oldest);
  const made = make();
  map.set(key, made);
  return made;
}
