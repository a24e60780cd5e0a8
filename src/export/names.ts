import { createHash } from "node:crypto";
import { ReportableError } from "../errors.ts";
import { printableLine } from "../printable.ts";

/**
 * Spells names as a journal allows them, and remembers each. Two names that would be spelled alike are
 * refused, since their sums would be merged.
 */
export function namesBy(
  spell: (name: string) => string,
  { tool, what }: { readonly tool: string; readonly what: string },
): (name: string) => string {
  const spelled = new Map<string, string>();
  const taken = new Map<string, string>();
  return (name) => {
    const known = spelled.get(name);
    if (known !== undefined) return known;
    const made = spell(name);
    const other = taken.get(made);
    if (other !== undefined) {
      throw new ReportableError(
        `"${shown(other)}" and "${shown(name)}" are both ${made} as ${what} of ${tool}; export them apart, ` +
          "by --account or --product, or in another format",
      );
    }
    spelled.set(name, made);
    taken.set(made, name);
    return made;
  };
}

// No text in Postgres can hold this character.
const separator = "\0";

/** A name of several parts as one text, to be made by {@link spellParts}. */
export const joinParts = (parts: readonly string[]): string => parts.join(separator);

export const spellParts = (
  name: string,
  spell: (part: string, place: number, parts: readonly string[]) => string,
): string => name.split(separator).map(spell).join(":");

const shown = (name: string): string => printableLine(name.replaceAll(separator, ":"));

/** Six hexadecimal digits that tell apart names that are spelled alike. */
export const fingerprint = (name: string): string =>
  createHash("sha256").update(name).digest("hex").slice(0, 6).toUpperCase();

/** Whether a name could be taken for another one with its {@link fingerprint}. */
export const endsLikeFingerprint = (name: string): boolean => /[-_][0-9A-F]{6}$/.test(name);
