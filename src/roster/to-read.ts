import { readAccountStates, retiredSince } from "../db/accounts/account-states.ts";
import { readAddedAccounts } from "../db/accounts/added-accounts.ts";
import { readReachable, type Unreachable } from "../db/citus.ts";
import type { Database, Queryable } from "../db/connect.ts";
import { readLeasedNames } from "../db/lease/lease.ts";
import { DatabaseError } from "../errors.ts";
import { unreachableLines } from "../output/account-remarks.ts";
import type { Account } from "./account.ts";
import { type Config, unknownAccount } from "./config.ts";
import { accountsOf, type Configured, readRoster, type Selection } from "./roster.ts";

/** A configuration for a sync, and a line for each account that was to be read and is left out. */
type ToRead = { readonly config: Config; readonly notices: readonly string[] };

/**
 * The configuration plus the accounts of the table `accounts`, if the configuration says how to look up their
 * credentials.
 * @throws UsageError if a requested account does not exist.
 */
export async function withAdded(
  db: Queryable,
  config: Config,
  among?: readonly string[],
): Promise<Config> {
  const { added, accountNames, ...others } = config;
  if (added === undefined) return { ...config, accounts: accountsOf(config, [], among) };
  const rows = await readAddedAccounts(db, added.names);
  const missing = added.names?.find((name) => rows.every((row) => row.name !== name));
  if (missing !== undefined) throw unknownAccount(missing, accountNames);
  const isLeft = ({ productTypes, ltv = false }: Account) => productTypes.length > 0 || ltv;
  return {
    ...others,
    accounts: accountsOf(config, rows, among).filter(isLeft),
    accountNames: [...new Set([...accountNames, ...rows.map(({ name }) => name)])],
  };
}

/**
 * The accounts that a sync reads: configured and added ones, without what is retired or paused. A run asks the
 * exchange itself what it can read of them.
 * @throws UsageError if a requested account does not exist.
 */
export async function accountsToRead(
  db: Queryable,
  given: Config,
  among?: readonly string[],
): Promise<ToRead> {
  const config = await withAdded(db, given, among);
  const states = await readAccountStates(
    db,
    config.accounts.map(({ name }) => name),
  );
  const notices: string[] = [];
  const accounts = config.accounts.flatMap((account): readonly Account[] => {
    const { name, productTypes, ltv = false, readsAll = false } = account;
    const state = states.of(name);
    if (state.pausedAt !== undefined) {
      notices.push(
        `${name}: not read, since it is paused; bills left unread for 90 days are lost; ` +
          `to read it again: bill-sync accounts resume ${name}`,
      );
      return [];
    }
    const retired = productTypes.filter((type) => retiredSince(state, type) !== undefined);
    const isWhole = retired.length === productTypes.length;
    if (retired.length > 0)
      notices.push(
        `${name}: ${readsAll && isWhole ? "every product type" : retired.join(", ")} configured but ` +
          `retired, so not read; to read again: bill-sync accounts unretire ${name}`,
      );
    const isRead = ltv && !state.retired.has("");
    if (retired.length > 0 && isWhole && !isRead) return [];
    return [
      {
        ...account,
        productTypes: productTypes.filter((type) => !retired.includes(type)),
        ltv: isRead,
      },
    ];
  });
  return { config: { ...config, accounts }, notices };
}

/**
 * The accounts that a sync reads, without those whose rows cannot be read.
 * @throws as {@link accountsToRead} does.
 */
export async function reachableToRead(
  db: Database,
  config: Config,
): Promise<ToRead & { readonly unreachable: readonly Unreachable[] }> {
  const all = await withAdded(db, config);
  const namesOf = async () => all.accounts.map(({ name }) => name);
  const { result, unreachable } = await readReachable(db, namesOf, (among) =>
    accountsToRead(db, all, among),
  );
  return { ...result, unreachable };
}

type Names = Pick<Config, "accountNames" | "added">;

/**
 * Every account that is configured, was added or was ever synced, and the former names of renamed
 * ones. In a distributed database, the coordinator alone is asked: it answers while a node is down.
 */
export async function everyName(db: Queryable, config: Names): Promise<readonly string[]> {
  const added = config.added === undefined ? [] : await readAddedAccounts(db);
  const names = [...config.accountNames, ...added.map(({ name }) => name)];
  return [...new Set([...names, ...(await readLeasedNames(db))])];
}

/**
 * Reads without accounts whose rows cannot be read.
 * @param read is called with undefined for all accounts, and perhaps again with the reachable ones.
 */
export const readSelected = <T>(
  db: Database,
  config: Names,
  { accounts }: Selection,
  read: (among: readonly string[] | undefined) => Promise<T>,
) =>
  readReachable(
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
  config: Config,
  selection: Selection,
): Promise<void> {
  const { unreachable } = await reachableSelection(db, config, selection);
  if (unreachable.length === 0) return;
  throw new DatabaseError(
    `nothing was written: ${unreachableLines(unreachable).join("; ")}; name the others by --account`,
  );
}

/**
 * The error for numbers that were typed and not found, where they may be those of accounts whose rows
 * cannot be read.
 * @param notFound such as "3: no open break is named so".
 */
export const notFoundAmong = (
  notFound: string,
  unreachable: readonly Unreachable[],
): DatabaseError =>
  new DatabaseError(
    `${notFound} in the accounts that can be read; nothing was changed; try it again once ` +
      `the others can be read, too: ${unreachableLines(unreachable).join("; ")}`,
  );
