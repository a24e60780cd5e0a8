import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { asleepOrAwake, type Clock, repeatEvery, systemClock } from "../../lib/clock.ts";
import { AccountHeldError, LeaseLostError } from "../../lib/errors.ts";
import { secondMs } from "../../lib/time.ts";
import {
  type Database,
  inTransactionAfter,
  type Transaction,
  urgently,
} from "../postgres/connect.ts";
import { sqlStateOf } from "../postgres/database-errors.ts";
import { textArray } from "../postgres/values.ts";

/**
 * A row of `leases`. Its holder is the one process that asks the exchange for an account and writes its bills. The
 * rate limits are a user's, who may have several accounts: who reads one of them holds the user's lease, too.
 *
 * | the lease is | the row | what another process does |
 * |---|---|---|
 * | free | none, or `expires_at` is past, or more than 30 s ahead | takes it; `epoch` grows by one |
 * | held | `holder` is set, and `expires_at` moves | is refused as soon as it sees a renewal |
 * | given back | `holder` is empty, `expires_at` is 1 s ahead | waits until it is free |
 * | of a dead holder | `holder` is set, and `expires_at` stands still | waits until it is free |
 *
 * A holder renews its lease every 3 s, to 15 s ahead by the server's clock. It stops 13 s after the last renewal was
 * sent, also where the machine slept. A lease that ran out is not renewed, though nobody took it.
 *
 * Each transaction of a holder locks the row `for key share`, and fails where `epoch` is no longer the holder's. A
 * taker changes `epoch`, which a unique key contains, so it waits for that transaction. Renewals change no key, and
 * pass. So a process that wakes up after its lease was taken writes nothing.
 *
 * A server's clock may be set. Then a lease runs out early, and its holder stops; or it ends more than 30 s ahead,
 * and is free, or the account would stay locked for hours.
 */
export type Lease = AsyncDisposable & {
  /** The account's name, or `user ` and a user's id. */
  readonly account: string;
  /** One more with each new holder. */
  readonly epoch: number;
  /** Looks at this machine's clock only. @throws LeaseLostError once another process may have taken the lease. */
  assertHeld(): void;
};

/** What a transaction needs of a lease. Without `assertHeld` only the database's row is checked. */
export type LeaseInUse = Pick<Lease, "account" | "epoch"> & Partial<Pick<Lease, "assertHeld">>;

export const leaseTiming = {
  /** How long a lease lasts without a renewal. */
  leaseMs: 15 * secondMs,
  renewMs: 3 * secondMs,
  pollMs: 250,
  /** How long a lease stays taken after it was given back: its last requests still count for the rate limit. */
  cooldownMs: secondMs,
} as const;

type LeaseTiming = { readonly [name in keyof typeof leaseTiming]: number };

/** A lease that ends later was written while the server's clock was wrong. */
const aheadMaxMs = 2 * leaseTiming.leaseMs;

/**
 * How long a holder uses a lease after its last renewal was sent. Its last requests must no longer count for the rate
 * limit when another process begins: a run that was frozen for 15 s once sent 5 requests beside its successor's.
 */
export const usableMs = ({ leaseMs, cooldownMs }: LeaseTiming): number => leaseMs - 2 * cooldownMs;

/** The key of a user's lease begins so. No account's name has a space. */
const userPrefix = "user ";

const subjectOf = (key: string): string =>
  key.startsWith(userPrefix) ? `${key}, whose accounts share a rate limit` : `account ${key}`;

/** @param holder who took it; empty where nobody did, or he has given it back. */
const lost = (key: string, holder = ""): LeaseLostError =>
  new LeaseLostError(
    `this run lost ${subjectOf(key)}${holder === "" ? "" : ` to another one (${holder})`}, and wrote nothing more: its ` +
      "lease was not renewed in time, because the database did not answer, a lock held up its row, its clock was set, " +
      "or this process was frozen; run it again",
  );

/** The row of a lease that is not free. */
type HeldRow = {
  /** Empty where it was given back. */
  readonly holder: string;
  /** "elsewhere process 7, since 2026-11-22 10:11:05Z", by the server's clock. */
  readonly name: string;
  /** Another one after each renewal. */
  readonly renewal: string;
};

export type TakeOptions = {
  readonly onWait?: (message: string) => void;
  readonly signal: AbortSignal;
};

