import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { asleepOrAwake, type Clock, repeatEvery, systemClock } from "../../../lib/clock.ts";
import { AccountHeldError, type LeaseLostError } from "../../../lib/errors.ts";
import { secondMs } from "../../../lib/time.ts";
import type { AddressLimits } from "../../exchange/address-limits.ts";
import { type Database, inTransaction, urgently } from "../../postgres/connect.ts";
import { sqlStateOf, withDatabaseErrors } from "../../postgres/database-errors.ts";
import {
  aheadMaxMs,
  giveBack,
  type Lease,
  type LeaseState,
  type LeaseTiming,
  leaseTiming,
  overtaken,
  ranOut,
  renew,
  subjectOf,
  takeFree,
  usableMs,
  userKey,
  withSince,
} from "./lease.ts";

/** How a process's requests leave its machine. */
export type Egress = {
  /** The address of this machine that they are sent from. Default the system's choice. */
  readonly localAddress?: string;
  /**
   * A name for the address that the exchange sees, the same in all processes that share it: behind a
   * NAT, say, several machines do. Default `localAddress`; without one, this machine.
   */
  readonly name?: string;
};

/** The egress's name, which all that share its limit use; undefined for the machine's default. */
const egressName = ({ name, localAddress }: Egress): string | undefined => name ?? localAddress;

/** How a lease's row names its holder. Its machine and egress tell neighbours apart from others. */
export function holderName(pid: number = process.pid, egress: Egress = {}): string {
  const name = egressName(egress);
  return `${hostname()} process ${pid}${name === undefined ? "" : via(name)}`;
}

const via = (name: string): string => ` via ${name}`;

export type TakeOptions = {
  readonly onWait?: (message: string) => void;
  readonly signal: AbortSignal;
};

export type LeasesOptions = {
  /** The clock of this process; the database uses its own. Default this machine's. */
  readonly clock?: Clock;
  readonly timing?: LeaseTiming;
  /** Default this process. */
  readonly holder?: string;
};

const isSame = (one: LeaseState, other: LeaseState): boolean =>
  one.epoch === other.epoch && one.expiresAt === other.expiresAt;

type HeldLease = Pick<Lease, "account" | "epoch"> & {
  /** By this machine's clock: {@link asleepOrAwake}. */
  usedUntil: number;
  lost?: LeaseLostError;
};

/** The leases of one process, which are renewed together: all in one statement. */
export class Leases {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #timing: LeaseTiming;
  readonly #holder: string;
  readonly #held = new Set<HeldLease>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #users = new Map<string, { lease: Promise<Lease>; accounts: number }>();
  #lastAskedAt = Number.NEGATIVE_INFINITY;
  #loop: AbortController | undefined;

  constructor(db: Database, options: LeasesOptions = {}) {
    const { clock = systemClock, timing = leaseTiming, holder = holderName() } = options;
    this.#db = db;
    this.#clock = clock;
    this.#timing = timing;
    this.#holder = holder;
  }

