import { sql } from "drizzle-orm";
import { readAgain, spanAround } from "../../src/check/verify/read-again.ts";
import { ledgerVerifiers, type VerifyDeps, verifyBills } from "../../src/check/verify/verify.ts";
import { classicProductTypes, type ProductType } from "../../src/core/contract/product-types.ts";
import { openExchange } from "../../src/core/exchange/session.ts";
import { type Database, type OpenDatabase, openDatabase } from "../../src/core/postgres/connect.ts";
import { readStoredBills } from "../../src/core/store/bill-rows.ts";
import { Leases } from "../../src/core/store/lease.ts";
import { type LeasedAccount, openStore, type Store } from "../../src/core/store/ledger-store.ts";
import { openVerifyStore, type VerifyStore } from "../../src/core/store/verify-store.ts";
import type { AccountReport } from "../../src/core/sync/account-report.ts";
import { syncAccount } from "../../src/core/sync/run.ts";
import type { Interval } from "../../src/core/words/intervals.ts";
import { horizonAt } from "../../src/core/words/plan.ts";
import type { ExchangeError } from "../../src/lib/errors.ts";
import { type EpochMs, epochMs, minuteMs } from "../../src/lib/time.ts";
import { recoveryWith } from "../../src/wings/recovery/recover.ts";
import { type Comparison, compareWithLedger } from "../../src/wings/sandbox/comparison.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "../exchange/sandbox.ts";
import { secretsOf } from "./exchange-client.ts";
import { sandboxTransport } from "./sandbox-transport.ts";
import { type VirtualClock, virtualClock } from "./virtual-clock.ts";

/** The moment at which simulations begin. */
export const simulationStart = Date.UTC(2026, 3, 30, 23, 59, 58, 765);

export type SimulationOptions = Omit<SandboxOptions, "now" | "accountNames"> & {
  /** The account's name, also in its rows. */
  readonly name: string;
  readonly productTypes?: readonly ProductType[];
  /**
   * Whether only those product types are read that the account has and its key can read. Default
   * false.
   */
  readonly readsAll?: boolean;
  readonly settleLagMs?: number;
  /** How long a request takes to the exchange, and its answer back. Default 40 ms. */
  readonly wayMs?: number;
  /** The oldest time that is wanted of tax records. Default none is read. */
  readonly recoverFrom?: EpochMs | "none";
  /** Called with every failed request for something else than bills. */
  readonly onFailure?: (failure: ExchangeError) => void;
  /** Between the sync and the tables: makes a page fail, or watches. */
  readonly wrapStore?: (store: Store) => Store;
};

export type Simulation = ReturnType<typeof simulate>;

/**
 * The real sync with a sandbox exchange in this process and a real Postgres: only the network and
 * the time are simulated.
 */
