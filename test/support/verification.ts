import { classicProductTypes, type ProductType } from "../../src/contract/product-types.ts";
import type { Database } from "../../src/db/connect.ts";
import { Leases } from "../../src/db/lease/leases.ts";
import { exchangeOf } from "../../src/exchange/session.ts";
import { openVerifyStore } from "../../src/ledger/ledger-store.ts";
import type { Interval } from "../../src/sync/intervals.ts";
import type { VerifyStore } from "../../src/sync/store.ts";
import { ledgerVerifiers, type VerifyDeps, verifyBills } from "../../src/sync/verify.ts";
import { sandboxTransport } from "./sandbox-transport.ts";
import { accountOf, holding, type Simulation } from "./simulation.ts";

export type VerificationOptions = {
  readonly span: Interval;
  readonly repair?: boolean;
  readonly productTypes?: readonly ProductType[];
  /** The one-way delay, ms. */
  readonly latencyMs?: () => number;
  /** Watches, or changes the tables during the verification. */
  readonly wrapStore?: (store: VerifyStore) => VerifyStore;
};

/** A verification as the command does it, in simulated time, with a real lease. */
export async function verifyIn(
  db: Database,
  { sandbox, time }: Simulation,
  options: VerificationOptions,
) {
  const { span, repair = false, productTypes: wanted = classicProductTypes } = options;
  const { wrapStore = (store: VerifyStore) => store } = options;
  const account = accountOf(sandbox, wanted);
  const { signal } = new AbortController();
  // A short cooldown: a sync may have released its lease just before.
  const timing = { leaseMs: 15_000, renewMs: 3_000, pollMs: 20, cooldownMs: 1 };
  const verify = async () => {
    const lease = await time.hold(() => new Leases(db, { timing }).take(account.name, { signal }));
    const { client, exchangeNow } = exchangeOf({ baseUrl: new URL("http://127.0.0.1") }, account, {
      transport: sandboxTransport(sandbox, time.clock.sleep, options.latencyMs ?? (() => 40)),
      clock: time.clock,
      random: () => 0.5,
    });
    const store = holding(time, wrapStore(openVerifyStore(db, lease)));
    const deps: VerifyDeps = {
      client,
      exchangeNow,
      assertHeld: lease.assertHeld,
      store,
      ...{ span, repair, signal, sleep: time.clock.sleep },
      onProgress: () => undefined,
    };
    const ledgers = await verifyBills(deps, wanted.map(ledgerVerifiers(deps, account.name)));
    const differences = ledgers.flatMap((ledger) => ledger.differences);
    await time.hold(async () => lease[Symbol.asyncDispose]());
    return { differences, ledgers };
  };
  return time.run(verify());
}
