import type { Database, Queryable } from "../core/postgres/connect.ts";
import { retiredSince } from "../core/store/accounts/account-states.ts";
import { readLeasedNames } from "../core/store/lease/lease.ts";
import { DatabaseError } from "../lib/errors.ts";
import { unreachableLines } from "../output/account-remarks.ts";
import { readReachable, type Unreachable } from "../wings/citus/citus.ts";
import type { Account, Configured } from "./account.ts";
import {
  everyLedger,
  type Roster,
  readRoster,
  type Selection,
  selectedAccounts,
} from "./roster.ts";

/** The accounts of a selection, as a command reads them at the exchange. */
export type AccountsToRead = {
  readonly selected: readonly Account[];
  /** Those that a sync reads: without what is retired. The exchange says what it serves of them. */
  readonly accounts: readonly Account[];
  /** A line for each account of which a sync leaves something out. */
  readonly notSynced: readonly string[];
  readonly unreachable: readonly Unreachable[];
};

/**
 * The configured accounts that a selection names, without those whose rows cannot be read.
 * @param db undefined before the first migration.
 * @throws UsageError for a name or a product type that no account has.
 */
export async function accountsToRead(
  db: Database | undefined,
  config: Configured,
  selection: Selection,
): Promise<AccountsToRead> {
  const read = async (among: readonly string[] | undefined) => ({
    among,
    roster: await readRoster(db, config, everyLedger, among),
  });
  const { result, unreachable } = await readSelected(db, config, selection, read);
  const { among, roster } = result;
  const selected = selectedAccounts(
    { ...config, accounts: roster.accounts },
    { ...selection, accounts: selection.accounts && among },
  );
  return { selected, ...readBySync(selected, roster), unreachable };
}

function readBySync(
  selected: readonly Account[],
  { states }: Roster,
): Pick<AccountsToRead, "accounts" | "notSynced"> {
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
  return { accounts, notSynced };
}

type Names = Pick<Configured, "accountNames">;

/**
 * Every account that is configured or was ever synced, and the former names of renamed
 * ones. In a distributed database, the coordinator alone is asked: it answers while a node is down.
 */
async function everyName(db: Queryable, config: Names): Promise<readonly string[]> {
  return [...new Set([...config.accountNames, ...(await readLeasedNames(db))])];
}

/**
 * Reads without accounts whose rows cannot be read.
 * @param db undefined before the first migration.
 * @param read is called with undefined for all accounts, and perhaps again with the reachable ones.
 */
export const readSelected = async <T>(
  db: Database | undefined,
  config: Names,
  { accounts }: Selection,
  read: (among: readonly string[] | undefined) => Promise<T>,
): Promise<{ readonly result: T; readonly unreachable: readonly Unreachable[] }> =>
  db === undefined
    ? { result: await read(accounts), unreachable: [] }
    : readReachable(
        db,
        async () => accounts ?? (await everyName(db, config)),
        (reachable) => read(reachable ?? accounts),
      );

/**
 * The selection, without accounts whose rows cannot be read.
 * @throws DatabaseError where none can be read; UsageError for a name that nobody has.
 */
export async function reachableSelection(
  db: Database,
  config: Configured,
  selection: Selection,
): Promise<{ readonly selection: Selection; readonly unreachable: readonly Unreachable[] }> {
  const { result: accounts, unreachable } = await readSelected(
    db,
    config,
    selection,
    async (among) => {
      await readRoster(db, config, selection, among);
      return among;
    },
  );
  return { selection: { ...selection, accounts }, unreachable };
}

/**
 * For a file that leaves the house: it has all accounts that were asked for, or is not written.
 * @throws DatabaseError where some cannot be read, with their names.
 */
export async function refuseUnreachable(
  db: Database,
  config: Configured,
  selection: Selection,
): Promise<void> {
  const { unreachable } = await reachableSelection(db, config, selection);
  if (unreachable.length === 0) return;
  throw new DatabaseError(
    `nothing was written: ${unreachableLines(unreachable).join("; ")}; name the others by --account`,
  );
}
