import {
  isDemoProductType,
  type ProductType,
  unifiedProductTypes,
} from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import {
  type AccountStates,
  noStates,
  readAccountStates,
  retiredSince,
  type StoredState,
} from "../db/accounts/account-states.ts";
import { readAddedAccounts } from "../db/accounts/added-accounts.ts";
import type { Queryable } from "../db/connect.ts";
import { UsageError } from "../errors.ts";
import { readSyncedStreams } from "../ledger/known-time.ts";
import { modeOf } from "../sync/account-state.ts";
import type { Stream } from "../sync/store.ts";
import type { Account } from "./account.ts";
import { type Config, unknownAccount } from "./config.ts";
import { productTypeOf } from "./settings.ts";

/** The ledgers that a command is of. Undefined selects all. */
export type Selection = {
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly ProductType[] | undefined;
};
type Which = { readonly [name in keyof Selection]?: Selection[name] };

export const everyLedger: Selection = { accounts: undefined, productTypes: undefined };

/** @throws UsageError for a word that is no product type. */
export const selectionOf = (words: {
  readonly account?: readonly string[];
  readonly product?: readonly string[];
}): Selection => ({
  accounts: words.account,
  productTypes: words.product?.flatMap((word) => word.split(",")).map(productTypeOf),
});

export const isSelected = (
  { accounts, productTypes }: Which,
  { account, productType }: Stream,
): boolean =>
  (accounts?.includes(account) ?? true) && (productTypes?.includes(productType) ?? true);

/** What a configuration says of accounts. */
export type Configured = Pick<Config, "accounts" | "accountNames" | "namesAccounts" | "added">;

/** Why a ledger is read or is not. */
export type LedgerState =
  | "read"
  | "paused"
  | "retired"
  | "closed"
  | "not available"
  | "not configured";

export type RosterLedger = Stream & {
  readonly state: LedgerState;
  /** Whether a run has planned to read it. */
  readonly isStored: boolean;
  readonly isConfigured: boolean;
  readonly isDemo: boolean;
};

export type Roster = {
  readonly ledgers: readonly RosterLedger[];
  /** The configured and the added accounts. */
  readonly accounts: readonly Account[];
  readonly states: AccountStates;
};

/**
 * Every ledger that is configured, added or stored, and what became of it: the only place that decides which
 * ledgers a command is of.
 * @param among the accounts to read of those that are selected: without those that cannot be reached.
 * @throws UsageError for a selected name that none of them has.
 */
export async function readRoster(
  db: Queryable,
  config: Configured,
  selection: Which = everyLedger,
  among: readonly string[] | undefined = selection.accounts,
): Promise<Roster> {
  const stored = await readSyncedStreams(db, among);
  const rows = config.added === undefined ? [] : await readAddedAccounts(db, among);
  const accounts = accountsOf(config, rows, among);
  const states = await readAccountStates(db, among);
  const reachable = selection.accounts?.filter((name) => among?.includes(name) ?? true);
  const names = new Set([
    ...config.accountNames,
    ...[...rows, ...accounts].map(({ name }) => name),
    ...stored.map(({ account }) => account),
  ]);
  // An error names all that there are.
  const all =
    (reachable?.every((name) => names.has(name)) ?? true) ? [] : await readSyncedStreams(db);
  for (const { account } of all) names.add(account);
  const known = { accounts, stored, states, names: [...names] };
  return rosterOf(config, { ...selection, accounts: reachable }, known);
}

/** What is known of accounts: those that are configured or added, and what is stored. */
type Known = Pick<Roster, "accounts" | "states"> & {
  readonly stored: readonly Stream[];
  readonly names: readonly string[];
};

/** The roster of a configuration, from what is known of its accounts. @throws as {@link readRoster} does. */
export function rosterOf(
  config: Configured,
  selection: Which,
  {
    accounts = config.accounts,
    stored,
    states,
    names = config.accountNames,
  }: Partial<Known> & Pick<Known, "stored" | "states">,
): Roster {
  const unknown = selection.accounts?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw unknownAccount(unknown, names);
  // A name that nobody configured is the default's, unless it was typed.
  const configured = config.namesAccounts
    ? accounts
    : accounts.filter(({ name }) => selection.accounts?.includes(name));
  const byName = new Map(configured.map((one) => [one.name, one]));
  const storedBy = Map.groupBy(stored, ({ account }) => account);
  const whole = [...new Set([...byName.keys(), ...storedBy.keys()])].flatMap((name) =>
    ledgersOf(name, byName.get(name), storedBy.get(name) ?? [], states.of(name)),
  );
  for (const type of selection.productTypes ?? []) {
    const isConfigured = accounts.some(({ productTypes }) => productTypes.includes(type));
    if (!isConfigured && stored.every(({ productType }) => productType !== type))
      throw new UsageError(`--product ${type} is neither configured nor stored`);
  }
  const ledgers = whole.filter((ledger) => isSelected(selection, ledger));
  return { ledgers, accounts, states };
}

