import { readdirSync } from "node:fs";
import { join } from "node:path";
import { shownCode } from "../errors.ts";
import type { Account } from "./account.ts";
import { type AccountsDeps, readAccountFile } from "./accounts.ts";
import { accountName } from "./environment.ts";
import { exposedAmong } from "./exposed-files.ts";

const ending = ".json";

/** The file of an account in a directory of them. */
export const accountPath = (directory: string, account: string): string =>
  join(directory, `${account}${ending}`);

/**
 * The accounts that a directory has files for, as `main.json`, in the order of their names. No file is
 * read. What begins with a dot is the mount's own. Never throws.
 */
export function namesInDirectory(
  directory: string,
  fault: AccountsDeps["fault"],
): readonly string[] {
  let files: readonly string[];
  try {
    files = readdirSync(directory);
  } catch (error) {
    fault(`cannot be read (${shownCode(error)}); correct the path ${directory} or its permissions`);
    return [];
  }
  const names = files
    .filter((file) => file.endsWith(ending) && !file.startsWith("."))
    .map((file) => file.slice(0, -ending.length));
  const { pattern, form } = accountName;
  const wrong = names.filter((name) => !pattern.test(name)).length;
  if (wrong > 0) fault(`has ${wrong} files whose name, without ${ending}, is not ${form}`);
  if (names.length === 0) fault(`has no file such as main${ending}`);
  return names.toSorted();
}

/** These accounts of a directory, with a warning where others may read their files. Never throws. */
export function readAccountsDirectory(
  directory: string,
  names: readonly string[],
  deps: AccountsDeps,
): { readonly accounts: readonly Account[]; readonly warnings: readonly string[] } {
  const accounts = names.map((name) => readAccountFile(accountPath(directory, name), name, deps));
  const secret = names.filter(deps.needsCredentials).map((name) => accountPath(directory, name));
  return { accounts, warnings: exposedAmong(directory, secret) };
}
