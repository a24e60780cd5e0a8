import { sql } from "drizzle-orm";
import { LeaseLostError } from "../../../lib/errors.ts";
import { secondMs } from "../../../lib/time.ts";
import type { Database, Queryable, Transaction } from "../../postgres/connect.ts";
import { withDatabaseErrors } from "../../postgres/database-errors.ts";
import { isOneOf, onlyRow, textArray, timeText } from "../../postgres/values.ts";

/**
 * One lease an account: a row of `leases`. Its holder is the one process that asks the exchange for the
 * account and writes its bills: a sync, a verify, a replay, or a check of its key by doctor. The rate limits
 * are a user's, and a user may have several accounts: so a process that reads any of them holds the user's
 * lease, too, a row of the same table.
 *
 * | the lease is | the row | what another process does |
 * |---|---|---|
 * | free | none, or `expires_at` is past, or more than 30 s ahead | takes it; `epoch` grows by one |
 * | held | `holder` is set, and `expires_at` moves | is refused as soon as it sees a renewal |
 * | given back | `holder` is empty, `expires_at` is 1 s ahead | waits until it is free |
 * | of a dead holder | `holder` is set, and `expires_at` stands still | waits until it is free |
 *
 * A holder renews its lease every 3 s, to 15 s ahead by the server's clock. Where 13 s pass after the last
 * renewal was sent, also while the machine sleeps, it stops. A lease that ran out is not renewed.
 *
 * Each transaction of a holder locks the row `for key share` and fails where `epoch` is no longer the
 * holder's. Renewals pass, since they change no key. A taker changes `epoch`, which a unique key contains,
 * so it waits for that transaction. A process that was frozen, and wakes up after its lease was taken,
 * writes nothing.
 *
 * Where the server's clock is set, a lease may run out early: its holder stops, and nothing is lost. An end
 * more than 30 s ahead was written before the clock was set back: such a lease is free, or an account would
 * stay locked for hours. A holder who still lives learns at its next renewal that it was overtaken.
 */
