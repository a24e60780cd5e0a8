import { readAddedNames } from "../db/accounts/added-accounts.ts";
import type { Queryable } from "../db/connect.ts";
import { readLeasedNames } from "../db/lease/leased-accounts.ts";
import { readLedgerAccounts } from "../ledger/known-time.ts";
import type { Config } from "./config.ts";

type Names = Pick<Config, "accountNames" | "added">;

/**
 * Every account that is configured, was added or was ever synced, and the former names of renamed
 * ones. In a distributed database, the coordinator alone is asked: it answers while a node is down.
 */
export async function everyName(db: Queryable, config: Names): Promise<readonly string[]> {
  return [...new Set([...(await namedIn(db, config)), ...(await readLeasedNames(db))])];
}

/**
 * The accounts that are configured, were added or have rows: configured ones first.
 * @param among only these; default all.
 */
export async function knownNames(
  db: Queryable,
  config: Names,
  among?: readonly string[],
): Promise<readonly string[]> {
  const named = await namedIn(db, config);
  const known = [...new Set([...named, ...(await readLedgerAccounts(db, among))])];
  if (among === undefined) return known;
  const wanted = new Set(among);
  return known.filter((name) => wanted.has(name));
}

async function namedIn(db: Queryable, config: Names): Promise<readonly string[]> {
  const added = await readAddedNames(db, config);
  return [...config.accountNames, ...added.toSorted()];
}
