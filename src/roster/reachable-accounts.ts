import type { Database, Queryable } from "../db/connect.ts";
import { readReachable, type Unreachable } from "../db/distribution/reachable.ts";
import { DatabaseError } from "../errors.ts";
import { countLedgers } from "../health/ledgers.ts";
import { readSyncedStreams } from "../ledger/known-time.ts";
import { unreachableLines } from "../output/unreachable-text.ts";
import type { Stream } from "../sync/store.ts";
import { everyName, knownNames } from "./account-names.ts";
import type { Config } from "./config.ts";
import type { Selection } from "./selection.ts";

type Names = Pick<Config, "accountNames" | "added">;

/** The accounts that were asked for; undefined for all. Of reachable ones, those that are known. */
export const askedAmong = async (
  db: Database,
  config: Names,
  { accounts }: Selection,
  reachable: readonly string[] | undefined,
): Promise<readonly string[] | undefined> =>
  accounts === undefined && reachable !== undefined
    ? knownNames(db, config, reachable)
    : (reachable ?? accounts);

/** The names to probe where the selected accounts cannot be read. */
export const namesToProbe = async (
  db: Database,
  config: Names,
  { accounts }: Selection,
): Promise<readonly string[]> => accounts ?? (await everyName(db, config));

export type ReachableSelection = {
  /** Without accounts whose rows cannot be read. */
  readonly selection: Selection;
  /** The same, but all accounts where none was named: its names may be mistyped. */
  readonly typed: Selection;
  readonly unreachable: readonly Unreachable[];
};

/**
 * Leaves out accounts whose rows cannot be read.
 * @throws DatabaseError where none can be read.
 */
export async function reachableSelection(
  db: Database,
  config: Names,
  selection: Selection,
): Promise<ReachableSelection> {
  const namesOf = () => namesToProbe(db, config, selection);
  const { result: accounts, unreachable } = await readReachable(db, namesOf, async (reachable) => {
    // A row of each account, wherever it lies.
    if (reachable === undefined) await countLedgers(db, { accounts: selection.accounts });
    return askedAmong(db, config, selection, reachable);
  });
  const typed = { ...selection, accounts: selection.accounts && accounts };
  return { selection: { ...selection, accounts }, typed, unreachable };
}

/**
 * For a file that leaves the house: it has all accounts that were asked for, or is not written.
 * @throws DatabaseError where some cannot be read, with their names.
 */
export async function refuseUnreachable(
  db: Database,
  config: Names,
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

/**
 * The stored ledgers of these accounts, or of all. All ledgers if a name is unknown, because its
 * error lists the known ones.
 */
export async function storedAmong(
  db: Queryable,
  config: Names,
  accounts: readonly string[] | undefined,
): Promise<readonly Stream[]> {
  const stored = await readSyncedStreams(db, accounts);
  const names = new Set([...config.accountNames, ...stored.map(({ account }) => account)]);
  return accounts?.every((name) => names.has(name)) === false ? readSyncedStreams(db) : stored;
}
