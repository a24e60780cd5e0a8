import type { AccountExchange } from "../../exchange/session.ts";
import type { Lease } from "./lease.ts";
import type { Leases, TakeOptions } from "./leases.ts";

/** An account that this process alone asks the exchange for. */
export type AccountHold = Lease & {
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
export async function holdAccount(
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
