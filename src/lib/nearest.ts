import leven from "leven";

/**
 * The candidate that a mistyped word most likely meant; undefined where none is near.
 * @param distanceMax letters that may differ. Default a third of the word's.
 */
export function nearest(
  word: string,
  candidates: readonly string[],
  distanceMax: number = Math.max(2, word.length / 3),
): string | undefined {
  const ranked = candidates
    .filter(({ length }) => Math.abs(length - word.length) <= distanceMax)
    .map((candidate) => ({
      candidate,
      distance: leven(word.toLowerCase(), candidate.toLowerCase()),
    }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= distanceMax ? best.candidate : undefined;
}

/** ", did you mean X?", or nothing. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const best = nearest(word, candidates);
  return best === undefined ? "" : `, did you mean ${best}?`;
}