  /**
   * Takes an account's lease, and renews it until it is disposed, which gives it back. Waits where it was
   * just given back, or its holder may be dead.
   * @throws AccountHeldError where another process holds it, and renews it.
   */
  take(account: string, options: TakeOptions): Promise<Lease> {
    return withDatabaseErrors(() => this.#take(account, options));
  }

  /**
   * Takes a user's lease, which this process's accounts of that user share.
   * @throws AccountHeldError where another process holds it, and renews it.
   */
  async takeUser(uid: string, options: TakeOptions): Promise<Lease> {
    const shared = this.#users.get(uid) ?? { lease: this.take(userKey(uid), options), accounts: 0 };
    this.#users.set(uid, shared);
    shared.accounts += 1;
    const leave = (): boolean => {
      shared.accounts -= 1;
      const isLast = shared.accounts === 0;
      if (isLast) this.#users.delete(uid);
      return isLast;
    };
    try {
      const lease = await shared.lease;
      return {
        ...lease,
        [Symbol.asyncDispose]: async () => {
          if (leave()) await lease[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #take(account: string, { onWait, signal }: TakeOptions): Promise<Lease> {
    const clock = this.#clock;
    const { leaseMs, pollMs } = this.#timing;
    const waitMaxMs = aheadMaxMs + leaseMs;
    const polls = Math.ceil(waitMaxMs / pollMs);
    let before: LeaseState | undefined;
    for (let poll = 0; poll < polls; poll++) {
      signal.throwIfAborted();
      const askedAt = asleepOrAwake(clock);
      const taker = { account, holder: this.#holder, leaseMs };
      const { epoch, held } = await inTransaction(this.#db, (tx) => takeFree(tx, taker)).catch(
        (error: unknown): Awaited<ReturnType<typeof takeFree>> => {
          // Of two first takers, one may fail at the unique key that contains the epoch.
          if (sqlStateOf(error) === "23505") return {};
          throw error;
        },
      );
      if (epoch !== undefined) return this.#keep(account, epoch, askedAt);
      if (held !== undefined && held.holder !== "") {
        const holder = withSince(held);
        if (before === undefined) {
          onWait?.(
            `${holder} holds ${subjectOf(account)}; waiting to see whether that process is alive`,
          );
        } else if (!isSame(held, before)) {
          // The row changed since it was last read, and was not given back: its holder is alive.
          throw new AccountHeldError(
            `another run holds ${subjectOf(account)} (${holder}); wait until it has ended`,
          );
        }
      }
      before = held ?? before;
      await clock.sleep(pollMs, signal);
    }
    throw new AccountHeldError(
      `${subjectOf(account)} did not become free within ${waitMaxMs / secondMs} s` +
        `${before?.holder ? ` (${withSince(before)})` : ""}; see whether another run hangs`,
    );
  }

  #keep(account: string, epoch: number, askedAt: number): Lease {
    const held: HeldLease = { account, epoch, usedUntil: askedAt + usableMs(this.#timing) };
    this.#held.add(held);
    if (this.#loop === undefined) {
      this.#loop = new AbortController();
      this.#keepRenewing(this.#loop.signal).catch(() => undefined);
    }
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

  async #keepRenewing(signal: AbortSignal): Promise<void> {
    const { renewMs, leaseMs } = this.#timing;
    while (!signal.aborted) {
      await this.#clock.sleep(renewMs, signal);
      // While there is still time, an unanswered renewal is followed by another one.
      const now = asleepOrAwake(this.#clock);
      const isPatient = now - this.#lastAskedAt < leaseMs / 2;
      if (this.#underWay.size > 0 && isPatient) continue;
      this.#lastAskedAt = now;
      // A failure is no error: where the database is away the leases expire, and the next statement says why.
      const ended = this.#renewAll(now)
        .catch(() => undefined)
        .finally(() => {
          this.#underWay.delete(ended);
        });
      this.#underWay.add(ended);
    }
  }

  async #renewAll(askedAt: number): Promise<void> {
    const leases = [...this.#held].filter(({ lost }) => lost === undefined);
    if (leases.length === 0) return;
    // On a connection that need not wait for other work.
    const rows = await urgently(this.#db, (connection) =>
      renew(connection, leases, this.#timing.leaseMs),
    );
    const ends = new Map(rows.map((row) => [row.account, row]));
    // This machine's clock counts too: a statement that was held up may have read the server's long ago.
    const now = asleepOrAwake(this.#clock);
    for (const lease of leases) {
      const { account, usedUntil } = lease;
      const { state, holder } = ends.get(account) ?? {};
      if (now >= usedUntil || state === "expired") lease.lost ??= ranOut(account);
      else if (state === "overtaken") lease.lost ??= overtaken(account, holder ?? "");
      else if (state === "renewed") {
        lease.usedUntil = Math.max(usedUntil, askedAt + usableMs(this.#timing));
      }
    }
  }

  async #giveBack(lease: HeldLease): Promise<void> {
    this.#held.delete(lease);
    if (this.#held.size === 0) {
      this.#loop?.abort();
      this.#loop = undefined;
    }
    const { cooldownMs, leaseMs } = this.#timing;
    const returned = async () => {
      // First, because a renewal that arrived after giving back would extend the lease.
      await Promise.all(this.#underWay);
      await urgently(this.#db, (connection) => giveBack(connection, lease, cooldownMs));
    };
    // Where giving back fails or hangs, the lease expires by itself, so the run need not fail.
    const waitOver = delay(leaseMs, undefined, { ref: false });
    await Promise.race([returned().catch(() => undefined), waitOver]);
  }
}

/**
 * How many other processes that send from the same address hold a lease in this database. A process
 * without a named address counts for every address of its machine. One that was killed is counted
 * until its lease expires.
 */
export async function countNeighbours(db: Database, egress: Egress = {}): Promise<number> {
  const name = egressName(egress);
  const ofMachine = sql`starts_with(holder, ${`${hostname()} process `})`;
  const sharing =
    name === undefined
      ? ofMachine
      : sql`(
          right(holder, ${via(name).length}) = ${via(name)}
          or ${ofMachine} and strpos(holder, ' via ') = 0
        )`;
  const { rows } = await urgently(db, (connection) =>
    connection.execute<{ neighbours: number }>(sql`
      select count(distinct holder)::int as neighbours
      from leases
      where expires_at > clock_timestamp()
        and holder <> ''
        and ${sharing}
        and holder <> ${holderName(process.pid, egress)}`),
  );
  return rows[0]?.neighbours ?? 0;
}

// A hundred processes may send for a second before they know of each other without exceeding the
// limit.
const lookEveryMs = secondMs;

/**
 * Shares the limit of the address that requests leave from with the other processes that send from
 * it and hold a lease in this database. The share is set before it returns, and kept up to date
 * until it is disposed. While the database does not answer, the last share stays.
 */
export async function shareAddress(
  db: Database,
  limits: AddressLimits,
  clock: Clock,
  egress: Egress = {},
): Promise<Disposable> {
  const over = new AbortController();
  const look = () =>
    countNeighbours(db, egress).then(
      (neighbours) => limits.shareAmong(1 + neighbours),
      () => undefined,
    );
  await look();
  void repeatEvery(clock, lookEveryMs, over.signal, look);
  return { [Symbol.dispose]: () => over.abort() };
}
