import { setTimeout as delay } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { asleepOrAwake, type Clock, systemClock } from "../../clock.ts";
import type { LeaseLostError } from "../../errors.ts";
import { type Database, type Queryable, urgently } from "../connect.ts";
import { textArray } from "../sql/array-literal.ts";
import {
  type LeaseKind,
  type LeaseTiming,
  leaseTiming,
  type RenewableLease,
  usableMs,
} from "./lease-kind.ts";

/** A lease that this process has taken. */
export type TakenLease = {
  readonly account: string;
  readonly epoch: number;
  /** When the statement that took it was sent, by this machine's clock: {@link asleepOrAwake}. */
  readonly askedAt: number;
  /** Called at each renewal with what the kind's `seen` reads. */
  readonly onSeen?: (seen: string | null) => void;
};

type KeptLease = TakenLease & {
  usedUntil: number;
  lost: LeaseLostError | undefined;
};

/**
 * Renews a process's leases of one kind: all in one statement, on a connection that need not wait for
 * other work. The holder's own transactions lock the row in a mode that lets renewals pass. A row that
 * another session has locked is skipped until the next renewal, so that one account's lock costs no
 * other account its lease.
 */
export class Renewals {
  readonly #db: Database;
  readonly #kind: LeaseKind;
  readonly #clock: Clock;
  readonly #timing: LeaseTiming;
  readonly #kept = new Set<KeptLease>();
  readonly #underWay = new Set<Promise<void>>();
  #lastAskedAt = Number.NEGATIVE_INFINITY;
  #loop: AbortController | undefined;

  constructor(
    db: Database,
    kind: LeaseKind,
    { clock = systemClock, timing = leaseTiming }: { clock?: Clock; timing?: LeaseTiming } = {},
  ) {
    this.#db = db;
    this.#kind = kind;
    this.#clock = clock;
    this.#timing = timing;
  }

  /** Renews the lease until it is disposed, which gives it back. */
  keep(taken: TakenLease): RenewableLease {
    const usedUntil = taken.askedAt + usableMs(this.#timing);
    const kept: KeptLease = { ...taken, usedUntil, lost: undefined };
    this.#kept.add(kept);
    if (this.#loop === undefined) {
      this.#loop = new AbortController();
      this.#keepRenewing(this.#loop.signal).catch(() => undefined);
    }
    return {
      account: kept.account,
      epoch: kept.epoch,
      assertHeld: () => {
        if (asleepOrAwake(this.#clock) >= kept.usedUntil)
          kept.lost ??= this.#kind.ranOut(kept.account);
        if (kept.lost !== undefined) throw kept.lost;
      },
      [Symbol.asyncDispose]: () => this.#giveBack(kept),
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
      this.#track(this.#renewAll(this.#lastAskedAt));
    }
  }

  /** Never rejects: where the database is away the leases expire, and the next statement says why. */
  #track(renewal: Promise<void>): void {
    const ended = renewal
      .catch(() => undefined)
      .finally(() => {
        this.#underWay.delete(ended);
      });
    this.#underWay.add(ended);
  }

  async #renewAll(askedAt: number): Promise<void> {
    const leases = [...this.#kept].filter(({ lost }) => lost === undefined);
    if (leases.length === 0) return;
    const [renewed, found] = await urgently(this.#db, (connection) =>
      Promise.all([
        renewUnlocked(connection, this.#kind, leases, this.#timing.leaseMs),
        readLeases(connection, this.#kind, leases),
      ]),
    );
    // This machine's clock counts too: a statement that was held up may have read the server's long ago.
    const now = asleepOrAwake(this.#clock);
    for (const lease of leases) {
      const row = found.get(lease.account);
      if (now >= lease.usedUntil) lease.lost ??= this.#kind.ranOut(lease.account);
      else if (row === undefined || row.epoch !== lease.epoch) {
        lease.lost ??= this.#kind.overtaken(lease.account, row?.holder ?? "");
      } else if (renewed.has(lease.account)) {
        lease.usedUntil = Math.max(lease.usedUntil, askedAt + usableMs(this.#timing));
        lease.onSeen?.(row.seen);
      } else if (!row.isCurrent) lease.lost ??= this.#kind.ranOut(lease.account);
    }
  }

  async #giveBack(lease: KeptLease): Promise<void> {
    this.#kept.delete(lease);
    if (this.#kept.size === 0) {
      this.#loop?.abort();
      this.#loop = undefined;
    }
    const { cooldownMs, leaseMs } = this.#timing;
    const given = async () => {
      // First, because a renewal that arrived after giving back would extend the lease.
      await Promise.all(this.#underWay);
      await urgently(this.#db, (connection) => giveBack(connection, this.#kind, lease, cooldownMs));
    };
    // Where giving back fails or hangs, the lease expires by itself, so the run need not fail.
    await Promise.race([given().catch(() => undefined), delay(leaseMs, undefined, { ref: false })]);
  }
}

type LeaseId = Pick<RenewableLease, "account" | "epoch">;

/**
 * Renews the leases whose rows no other session has locked. An expired one is not renewed even where
 * nobody took it: another process may already have seen it expired.
 * @returns the accounts whose leases were renewed.
 */
async function renewUnlocked(
  db: Queryable,
  { table }: LeaseKind,
  leases: readonly LeaseId[],
  ms: number,
): Promise<ReadonlySet<string>> {
  const { rows } = await db.execute<{ account: string }>(sql`
    with unlocked as (
      select leases.account
      from ${sql.raw(table)} as leases
      join unnest(
        ${textArray(leases.map(({ account }) => account))}::text[],
        ${textArray(leases.map(({ epoch }) => String(epoch)))}::bigint[]
      ) as held (account, epoch)
        on leases.account = held.account
        and leases.epoch = held.epoch
      where leases.expires_at > clock_timestamp()
      for no key update of leases skip locked
    )
    update ${sql.raw(table)} as leases
    set expires_at = clock_timestamp() + ${ms} * interval '1 ms'
    from unlocked
    where leases.account = unlocked.account
    returning leases.account`);
  return new Set(rows.map(({ account }) => account));
}

type LeaseRow = {
  readonly holder: string;
  readonly epoch: number;
  readonly isCurrent: boolean;
  readonly seen: string | null;
};

async function readLeases(
  db: Queryable,
  { table, seen }: LeaseKind,
  leases: readonly LeaseId[],
): Promise<ReadonlyMap<string, LeaseRow>> {
  const { rows } = await db.execute<Omit<LeaseRow, "epoch"> & { account: string; epoch: string }>(
    sql`
    select
      account,
      holder,
      epoch,
      expires_at > clock_timestamp() as "isCurrent",
      ${seen} as seen
    from ${sql.raw(table)} as leases
    where account = any (${textArray(leases.map(({ account }) => account))}::text[])`,
  );
  return new Map(rows.map((row) => [row.account, { ...row, epoch: Number(row.epoch) }]));
}

async function giveBack(
  db: Queryable,
  { table }: LeaseKind,
  { account, epoch }: LeaseId,
  cooldownMs: number,
): Promise<void> {
  await db.execute(sql`
    update ${sql.raw(table)}
    set
      expires_at = clock_timestamp() + ${cooldownMs} * interval '1 ms',
      holder = ''
    where account = ${account}
      and epoch = ${epoch}
      and expires_at > clock_timestamp()`);
}
