/** A program with one fault: texts of its source, and their replacements. */
export type Mutant = {
  readonly name: string;
  readonly file: string;
  readonly changes: readonly (readonly [text: string, instead: string])[];
};

/** @throws Error if a text is not in the source exactly once: then the list is out of date. */
export function mutated(source: string, { name, file, changes }: Mutant): string {
  return changes.reduce((changed, [text, instead]) => {
    const times = changed.split(text).length - 1;
    if (times !== 1) {
      throw new Error(`mutant "${name}": ${file} holds its text ${times} times: ${text}`);
    }
    // A function, since dollar signs have a meaning in a replacement text.
    return changed.replace(text, () => instead);
  }, source);
}
