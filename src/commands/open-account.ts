import { recordDemo } from "../db/accounts/decisions.ts";
import type { Database } from "../db/connect.ts";
import { checkLease, type Lease, recordUser, type Users } from "../db/lease/lease.ts";
import type { Leases, TakeOptions } from "../db/lease/leases.ts";
import type { AccountExchange } from "../exchange/session.ts";
import { AccountKey } from "../ledger/account-key.ts";
import type { AccountWithCredentials } from "../roster/account.ts";
import { horizonAt } from "../sync/plan.ts";
import type { KeyAnswer } from "../sync/store.ts";

type OpenDeps = {
  readonly db: Database;
  readonly leases: Leases;
  /** The users of accounts for which none is configured. */
  readonly users: Users;
  readonly signal: AbortSignal;
  readonly onWait?: (message: string) => void;
  /** Takes a key without a proof that it is the account's. Default false. */
  readonly isVouched?: boolean;
};

/** An account that this process holds, and its key. */
export type OpenAccount = AccountHold & {
  /** Decides whether the key is the account's. Writes nothing. Throws, and returns, as {@link AccountKey.check} does. */
  checkKey(answer: KeyAnswer): Promise<{ readonly isNew: boolean }>;
  /** Makes it the key that reads the account. Called before anything else is written. */
  takeKey(answer: KeyAnswer): Promise<{ readonly isNew: boolean }>;
};

/**
 * Takes an account's lease, before the exchange is asked anything with its key.
 * @throws KeyTakenError where the key is stored under another name; AccountHeldError where another run holds the account.
 */
export async function openAccount(
  deps: OpenDeps,
  account: AccountWithCredentials,
  exchange: Pick<AccountExchange, "exchangeNow" | "useLimitsOf">,
): Promise<OpenAccount> {
  const { db, leases, users, isVouched = false, ...waiting } = deps;
  const { name, credentials, demo: isDemo = false } = account;
  const key = new AccountKey(db, { account: name, key: credentials.key }, { isDemo, isVouched });
  await key.refuseTaken();
  const uid = account.uid ?? users.get(name);
  const lease = await holdAccount({ leases, exchange }, { name, uid }, waiting);
  return {
    ...lease,
    checkKey: (answer) => key.check(answer),
    async takeKey(answer) {
      const checked = await key.check(answer);
      await key.take((tx) => checkLease(tx, lease), horizonAt(exchange.exchangeNow()));
      await recordDemo(db, name, isDemo);
      const shared = await key.sharedUser();
      const user = account.uid ?? shared?.uid;
      await recordUser(db, [name, ...(account.uid ? [] : (shared?.accounts ?? []))], user);
      if (user !== undefined) await lease.asUser(user);
      return checked;
    },
  };
}

/** An account that this process alone asks the exchange for. */
type AccountHold = Lease & {
  /**
   * From now on, reads the account as one of this user's: under the user's lease, and within the limits that
   * the user's accounts share.
   * @throws AccountHeldError where another process reads an account of the user.
   */
  asUser(uid: string): Promise<void>;
};

type Holding = { readonly leases: Leases; readonly exchange: Pick<AccountExchange, "useLimitsOf"> };

/**
 * Takes an account's lease and, where its user is known, the user's.
 * @throws AccountHeldError where another process holds one of them.
 */
async function holdAccount(
  { leases, exchange }: Holding,
  { name, uid }: { readonly name: string; readonly uid: string | undefined },
  options: TakeOptions,
): Promise<AccountHold> {
  await using stack = new AsyncDisposableStack();
  const { assertHeld, ...lease } = stack.use(await leases.take(name, options));
  const users = new Map<string, Lease>();
  const ofUsers = new AsyncDisposableStack();
  const asUser = async (user: string): Promise<void> => {
    if (users.has(user)) return;
    users.set(user, ofUsers.use(await leases.takeUser(user, options)));
    await exchange.useLimitsOf(user);
  };
  stack.use(ofUsers);
  if (uid !== undefined) await asUser(uid);
  const whole = stack.move();
  return {
    ...lease,
    assertHeld() {
      assertHeld();
      for (const user of users.values()) user.assertHeld();
    },
    asUser,
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}
