import type { Config } from "../accounts/config.ts";
import { addAccount, pause, resume, retire, unretire } from "../accounts/decisions.ts";
import { renameAccount } from "../accounts/rename-account.ts";
import { everyLedger, listed, type RosterLedger, readRoster } from "../accounts/roster.ts";
import { accountName, productTypeOf, riskUnitId } from "../accounts/settings.ts";
import { readSelected } from "../accounts/to-read.ts";
import type { ProductType } from "../core/contract/product-types.ts";
import type { Database } from "../core/postgres/connect.ts";
import { readAccountStates } from "../core/store/accounts/account-states.ts";
import { UsageError } from "../lib/errors.ts";
import { ledgerName } from "../output/output-format.ts";
import { type Columns, done, fields, type Result, table } from "../output/result.ts";
import { type Io, note } from "./io.ts";
import { type Define, jsonOption, productOption } from "./options.ts";
import { openFilled, openMigrated, withUnreachable } from "./stored.ts";

const columns: Columns<RosterLedger> = {
  ...fields<RosterLedger>("value", ["account", "productType"]),
  ledger: {
    kind: "text",
    title: "account/product type",
    isForPeople: true,
    of: (ledger) => ledgerName(ledger),
  },
  configured: { kind: "value", of: ({ isConfigured }) => isConfigured },
  stored: { kind: "value", of: ({ isStored }) => isStored },
  demo: { kind: "value", of: ({ isDemo }) => isDemo },
  ...fields<RosterLedger>("text", ["state"]),
  ...fields<RosterLedger>("time", ["since"]),
};

/** `accounts list`: every ledger that is configured or stored, and whether it is read. */
async function listAccounts(config: Config, io: Io): Promise<Result> {
  await using stored = await openFilled(config, io);
  const { db } = stored;
  const { result: roster, unreachable } = await readSelected(db, config, everyLedger, (among) =>
    readRoster(db, config, everyLedger, among),
  );
  return withUnreachable(done(table("ledgers", columns, listed(roster))), unreachable);
}

/** The options of `accounts add`. */
type AddFlags = {
  readonly product?: readonly string[];
  readonly demo: boolean;
  readonly ltv: boolean;
  readonly riskUnit?: readonly string[];
};

/**
 * `accounts add`: syncs read the account from the next one on. No secret is asked for or stored.
 */
async function addCommand(
  config: Config,
  io: Io,
  name: string,
  { product, demo, ltv, riskUnit = [] }: AddFlags,
): Promise<Result> {
  const { pattern, form } = accountName;
  if (!pattern.test(name)) throw new UsageError(`"${name}" is not a name: ${form}`);
  const wrong = riskUnit.find((id) => !riskUnitId.pattern.test(id));
  if (wrong !== undefined)
    throw new UsageError(`--risk-unit "${wrong}" is not a risk unit's ID: ${riskUnitId.form}`);
  const productTypes = product?.flatMap((word) => word.split(",")).map(productTypeOf) ?? null;
  if (config.accountNames.includes(name)) {
    throw new UsageError(`account ${name} is configured already; an account is added once`);
  }
  await using database = await openMigrated(config, io);
  const isLoan = ltv || riskUnit.length > 0;
  const riskUnitIds = riskUnit.length > 0 ? [...riskUnit] : null;
  const account = { account: name, productTypes, demo, ltv: isLoan, riskUnitIds };
  if (!(await addAccount(database.db, account))) {
    throw new UsageError(`account ${name} was added before; bill-sync accounts list shows all`);
  }
  return done(
    `account ${name} is added: ${
      config.addedAccount !== undefined
        ? "the next sync reads it"
        : 'no sync reads it before ACCOUNTS_FILE has {"credentials": {"command": ["PROGRAM", "{account}"]}}'
    }`,
  );
}

type DecidedLedger = { readonly name: string; readonly product: ProductType | undefined };

const nameOf = ({ name, product }: DecidedLedger): string =>
  product === undefined ? `account ${name}` : ledgerName({ account: name, productType: product });

type Decision = {
  readonly about: string;
  /** Whether it can be of one product type alone. */
  readonly isOfProducts: boolean;
  /** @returns what has become so. */
  readonly make: (db: Database, named: DecidedLedger) => Promise<string>;
};

const again = "the next sync reads it if it is configured";
const fromWhere =
  "let syncs read an account, from where the last one ended or at most 90 days back";

/** What a user decides of an account, by the command's name. */
const decisions: Readonly<Record<string, Decision>> = {
  pause: {
    about: "stop syncing an account; bills left unread for 90 days are lost",
    isOfProducts: false,
    async make(db, { name }) {
      await pause(db, name);
      return (
        `account ${name} is paused: no sync reads it until bill-sync accounts resume ${name}; bills left ` +
        "unread for 90 days are lost"
      );
    },
  },
  resume: {
    about: fromWhere,
    isOfProducts: false,
    make: async (db, { name }) =>
      (await resume(db, name))
        ? `account ${name} is no longer paused: ${again}`
        : `account ${name} was not paused`,
  },
  retire: {
    about: "stop reading an account for good; its history stays, and nothing counts as missing",
    isOfProducts: true,
    async make(db, named) {
      await retire(db, named.name, named.product);
      return `${nameOf(named)} is retired: its history stays, and no sync reads it any more`;
    },
  },
  unretire: {
    about: fromWhere,
    isOfProducts: true,
    async make(db, named) {
      const { name, product } = named;
      const { retired } = (await readAccountStates(db, name)).of(name);
      if (product !== undefined && retired.has(""))
        throw new UsageError(
          `the whole account ${name} is retired; run bill-sync accounts unretire ${name}, and then ` +
            "retire its other product types",
        );
      return (await unretire(db, name, product))
        ? `${nameOf(named)} is no longer retired: ${again}`
        : `${nameOf(named)} was not retired`;
    },
  },
};

/** @throws UsageError for a name that is neither configured nor stored. */
async function decide(
  config: Config,
  io: Io,
  { make }: Decision,
  name: string,
  word?: string,
): Promise<Result> {
  const product = word === undefined ? undefined : productTypeOf(word);
  await using database = await openMigrated(config, io);
  const productTypes = product === undefined ? undefined : [product];
  await readRoster(database.db, config, { accounts: [name], productTypes });
  return done(await make(database.db, { name, product }));
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
    .command("add <name>")
    .description(
      "add an account, which the next sync reads; ACCOUNTS_FILE says where its secrets are",
    )
    .addOption(productOption())
    .option("--demo", "its key is for demo trading", false)
    .option("--ltv", "read its loan-to-value", false)
    .option("--risk-unit <id...>", "the risk units of a parent account")
    .action(runs((name: string, words: AddFlags) => addCommand(config(), io, name, words)));
  for (const [word, decision] of Object.entries(decisions)) {
    const command = accounts.command(`${word} <name>`).description(decision.about);
    if (decision.isOfProducts) command.option("--product <type>", "this product type only");
    command.action(
      runs((name: string, { product }: { readonly product?: string }) =>
        decide(config(), io, decision, name, product),
      ),
    );
  }
  accounts
    .command("rename <old> <new>")
    .description("rename an account in all tables")
    .action(runs((from: string, to: string) => renameCommand(config(), io, from, to)));
};
