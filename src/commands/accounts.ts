import type { ProductType } from "../contract/product-types.ts";
import { readAccountStates } from "../db/accounts/account-states.ts";
import { addAccount } from "../db/accounts/added-accounts.ts";
import { pause, resume, retire, unretire } from "../db/accounts/decisions.ts";
import { renameAccount } from "../db/accounts/rename-account.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { migrate } from "../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { renameJobs } from "../fleet/tasks.ts";
import { streamName } from "../output/stream-names.ts";
import { type Config, readConfig } from "../roster/config.ts";
import { readRoster } from "../roster/roster.ts";
import { accountName, productTypeOf, riskUnitId } from "../roster/settings.ts";
import { type ListOptions, listAccounts } from "./accounts-list.ts";
import { type ExitCode, type Io, print, tell } from "./io.ts";
import { renameInKeys } from "./keys.ts";
import { type Define, jsonOption, offsetOf, pageOf, productOption } from "./options.ts";

/** The options of `accounts add`. */
type AddOptions = {
  readonly product?: readonly string[];
  readonly demo: boolean;
  readonly ltv: boolean;
  readonly riskUnit?: readonly string[];
};

/**
 * `accounts add`: syncs read the account from the next one on. No secret is asked for or stored.
 */
async function addAccountCommand(
  config: Config,
  io: Io,
  name: string,
  { product, demo, ltv, riskUnit = [] }: AddOptions,
): Promise<ExitCode> {
  const { pattern, form } = accountName;
  if (!pattern.test(name)) throw new UsageError(`"${name}" is not a name: ${form}`);
  const wrong = riskUnit.find((id) => !riskUnitId.pattern.test(id));
  if (wrong !== undefined)
    throw new UsageError(`--risk-unit "${wrong}" is not a risk unit's ID: ${riskUnitId.form}`);
  const productTypes = product?.flatMap((word) => word.split(",")).map(productTypeOf);
  if (config.accountNames.includes(name)) {
    throw new UsageError(`account ${name} is configured already; an account is added once`);
  }
  await using database = await openMigrated(config, io);
  const isLoan = ltv || riskUnit.length > 0;
  const account = { name, productTypes, demo, ltv: isLoan, riskUnitIds: riskUnit };
  if (!(await addAccount(database.db, account))) {
    throw new UsageError(`account ${name} was added before; bill-sync accounts list shows all`);
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

async function openMigrated(config: Config, io: Io): Promise<CommandDatabase> {
  const database = await openCommandDatabase(config.database, (message) => tell(io, message));
  await migrate(database.url.reveal());
  return database;
}

type Named = { readonly name: string; readonly product: ProductType | undefined };

const nameOf = ({ name, product }: Named): string =>
  product === undefined ? `account ${name}` : streamName({ account: name, productType: product });

type Decision = {
  readonly about: string;
  /** Whether it can be of one product type alone. */
  readonly isOfProducts: boolean;
  /** @returns what has become so. */
  readonly make: (db: Database, named: Named) => Promise<string>;
};

const again = "the next sync reads it if it is configured";
const fromWhere = "read an account again, from where its last sync ended";

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
async function decide(config: Config, io: Io, { make }: Decision, named: Named): Promise<ExitCode> {
  const { name, product } = named;
  await using database = await openMigrated(config, io);
  const productTypes = product === undefined ? undefined : [product];
  await readRoster(database.db, config, { accounts: [name], productTypes });
  print(io, await make(database.db, named));
  return 0;
}

/** `accounts rename`: renames in all tables at once, then in the mirror keys of this machine. */
async function renameStored(
  config: Config,
  io: Io,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<ExitCode> {
  if (!accountName.pattern.test(to))
    throw new UsageError(`"${to}" is not a name: ${accountName.form}`);
  await using database = await openMigrated(config, io);
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

export const define: Define = (accounts, { io, readEnvironment }, exitWith) => {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  accounts
    .command("list")
    .description("list every account and product type that is configured or stored")
    .addOption(jsonOption("a table"))
    .option("--limit <number>", "show at most this many accounts", pageOf)
    .option("--offset <number>", "skip this many", offsetOf)
    .action(exitWith((options: ListOptions) => listAccounts(configOf(), io, options)));
  accounts
    .command("add <name>")
    .description(
      "add an account, which the next sync reads; ACCOUNTS_FILE says where its secrets are",
    )
    .addOption(productOption())
    .option("--demo", "its key is for demo trading", false)
    .option("--ltv", "read its loan-to-value", false)
    .option("--risk-unit <id...>", "the risk units of a parent account")
    .action(
      exitWith((name: string, options: AddOptions) =>
        addAccountCommand(configOf(), io, name, options),
      ),
    );
  for (const [word, decision] of Object.entries(decisions)) {
    const command = accounts.command(`${word} <name>`).description(decision.about);
    if (decision.isOfProducts) command.option("--product <type>", "this product type only");
    command.action(
      exitWith((name: string, { product }: { readonly product?: string }) =>
        decide(configOf(), io, decision, {
          name,
          product: product === undefined ? undefined : productTypeOf(product),
        }),
      ),
    );
  }
  accounts
    .command("rename <old> <new>")
    .description("rename an account in all tables")
    .action(exitWith((from: string, to: string) => renameStored(configOf(), io, { from, to })));
};