/** The clock of this process, and times. The database uses its own clock. */
export type LeasesOptions = { readonly clock?: Clock; readonly timing?: LeaseTiming };

/** `usedUntil` is by this machine's clock, asleepOrAwake, and is never moved once it is past. */
type HeldLease = Pick<Lease, "account" | "epoch"> & { usedUntil: number };

const isFree = sql`(
        leases.expires_at <= clock_timestamp()
        or leases.expires_at > clock_timestamp() + ${aheadMaxMs} * interval '1 ms'
      )`;

/** The leases of one process, which are renewed together: all in one statement. */
export class Leases {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #timing: LeaseTiming;
  readonly #holder = `${hostname()} process ${process.pid}`;
  readonly #held = new Set<HeldLease>();
  readonly #users = new Map<string, { readonly lease: Promise<Lease>; accounts: number }>();
  #renewing = new AbortController();

  constructor(db: Database, { clock = systemClock, timing = leaseTiming }: LeasesOptions = {}) {
    this.#db = db;
    this.#clock = clock;
    this.#timing = timing;
  }

  /**
   * Takes an account's lease, and renews it until it is disposed, which gives it back. Waits where it was just given
   * back, or its holder may be dead.
   * @throws AccountHeldError where another process holds it, and renews it.
   */
  async take(account: string, { onWait, signal }: TakeOptions): Promise<Lease> {
    const { leaseMs, pollMs } = this.#timing;
    let before: HeldRow | undefined;
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      signal.throwIfAborted();
      const askedAt = asleepOrAwake(this.#clock);
      const found = await this.#takeFree(account);
      if (typeof found === "number") return this.#keep(account, found, askedAt);
      const isHeld = found !== undefined && found.holder !== "";
      const isAlive = isHeld && before !== undefined && found.renewal !== before.renewal;
      const who = `${subjectOf(account)}${found ? ` (${found.name})` : ""}`;
      if (isAlive || waitedMs > aheadMaxMs + leaseMs)
        throw new AccountHeldError(`another run holds ${who}; wait until it has ended`);
      if (isHeld && before === undefined)
        onWait?.(
          `${found.name} holds ${subjectOf(account)}; waiting to see whether that process is alive`,
        );
      before = found ?? before;
      await this.#clock.sleep(pollMs, signal);
    }
  }