/** The ledgers that a command shows: without those that nobody asked for, and that no run has read. */
export const listed = ({ ledgers }: Roster): readonly RosterLedger[] =>
  ledgers.filter(({ isStored, isConfigured }) => isStored || isConfigured);

/** The ledgers that wait for their first run, as findings ask for them. */
export const isNeverRead = ({ isStored, state }: RosterLedger): boolean =>
  !isStored && (state === "read" || state === "not configured");

/** Reads the ledgers of all accounts, or of some. */
export type ReadRoster = (
  db: Queryable,
  accounts?: readonly string[],
) => Promise<readonly RosterLedger[]>;

export const noRoster: ReadRoster = async () => [];

export const rosterReader =
  (config: Configured): ReadRoster =>
  async (db, accounts) =>
    (await readRoster(db, config, everyLedger, accounts)).ledgers;

/** Before the first migration. */
export const nothingStored = { stored: [], states: noStates } as const;

function ledgersOf(
  name: string,
  account: Account | undefined,
  stored: readonly Stream[],
  state: StoredState,
): readonly RosterLedger[] {
  const storedTypes = stored.map(({ productType }) => productType);
  const readable = account === undefined ? [] : readableTypes(account, state);
  // All categories of a unified account share its balances: who reads one lacks the others.
  const shared =
    state.mode?.is === "unified" && storedTypes.some((type) => modeOf(type) === "unified")
      ? unifiedProductTypes.filter((type) => !isRefused(state, type))
      : [];
  return [...new Set([...readable, ...storedTypes, ...shared])].map((productType) => {
    const isStored = storedTypes.includes(productType);
    const isConfigured = readable.includes(productType);
    const isWanted = account?.productTypes.includes(productType) ?? false;
    const isDemoKey = isStored ? state.isDemo : (account?.demo ?? state.isDemo);
    return {
      account: name,
      productType,
      state: stateOf(state, productType, { isConfigured, isWanted }),
      isStored,
      isConfigured,
      isDemo: isDemoKey || isDemoProductType(productType),
    };
  });
}

function stateOf(
  state: StoredState,
  productType: ProductType,
  { isConfigured, isWanted }: { readonly isConfigured: boolean; readonly isWanted: boolean },
): LedgerState {
  if (retiredSince(state, productType) !== undefined) return "retired";
  if (closedSince(state, productType) !== undefined) return "closed";
  if (state.pausedAt !== undefined) return "paused";
  if (isConfigured) return "read";
  return isWanted ? "not available" : "not configured";
}

const closedSince = ({ closed }: StoredState, productType: ProductType): EpochMs | undefined =>
  closed.find((one) => one.productType === productType)?.closedAt;

const isRefused = ({ notAvailable }: StoredState, productType: ProductType): boolean =>
  notAvailable.some((one) => one.productType === productType);

/**
 * The product types that an account has and its key can read, as the last runs learned. An account of unknown
 * mode counts as classic.
 */
export function readableTypes(
  { productTypes, readsAll = false }: Account,
  state: StoredState,
): readonly ProductType[] {
  const { mode } = state;
  const ofMode = productTypes.filter((type) => modeOf(type) === (mode?.is ?? "classic"));
  // For an account of unknown mode, the configured product types are all that is known.
  if (!readsAll) return mode === undefined && ofMode.length === 0 ? productTypes : ofMode;
  return ofMode.filter((type) => !isRefused(state, type));
}

/** The configured accounts, and those of the table `accounts`. For an account in both, the configuration counts. */
export function accountsOf(
  { accounts, accountNames, added }: Configured,
  rows: Awaited<ReturnType<typeof readAddedAccounts>>,
  among: readonly string[] | undefined,
): readonly Account[] {
  const configured = new Set(accountNames);
  const others = rows
    .filter(({ name }) => !configured.has(name))
    .flatMap((row) => added?.accountOf(row) ?? []);
  const names = among && new Set(among);
  return [...accounts, ...others].filter(({ name }) => names?.has(name) ?? true);
}
