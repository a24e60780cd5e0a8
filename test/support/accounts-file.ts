import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxAccount } from "../../src/sandbox/sandbox.ts";

/** An account's entry in an accounts file. */
export const entryOf = ({ name, apiKey, apiSecret, apiPassphrase }: SandboxAccount) => ({
  name,
  apiKey,
  apiSecret,
  apiPassphrase,
});

/** Writes an accounts file into a folder. @returns its path. */
export async function writeAccounts(
  folder: string,
  accounts: readonly object[],
  mode = 0o600,
): Promise<string> {
  const path = join(folder, "accounts.json");
  await writeFile(path, JSON.stringify({ accounts }), { mode });
  return path;
}
