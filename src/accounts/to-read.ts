import type { Database } from "../core/postgres/connect.ts";
import { retiredSince } from "../core/store/accounts/account-states.ts";
import type { Account, Configured } from "./account.ts";
import { type Roster, readRoster, type Selection, selectedAccounts } from "./roster.ts";

/** The accounts of a selection, as a command reads them at the exchange. */
type AccountsToRead = {
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
  const roster = await readRoster(db, config, { accounts: selection.accounts });
  const selected = selectedAccounts({ ...config, accounts: roster.accounts }, selection);
  return { selected, ...readBySync(selected, roster) };
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
