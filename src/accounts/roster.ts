import {
  isUnified,
  type ProductType,
  unifiedProductTypes,
} from "../core/contract/product-types.ts";
import type { Database, Queryable } from "../core/postgres/connect.ts";
import {
  type AccountStates,
  noStates,
  readAccountStates,
  retiredSince,
  type StoredState,
} from "../core/store/accounts/account-states.ts";
import { modeOf } from "../core/words/account-state.ts";
import type { Ledger } from "../core/words/ledger.ts";
import { UsageError } from "../lib/errors.ts";
import type { EpochMs } from "../lib/time.ts";
import type { Account, Configured } from "./account.ts";
import { unknownAccount } from "./config.ts";
import { productTypeOf } from "./settings.ts";

/** The ledgers that a command is of. Undefined selects all. */
export type Selection = {
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly ProductType[] | undefined;
};

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
  { accounts, productTypes }: Partial<Selection>,
  { account, productType }: Ledger,
): boolean =>
  (accounts?.includes(account) ?? true) && (productTypes?.includes(productType) ?? true);

/** Why a ledger is read or is not. */
export const ledgerStates = [
  "active",
  "retired",
  "ended",
  "not-available",
  "not-configured",
] as const;
type LedgerState = (typeof ledgerStates)[number];

export type RosterLedger = Ledger & {
  readonly state: LedgerState;
  /** When it was retired, or ended. */
  readonly since: EpochMs | undefined;
  /** Whether a run has planned to read it. */
  readonly isStored: boolean;
  readonly isConfigured: boolean;
};

type Roster = {
  readonly ledgers: readonly RosterLedger[];
  /** The configured accounts. */
  readonly accounts: readonly Account[];
  readonly states: AccountStates;
};

/**
 * Every ledger that is configured or stored, and what became of it: the only place that decides which
 * ledgers a command is of.
 * @param db undefined before the first migration.
 * @throws UsageError for a selected name that none of them has.
 */
