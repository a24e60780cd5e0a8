import { readAddedAccounts } from "../db/accounts/added-accounts.ts";
import { readReachable, type Unreachable } from "../db/citus.ts";
import type { Database, Queryable } from "../db/connect.ts";
import { readLeasedNames } from "../db/lease/leased-accounts.ts";
import { DatabaseError } from "../errors.ts";
import { unreachableLines } from "../output/account-remarks.ts";
import type { Config } from "./config.ts";
import { type Configured, readRoster, type Selection } from "./roster.ts";

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
