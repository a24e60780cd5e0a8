/** What is checked, in the words of the printed table. */
export const promises = [
  "tiling",
  "atomic pages",
  "honest coverage",
  "one row a bill",
  "exact",
  "restatements",
  "nothing dropped",
  "within the limit",
  "no false success",
  "faults pass",
  "overtaken",
  "twice is once",
  "lost",
  "recovered",
  "verified",
  "healed",
  "proven balances",
  "mode",
  "identity",
] as const;

export type PromiseName = (typeof promises)[number];

export type Broken = { readonly promise: PromiseName; readonly what: string };

// A broken history breaks many promises at every check; the first few say enough.
const brokenMax = 8;

/** Counts what was checked, and keeps what was wrong. */
export function verdicts() {
  const checked = Object.fromEntries(promises.map((promise) => [promise, 0])) as Record<
    PromiseName,
    number
  >;
  const broken: Broken[] = [];
  return {
    checked,
    broken,
    /** This many things were checked; these are wrong. */
    check(promise: PromiseName, count: number, wrong: readonly string[]): void {
      checked[promise] += count;
      for (const what of wrong.slice(0, brokenMax - broken.length)) broken.push({ promise, what });
    },
  };
}
