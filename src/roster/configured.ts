import type { Configured } from "../health/select.ts";
import type { Config } from "./config.ts";

/** The accounts that are to be read, as findings ask for them. An account that was not looked at is its name. */
export function configuredOf({ accounts, accountNames, namesAccounts }: Config): Configured[] {
  if (!namesAccounts && accountNames.length <= 1) return [];
  const known = new Set(accounts.map(({ name }) => name));
  return [
    ...accounts,
    ...accountNames.filter((name) => !known.has(name)).map((name) => ({ name })),
  ];
}
