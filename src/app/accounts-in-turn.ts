import PQueue from "p-queue";
import type { Clock } from "../clock.ts";
import type { Account } from "../config/account.ts";
import { accountBills } from "../contract/account-bills.ts";
import type { Users } from "../db/lease/users.ts";
import { addressLimit } from "../exchange/address-limits.ts";

/**
 * Twice as many as use up the limit of this machine's address. More would only hold leases, and
 * pages that wait for the database.
 */
export const accountsAtOnce = 2 * Math.ceil(addressLimit.requests / accountBills.limit.requests);

type Turns = { readonly clock: Clock; readonly signal: AbortSignal; readonly users: Users };

/**
 * Reads accounts side by side, so many at once. Accounts of one exchange user share its rate limit,
 * so they are read one after the other. The next one begins when no limit counts the requests of
 * the one before it.
 *
 * @param users the users of accounts for which none is configured.
 * @returns what `read` returned, in the order of the accounts.
 */
export function inTurn<Report>(
  accounts: readonly Account[],
  read: (account: Account) => Promise<Report>,
  { clock, signal, users }: Turns,
): Promise<readonly Report[]> {
  const turns = new PQueue({ concurrency: accountsAtOnce });
  const last = new Map<string, Promise<Report>>();
  const begin = (account: Account) => turns.add(() => read(account));
  const beginAfter = async (before: Promise<Report> | undefined, account: Account) => {
    await before;
    const report = await begin(account);
    // After the last one, too: a process that reads another account of the user may begin next.
    await clock.sleep(accountBills.limit.perMs, signal).catch(() => undefined);
    return report;
  };
  return Promise.all(
    accounts.map((account) => {
      const uid = account.uid ?? users.get(account.name);
      if (uid === undefined) return begin(account);
      const own = beginAfter(last.get(uid), account);
      last.set(uid, own);
      return own;
    }),
  );
}
