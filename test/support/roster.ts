import type { Account } from "../../src/accounts/account.ts";
import { type ReadRoster, rosterReader } from "../../src/accounts/roster.ts";
import { usualLimits } from "../../src/check/health/finding-rows.ts";

/** Reads the roster of a configuration that names these accounts. */
export const rosterOfAccounts = (accounts: readonly Account[]): ReadRoster =>
  rosterReader({ accounts, accountNames: accounts.map(({ name }) => name), namesAccounts: true });

/** What a server reads where nothing is said of the configuration. */
export const unconfigured = {
  readRoster: (async () => []) satisfies ReadRoster,
  limits: usualLimits,
};