export function simulate(url: string, options: SimulationOptions) {
  const { name, settleLagMs = 10 * minuteMs } = options;
  const { wrapStore = (store: Store) => store } = options;
  const time = virtualClock(simulationStart);
  const database = openDatabase(url);
  const sandbox = createSandbox({ ...options, accountNames: [name], now: time.now });
  const { productTypes = classicProductTypes, readsAll = false } = options;
  const account = { ...accountOf(sandbox, productTypes), readsAll };
  const { wayMs = 40 } = options;
  const { clock } = time;
  let beganAt = epochMs(simulationStart);

  const run = async (signal: AbortSignal, { recoverFrom } = options) => {
    const { client, exchangeNow } = exchangeIn(sandbox, time, account, wayMs);
    await using leased = await time.hold(() => hold(database.db, name, time, wrapStore));
    const deps = {
      ...{ client, exchangeNow, leased, settleLagMs, signal, sleep: clock.sleep },
      recover: recoverFrom && recoveryWith({ recoverFrom }),
      onProgress: () => undefined,
      onFailure: options.onFailure ?? (() => undefined),
    };
    return await syncAccount(deps, account);
  };

  return {
    sandbox,
    time,
    /** One whole run, as `sync` does it for one account, in simulated exchange time. */
    async sync(signal = new AbortController().signal): Promise<AccountReport> {
      beganAt = time.clock.now();
      await database.db.execute(sql`delete from leases where account = ${name}`);
      return time.run(run(signal));
    },
    /** Lets the exchange's time pass. */
    pass: (ms: number) => time.run(time.clock.sleep(ms)),
    /** What is stored, compared with what the exchange served when the last run began. */
    compare: (): Promise<readonly Comparison[]> =>
      Promise.all(
        account.productTypes.map(async (productType) => {
          const stored = await readStoredBills(database.db, { account: name, productType });
          const inside = { from: horizonAt(time.clock.now()), visibleAt: beganAt };
          return compareWithLedger(sandbox.account.ledger.bills[productType], stored, inside);
        }),
      ),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

const accountOf = ({ account }: Sandbox, wanted: readonly ProductType[]) => ({
  name: account.name,
  productTypes: wanted,
  credentials: secretsOf(account),
});

/** As one account sees it. */
const exchangeIn = (
  sandbox: Sandbox,
  { clock }: VirtualClock,
  account: ReturnType<typeof accountOf>,
  wayMs = 40,
) =>
  openExchange({ baseUrl: new URL("http://127.0.0.1") }, account, {
    transport: sandboxTransport(sandbox, clock.sleep, () => wayMs),
    clock,
    random: () => 0.5,
  });

/** The account's real lease and tables; time stands still while they work. */
async function hold(
  db: Database,
  name: string,
  time: VirtualClock,
  wrapStore: (store: Store) => Store,
): Promise<LeasedAccount & AsyncDisposable> {
  const lease = await new Leases(db).take(name, { signal: new AbortController().signal });
  const store = holding(time, wrapStore(openStore(db, lease)));
  const release = () => time.hold(() => Promise.resolve(lease[Symbol.asyncDispose]()));
  return { store, assertHeld: lease.assertHeld, [Symbol.asyncDispose]: release };
}

/** A store, during whose work time stands still. */
const holding = <Acts extends object>({ hold }: VirtualClock, store: Acts): Acts =>
  new Proxy(store, {
    get: (target, name) => {
      const act = Reflect.get<object, PropertyKey>(target, name);
      if (typeof act !== "function") return act;
      return (...given: unknown[]) => hold(() => act(...given));
    },
  });

/** A stored row's identity in the table, which changes when the row is rewritten. */
export async function rowVersions(
  { db }: OpenDatabase,
  account: string,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.execute<{ id: string; version: string }>(sql`
    select product_type || '/' || bill_id as id, xmin::text || ' ' || ctid::text as version
    from bills
    where account = ${account}`);
  return new Map(rows.map(({ id, version }) => [id, version]));
}

export type VerificationOptions = {
  readonly span: Interval;
  readonly repair?: boolean;
  readonly productTypes?: readonly ProductType[];
  /** Watches, or changes the tables during the verification. */
  readonly wrapStore?: (store: VerifyStore) => VerifyStore;
};

type HeldOptions = Pick<VerificationOptions, "productTypes" | "wrapStore">;

/** Reads with what a verification has, in simulated time, with a real lease. */
function inHeldAccount<T>(
  db: Database,
  { sandbox, time }: Simulation,
  { productTypes: wanted = classicProductTypes, wrapStore = (store) => store }: HeldOptions,
  read: (deps: Omit<VerifyDeps, "span" | "repair">) => Promise<T>,
): Promise<T> {
  const account = accountOf(sandbox, wanted);
  const { signal } = new AbortController();
  // A short cooldown: a sync may have released its lease just before.
  const timing = { leaseMs: 15_000, renewMs: 3_000, pollMs: 20, cooldownMs: 1 };
  const act = async () => {
    const lease = await time.hold(() => new Leases(db, { timing }).take(account.name, { signal }));
    const { client, exchangeNow } = exchangeIn(sandbox, time, account);
    const done = await read({
      client,
      exchangeNow,
      assertHeld: lease.assertHeld,
      store: holding(time, wrapStore(openVerifyStore(db, lease))),
      ...{ signal, sleep: time.clock.sleep },
      onProgress: () => undefined,
    });
    await time.hold(async () => lease[Symbol.asyncDispose]());
    return done;
  };
  return time.run(act());
}

/** A verification as the command does it. */
export function verifyIn(db: Database, simulation: Simulation, options: VerificationOptions) {
  const { span, repair = false, productTypes: wanted = classicProductTypes } = options;
  return inHeldAccount(db, simulation, options, async (held) => {
    const deps = { ...held, repair };
    const { name } = simulation.sandbox.account;
    const ledgers = await verifyBills(
      deps,
      wanted.map(ledgerVerifiers(deps, name, () => span)),
      span,
    );
    return { differences: ledgers.flatMap(({ differences }) => differences), ledgers };
  });
}

/** Reads spans of a product type again, as a sync does where a balance is broken. */
export const readAgainIn = (
  db: Database,
  simulation: Simulation,
  productType: ProductType,
  spans: readonly Interval[],
) =>
  inHeldAccount(db, simulation, { productTypes: [productType] }, async (deps) => {
    const { name } = simulation.sandbox.account;
    const spanOf = () => spanAround(productType, spans);
    const ledger = ledgerVerifiers({ ...deps, repair: true }, name, spanOf)(productType);
    await ledger.probe();
    return readAgain(deps, ledger, spans);
  });
