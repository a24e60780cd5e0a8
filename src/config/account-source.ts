import { UsageError } from "../errors.ts";
import { type AccountWithCredentials, withCredentials } from "./account.ts";
import { type AccountSettings, readConfig, unknownAccount } from "./config.ts";
import type { Environment } from "./environment.ts";

/** The accounts of a configuration, one by one: for whoever reads them over hours, a job each. */
export type AccountSource = {
  /** Those that are configured. No secret is read for it, and of a directory no file. */
  readonly names: () => readonly string[];
  /**
   * One of them with its credentials, looked up now and kept nowhere: a secret that was changed is
   * taken from the next job on.
   *
   * @param settings of an account that is in the table and not in the configuration.
   * @throws UsageError that names the account, and no secret.
   */
  readonly lookUp: (
    name: string,
    options: { readonly signal: AbortSignal; readonly settings?: AccountSettings | undefined },
  ) => Promise<AccountWithCredentials>;
};

/** @param environment its ACCOUNTS_FILE, or the one account of its own variables. */
export const openAccountSource = (environment: Environment): AccountSource => ({
  names: () => readConfig(environment, { credentials: false, accounts: [] }).accountNames,
  async lookUp(name, { signal, settings }) {
    const config = readConfig(environment, { credentials: true, accounts: [name] });
    const configured = config.accounts.find((account) => account.name === name);
    const account = configured ?? (settings && config.added?.accountOf(settings));
    if (account !== undefined) return withCredentials(account, signal);
    if (settings === undefined) throw unknownAccount(name, config.accountNames);
    throw new UsageError(
      `account ${name} was added, and nothing says how to look up its credentials; set ACCOUNTS_FILE ` +
        'to a file with {"credentials": {"command": ["PROGRAM", "{account}"]}}',
    );
  },
});
