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
import { sqlStateOf, withDatabaseErrors } from "../postgres/database-errors.ts";
import { textArray, timeText } from "../postgres/values.ts";

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
  /** The account's name, or {@link userKey}. */
  readonly account: string;
  /** One more with each new holder. */
  readonly epoch: number;
  /**
   * Looks at this machine's clock only. Once it has thrown, it always throws.
   * @throws LeaseLostError once another process may have taken the lease.
   */
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

const userPrefix = "user ";

/** The key of a user's lease. No account's name has a space. */
const userKey = (uid: string): string => `${userPrefix}${uid}`;

const subjectOf = (key: string): string =>
  key.startsWith(userPrefix) ? `${key}, whose accounts share a rate limit` : `account ${key}`;

/** @param holder empty where that one has given it back. */
const overtaken = (account: string, holder = ""): LeaseLostError =>
  new LeaseLostError(
    `this run lost ${subjectOf(account)} to another one${holder === "" ? "" : ` (${holder})`} and ` +
      "wrote nothing more; run it again",
  );

const ranOut = (account: string): LeaseLostError =>
  new LeaseLostError(
    `this run lost ${subjectOf(account)}, and wrote nothing more: its lease was not renewed in time, because ` +
      "the database did not answer, a lock held up its row, its clock was set, or this process was " +
      "frozen; run it again",
  );

/** The row of a lease that is not free. */
type HeldRow = {
  /** Empty where it was given back. */
  readonly holder: string;
  readonly epoch: string;
  readonly expiresAt: string;
  readonly since: string | null;
};

/** "elsewhere process 7, since 2026-11-22 10:11:05Z", by the server's clock. */
const nameOf = ({ holder, since }: HeldRow): string =>
  since === null ? holder : `${holder}, since ${since.slice(0, 19).replace("T", " ")}Z`;

export type TakeOptions = {
  readonly onWait?: (message: string) => void;
  readonly signal: AbortSignal;
};

export type LeasesOptions = {
  /** The clock of this process; the database uses its own. Default this machine's. */
  readonly clock?: Clock;
  readonly timing?: LeaseTiming;
};

type Renewal = {
  readonly account: string;
  readonly holder: string;
  readonly epoch: string;
  readonly isOver: boolean;
  readonly isRenewed: boolean;
};

