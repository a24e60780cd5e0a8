type Labels = Readonly<Record<string, string>>;
/** A metric's value. An unknown one has no sample: 0 would claim that it is known. */
type Sample = { readonly labels: Labels; readonly value: number | undefined };

/** A gauge and its samples. Its name has no prefix. */
export type Metric = {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly samples: readonly Sample[];
};
