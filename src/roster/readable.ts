import type { ProductType } from "../contract/product-types.ts";
import type { AccountStates } from "../db/accounts/account-states.ts";
import { streamName } from "../output/stream-names.ts";
import { type AccountState, modeOf } from "../sync/account-state.ts";
import type { Stream } from "../sync/store.ts";
import type { Account } from "./account.ts";
import type { Config } from "./config.ts";
import { configuredStreams, type Selection, selectedStreams } from "./selection.ts";

/**
 * The configuration, reduced to the product types that each account has and its key can read, as
 * the last runs learned. An account of unknown mode counts as classic.
 */
export const readable = (config: Config, states: AccountStates): Config => ({
  ...config,
  accounts: config.accounts.map((account) => ({
    ...account,
    productTypes: readableTypes(account, states.of(account.name)),
  })),
});

function readableTypes(
  { productTypes, readsAll = false }: Account,
  { mode, notAvailable }: AccountState,
): readonly ProductType[] {
  const own = productTypes.filter((type) => modeOf(type) === (mode?.is ?? "classic"));
  // For an account of unknown mode, the configured product types are all that is known.
  if (!readsAll) return mode === undefined && own.length === 0 ? productTypes : own;
  return own.filter((type) => notAvailable.every(({ productType }) => productType !== type));
}

/** The configured ledgers that can be read; none if no account is configured. */
export const readableStreams = (config: Config, states: AccountStates): readonly Stream[] =>
  config.namesAccounts ? configuredStreams(readable(config, states)) : [];

/**
 * The selected ledgers that are stored or can be read.
 * @throws UsageError for a name that is neither configured nor stored.
 */
export function knownStreams(
  selection: Selection,
  config: Config,
  { stored, states }: { readonly stored: readonly Stream[]; readonly states: AccountStates },
): readonly Stream[] {
  const known = [...stored, ...readableStreams(config, states)];
  const names = new Set(known.map(streamName));
  return selectedStreams(selection, config, stored).filter((stream) =>
    names.has(streamName(stream)),
  );
}