  /** Takes a user's lease, which this process's accounts of that user share. @throws as `take` does. */
  async takeUser(uid: string, options: TakeOptions): Promise<Lease> {
    const key = `${userPrefix}${uid}`;
    const shared = this.#users.get(key) ?? { lease: this.take(key, options), accounts: 0 };
    this.#users.set(key, shared);
    shared.accounts += 1;
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => {
      shared.accounts -= 1;
      if (shared.accounts > 0) return;
      this.#users.delete(key);
      const lease = await shared.lease.catch(() => undefined);
      await lease?.[Symbol.asyncDispose]();
    });
    const lease = await shared.lease;
    const use = stack.move();
    return { ...lease, [Symbol.asyncDispose]: () => use.disposeAsync() };
  }

  /**
   * Waits for a transaction of the former holder. The row of a lease that is held is only read, since its holder's
   * renewals skip locked rows.
   * @returns the epoch, or the row of a lease that is held; neither where another process was just faster.
   */
  #takeFree(account: string): Promise<number | HeldRow | undefined> {
    const read = async (tx: Transaction) => {
      const { rows } = await tx.execute<HeldRow>(sql`
        select
          holder,
          concat_ws(', since ', holder, to_char(taken_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS"Z"')) as name,
          concat(epoch, ' until ', extract(epoch from expires_at)) as renewal
        from leases
        where account = ${account}
          and not ${isFree}`);
      return rows[0];
    };
    const take = async (tx: Transaction, held: HeldRow | undefined) => {
      if (held !== undefined) return held;
      const { rows } = await tx.execute<{ epoch: string }>(sql`
        insert into leases (account, holder, epoch, taken_at, expires_at)
        values (
          ${account}, ${this.#holder}, 1, clock_timestamp(),
          clock_timestamp() + ${this.#timing.leaseMs} * interval '1 ms'
        )
        on conflict (account) do update set
          holder = excluded.holder,
          epoch = leases.epoch + 1,
          taken_at = excluded.taken_at,
          expires_at = excluded.expires_at
        where ${isFree}
        returning epoch`);
      return rows[0] && Number(rows[0].epoch);
    };
    return inTransactionAfter(this.#db, read, take).catch((error: unknown) => {
      // Of two first takers, one may fail at the unique key that contains the epoch.
      if (sqlStateOf(error) === "23505") return undefined;
      throw error;
    });
  }

  #keep(account: string, epoch: number, askedAt: number): Lease {
    const held = { account, epoch, usedUntil: askedAt + usableMs(this.#timing) };
    if (this.#held.size === 0) {
      this.#renewing = new AbortController();
      // None waits for the one before: the database may not have answered it, and may answer the next.
      void repeatEvery(this.#clock, this.#timing.renewMs, this.#renewing.signal, () => {
        void this.#renew().catch(() => undefined);
      });
    }
    this.#held.add(held);
    return {
      account,
      epoch,
      assertHeld: () => {
        if (asleepOrAwake(this.#clock) >= held.usedUntil) throw lost(account);
      },
      [Symbol.asyncDispose]: () => this.#giveBack(held),
    };
  }

  /**
   * Renews leases that have not expired. A row that another session has locked is skipped until the next renewal, so
   * that one account's lock costs no other account its lease. Where the database is away the leases expire, and the
   * next statement says why: a failure is no error.
   */
  async #renew(): Promise<void> {
    const askedAt = asleepOrAwake(this.#clock);
    const leases = [...this.#held].filter(({ usedUntil }) => askedAt < usedUntil);
    if (leases.length === 0) return;
    const accounts = textArray(leases.map(({ account }) => account));
    const epochs = textArray(leases.map(({ epoch }) => String(epoch)));
    const areHeld = sql`
          (account, epoch) in (select * from unnest(${accounts}::text[], ${epochs}::bigint[]))
          and expires_at > clock_timestamp()
          and holder <> ''`;
    // On a connection that need not wait for other work.
    const { rows } = await urgently(this.#db, (connection) =>
      connection.execute<{ account: string; isRenewed: boolean }>(sql`
        with unlocked as (
          select account
          from leases
          where ${areHeld}
          for no key update skip locked
        ),
        renewed as (
          update leases
          set expires_at = clock_timestamp() + ${this.#timing.leaseMs} * interval '1 ms'
          where account in (select account from unlocked)
          returning account
        )
        select account, account in (select account from renewed) as "isRenewed"
        from leases
        where ${areHeld}`),
    );
    const found = new Map(rows.map(({ account, isRenewed }) => [account, isRenewed]));
    // This machine's clock counts too: a statement that was held up may have read the server's long ago.
    const now = asleepOrAwake(this.#clock);
    for (const lease of leases.filter(({ usedUntil }) => now < usedUntil)) {
      const isRenewed = found.get(lease.account);
      if (isRenewed === undefined) lease.usedUntil = Number.NEGATIVE_INFINITY;
      else if (isRenewed)
        lease.usedUntil = Math.max(lease.usedUntil, askedAt + usableMs(this.#timing));
    }
  }

  async #giveBack(lease: HeldLease): Promise<void> {
    const { cooldownMs, leaseMs } = this.#timing;
    // A retry may outlast a run that failed.
    lease.usedUntil = Number.NEGATIVE_INFINITY;
    this.#held.delete(lease);
    if (this.#held.size === 0) this.#renewing.abort();
    const returning = urgently(this.#db, (connection) =>
      connection.execute(sql`
        update leases
        set
          expires_at = clock_timestamp() + ${cooldownMs} * interval '1 ms',
          holder = ''
        where account = ${lease.account}
          and epoch = ${lease.epoch}
          and expires_at > clock_timestamp()`),
    ).catch(() => undefined);
    // Where giving back fails or hangs, the lease expires by itself, so the run need not fail.
    await Promise.race([returning, delay(leaseMs, undefined, { ref: false })]);
  }
}

/**
 * Fails a transaction whose run lost the lease. Another process can take the lease only after the transaction;
 * renewals need not wait for it.
 */
export async function checkLease(tx: Transaction, { account, epoch }: LeaseInUse): Promise<void> {
  const { rows } = await tx.execute<{ holder: string; epoch: string }>(sql`
    select holder, epoch
    from leases
    where account = ${account}
    for key share`);
  const [row] = rows;
  if (Number(row?.epoch) !== epoch) throw lost(account, row?.holder);
}