export type Lease = AsyncDisposable & {
  /** The account's name, or a user's key: {@link userKey}. */
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

export type LeaseTiming = { readonly [name in keyof typeof leaseTiming]: number };

/** A lease that ends later was written while the server's clock was wrong. */
export const aheadMaxMs = 2 * leaseTiming.leaseMs;

/**
 * How long a holder uses a lease after its last renewal was sent: less than the lease lasts, so that its
 * last requests no longer count for the rate limit when another process begins. Without this, a run
 * that was frozen for 15 s sent 5 requests beside its successor's.
 */
export const usableMs = ({ leaseMs, cooldownMs }: LeaseTiming): number => leaseMs - 2 * cooldownMs;

const userPrefix = "user ";

/** The key of a user's lease. No account's name has a space. */
export const userKey = (uid: string): string => `${userPrefix}${uid}`;

export const subjectOf = (key: string): string =>
  key.startsWith(userPrefix) ? `${key}, whose accounts share a rate limit` : `account ${key}`;

/** Another process took the lease. `holder` is empty where it has given it back, or the row is gone. */
export const overtaken = (account: string, holder: string): LeaseLostError =>
  new LeaseLostError(
    `this run lost ${subjectOf(account)} to another one${holder === "" ? "" : ` (${holder})`} and ` +
      "wrote nothing more; run it again",
  );

/** The lease was not renewed in time; another process may have taken it. */
export const ranOut = (account: string): LeaseLostError =>
  new LeaseLostError(
    `this run lost ${subjectOf(account)}, and wrote nothing more: its lease was not renewed in time, because ` +
      "the database did not answer, a lock held up its row, its clock was set, or this process was " +
      "frozen; run it again",
  );

/** A lease's row. `holder` is empty once the lease was given back. */
export type LeaseState = {
  readonly holder: string;
  readonly epoch: string;
  readonly expiresAt: string;
  /** Null where an older version took it. */
  readonly takenAt: string | null;
};

/** "elsewhere process 7, since 2026-11-22 10:11:05Z", by the server's clock. */
export const withSince = ({ holder, takenAt }: LeaseState): string =>
  takenAt === null ? holder : `${holder}, since ${takenAt.slice(0, 19).replace("T", " ")}Z`;

const isFree = sql`(
        leases.expires_at <= clock_timestamp()
        or leases.expires_at > clock_timestamp() + ${aheadMaxMs} * interval '1 ms'
      )`;

type Taker = { readonly account: string; readonly holder: string; readonly leaseMs: number };

/**
 * Takes a lease that is free. Waits for a transaction of the former holder. The row of a lease that is held
 * is not locked, since its holder's renewals skip locked rows.
 * @returns the epoch, or the state of a lease that is held; neither where another process was just faster.
 */
export async function takeFree(
  db: Queryable,
  { account, holder, leaseMs }: Taker,
): Promise<{ readonly epoch?: number; readonly held?: LeaseState }> {
  const end = sql`clock_timestamp() + ${leaseMs} * interval '1 ms'`;
  const { rows } = await db.execute<LeaseState & { taken: string | null }>(sql`
    with held as (
      select holder, epoch, expires_at, taken_at
      from leases
      where account = ${account}
        and not ${isFree}
    ),
    taken as (
      insert into leases (account, holder, epoch, taken_at, expires_at)
      select ${account}, ${holder}, 1, clock_timestamp(), ${end}
      where not exists (select 1 from held)
      on conflict (account) do update set
        holder = excluded.holder,
        epoch = leases.epoch + 1,
        taken_at = excluded.taken_at,
        expires_at = excluded.expires_at
      where ${isFree}
      returning epoch
    )
    select
      taken.epoch::text as taken,
      held.holder,
      held.epoch::text as epoch,
      ${timeText(sql`held.expires_at`)} as "expiresAt",
      ${timeText(sql`held.taken_at`)} as "takenAt"
    from (select 1) as this_run
    left join held on true
    left join taken on true`);
  const { taken, ...held } = onlyRow(rows, "the state of a lease");
  if (taken !== null) return { epoch: Number(taken) };
  return held.epoch === null ? {} : { held };
}

type HeldId = Pick<Lease, "account" | "epoch">;

/** What became of a lease: its row may be another holder's, expired, or locked until the next renewal. */
type Renewal = {
  readonly account: string;
  readonly holder: string;
  readonly state: "renewed" | "overtaken" | "expired" | "locked";
};

/**
 * Renews leases that have not expired, also where nobody took them: another process may already have seen
 * them expired. A row that another session has locked is skipped until the next renewal, so that one
 * account's lock costs no other account its lease.
 */
export async function renew(
  db: Queryable,
  leases: readonly HeldId[],
  ms: number,
): Promise<readonly Renewal[]> {
  const { rows } = await db.execute<Renewal>(sql`
    with held as (
      select account collate "C" as account, epoch
      from unnest(
        ${textArray(leases.map(({ account }) => account))}::text[],
        ${textArray(leases.map(({ epoch }) => String(epoch)))}::bigint[]
      ) as held (account, epoch)
    ),
    unlocked as (
      select leases.account
      from leases
      join held using (account, epoch)
      where leases.expires_at > clock_timestamp()
      for no key update of leases skip locked
    ),
    renewed as (
      update leases
      set expires_at = clock_timestamp() + ${ms} * interval '1 ms'
      from unlocked
      where leases.account = unlocked.account
      returning leases.account
    )
    select
      account,
      coalesce(leases.holder, '') as holder,
      case
        when renewed.account is not null then 'renewed'
        when leases.epoch is distinct from held.epoch then 'overtaken'
        when leases.expires_at <= clock_timestamp() then 'expired'
        else 'locked'
      end as state
    from held
    left join leases using (account)
    left join renewed using (account)`);
  return rows;
}

export async function giveBack(
  db: Queryable,
  { account, epoch }: HeldId,
  cooldownMs: number,
): Promise<void> {
  await db.execute(sql`
    update leases
    set
      expires_at = clock_timestamp() + ${cooldownMs} * interval '1 ms',
      holder = ''
    where account = ${account}
      and epoch = ${epoch}
      and expires_at > clock_timestamp()`);
}

/**
 * Fails a transaction whose run lost the lease. Another process can take the lease only after the
 * transaction; renewals need not wait for it.
 */
export async function checkLease(tx: Transaction, { account, epoch }: LeaseInUse): Promise<void> {
  const { rows } = await tx.execute<{ holder: string; epoch: string }>(sql`
    select holder, epoch
    from leases
    where account = ${account}
    for key share`);
  const [row] = rows;
  if (row === undefined || Number(row.epoch) !== epoch) {
    throw overtaken(account, row?.holder ?? "");
  }
}

/**
 * For a transaction that makes anew what is derived from an account's bills, by a process that need not hold
 * the account: waits for the transaction of its holder, and lets none begin. Renewals skip the row meanwhile,
 * so this must be over within seconds. Every account with bills has a row: a restore makes those that lack one.
 */
export async function pauseHolder(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`select from leases where account = ${account} for update`);
}

/**
 * The exchange's user of each account, by name, where he is configured or has several accounts here, which share
 * his rate limit.
 */
export type Users = ReadonlyMap<string, string>;

/** @param accounts only these; default all. */
export async function readUsers(db: Queryable, accounts?: readonly string[]): Promise<Users> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string; uid: string }>(sql`
      select account, uid
      from leases
      where uid is not null
        and ${isOneOf(accounts)}`);
    return new Map(rows.map(({ account, uid }) => [account, uid]));
  });
}

/** Records the user of these accounts; undefined where nothing is to be shared. */
export async function recordUser(
  db: Database,
  accounts: readonly string[],
  uid: string | undefined,
): Promise<void> {
  await withDatabaseErrors(() =>
    db.execute(sql`
      update leases
      set uid = ${uid ?? null}
      where account = any(${textArray(accounts)}::text[])
        and uid is distinct from ${uid ?? null}`),
  );
}
