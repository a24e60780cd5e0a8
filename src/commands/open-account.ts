import type { AccountWithCredentials } from "../accounts/account.ts";
import type { AccountExchange } from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import { acceptKey, checkKey, refuseKeyOfAnother } from "../core/store/account-key.ts";
import { readSharedUsers } from "../core/store/accounts/shared-users.ts";
import type { Lease, Leases } from "../core/store/lease.ts";
import type { KeyAnswer } from "../core/words/account-state.ts";
import { horizonAt } from "../core/words/plan.ts";

type OpenDeps = {
  readonly db: Database;
  readonly leases: Leases;
  readonly signal: AbortSignal;
  readonly onWait?: (message: string) => void;
  /** Takes a key without a proof that it is the account's. Default false. */
  readonly isTrusted?: boolean;
};

/** An account that this process alone asks the exchange for, and its key. */
export type OpenAccount = Lease & {
  /** Decides whether the key is the account's. Writes nothing. Throws, and returns, as {@link checkKey} does. */
  checkKey(answer: KeyAnswer): Promise<{ readonly isNew: boolean }>;
  /** Makes it the key that reads the account. Called before anything else is written. */
  acceptKey(answer: KeyAnswer): Promise<{ readonly isNew: boolean }>;
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
  const { db, leases, isTrusted = false, ...waiting } = deps;
  const { name, credentials, demo: isDemo = false } = account;
  const key = { account: name, key: credentials.key, isDemo, isTrusted };
  await refuseKeyOfAnother(db, key);
  await using stack = new AsyncDisposableStack();
  const { assertHeld, ...lease } = stack.use(await leases.take(name, waiting));
  const ofUsers = new Map<string, Lease>();
  const usersLeases = stack.use(new AsyncDisposableStack());
  /** From now on, reads the account within the limits that its user's accounts share. */
  const shareLimits = async (): Promise<void> => {
    const user = account.uid ?? (await readSharedUsers(db, [name])).get(name);
    if (user === undefined || ofUsers.has(user)) return;
    ofUsers.set(user, usersLeases.use(await leases.takeUser(user, waiting)));
    await exchange.useLimitsOf(user);
  };
  await shareLimits();
  const whole = stack.move();
  return {
    ...lease,
    assertHeld() {
      assertHeld();
      for (const user of ofUsers.values()) user.assertHeld();
    },
    checkKey: (answer) => checkKey(db, key, answer),
    async acceptKey(answer) {
      const horizon = horizonAt(exchange.exchangeNow());
      const taken = await acceptKey(db, key, answer, { lease, horizon });
      await shareLimits();
      return taken;
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}
