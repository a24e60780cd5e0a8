import { Option } from "commander";
import type { ProductType } from "../contract/product-types.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { type Columns, table } from "../output/result.ts";
import { type Config, readConfig } from "../roster/config.ts";
import { readRoster, selectionOf } from "../roster/roster.ts";
import { accountName } from "../roster/settings.ts";
import {
  changeKeys,
  type GapRule,
  type MirrorKey,
  newKey,
  readKeys,
} from "../serve/keys/key-file.ts";
import { type ExitCode, type Io, print, printJson, tell } from "./io.ts";
import { answer, type Define, jsonOption, productOption } from "./options.ts";

export type NewKeyOptions = {
  readonly name: string;
  readonly accounts: readonly string[];
  readonly productTypes: readonly ProductType[] | undefined;
  readonly gaps: GapRule;
  readonly json: boolean;
};

/** `keys add`: creates a key for the server, and shows it only now. */
export async function addKey(config: Config, io: Io, options: NewKeyOptions): Promise<ExitCode> {
  const { name, productTypes, gaps, json } = options;
  if (!accountName.pattern.test(name))
    throw new UsageError(`"${name}" is not a key's name: ${accountName.form}`);
  const account = await accountOf(config, io, options.accounts);
  const key = newKey({ name, account, productTypes, gaps }, new Date());
  await changeKeys(config.keysFile, (keys) => {
    if (keys.some((one) => one.name === name))
      throw new UsageError(
        `there is a key ${name} already; remove it by bill-sync keys remove ${name}, or choose another name`,
      );
    return [...keys, key];
  });
  const { apiKey, apiSecret, apiPassphrase } = key;
  if (json) printJson(io, { apiKey, apiSecret, apiPassphrase });
  else print(io, `apiKey=${apiKey}\napiSecret=${apiSecret}\napiPassphrase=${apiPassphrase}`);
  tell(
    io,
    `reads ${account}; it is not shown again, and a running server accepts it within a second`,
  );
  return 0;
}

/** Updates the keys of a renamed account. */
export async function renameInKeys(
  { keysFile }: Config,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  if (readKeys(keysFile).every(({ account }) => account !== from)) return;
  await changeKeys(keysFile, (keys) =>
    keys.map((key) => (key.account === from ? { ...key, account: to } : key)),
  );
}

/**
 * The account of a new key. A key reads one account, as a key of the exchange does: the API has no
 * parameter for another.
 */
async function accountOf(config: Config, io: Io, named: readonly string[]): Promise<string> {
  const [account, ...others] = named;
  if (others.length > 0)
    throw new UsageError(
      "a key reads one account, as a key of the exchange does; add a key for each account",
    );
  const configured = config.accounts.map(({ name }) => name);
  if (account === undefined) {
    const [only, ...more] = configured;
    if (only !== undefined && more.length === 0) return only;
    throw new UsageError(`name its account by --account (known: ${configured.join(", ")})`);
  }
  if (configured.includes(account)) return account;
  // An account that is no longer configured still has its history.
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const db = (await hasSchema(database.db)) ? database.db : undefined;
  await readRoster(db, config, { accounts: [account] });
  return account;
}

/** `keys list`: lists the keys without their secrets. */
export async function listKeys(
  config: Config,
  io: Io,
  { json }: { readonly json: boolean },
): Promise<ExitCode> {
  const keys = readKeys(config.keysFile);
  const hint = "there is no key yet; keys add makes one";
  const parts = [table("keys", columns, keys), ...(keys.length === 0 ? [hint] : [])];
  return answer(io, json, { data: {}, parts, exit: 0 });
}

const columns: Columns<MirrorKey> = {
  name: { kind: "text", title: "key", of: ({ name }) => name },
  apiKey: { kind: "text", title: "", of: ({ apiKey }) => apiKey },
  account: { kind: "text", of: ({ account }) => account },
  productTypes: { kind: "value", of: ({ productTypes }) => productTypes },
  types: {
    kind: "text",
    title: "product types",
    isForPeople: true,
    of: ({ productTypes }) => productTypes?.join(" ") ?? "all",
  },
  gaps: { kind: "text", of: ({ gaps }) => gaps },
  createdAt: { kind: "text", title: "", of: ({ createdAt }) => createdAt },
  made: { kind: "text", isForPeople: true, of: ({ createdAt }) => createdAt.slice(0, 10) },
};

/** `keys remove`: running servers refuse the key within a second. */
export async function removeKey(config: Config, io: Io, name: string): Promise<ExitCode> {
  await changeKeys(config.keysFile, (keys) => {
    const left = keys.filter((key) => key.name !== name);
    if (left.length < keys.length) return left;
    const names = keys.map((key) => key.name);
    throw new UsageError(`there is no key ${name}${didYouMean(name, names)}`);
  });
  print(io, `${name} is removed; a running server refuses it within a second`);
  return 0;
}

type NewKeyWords = {
  readonly account?: readonly string[];
  readonly product?: readonly string[];
  readonly allowGaps: boolean;
  readonly trim: boolean;
  readonly json: boolean;
};

export const define: Define = (keys, { io, readEnvironment }, exitWith) => {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  const add = (name: string, words: NewKeyWords) => {
    const { productTypes } = selectionOf(words);
    const gaps = words.allowGaps ? "allow" : words.trim ? "trim" : "refuse";
    const { json, account: accounts = [] } = words;
    return addKey(configOf(), io, { name, accounts, productTypes, gaps, json });
  };
  keys
    .command("add <name>")
    .description("make a key that reads one account; it is shown only once")
    .option("--account <name...>", "the account that it reads; optional if there is only one")
    .addOption(productOption())
    .addOption(
      new Option(
        "--trim",
        "answer requests that begin before the stored history, without that part",
      )
        .default(false, "refuse them")
        .conflicts("allowGaps"),
    )
    .option("--allow-gaps", "answer even if time was lost or is not read yet", false)
    .addOption(jsonOption("lines"))
    .action(exitWith(add));
  keys
    .command("list")
    .description("list the keys, without their secrets")
    .addOption(jsonOption("a table"))
    .action(exitWith((options: { readonly json: boolean }) => listKeys(configOf(), io, options)));
  keys
    .command("remove <name>")
    .description("remove a key; a running server refuses it within a second")
    .action(exitWith((name: string) => removeKey(configOf(), io, name)));
};
