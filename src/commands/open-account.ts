import type { AccountWithCredentials } from "../accounts/account.ts";
import type { AccountExchange } from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import { AccountKey } from "../core/store/account-key.ts";
import { checkLease, type Lease, recordUser, type Users } from "../core/store/lease/lease.ts";
import type { Leases } from "../core/store/lease/leases.ts";
import type { KeyAnswer } from "../core/words/account-state.ts";
import { horizonAt } from "../core/words/plan.ts";

type OpenDeps = {
  readonly db: Database;
  readonly leases: Leases;
  /** The users of accounts for which none is configured. */
  readonly users: Users;
  readonly signal: AbortSignal;
  readonly onWait?: (message: string) => void;
  /** Takes a key without a proof that it is the account's. Default false. */
  readonly isTrusted?: boolean;
};

/** An account that this process alone asks the exchange for, and its key. */
export type OpenAccount = Lease & {
  /** Decides whether the key is the account's. Writes nothing. Throws, and returns, as {@link AccountKey.check} does. */
  checkKey(answer: KeyAnswer): Promise<{ readonly isNew: boolean }>;
  /** Makes it the key that reads the account. Called before anything else is written. */
  takeKey(answer: KeyAnswer): Promise<{ readonly isNew: boolean }>;
};

/**
 * Takes an account's lease and, where its user is known, the user's, before the exchange is asked anything with its key.
 * @throws UsageError where the key is stored under another name; AccountHeldError where another process holds one of
 * the leases.
 */
export async function openAccount(
  deps: OpenDeps,
  account: AccountWithCredentials,
  exchange: Pick<AccountExchange, "exchangeNow" | "useLimitsOf">,
): Promise<OpenAccount> {
  const { db, leases, users, isTrusted = false, ...waiting } = deps;
  const { name, credentials, demo: isDemo = false } = account;
  const key = new AccountKey(db, { account: name, key: credentials.key }, { isDemo, isTrusted });
  await key.refuseTaken();
  await using stack = new AsyncDisposableStack();
  const { assertHeld, ...lease } = stack.use(await leases.take(name, waiting));
  const leasesOfUsers = new Map<string, Lease>();
  const ofUsers = stack.use(new AsyncDisposableStack());
  /** From now on, reads the account as one of this user's: within the limits that the user's accounts share. */
  const readAs = async (user: string | undefined): Promise<void> => {
    if (user === undefined || leasesOfUsers.has(user)) return;
    leasesOfUsers.set(user, ofUsers.use(await leases.takeUser(user, waiting)));
    await exchange.useLimitsOf(user);
  };
  await readAs(account.uid ?? users.get(name));
  const whole = stack.move();
  return {
    ...lease,
    assertHeld() {
      assertHeld();
      for (const user of leasesOfUsers.values()) user.assertHeld();
    },
    checkKey: (answer) => key.check(answer),
    async takeKey(answer) {
      const checked = await key.check(answer);
      await key.take((tx) => checkLease(tx, lease), horizonAt(exchange.exchangeNow()));
      const shared = await key.sharedUser();
      const user = account.uid ?? shared?.uid;
      await recordUser(db, [name, ...(account.uid ? [] : (shared?.accounts ?? []))], user);
      await readAs(user);
      return checked;
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}
