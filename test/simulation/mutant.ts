/** A program with one fault in it: texts of its source, and what stands in their place. */
export type Mutant = {
  readonly name: string;
  readonly file: string;
  readonly changes: readonly (readonly [text: string, instead: string])[];
};

/** @throws Error where a text is not in the source exactly once: the list has gone stale. */
export function mutated(source: string, { name, file, changes }: Mutant): string {
  return changes.reduce((changed, [text, instead]) => {
    const times = changed.split(text).length - 1;
    if (times !== 1) {
      throw new Error(`mutant "${name}": ${file} holds its text ${times} times: ${text}`);
    }
    // A function, since a text's dollar signs mean something in a replacement.
    return changed.replace(text, () => instead);
  }, source);
}
