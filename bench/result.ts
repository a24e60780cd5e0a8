export type BenchOptions = {
  /**
   * A short form that takes seconds. It shows that the measurement works, not how fast the program
   * is.
   */
  readonly short: boolean;
  /** Measures only what has all these words in its name, where a benchmark has several. Default all. */
  readonly only: readonly string[];
};

/** What one benchmark measured. */
export type BenchResult = {
  readonly name: string;
  /** One line: what the figures of the table are. */
  readonly title: string;
  /** The table as it is printed; its first row has the names of the columns. */
  readonly rows: readonly (readonly string[])[];
  /** Notes that are needed to read the table, one line each. */
  readonly notes?: readonly string[];
  /** Measurements that failed, one line each. The command then ends with 1. */
  readonly failures?: readonly string[];
  /** The figures themselves, for programs. */
  readonly json: unknown;
};

export type Bench = (options: BenchOptions) => Promise<BenchResult>;

/** The median. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [below, above] = [sorted.at(middle - 1), sorted.at(middle)];
  if (below === undefined || above === undefined) throw new RangeError("no figure, no median");
  return sorted.length % 2 === 1 ? above : (below + above) / 2;
}
