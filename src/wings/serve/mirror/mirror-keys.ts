import { Option } from "commander";
import type { Config } from "../../../accounts/config.ts";
import { readRoster, selectionOf } from "../../../accounts/roster.ts";
import { accountName } from "../../../accounts/settings.ts";
import { type Io, note } from "../../../commands/io.ts";
import {
  type Define,
  jsonOption,
  type LedgerFlags,
  productOption,
} from "../../../commands/options.ts";
import { openStored } from "../../../commands/stored.ts";
import { UsageError } from "../../../lib/errors.ts";
import { didYouMean } from "../../../lib/nearest.ts";
import { type Columns, done, fields, type Result, table } from "../../../output/result.ts";
import { changeKeys, type MirrorKey, newKey, readKeys } from "./key-file.ts";

type NewKeyFlags = Pick<LedgerFlags, "product"> & {
  readonly account?: string;
  readonly allowIncomplete: boolean;
  readonly trim: boolean;
};

/** `mirror-keys add`: creates a key for the server, and shows it only now. */
async function addKey(
  config: Config,
  io: Io,
  name: string,
  { account: named, allowIncomplete, trim, ...which }: NewKeyFlags,
): Promise<Result> {
  if (!accountName.pattern.test(name))
    throw new UsageError(`"${name}" is not a key's name: ${accountName.form}`);
  const { productTypes } = selectionOf(which);
  const incomplete = allowIncomplete ? "allow" : trim ? "trim" : "refuse";
  const account = await accountOf(config, io, named);
  const key = newKey({ name, account, productTypes, incomplete }, new Date());
  await changeKeys(config.keysFile, (keys) => {
    if (keys.some((one) => one.name === name))
      throw new UsageError(
        `there is a key ${name} already; remove it by bill-sync mirror-keys remove ${name}, or choose another name`,
      );
    return [...keys, key];
  });
  const { apiKey, apiSecret, apiPassphrase } = key;
  const data = { apiKey, apiSecret, apiPassphrase };
  note(
    io,
    `reads ${account}; it is not shown again, and a running server accepts it within a second`,
  );
  return { data, parts: Object.entries(data).map((pair) => pair.join("=")), exit: 0 };
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
async function accountOf(config: Config, io: Io, account: string | undefined): Promise<string> {
  const configured = config.accounts.map(({ name }) => name);
  if (account === undefined) {
    const [only, ...more] = configured;
    if (only !== undefined && more.length === 0) return only;
    throw new UsageError(`name its account by --account (known: ${configured.join(", ")})`);
  }
  if (configured.includes(account)) return account;
  // An account that is no longer configured still has its history.
  await using stored = await openStored(config, io);
  await readRoster(stored.db, config, { accounts: [account] });
  return account;
}

/** `mirror-keys list`: lists the keys without their secrets. */
function listKeys({ keysFile }: Config): Result {
  const keys = readKeys(keysFile);
  const hint = "there is no key yet: bill-sync mirror-keys add NAME makes one";
  return done(table("keys", columns, keys), ...(keys.length === 0 ? [hint] : []));
}

const columns: Columns<MirrorKey> = {
  name: { kind: "text", title: "key", of: ({ name }) => name },
  ...fields<MirrorKey>("value", ["apiKey", "productTypes", "createdAt"]),
  ...fields<MirrorKey>("text", ["account"]),
  types: {
    kind: "text",
    title: "product types",
    isForPeople: true,
    of: ({ productTypes }) => productTypes?.join(" ") ?? "all",
  },
  incomplete: { kind: "text", of: ({ incomplete }) => incomplete },
  made: { kind: "text", isForPeople: true, of: ({ createdAt }) => createdAt.slice(0, 10) },
};

/** `mirror-keys remove`: running servers refuse the key within a second. */
async function removeKey({ keysFile }: Config, name: string): Promise<Result> {
  await changeKeys(keysFile, (keys) => {
    const left = keys.filter((key) => key.name !== name);
    if (left.length < keys.length) return left;
    const names = keys.map((key) => key.name);
    throw new UsageError(`there is no key ${name}${didYouMean(name, names)}`);
  });
  return done(`${name} is removed; a running server refuses it within a second`);
}

const trimAbout = "answer requests that begin before the stored history, without that part";

export const define: Define = (keys, { io, config, runs }) => {
  keys
    .command("add <name>")
    .description("make a key that reads one account; it is shown only once")
    .option("--account <name>", "the account that it reads; optional if there is only one")
    .addOption(productOption())
    .addOption(
      new Option("--trim", trimAbout).default(false, "refuse them").conflicts("allowIncomplete"),
    )
    .option("--allow-incomplete", "answer even if time is lost or unread", false)
    .addOption(jsonOption())
    .action(runs((name: string, words: NewKeyFlags) => addKey(config(), io, name, words)));
  keys
    .command("list")
    .description("list the keys, without their secrets")
    .addOption(jsonOption())
    .action(runs(async () => listKeys(config())));
  keys
    .command("remove <name>")
    .description("remove a key; a running server refuses it within a second")
    .action(runs((name: string) => removeKey(config(), name)));
};
