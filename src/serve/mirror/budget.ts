import { secondMs } from "../../contract/time.ts";

// The oldest are forgotten past this: a server meets any number of addresses.
const namesMax = 10_000;

export type Budget = {
  /** Takes one of a name's uses. @returns undefined, or in how many ms there is one again. */
  take(name: string, at: number): number | undefined;
};

/** At most so many uses in any rolling stretch of time, for each name. What is refused does not count. */
export function createBudget(requests: number, perMs: number = secondMs): Budget {
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
