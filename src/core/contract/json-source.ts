/**
 * Reads parts of a JSON text exactly as they are written. Parsing would lose how strings are escaped, the
 * order of numeric keys, and all but the last of several members with one name. All functions here require
 * valid JSON.
 */

/**
 * The elements of a list, each letter for letter as it is written.
 * @param path the names of the members that lead to the list. Of several members with one name the last
 *   counts, as in parsing.
 * @returns undefined where there is no list.
 */
export function elementTexts(text: string, path: readonly string[]): readonly string[] | undefined {
  let at = pastSpace(text, 0);
  for (const name of path) {
    if (text[at] !== "{") return undefined;
    const member = [...partsOf(text, at)].findLast(({ key }) => key === name);
    if (member === undefined) return undefined;
    at = member.from;
  }
  if (text[at] !== "[") return undefined;
  return [...partsOf(text, at)].map(({ from, to }) => text.slice(from, to));
}

/** Every member name and every string in the text, including those that parsing drops. */
export function stringsIn(text: string): readonly string[] {
  const strings: string[] = [];
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    const end = pastString(text, at);
    strings.push(JSON.parse(text.slice(at, end)));
    at = end;
  }
  return strings;
}

type Part = { readonly key: string | undefined; readonly from: number; readonly to: number };

/** The members of the object, or the elements of the list, that opens at `opensAt`. */
function* partsOf(text: string, opensAt: number): Generator<Part> {
  const isObject = text[opensAt] === "{";
  let at = pastSpace(text, opensAt + 1);
  while (at < text.length && text[at] !== "}" && text[at] !== "]") {
    let key: string | undefined;
    if (isObject) {
      const to = pastString(text, at);
      key = JSON.parse(text.slice(at, to));
      const colon = pastSpace(text, to);
      at = pastSpace(text, colon + 1);
    }
    const to = pastValue(text, at);
    yield { key, from: at, to };
    const comma = pastSpace(text, to);
    at = text[comma] === "," ? pastSpace(text, comma + 1) : comma;
  }
}

/** The end of a value. Not recursive: an answer may be nested more deeply than the stack allows. */
function pastValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const sign = text[at];
    if (sign === '"') at = pastString(text, at);
    else if (sign === "{" || sign === "[") {
      depth += 1;
      at += 1;
    } else if (sign === "}" || sign === "]") {
      depth -= 1;
      at += 1;
    } else if (depth > 0) at += 1;
    else at = pastScalar(text, at);
  } while (depth > 0 && at < text.length);
  return at;
}

function pastString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

const scalar = /[^\s,\]}]+/y;
const space = /[ \t\n\r]*/y;

const pastScalar = (text: string, from: number): number => past(scalar, text, from);
const pastSpace = (text: string, from: number): number => past(space, text, from);

function past(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  // Moves on by at least one character, so that the loops end even if the text is not JSON.
  return pattern.test(text) ? pattern.lastIndex : from + 1;
}
