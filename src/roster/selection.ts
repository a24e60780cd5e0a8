import type { ProductType } from "../contract/product-types.ts";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { streamName } from "../output/stream-names.ts";
import type { Stream } from "../sync/store.ts";
import type { Config } from "./config.ts";
import { productTypeOf } from "./settings.ts";

/** The stored ledgers that a command reads. Undefined selects all. */
export type Selection = {
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly ProductType[] | undefined;
};

export const everyLedger: Selection = { accounts: undefined, productTypes: undefined };

/** @throws UsageError for a word that is no product type. */
export function selectionOf(words: {
  readonly account?: readonly string[];
  readonly product?: readonly string[];
}): Selection {
  return {
    accounts: words.account,
    productTypes: words.product?.flatMap((word) => word.split(",")).map(productTypeOf),
  };
}

/**
 * The selected ledgers that are configured or stored.
 * @throws UsageError for a name that is neither.
 */
export function selectedStreams(
  selection: Selection,
  config: Config,
  stored: readonly Stream[],
): readonly Stream[] {
  refuseUnknownAccounts(selection, config, stored);
  const known = [...configuredStreams(config), ...stored];
  const byName = new Map(known.map((stream) => [streamName(stream), stream]));
  const selected = [...byName.values()].filter((stream) => isSelected(selection, stream));
  for (const type of selection.productTypes ?? []) {
    if (selected.some(({ productType }) => productType === type)) continue;
    throw new UsageError(`--product ${type} is neither configured nor stored`);
  }
  return selected;
}

/**
 * Refuses names that are neither configured nor stored. An account whose key is gone from the
 * configuration still has its history.
 */
export function refuseUnknownAccounts(
  selection: Selection,
  config: Config,
  stored: readonly Stream[],
): void {
  const names = [...config.accountNames, ...stored.map((one) => one.account)];
  const known = [...new Set(names)];
  for (const name of selection.accounts ?? []) {
    if (known.includes(name)) continue;
    throw new UsageError(
      `--account ${name}: there is no such account${didYouMean(name, known)} (known: ${known.join(", ")})`,
    );
  }
}

export const isSelected = (
  { accounts, productTypes }: Selection,
  { account, productType }: Stream,
): boolean =>
  (accounts?.includes(account) ?? true) && (productTypes?.includes(productType) ?? true);

/** The ledgers that the configuration names. */
export const configuredStreams = ({ accounts }: Config): readonly Stream[] =>
  accounts.flatMap(({ name, productTypes }) =>
    productTypes.map((productType) => ({ account: name, productType })),
  );