type HeldLease = Pick<Lease, "account" | "epoch"> & {
  /** By this machine's clock: {@link asleepOrAwake}. */
  usedUntil: number;
  lost?: LeaseLostError;
};

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
  readonly #users = new Map<string, { lease: Promise<Lease>; accounts: number }>();
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
    const waitMaxMs = aheadMaxMs + leaseMs;
    let before: HeldRow | undefined;
    for (let poll = 0; poll < Math.ceil(waitMaxMs / pollMs); poll++) {
      signal.throwIfAborted();
      const askedAt = asleepOrAwake(this.#clock);
      const { epoch, held } = await withDatabaseErrors(() => this.#takeFree(account));
      if (epoch !== undefined) return this.#keep(account, epoch, askedAt);
      if (held !== undefined && held.holder !== "") {
        if (before === undefined) {
          onWait?.(
            `${nameOf(held)} holds ${subjectOf(account)}; waiting to see whether that process is alive`,
          );
        } else if (held.epoch !== before.epoch || held.expiresAt !== before.expiresAt) {
          // The row changed since it was last read, and was not given back: its holder is alive.
          throw new AccountHeldError(
            `another run holds ${subjectOf(account)} (${nameOf(held)}); wait until it has ended`,
          );
        }
      }
      before = held ?? before;
      await this.#clock.sleep(pollMs, signal);
    }
    throw new AccountHeldError(
      `${subjectOf(account)} did not become free within ${waitMaxMs / secondMs} s` +
        `${before?.holder ? ` (${nameOf(before)})` : ""}; see whether another run hangs`,
    );
  }

  /** Takes a user's lease, which this process's accounts of that user share. @throws as `take` does. */
  async takeUser(uid: string, options: TakeOptions): Promise<Lease> {
    const shared = this.#users.get(uid) ?? { lease: this.take(userKey(uid), options), accounts: 0 };
    this.#users.set(uid, shared);
    shared.accounts += 1;
    const isLast = (): boolean => {
      shared.accounts -= 1;
      return shared.accounts === 0 && this.#users.delete(uid);
    };
    try {
      const lease = await shared.lease;
      return {
        ...lease,
        [Symbol.asyncDispose]: async () => {
          if (isLast()) await lease[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      isLast();
      throw error;
    }
  }

  /**
   * Waits for a transaction of the former holder. The row of a lease that is held is only read, since its holder's
   * renewals skip locked rows.
   * @returns the epoch, or the row of a lease that is held; neither where another process was just faster.
   */
  #takeFree(account: string): Promise<{ readonly epoch?: number; readonly held?: HeldRow }> {
    const end = sql`clock_timestamp() + ${this.#timing.leaseMs} * interval '1 ms'`;
    const read = async (tx: Transaction) => {
      const { rows } = await tx.execute<HeldRow>(sql`
        select
          holder,
          epoch::text as epoch,
          ${timeText(sql`expires_at`)} as "expiresAt",
          ${timeText(sql`taken_at`)} as since
        from leases
        where account = ${account}
          and not ${isFree}`);
      return rows[0];
    };
    const take = async (tx: Transaction, held: HeldRow | undefined) => {
      if (held !== undefined) return { held };
      const { rows } = await tx.execute<{ epoch: string }>(sql`
        insert into leases (account, holder, epoch, taken_at, expires_at)
        values (${account}, ${this.#holder}, 1, clock_timestamp(), ${end})
        on conflict (account) do update set
          holder = excluded.holder,
          epoch = leases.epoch + 1,
          taken_at = excluded.taken_at,
          expires_at = excluded.expires_at
        where ${isFree}
        returning epoch`);
      return rows[0] === undefined ? {} : { epoch: Number(rows[0].epoch) };
    };
    return inTransactionAfter(this.#db, read, take).catch((error: unknown) => {
      // Of two first takers, one may fail at the unique key that contains the epoch.
      if (sqlStateOf(error) === "23505") return {};
      throw error;
    });
  }

  #keep(account: string, epoch: number, askedAt: number): Lease {
    const held: HeldLease = { account, epoch, usedUntil: askedAt + usableMs(this.#timing) };
    if (this.#held.size === 0) {
      this.#renewing = new AbortController();
      const { renewMs } = this.#timing;
      void repeatEvery(this.#clock, renewMs, this.#renewing.signal, () => this.#renewInTime());
    }
    this.#held.add(held);
    return {
      account,
      epoch,
      assertHeld: () => {
        // A retry may outlast a run that failed and gave its lease back.
        const isHeld = this.#held.has(held) && asleepOrAwake(this.#clock) < held.usedUntil;
        if (!isHeld) held.lost ??= ranOut(account);
        if (held.lost !== undefined) throw held.lost;
      },
      [Symbol.asyncDispose]: () => this.#giveBack(held),
    };
  }

  /** Where the database is away the leases expire, and the next statement says why: a failure is no error. */
  async #renewInTime(): Promise<void> {
    const { leaseMs, renewMs } = this.#timing;
    const answered = new AbortController();
    const isOver = AbortSignal.any([this.#renewing.signal, answered.signal]);
    // While there is still time, a renewal without an answer is followed by another one.
    const patience = this.#clock.sleep(leaseMs / 2 - renewMs, isOver).catch(() => undefined);
    await Promise.race([this.#renew().catch(() => undefined), patience]);
    answered.abort();
  }

  /**
   * Renews leases that have not expired. A row that another session has locked is skipped until the next renewal, so
   * that one account's lock costs no other account its lease; so is one that was given back meanwhile.
   */
  async #renew(): Promise<void> {
    const leases = [...this.#held].filter(({ lost }) => lost === undefined);
    const accounts = sql`${textArray(leases.map(({ account }) => account))}::text[]`;
    const epochs = sql`${textArray(leases.map(({ epoch }) => String(epoch)))}::bigint[]`;
    const askedAt = asleepOrAwake(this.#clock);
    // On a connection that need not wait for other work.
    const { rows } = await urgently(this.#db, (connection) =>
      connection.execute<Renewal>(sql`
        with unlocked as (
          select account
          from leases
          where (account, epoch) in (select * from unnest(${accounts}, ${epochs}))
            and expires_at > clock_timestamp()
            and holder <> ''
          for no key update skip locked
        ),
        renewed as (
          update leases
          set expires_at = clock_timestamp() + ${this.#timing.leaseMs} * interval '1 ms'
          where account in (select account from unlocked)
          returning account
        )
        select
          account,
          holder,
          epoch::text as epoch,
          expires_at <= clock_timestamp() as "isOver",
          account in (select account from renewed) as "isRenewed"
        from leases
        where account = any(${accounts})`),
    );
    const found = new Map(rows.map((row) => [row.account, row]));
    // This machine's clock counts too: a statement that was held up may have read the server's long ago.
    const now = asleepOrAwake(this.#clock);
    for (const lease of leases) {
      const row = found.get(lease.account);
      if (now >= lease.usedUntil) lease.lost ??= ranOut(lease.account);
      else if (row?.isRenewed)
        lease.usedUntil = Math.max(lease.usedUntil, askedAt + usableMs(this.#timing));
      else if (Number(row?.epoch) !== lease.epoch)
        lease.lost ??= overtaken(lease.account, row?.holder);
      else if (row?.isOver) lease.lost ??= ranOut(lease.account);
    }
  }

  async #giveBack(lease: HeldLease): Promise<void> {
    this.#held.delete(lease);
    if (this.#held.size === 0) this.#renewing.abort();
    const { cooldownMs, leaseMs } = this.#timing;
    const returning = urgently(this.#db, (connection) =>
      connection.execute(sql`
    update leases
    set
      expires_at = clock_timestamp() + ${cooldownMs} * interval '1 ms',
      holder = ''
    where account = ${lease.account}
      and epoch = ${lease.epoch}
      and expires_at > clock_timestamp()`),
    );
    // Where giving back fails or hangs, the lease expires by itself, so the run need not fail.
    const waitOver = delay(leaseMs, undefined, { ref: false });
    await Promise.race([returning.catch(() => undefined), waitOver]);
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
  if (Number(row?.epoch) !== epoch) throw overtaken(account, row?.holder);
}

/**
 * For a transaction that makes anew what is derived from an account's bills, by a process that need not hold
 * the account: waits for the transaction of its holder, and lets none begin. Renewals skip the row meanwhile,
 * so this must be over within seconds. Every account with bills has a row: a restore makes those that lack one.
 */
export async function pauseHolder(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`select from leases where account = ${account} for update`);
}
