import { readAddedAccounts } from "../db/accounts/added-accounts.ts";
import { type Pauses, readPauses } from "../db/accounts/pauses.ts";
import { readRetirements } from "../db/accounts/retirement.ts";
import type { Database, Queryable } from "../db/connect.ts";
import { readReachable, type Unreachable } from "../db/distribution/reachable.ts";
import type { Account } from "./account.ts";
import { type Config, unknownAccount } from "./config.ts";
import { withoutRetired } from "./retired.ts";

/** A configuration, and a line for each account that was to be read and is left out. */
export type ToRead = { readonly config: Config; readonly notices: readonly string[] };

/**
 * The accounts to read: configured and added ones, without retired and paused ones.
 * @param among only these; default all.
 * @throws UsageError if a requested account does not exist.
 */
export async function accountsToRead(
  db: Queryable,
  given: Config,
  among?: readonly string[],
): Promise<ToRead> {
  return withoutIdle(db, onlyThose(await withAdded(db, given), among));
}

/**
 * The accounts to read, without accounts whose rows cannot be read.
 * @throws as {@link accountsToRead} does.
 */
export async function reachableToRead(
  db: Database,
  given: Config,
): Promise<ToRead & { readonly unreachable: readonly Unreachable[] }> {
  const all = await withAdded(db, given);
  const namesOf = async () => all.accounts.map(({ name }) => name);
  const { result, unreachable } = await readReachable(db, namesOf, (some) =>
    withoutIdle(db, onlyThose(all, some)),
  );
  return { ...result, unreachable };
}

function onlyThose(config: Config, among: readonly string[] | undefined): Config {
  if (among === undefined) return config;
  const names = new Set(among);
  return { ...config, accounts: config.accounts.filter(({ name }) => names.has(name)) };
}

async function withoutIdle(db: Queryable, all: Config): Promise<ToRead> {
  const names = all.accounts.map(({ name }) => name);
  const awake = withoutPaused(all, await readPauses(db, names));
  const read = withoutRetired(awake.config, await readRetirements(db, names));
  return { config: read.config, notices: [...awake.notices, ...read.notices] };
}

/**
 * The configuration plus the accounts of the table `accounts`, if the configuration says how to
 * look up their credentials. For an account in both, the configuration counts.
 * @throws UsageError if a requested account does not exist.
 */
export async function withAdded(db: Queryable, config: Config): Promise<Config> {
  const { added, accounts, accountNames, ...others } = config;
  if (added === undefined) return config;
  const configured = new Set(accountNames);
  const stored = await readAddedAccounts(db, added.names);
  const missing = added.names?.find((name) => stored.every((one) => one.name !== name));
  if (missing !== undefined) throw unknownAccount(missing, accountNames);
  const own = stored.filter(({ name }) => !configured.has(name)).map(added.accountOf);
  const isLeft = ({ productTypes, ltv = false }: Account) => productTypes.length > 0 || ltv;
  return {
    ...others,
    accounts: [...accounts, ...own.filter(isLeft)],
    accountNames: [...accountNames, ...own.map(({ name }) => name)],
  };
}

/**
 * The configuration and the table `accounts`, reduced to these accounts. Names in neither are left
 * out.
 */
export async function configuredAmong(
  db: Queryable,
  config: Config,
  names: readonly string[],
): Promise<Config> {
  const { added, accountNames, ...others } = config;
  const known = config.accounts.filter(({ name }) => names.includes(name));
  const stored = added === undefined ? [] : await readAddedAccounts(db, names);
  const own = stored
    .filter(({ name }) => !accountNames.includes(name))
    .flatMap((one) => added?.accountOf(one) ?? []);
  return {
    ...others,
    accounts: [...known, ...own],
    accountNames: [...accountNames, ...own.map(({ name }) => name)],
  };
}

function withoutPaused(config: Config, pauses: Pauses): ToRead {
  const paused = config.accounts.filter(({ name }) => pauses.has(name));
  return {
    config: { ...config, accounts: config.accounts.filter(({ name }) => !pauses.has(name)) },
    notices: paused.map(
      ({ name }) =>
        `${name}: not read, since it is paused; the exchange deletes its bills after 90 days ` +
        `even so; to read it again: bill-sync accounts resume ${name}`,
    ),
  };
}