export async function readRoster(
  db: Queryable | undefined,
  config: Configured,
  selection: Partial<Selection> = everyLedger,
): Promise<Roster> {
  const { accounts: typed } = selection;
  const accounts = config.accounts.filter(({ name }) => typed?.includes(name) ?? true);
  const states = db ? await readAccountStates(db, typed) : noStates;
  const names = new Set([...config.accountNames, ...states.accounts]);
  const unknown = typed?.find((name) => !names.has(name));
  if (unknown !== undefined) {
    const stored = db ? (await readAccountStates(db)).accounts : [];
    throw unknownAccount(unknown, [...new Set([...config.accountNames, ...stored])]);
  }
  // A name that nobody configured is the default's, unless it was typed and nothing is stored of it.
  const configured = new Map(
    accounts
      .filter(
        ({ name }) =>
          config.namesAccounts || (typed?.includes(name) && !states.accounts.includes(name)),
      )
      .map((account) => [account.name, account]),
  );
  const whole = [...new Set([...configured.keys(), ...states.accounts])].flatMap((name) =>
    ledgersOf(name, configured.get(name), states.of(name)),
  );
  for (const type of selection.productTypes ?? []) {
    const isWanted = accounts.some(({ productTypes }) => productTypes.includes(type));
    if (!isWanted && whole.every(({ isStored, productType }) => !isStored || productType !== type))
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
  !isStored && (state === "active" || state === "not-configured");

/**
 * What a report or an export is of: without the accounts of demo trading, whose coins are no money, unless they are named.
 * @param say takes a line about what is left out.
 * @throws UsageError for a name or a product type that is neither configured nor stored.
 */
export async function selectionOfBooks<Chosen extends Selection>(
  db: Queryable,
  config: Configured,
  selection: Chosen,
  say: (line: string) => void,
): Promise<Chosen> {
  const { ledgers } = await readRoster(db, config, selection);
  const demo = config.accounts.flatMap((account) => (account.demo ? account.name : []));
  if (selection.accounts !== undefined || demo.length === 0) return selection;
  const stored = [
    ...new Set(ledgers.flatMap(({ account, isStored }) => (isStored ? account : []))),
  ];
  const leftOut = stored.filter((name) => demo.includes(name));
  if (leftOut.length > 0)
    say(`left out, since demo trading is no money: ${leftOut.join(", ")}; --account includes it`);
  return { ...selection, accounts: stored.filter((name) => !demo.includes(name)) };
}

/** Reads the ledgers of all accounts, or of some. */
export type ReadRoster = (
  db: Queryable,
  accounts?: readonly string[],
) => Promise<readonly RosterLedger[]>;

export const rosterReader =
  (config: Configured): ReadRoster =>
  async (db, accounts) =>
    (await readRoster(db, config, { accounts })).ledgers;

function ledgersOf(
  name: string,
  account: Account | undefined,
  state: StoredState,
): readonly RosterLedger[] {
  const { stored } = state;
  const readable = account === undefined ? [] : readableTypes(account, state);
  // All categories of a unified account share its balances: without one of them, none is whole.
  const shared =
    state.mode?.name === "unified" && stored.some(isUnified)
      ? unifiedProductTypes.filter((type) => !isRefused(state, type))
      : [];
  const present = new Set([...readable, ...stored, ...shared]);
  const inOrder = new Set([...(account?.productTypes ?? []), ...present]);
  const types = [...inOrder].filter((type) => present.has(type));
  return types.map((productType) => {
    const isStored = stored.includes(productType);
    const isConfigured = readable.includes(productType);
    const isWanted = account?.productTypes.includes(productType) ?? false;
    const { state: became, since } = stateOf(state, productType, { isConfigured, isWanted });
    return { account: name, productType, state: became, since, isStored, isConfigured };
  });
}

function stateOf(
  state: StoredState,
  productType: ProductType,
  { isConfigured, isWanted }: { readonly isConfigured: boolean; readonly isWanted: boolean },
): Pick<RosterLedger, "state" | "since"> {
  const [retired, ended] = [retiredSince(state, productType), endedSince(state, productType)];
  if (retired !== undefined) return { state: "retired", since: retired };
  if (ended !== undefined) return { state: "ended", since: ended };
  const unread = isWanted ? "not-available" : "not-configured";
  return { state: isConfigured ? "active" : unread, since: undefined };
}

export const endedSince = ({ ended }: StoredState, productType: ProductType): EpochMs | undefined =>
  ended.find((one) => one.productType === productType)?.endedAt;

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
  const ofMode = productTypes.filter((type) => modeOf(type) === (mode?.name ?? "classic"));
  // For an account of unknown mode, the configured product types are all that is known.
  if (!readsAll) return mode === undefined && ofMode.length === 0 ? productTypes : ofMode;
  return ofMode.filter((type) => !isRefused(state, type));
}

/**
 * The accounts of a selection, each with the selected product types. Those that then read nothing are left out.
 * @throws UsageError for a name or a product type that none of them has.
 */
export function selectedAccounts(
  { accounts, accountNames }: Pick<Configured, "accounts" | "accountNames">,
  { accounts: names, productTypes: types }: Partial<Selection>,
): readonly Account[] {
  const unknown = names?.find((name) => !accountNames.includes(name));
  if (unknown !== undefined) throw unknownAccount(unknown, accountNames);
  const named = accounts.filter(({ name }) => names?.includes(name) ?? true);
  if (types === undefined) return named;
  const missing = types.find((type) =>
    named.every(({ productTypes }) => !productTypes.includes(type)),
  );
  if (missing !== undefined)
    throw new UsageError(
      `--product ${missing} is not configured: PRODUCT_TYPES or ACCOUNTS_FILE leaves it out`,
    );
  return named.flatMap((account): readonly Account[] => {
    const productTypes = account.productTypes.filter((type) => types.includes(type));
    // What is typed is named.
    return productTypes.length === 0 ? [] : [{ ...account, productTypes, readsAll: false }];
  });
}

/** The accounts of a selection, as a command reads them at the exchange. */
export type AccountsToRead = {
  readonly selected: readonly Account[];
  /** Those that a sync reads: without what is retired. The exchange says what it serves of them. */
  readonly accounts: readonly Account[];
  /** A line for each account of which a sync leaves something out. */
  readonly notSynced: readonly string[];
};

/**
 * The configured accounts that a selection names.
 * @param db undefined before the first migration.
 * @throws UsageError for a name or a product type that no account has.
 */
export async function accountsToRead(
  db: Database | undefined,
  config: Configured,
  selection: Selection,
): Promise<AccountsToRead> {
  const { accounts: named, states } = await readRoster(db, config, {
    accounts: selection.accounts,
  });
  const selected = selectedAccounts({ ...config, accounts: named }, selection);
  const notSynced: string[] = [];
  const accounts = selected.flatMap((account): readonly Account[] => {
    const { name, productTypes, ltv = false, readsAll = false } = account;
    const state = states.of(name);
    const retired = productTypes.filter((type) => retiredSince(state, type) !== undefined);
    if (retired.length === 0) return [account];
    const isWhole = retired.length === productTypes.length;
    notSynced.push(
      `${name}: ${readsAll && isWhole ? "every product type" : retired.join(", ")} configured but ` +
        `retired, so not synced; to sync again: bill-sync accounts retire --undo ${name}`,
    );
    const isLoanRead = ltv && !state.retired.has("");
    if (isWhole && !isLoanRead) return [];
    const left = productTypes.filter((type) => !retired.includes(type));
    return [{ ...account, productTypes: left, ltv: isLoanRead }];
  });
  return { selected, accounts, notSynced };
}
