import { secondMs } from "../../contract/time.ts";

// Beyond this many names the oldest are forgotten: a server may see any number of addresses.
const namesMax = 10_000;

export type RollingLimit = {
  /** Takes one use of a name. @returns undefined, or in how many ms the next use is free. */
  take(name: string, at: number): number | undefined;
};

/**
 * Allows each name at most this many uses in any rolling span of `perMs`. Refused uses do not
 * count.
 */
export function createRollingLimit(requests: number, perMs: number = secondMs): RollingLimit {
  const uses = new Map<string, number[]>();
  return {
    take(name, at) {
      const known = uses.get(name) ?? [];
      const recent = known.filter((time) => time > at - perMs);
      const [oldest] = recent;
      if (oldest !== undefined && recent.length >= requests) {
        uses.set(name, recent);
        return oldest + perMs - at;
      }
      uses.delete(name);
      const [first] = uses.keys();
      if (first !== undefined && uses.size >= namesMax) uses.delete(first);
      uses.set(name, [...recent, at]);
      return undefined;
    },
  };
}
