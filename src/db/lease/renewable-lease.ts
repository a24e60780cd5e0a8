import { sql } from "drizzle-orm";
import { asleepOrAwake, type Clock, systemClock } from "../../clock.ts";
import { secondMs } from "../../contract/time.ts";
import { AccountHeldError } from "../../errors.ts";
import type { Database, Queryable } from "../connect.ts";
import { timeText } from "../sql/time-text.ts";
import {
  type LeaseKind,
  type LeaseTiming,
  leaseTiming,
  type RenewableLease,
} from "./lease-kind.ts";
import type { LockWaits } from "./lock-waits.ts";
import { holderName } from "./neighbours.ts";
import { Renewals, type TakenLease } from "./renewals.ts";

/**
 * The protocol of sync lease, verify lease and rate share.
 *
 * An account has two leases, each a row of its own. The holder of the sync lease (`account_leases`) is
 * the one process that syncs it. The holder of the verify lease (`account_guests`) reads it beside a
 * sync. Together they keep to the account's rate limits without talking to each other: the sync leaves
 * the verify a rate share of one request in five.
 *
 * A lease is in one of four states:
 *
 * | state | the row | what another process does |
 * |---|---|---|
 * | free | none, or `expires_at` is past | takes the lease; `epoch` grows by one |
 * | held | `holder` is set, and `expires_at` moves | is refused |
 * | given back | `holder` is empty, `expires_at` is 1 s ahead | waits until it is free |
 * | abandoned | `holder` is set, and the row does not change for 15 s | takes the lease |
 *
 * A holder renews its lease every 3 s, to 15 s ahead by the server's clock. Where 13 s pass after the
 * last renewal, also while the machine sleeps, the holder stops using the lease. An expired lease is
 * not renewed. Each transaction of a holder locks the row (`for key share`) and fails where `epoch` is
 * no longer the holder's: a process that was frozen, and wakes up after its lease was taken, writes
 * nothing. A process that waits for a lease measures the 15 s of "abandoned" by its own clock, so that
 * no account stays locked where a wrong server clock put `expires_at` far into the future.
 *
 * The rate share of a sync lease's holder is in one of three states:
 *
 * | state | it begins | requests a second |
 * |---|---|---|
 * | whole | with the sync, and 1 s after the verify lease is free again | sync 10 |
 * | leaving | when the holder sees a verify lease | sync 10, falling to 8 |
 * | left | when `yielded_to` is the verify lease's `epoch` | sync 8, verify 2 |
 *
 * A holder looks for a verify lease right after it has taken the sync lease, and at each renewal.
 * Leaving takes until two slots are free and their last requests are a second old. The holder of a
 * verify lease sends nothing before `left`, unless the sync lease is free or abandoned; it never uses
 * more than its share, since a sync may begin at any time. Both commit their own row before they look
 * for the other's, so at least one sees the other.
 *
 * The rate limits are a user's, and a user may have several accounts here (`uid`). So whoever reads one
 * of them beside a sync takes the verify leases of all: a sync of any of them leaves it the rate share.
 */

export type LeaseOptions = {
  readonly onWait?: (message: string) => void;
  readonly signal: AbortSignal;
  /** The clock of this process; the database uses its own. Default this machine's. */
  readonly clock?: Clock;
  readonly timing?: LeaseTiming;
  /** Renews the lease together with others of the same kind. Default one for this lease alone. */
  readonly renewals?: Renewals;
  /** Default this process. */
  readonly holder?: string;
  /** The run's limits on waiting for locks. Default the statement's limit, two minutes. */
  readonly lockWaits?: LockWaits;
};

/**
 * Takes an account's lease of a kind. Waits where it was just given back, or may be abandoned.
 * @throws AccountHeldError where another process holds it, and renews it.
 */
