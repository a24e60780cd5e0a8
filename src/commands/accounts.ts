import { withAdded } from "../app/accounts-to-read.ts";
import { type ExitCode, type Io, print, tell } from "../app/io.ts";
import { type Selection, selectedStreams } from "../app/selection.ts";
import type { Config } from "../config/config.ts";
import { accountName } from "../config/settings.ts";
import type { ProductType } from "../contract/product-types.ts";
import { renameAccount } from "../db/accounts/rename-account.ts";
import { readRetirements, retire, retiredSince, unretire } from "../db/accounts/retirement.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { migrate } from "../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { renameJobs } from "../fleet/tasks.ts";
import { readSyncedStreams } from "../ledger/checkpoints.ts";
import { streamName } from "../terminal/stream-names.ts";
import { renameInKeys } from "./keys.ts";

const openDatabase = (config: Config, io: Io): Promise<CommandDatabase> =>
  openCommandDatabase(config.database, (message) => tell(io, message));

type Named = { readonly name: string; readonly product: ProductType | undefined };

/**
 * `accounts retire`: no sync reads the account any more, and nothing of it counts as missing. Its
 * history stays.
 */
export async function retireAccount(config: Config, io: Io, named: Named): Promise<ExitCode> {
  await using database = await openDatabase(config, io);
  const { db } = database;
  await migrate(database.url.reveal());
  await refuseUnknown(db, config, named);
  await retire(db, named.name, named.product);
  print(io, `${nameOf(named)} is retired: its history stays, and no sync reads it any more`);
  return 0;
}

/** `accounts unretire`: the next sync continues where the last one ended. */
export async function unretireAccount(config: Config, io: Io, named: Named): Promise<ExitCode> {
  await using database = await openDatabase(config, io);
  const { db } = database;
  await migrate(database.url.reveal());
  await refuseUnknown(db, config, named);
  const { name, product } = named;
  const own = (await readRetirements(db)).filter(({ account }) => account === name);
  const isWhole = own.some(({ productType }) => productType === undefined);
  if (product !== undefined && isWhole) {
    throw new UsageError(
      `the whole account ${name} is retired; run bill-sync accounts unretire ${name}, and then ` +
        "retire its other product types",
    );
  }
  const isRetired =
    product === undefined
      ? own.length > 0
      : retiredSince(own, { account: name, productType: product }) !== undefined;
  await unretire(db, name, product);
  print(
    io,
    isRetired
      ? `${nameOf(named)} is no longer retired: the next sync reads it if it is configured`
      : `${nameOf(named)} was not retired`,
  );
  return 0;
}

const nameOf = ({ name, product }: Named): string =>
  product === undefined ? `account ${name}` : streamName({ account: name, productType: product });

/** @throws UsageError for a name that is neither configured nor stored. */
async function refuseUnknown(db: Database, config: Config, { name, product }: Named) {
  const selection: Selection = {
    accounts: [name],
    productTypes: product === undefined ? undefined : [product],
  };
  selectedStreams(selection, await withAdded(db, config), await readSyncedStreams(db));
}

/** `accounts rename`: renames in all tables at once, then in the mirror keys of this machine. */
export async function renameStored(
  config: Config,
  io: Io,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<ExitCode> {
  if (!accountName.pattern.test(to))
    throw new UsageError(`"${to}" is not a name: ${accountName.form}`);
  await using database = await openDatabase(config, io);
  await migrate(database.url.reveal());
  const onWait = (message: string) => tell(io, message);
  const besides = (tx: Transaction) => renameJobs(tx, { from, to });
  await renameAccount(database.db, { from, to }, { onWait, signal: io.signal, besides });
  const isConfigured = config.accounts.some(({ name }) => name === to);
  print(
    io,
    `account ${from} is now stored as ${to}` +
      (isConfigured ? "" : `; name it ${to} in the configuration, too, before the next sync`),
  );
  await renameInKeys(config, { from, to });
  return 0;
}
