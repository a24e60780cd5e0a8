import PQueue from "p-queue";
import { accountBills } from "../contract/account-bills.ts";
import { addressLimit } from "./address-limits.ts";

/**
 * Twice as many as use up the limit of this machine's address. More would only hold leases, and
 * pages that wait for the database.
 */
export const accountsAtOnce = 2 * Math.ceil(addressLimit.requests / accountBills.limit.requests);

/**
 * Reads accounts side by side, so many at once.
 * @returns what `read` returned, in the order of the accounts.
 */
export function readSideBySide<Account, Report>(
  accounts: readonly Account[],
  read: (account: Account) => Promise<Report>,
): Promise<readonly Report[]> {
  const queue = new PQueue({ concurrency: accountsAtOnce });
  return Promise.all(accounts.map((account) => queue.add(() => read(account))));
}
