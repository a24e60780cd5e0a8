import { withAdded } from "../app/accounts-to-read.ts";
import { type ExitCode, type Io, print, printJson, tell } from "../app/io.ts";
import { jsonTimeOrNull } from "../app/json-times.ts";
import { readable } from "../app/readable.ts";
import {
  configuredStreams,
  everyLedger,
  type Selection,
  selectedStreams,
} from "../app/selection.ts";
import type { Config } from "../config/config.ts";
import { accountName } from "../config/environment.ts";
import type { ProductType } from "../contract/product-types.ts";
import { readAccountStates } from "../db/accounts/account-states.ts";
import { renameAccount } from "../db/accounts/rename-account.ts";
import { readRetirements, retire, retiredSince, unretire } from "../db/accounts/retirement.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { readSyncedStreams } from "../db/ledger/checkpoints.ts";
import { hasSchema, migrate } from "../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { renameJobs } from "../fleet/renamed-job.ts";
import { readStatus, type StreamStatus } from "../reports/status.ts";
import { becameText } from "../terminal/account-remarks.ts";
import { formatCount, formatMinute, formatTable } from "../terminal/format.ts";
import { streamName } from "../terminal/stream-names.ts";

const openDatabase = (config: Config, io: Io): Promise<CommandDatabase> =>
  openCommandDatabase(config.database, (message) => tell(io, message));

/** `accounts list`: every ledger that is configured or stored, and whether it is read. */
export async function listAccounts(
  config: Config,
  io: Io,
  options: { readonly json: boolean },
): Promise<ExitCode> {
  await using database = await openDatabase(config, io);
  const { db } = database;
  const stored = (await hasSchema(db)) ? await readSyncedStreams(db) : undefined;
  if (stored === undefined) {
    if (options.json) printJson(io, { streams: [] });
    else print(io, "nothing is stored yet; run sync");
    return 0;
  }
  const all = await withAdded(db, config);
  const now = readable(all, await readAccountStates(db));
  const streams = selectedStreams(everyLedger, now, stored);
  const status = await readStatus(db, streams, config.settleLagMs);
  const configured = new Set(configuredStreams(now).map(streamName));
  const isConfigured = ({ stream }: StreamStatus) => configured.has(streamName(stream));
  if (options.json) {
    printJson(io, {
      streams: status.streams.map((one) => ({
        ...one.stream,
        configured: isConfigured(one),
        retiredAt: jsonTimeOrNull(one.retiredAt),
        pausedAt: jsonTimeOrNull(one.pausedAt),
        closedAt: jsonTimeOrNull(one.closedAt),
        bills: one.bills,
        completeThrough: jsonTimeOrNull(one.completeThrough),
        completeThroughMs: one.completeThrough ?? null,
      })),
    });
    return 0;
  }
  const rows = status.streams.map((one) => [
    streamName(one.stream),
    formatCount(one.bills),
    formatMinute(one.completeThrough),
    stateText(one, isConfigured(one)),
  ]);
  print(io, formatTable(["account/product type", "bills", "complete through", "state"], rows));
  return 0;
}

function stateText(status: StreamStatus, isConfigured: boolean): string {
  const { stream, retiredAt, closedAt, pausedAt } = status;
  if (retiredAt !== undefined) return `retired ${formatMinute(retiredAt)}`;
  if (closedAt !== undefined) return `closed ${formatMinute(closedAt)}: ${becameText(stream)}`;
  if (pausedAt !== undefined) return `paused ${formatMinute(pausedAt)}`;
  return isConfigured ? "synced" : "not configured";
}

type Named = { readonly name: string; readonly product: ProductType | undefined };

/** `accounts retire`: its history stays, no sync reads it, and nothing counts as missing. */
export async function retireAccount(config: Config, io: Io, named: Named): Promise<ExitCode> {
  await using database = await openDatabase(config, io);
  const { db } = database;
  await migrate(database.url.reveal());
  await refuseUnknown(db, config, named);
  await retire(db, named.name, named.product);
  print(io, `${nameOf(named)} is retired: its history stays, and no sync reads it any more`);
  return 0;
}

/** `accounts unretire`: the next sync goes on where the last one ended. */
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
      ? `${nameOf(named)} is no longer retired: the next sync reads it, where it is configured`
      : `${nameOf(named)} was not retired`,
  );
  return 0;
}

const nameOf = ({ name, product }: Named): string =>
  product === undefined ? `account ${name}` : streamName({ account: name, productType: product });

/** @throws UsageError for what is neither configured nor stored. */
async function refuseUnknown(db: Database, config: Config, { name, product }: Named) {
  const selection: Selection = {
    accounts: [name],
    productTypes: product === undefined ? undefined : [product],
  };
  selectedStreams(selection, await withAdded(db, config), await readSyncedStreams(db));
}

/** `accounts rename`: in all tables at once. */
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
    `what was stored as account ${from} is stored as ${to}` +
      (isConfigured ? "" : `; name it ${to} in the configuration, too, before the next sync`),
  );
  return 0;
}
