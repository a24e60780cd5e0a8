import type { Account } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import { type Selection, selectedAccounts } from "../accounts/roster.ts";
import { contractProductTypes, contractTypeOf } from "../core/contract/product-types.ts";
import type { WantedLists } from "../core/sync/settings-lists.ts";
import { UsageError } from "../lib/errors.ts";
import { didYouMean } from "../lib/nearest.ts";

/** The parts of a sync, as `--only` names them. */
export const targetNames = ["bills", "ltv", "spot-pairs", "contracts"] as const;
export type Target = (typeof targetNames)[number];
export type Targets = ReadonlySet<Target>;

/** Symbols and contracts are public: a sync of nothing else needs no account and no key. */
export const isOfAccounts = (targets: Targets): boolean =>
  targets.has("bills") || targets.has("ltv");

/** The accounts with what the targets are of them. Those of which they are nothing are left out. */
export const forTargets = (accounts: readonly Account[], targets: Targets): readonly Account[] =>
  accounts
    .map((account) => ({
      ...account,
      productTypes: targets.has("bills") ? account.productTypes : [],
      ltv: targets.has("ltv") && account.ltv === true,
    }))
    .filter(({ productTypes, ltv }) => productTypes.length > 0 || ltv);

/** The lists that the targets name; of contracts, those of the product types of these accounts. */
export const listsOf = (targets: Targets, accounts: readonly Account[]): WantedLists => {
  const wanted = new Set(
    accounts.flatMap(({ productTypes }) => productTypes).map((type) => contractTypeOf(type)),
  );
  return {
    spotPairs: targets.has("spot-pairs"),
    contractsOf: targets.has("contracts")
      ? contractProductTypes.filter((type) => wanted.has(type))
      : [],
  };
};

/**
 * The targets of one or several `--only`, each a comma-separated list. All targets if there is
 * none.
 * @throws UsageError for an unknown word, with the nearest known one.
 */
export function targetsOf(words: readonly string[] = []): Targets {
  const typed = words.flatMap((word) => word.split(",")).map((word) => word.trim());
  const targets = targetNames.filter((name) => typed.includes(name));
  const wrong = typed.find((word) => word !== "" && !targets.some((name) => name === word));
  if (wrong === undefined) return new Set(targets.length === 0 ? targetNames : targets);
  const meant = didYouMean(wrong, targetNames) || ` (there are ${targetNames.join(", ")})`;
  throw new UsageError(`--only "${wrong}" is not a target of a sync${meant}`);
}

/** @throws UsageError if loan-to-value is the only target and no account wants it. */
export function assertLoanToValueWanted(
  config: Config,
  selection: Selection,
  targets: Targets,
): void {
  if (targets.has("ltv") && forTargets(selectedAccounts(config, selection), targets).length === 0)
    throw new UsageError("--only ltv: no account asks for it; set SYNC_LTV=true");
}
