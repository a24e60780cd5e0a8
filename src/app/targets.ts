import type { Config } from "../config/config.ts";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";

/** What a sync brings: the three operations, as `--only` names them. */
const allParts = ["bills", "ltv", "symbols"] as const;
export type Part = (typeof allParts)[number];
export type Parts = ReadonlySet<Part>;

export const everything: Parts = new Set(allParts);

/**
 * The parts that `--only` names, in a list with commas or in several; all where it names none.
 * @throws UsageError for a word that is none, with the nearest that is.
 */
export function partsOf(words: readonly string[] = []): Parts {
  const wanted = words
    .flatMap((word) => word.split(","))
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .map(partOf);
  return wanted.length === 0 ? everything : new Set(wanted);
}

function partOf(word: string): Part {
  const part = allParts.find((known) => known === word);
  if (part !== undefined) return part;
  const meant = didYouMean(word, allParts) || ` (there are ${allParts.join(", ")})`;
  throw new UsageError(`--only "${word}" is not a part of a sync${meant}`);
}

/** Symbols are public: whoever asks for nothing else needs no key. */
export const needsCredentials = (parts: Parts): boolean => parts.has("bills") || parts.has("ltv");

/**
 * The configuration for these parts only: an account of which none is wanted is left out.
 * @throws UsageError where loan-to-value alone is wanted, and no account asks for it.
 */
export function withParts(config: Config, parts: Parts): Config {
  const accounts = config.accounts
    .map((account) => ({
      ...account,
      productTypes: parts.has("bills") ? account.productTypes : [],
      ltv: parts.has("ltv") && account.ltv === true,
    }))
    .filter(({ productTypes, ltv }) => productTypes.length > 0 || ltv);
  if (accounts.length === 0 && parts.has("ltv")) {
    throw new UsageError("--only ltv: no account asks for it; set SYNC_LTV=true");
  }
  return { ...config, accounts };
}
