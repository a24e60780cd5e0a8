import { usualLimits } from "../../src/health/select.ts";
import type { Account } from "../../src/roster/account.ts";
import { type ReadRoster, rosterReader } from "../../src/roster/roster.ts";

/** Reads the roster of a configuration that names these accounts. */
export const rosterOfAccounts = (accounts: readonly Account[]): ReadRoster =>
  rosterReader({ accounts, accountNames: accounts.map(({ name }) => name), namesAccounts: true });

/** What ledgers are judged by where nothing is said of the configuration. */
export const unconfigured = {
  readRoster: (async () => []) satisfies ReadRoster,
  limits: usualLimits,
};