export async function takeLease(
  db: Database,
  kind: LeaseKind,
  account: string,
  options: LeaseOptions & Pick<TakenLease, "onSeen">,
): Promise<RenewableLease> {
  const { onWait, signal, clock = systemClock, timing = leaseTiming, onSeen } = options;
  const { renewals = new Renewals(db, kind, { clock, timing }), lockWaits } = options;
  const { holder = holderName() } = options;
  const { leaseMs, pollMs } = timing;
  const polls = Math.ceil((2 * leaseMs) / pollMs);
  const renewalWatch = new RenewalWatch(clock, leaseMs);
  const taker = { account, holder, leaseMs };
  for (let poll = 0; poll < polls; poll++) {
    signal.throwIfAborted();
    const askedAt = asleepOrAwake(clock);
    const abandoned = renewalWatch.isAbandoned() ? renewalWatch.last : undefined;
    const taking =
      lockWaits === undefined
        ? take(db, kind, taker, abandoned)
        : lockWaits.transact((tx) => take(tx, kind, taker, abandoned));
    const epoch = await taking;
    if (epoch !== undefined) {
      return renewals.keep({ account, epoch, askedAt, ...(onSeen && { onSeen }) });
    }
    const before = renewalWatch.last;
    const state = await holderOf(db, kind, account);
    renewalWatch.see(state);
    // The row changed since it was last read, and was not given back: its holder is alive.
    if (isTaken(state) && before !== undefined && !isSame(state, before)) {
      throw new AccountHeldError(
        `${kind.isAtWork(account, withSince(state))}; wait until it has ended`,
      );
    }
    if (before === undefined && isTaken(state)) {
      onWait?.(
        `${kind.isHeldBy(account, withSince(state))}; waiting to see whether that process is alive`,
      );
    }
    await clock.sleep(pollMs, signal);
  }
  const { last } = renewalWatch;
  throw new AccountHeldError(
    `account ${account} did not become free within ${(2 * leaseMs) / secondMs} s` +
      `${isTaken(last) ? ` (${withSince(last)})` : ""}; see whether another run hangs`,
  );
}

/** A lease's row. `holder` is empty once the lease was given back. */
export type LeaseState = {
  readonly holder: string;
  readonly epoch: string;
  readonly expiresAt: string;
  /** Null where an older version took it. */
  readonly takenAt: string | null;
};

/** "elsewhere process 7, since 2026-11-22 10:11:05Z", by the server's clock. */
const withSince = ({ holder, takenAt }: LeaseState): string =>
  takenAt === null ? holder : `${holder}, since ${takenAt.slice(0, 19).replace("T", " ")}Z`;

const isTaken = (state: LeaseState | undefined): state is LeaseState =>
  state !== undefined && state.holder !== "";

const isSame = (one: LeaseState, other: LeaseState): boolean =>
  one.epoch === other.epoch && one.expiresAt === other.expiresAt;

/** Tells by this process's clock alone whether another process's lease is abandoned. */
export class RenewalWatch {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  #since = 0;
  last: LeaseState | undefined;

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  see(state: LeaseState | undefined): void {
    const isUnchanged = state && this.last && isSame(state, this.last);
    if (!isUnchanged) this.#since = this.#clock.now();
    this.last = state ?? this.last;
  }

  /** Whether the row has not changed for as long as a lease lasts. */
  isAbandoned(): boolean {
    return this.last !== undefined && this.#clock.now() - this.#since >= this.#leaseMs;
  }
}

async function holderOf(
  db: Database,
  { table }: LeaseKind,
  account: string,
): Promise<LeaseState | undefined> {
  const { rows } = await db.execute<LeaseState>(sql`
    select
      holder,
      epoch::text as epoch,
      ${timeText(sql`expires_at`)} as "expiresAt",
      ${timeText(sql`taken_at`)} as "takenAt"
    from ${sql.raw(table)}
    where account = ${account}`);
  return rows[0];
}

type Taker = { readonly account: string; readonly holder: string; readonly leaseMs: number };

/**
 * Takes a lease that is free, or still in the state that was found abandoned. A transaction of the
 * former holder locks the row `for key share`, which this statement waits for.
 * @returns the epoch; undefined where the lease is held.
 */
async function take(
  db: Queryable,
  { table, onTake }: LeaseKind,
  { account, holder, leaseMs }: Taker,
  abandoned: LeaseState | undefined,
): Promise<number | undefined> {
  const end = sql`clock_timestamp() + ${leaseMs} * interval '1 ms'`;
  const { rows } = await db.execute<{ epoch: string }>(sql`
    update ${sql.raw(table)} as leases
    set
      holder = ${holder},
      epoch = leases.epoch + 1,
      taken_at = clock_timestamp(),
      expires_at = ${end}${onTake}
    where account = ${account}
      and exists (
        select 1
        from ${sql.raw(table)} as free
        where free.account = ${account}
          and (
            free.expires_at <= clock_timestamp()
            or (
              free.epoch = ${abandoned?.epoch ?? null}::bigint
              and free.expires_at = ${abandoned?.expiresAt ?? null}::timestamptz
            )
          )
        for update
      )
    returning epoch`);
  const [taken] = rows;
  if (taken !== undefined) return Number(taken.epoch);
  const { rows: made } = await db.execute(sql`
    insert into ${sql.raw(table)} (account, holder, epoch, taken_at, expires_at)
    values (${account}, ${holder}, 1, clock_timestamp(), ${end})
    on conflict (account) do nothing
    returning epoch`);
  return made.length === 0 ? undefined : 1;
}
