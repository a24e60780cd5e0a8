import { renameAccount, retire, undoRetire } from "../accounts/account-changes.ts";
import type { Config } from "../accounts/config.ts";
import { listed, type RosterLedger, readRoster } from "../accounts/roster.ts";
import { accountName, productTypeOf } from "../accounts/settings.ts";
import { UsageError } from "../lib/errors.ts";
import { type Columns, done, fields, ledgerColumn, type Result, table } from "../output/result.ts";
import { ledgerName } from "../output/text.ts";
import { type Io, note } from "./io.ts";
import { type Define, jsonOption } from "./options.ts";
import { openFilled, openMigrated } from "./stored.ts";

const columns: Columns<RosterLedger> = {
  ...ledgerColumn((ledger) => ledger, "account/product type"),
  configured: { kind: "value", of: ({ isConfigured }) => isConfigured },
  stored: { kind: "value", of: ({ isStored }) => isStored },
  ...fields<RosterLedger>("text", ["state"]),
  ...fields<RosterLedger>("time", ["since"]),
};

/** `accounts list`: every ledger that is configured or stored, and whether it is read. */
async function listAccounts(config: Config, io: Io): Promise<Result> {
  await using stored = await openFilled(config, io);
  const { db } = stored;
  const roster = await readRoster(db, config);
  return done(table("ledgers", columns, listed(roster)));
}

type RetireFlags = { readonly product?: string; readonly undo: boolean };

/** `accounts retire`. @throws UsageError for a name that is neither configured nor stored. */
async function retireCommand(
  config: Config,
  io: Io,
  name: string,
  { product: word, undo }: RetireFlags,
): Promise<Result> {
  const product = word === undefined ? undefined : productTypeOf(word);
  await using database = await openMigrated(config, io);
  const { db } = database;
  const productTypes = product === undefined ? undefined : [product];
  const { states } = await readRoster(db, config, { accounts: [name], productTypes });
  const what =
    product === undefined ? `account ${name}` : ledgerName({ account: name, productType: product });
  if (!undo) {
    await retire(db, name, product);
    return done(`${what} is retired: its history stays, and no sync reads it any more`);
  }
  if (product !== undefined && states.of(name).retired.has(""))
    throw new UsageError(
      `the whole account ${name} is retired; run bill-sync accounts retire --undo ${name}, and then ` +
        "retire its other product types",
    );
  return done(
    (await undoRetire(db, name, product))
      ? `${what} is no longer retired: the next sync reads it if it is configured`
      : `${what} was not retired`,
  );
}

/** `accounts rename`: renames in all tables at once, then in the mirror keys of this machine. */
async function renameCommand(config: Config, io: Io, from: string, to: string): Promise<Result> {
  if (!accountName.pattern.test(to))
    throw new UsageError(`"${to}" is not a name: ${accountName.form}`);
  await using database = await openMigrated(config, io);
  const onWait = (message: string) => note(io, message);
  await renameAccount(database.db, { from, to }, { onWait, signal: io.signal });
  const isConfigured = config.accounts.some(({ name }) => name === to);
  const rest = `; name it ${to} in the configuration, too, before the next sync`;
  const mirrorKeys = await io.wings.mirrorKeys?.();
  await mirrorKeys?.renameInKeys(config, { from, to });
  return done(`account ${from} is now stored as ${to}${isConfigured ? "" : rest}`);
}

export const define: Define = (accounts, { io, config, runs }) => {
  accounts
    .command("list")
    .description("list every account and product type that is configured or stored")
    .addOption(jsonOption())
    .action(runs(() => listAccounts(config(), io)));
  accounts
    .command("retire <name>")
    .description(
      "stop reading an account for good; its history stays, and nothing counts as missing",
    )
    .option("--product <type>", "this product type only")
    .option(
      "--undo",
      "read it again, from where the last sync ended or at most 90 days back",
      false,
    )
    .action(runs((name: string, flags: RetireFlags) => retireCommand(config(), io, name, flags)));
  accounts
    .command("rename <old> <new>")
    .description("rename an account in all tables")
    .action(runs((from: string, to: string) => renameCommand(config(), io, from, to)));
};
