/** Returns the next number of a sequence, in [0, 1). */
export type Random = () => number;

/**
 * A pseudorandom sequence that depends only on the seed (sfc32, started from an FNV-1a hash of the
 * seed's text).
 */
export function seededRandom(seed: string | number): Random {
  const text = String(seed);
  let a = hash(`${text}/a`);
  let b = hash(`${text}/b`);
  let c = hash(`${text}/c`);
  let counter = 1;
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 0x1_0000_0000;
  };
  // The first numbers of similar seeds are similar; a dozen steps mix the state.
  for (let discarded = 0; discarded < 12; discarded++) next();
  return next;
}

function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  return state | 0;
}

/** A whole number from `least` to `most`, both included. */
export const integer = (random: Random, least: number, most: number): number =>
  least + Math.floor(random() * (most - least + 1));

/** @throws RangeError if `items` is empty. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const index = integer(random, 0, items.length - 1);
  if (index < 0) throw new RangeError("nothing to pick from");
  return items[index] as Item;
}
