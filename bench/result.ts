export type BenchOptions = {
  /** A small form that takes seconds: says that the measurement works, not how fast the program is. */
  readonly short: boolean;
};

/** What one benchmark measured. */
export type BenchResult = {
  readonly name: string;
  /** One line: what the table's figures are. */
  readonly title: string;
  /** The table as it is printed; its first row names the columns. */
  readonly rows: readonly (readonly string[])[];
  /** What must be known to read the table, a line each. */
  readonly notes?: readonly string[];
  /** What was to be measured and failed, a line each. The command then ends with 1. */
  readonly failures?: readonly string[];
  /** The figures themselves, for programs. */
  readonly json: unknown;
};

export type Bench = (options: BenchOptions) => Promise<BenchResult>;

/** The middle one of the figures; of an even number of them the mean of the two in the middle. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [below, above] = [sorted.at(middle - 1), sorted.at(middle)];
  if (below === undefined || above === undefined) throw new RangeError("no figure, no median");
  return sorted.length % 2 === 1 ? above : (below + above) / 2;
}
