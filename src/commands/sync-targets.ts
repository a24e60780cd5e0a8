import {
  type ContractProductType,
  contractProductTypes,
  contractTypeOf,
} from "../contract/product-types.ts";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { type Config, withAccounts } from "../roster/config.ts";

/** The parts of a sync, as `--only` names them. */
const targetNames = ["bills", "ltv", "symbols", "contracts"] as const;
export type Target = (typeof targetNames)[number];
export type Targets = ReadonlySet<Target>;

export const allTargets: Targets = new Set(targetNames);

/**
 * The targets of one or several `--only`, each a comma-separated list. All targets if there is
 * none.
 * @throws UsageError for an unknown word, with the nearest known one.
 */
export function targetsOf(words: readonly string[] = []): Targets {
  const typed = words.flatMap((word) => word.split(",")).map((word) => word.trim());
  const targets = targetNames.filter((name) => typed.includes(name));
  const wrong = typed.find((word) => word !== "" && !targets.some((name) => name === word));
  if (wrong === undefined) return targets.length === 0 ? allTargets : new Set(targets);
  const meant = didYouMean(wrong, targetNames) || ` (there are ${targetNames.join(", ")})`;
  throw new UsageError(`--only "${wrong}" is not a target of a sync${meant}`);
}

/** Symbols and contracts are public: a sync of nothing else needs no key. */
export const needsCredentials = (targets: Targets): boolean =>
  targets.has("bills") || targets.has("ltv");

/** The product types whose contracts a sync reads, from the product types that it is for. */
export function contractTypesOf({ accounts, added }: Config): readonly ContractProductType[] {
  // Added accounts are not known yet: their defaults stand for all of them.
  const others = added?.accountOf({ name: "", productTypes: undefined }).productTypes ?? [];
  const wanted = [...accounts.flatMap(({ productTypes }) => productTypes), ...others];
  return contractProductTypes.filter((type) => wanted.some((own) => contractTypeOf(own) === type));
}

/**
 * The configuration reduced to these targets. Accounts that want none of them are left out.
 * @throws UsageError if loan-to-value is the only target and no account wants it.
 */
export function forTargets(config: Config, targets: Targets): Config {
  const limited = withAccounts(config, (account) => ({
    ...account,
    productTypes: targets.has("bills") ? account.productTypes : [],
    ltv: targets.has("ltv") && account.ltv === true,
  }));
  if (limited.accounts.length === 0 && targets.has("ltv") && limited.added === undefined)
    throw new UsageError("--only ltv: no account asks for it; set SYNC_LTV=true");
  return limited;
}
