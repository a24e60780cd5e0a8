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
