import { withAdded } from "../app/accounts-to-read.ts";
import { type ExitCode, type Io, print, tell } from "../app/io.ts";
import { refuseUnknownAccounts } from "../app/selection.ts";
import type { Config } from "../config/config.ts";
import { accountName, productTypeOf } from "../config/settings.ts";
import { addAccount } from "../db/accounts/added-accounts.ts";
import { pause, resume } from "../db/accounts/pauses.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { readSyncedStreams } from "../ledger/checkpoints.ts";

/** The options of `accounts add`. */
export type AddOptions = {
  readonly product?: readonly string[];
  readonly demo: boolean;
  readonly ltv: boolean;
  readonly riskUnit?: readonly string[];
};

/**
 * `accounts add`: syncs read the account from the next one on. No secret is asked for or stored.
 */
export async function addAccountCommand(
  config: Config,
  io: Io,
  name: string,
  { product, demo, ltv, riskUnit = [] }: AddOptions,
): Promise<ExitCode> {
  const { pattern, form } = accountName;
  if (!pattern.test(name)) throw new UsageError(`"${name}" is not a name: ${form}`);
  const wrong = riskUnit.find((id) => !/^[\w-]{1,64}$/.test(id));
  if (wrong !== undefined) throw new UsageError(`--risk-unit "${wrong}" is not a risk unit's ID`);
  const productTypes = product?.flatMap((word) => word.split(",")).map(productTypeOf);
  if (config.accountNames.includes(name)) {
    throw new UsageError(`account ${name} is configured already; an account is added once`);
  }
  await using database = await openMigrated(config, io);
  const isLoan = ltv || riskUnit.length > 0;
  const account = { name, productTypes, demo, ltv: isLoan, riskUnitIds: riskUnit };
  if (!(await addAccount(database.db, account))) {
    throw new UsageError(`account ${name} was added before; accounts list shows all`);
  }
  if (config.added !== undefined) print(io, `account ${name} is added: the next sync reads it`);
  else {
    print(io, `account ${name} is added, and no sync reads it yet`);
    tell(
      io,
      "nothing says yet how to look up the credentials of added accounts: set ACCOUNTS_FILE " +
        'to a file with {"credentials": {"command": ["PROGRAM", "{account}"]}}; where it names a ' +
        "directory, an account is added by its file there",
    );
  }
  return 0;
}

/**
 * `accounts pause`: no sync reads the account until it is resumed. The exchange forgets meanwhile.
 */
export async function pauseAccount(config: Config, io: Io, name: string): Promise<ExitCode> {
  await using database = await openMigrated(config, io);
  await refuseUnknown(database.db, config, name);
  await pause(database.db, name);
  print(
    io,
    `account ${name} is paused: no sync reads it until bill-sync accounts resume ${name}; the ` +
      "exchange deletes its bills after 90 days even so",
  );
  return 0;
}

/** `accounts resume`: the next sync continues where the last one ended. */
export async function resumeAccount(config: Config, io: Io, name: string): Promise<ExitCode> {
  await using database = await openMigrated(config, io);
  await refuseUnknown(database.db, config, name);
  const wasPaused = await resume(database.db, name);
  print(
    io,
    wasPaused
      ? `account ${name} is no longer paused: the next sync reads it if it is configured`
      : `account ${name} was not paused`,
  );
  return 0;
}

async function openMigrated(config: Config, io: Io) {
  const database = await openCommandDatabase(config.database, (message) => tell(io, message));
  await migrate(database.url.reveal());
  return database;
}

/** @throws UsageError for a name that is neither configured nor added nor stored. */
async function refuseUnknown(
  db: Parameters<typeof withAdded>[0],
  config: Config,
  name: string,
): Promise<void> {
  const selection = { accounts: [name], productTypes: undefined };
  refuseUnknownAccounts(selection, await withAdded(db, config), await readSyncedStreams(db));
}
