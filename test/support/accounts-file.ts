import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ProductType } from "../../src/core/contract/product-types.ts";
import type { SandboxAccount } from "../../src/wings/sandbox/sandbox.ts";
import type { OpenSandbox } from "../exchange/sandbox.ts";

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

/** The environment in which the program reads one product type of a sandbox's accounts. */
export const accountsEnvironment = async (
  folder: string,
  { url, accounts }: Pick<OpenSandbox, "url" | "accounts">,
  productType: ProductType,
) => ({
  EXCHANGE_BASE_URL: url,
  ACCOUNTS_FILE: await writeAccounts(folder, accounts.map(entryOf)),
  PRODUCT_TYPES: productType,
});
