import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { type Clock, systemClock } from "../clock.ts";
import { secondMs } from "../contract/time.ts";
import { AccountHeldError, LeaseLostError } from "../errors.ts";
import type { Database, Transaction } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";

/** An account held by this process. */
export type Lease = AsyncDisposable & {
  readonly account: string;
  readonly epoch: number;
  /** @throws LeaseLostError once the lease could have run out. Asks this machine's clock only. */
  assertHeld(): void;
};

export const leaseTiming = {
  /** How long a lease holds that is not renewed. */
  leaseMs: 15 * secondMs,
  renewMs: 3 * secondMs,
  pollMs: 250,
  /** A lease that is given back still blocks for as long as a rate limit remembers requests. */
  cooldownMs: secondMs,
} as const;

export type HoldOptions = {
  readonly onWait?: (message: string) => void;
  readonly signal: AbortSignal;
  /** What the lease's time is told by, here; at the server it is the server's. Default this machine's. */
  readonly clock?: Clock;
  readonly timing?: { readonly [name in keyof typeof leaseTiming]: number };
};

/**
 * Holds an account. A lease whose holder died runs out and is taken over: that is waited for.
 * One whose holder renews it is refused. The epoch grows with each holder, so that a holder
 * that was frozen, and wakes up after its lease ran out, writes nothing.
 *
 * @throws AccountHeldError where another run is at work on the account.
 */
export function holdAccount(db: Database, account: string, options: HoldOptions): Promise<Lease> {
  return withDatabaseErrors(() => waitForAccount(db, account, options));
}

async function waitForAccount(
  db: Database,
  account: string,
  { onWait, signal, clock = systemClock, timing = leaseTiming }: HoldOptions,
): Promise<Lease> {
  const { leaseMs, pollMs } = timing;
  const holder = `${hostname()} process ${process.pid}`;
  const polls = Math.ceil((2 * leaseMs) / pollMs);
  let seen: Holding | undefined;
  for (let poll = 0; poll < polls; poll++) {
    signal.throwIfAborted();
    const askedAt = clock.now();
    const epoch = await take(db, account, holder, leaseMs);
    if (epoch !== undefined) return keep(db, { account, epoch }, askedAt + leaseMs, clock, timing);
    const holding = await holderOf(db, account);
    // Somebody moved the lease's end since it was last seen, and not to give it back.
    if (isTaken(holding) && seen !== undefined && holding.expiresAt !== seen.expiresAt) {
      throw new AccountHeldError(
        `another run holds account ${account} (${holding.holder}); wait until it has ended`,
      );
    }
    if (seen === undefined && isTaken(holding)) {
      onWait?.(
        `account ${account} is held by ${holding.holder}; waiting to see whether it is alive`,
      );
    }
    seen = holding ?? seen;
    await clock.sleep(pollMs);
  }
  throw new AccountHeldError(
    `account ${account} did not become free within ${2 * leaseMs} ms` +
      `${isTaken(seen) ? ` (${seen.holder})` : ""}; see whether another run hangs`,
  );
}

/** Fails a transaction whose run lost the account, and makes the account's writers take turns. */
export async function checkLease(
  tx: Transaction,
  { account, epoch }: Pick<Lease, "account" | "epoch">,
): Promise<void> {
  const { rows } = await tx.execute(sql`
    select 1
    from account_leases
    where account = ${account}
      and epoch = ${epoch}
    for update`);
  if (rows.length === 0) throw lost(account);
}

const lost = (account: string) =>
  new LeaseLostError(
    `this run lost account ${account} to another one and wrote nothing more; run sync again`,
  );

/** `holder` is empty once the lease was given back. */
type Holding = { readonly holder: string; readonly expiresAt: string };

const isTaken = (holding: Holding | undefined): holding is Holding =>
  holding !== undefined && holding.holder !== "";

async function holderOf(db: Database, account: string): Promise<Holding | undefined> {
  const { rows } = await db.execute<{ holder: string; expires_at: string }>(sql`
    select holder, expires_at::text
    from account_leases
    where account = ${account}`);
  const [row] = rows;
  return row === undefined ? undefined : { holder: row.holder, expiresAt: row.expires_at };
}

async function take(
  db: Database,
  account: string,
  holder: string,
  leaseMs: number,
): Promise<number | undefined> {
  const { rows } = await db.execute<{ epoch: string }>(sql`
    insert into account_leases (account, holder, epoch, expires_at)
    values (${account}, ${holder}, 1, clock_timestamp() + ${leaseMs} * interval '1 ms')
    on conflict (account) do update
    set
      holder = excluded.holder,
      epoch = account_leases.epoch + 1,
      expires_at = excluded.expires_at
    where account_leases.expires_at <= excluded.expires_at - ${leaseMs} * interval '1 ms'
    returning epoch`);
  return rows[0] === undefined ? undefined : Number(rows[0].epoch);
}

type Holder = { readonly account: string; readonly epoch: number };

/** Sets how long the lease still holds; false where it is another's by now. */
async function extend(db: Database, { account, epoch }: Holder, ms: number, holder?: string) {
  const { rowCount } = await db.execute(sql`
    update account_leases
    set
      expires_at = clock_timestamp() + ${ms} * interval '1 ms',
      holder = coalesce(${holder ?? null}, holder)
    where account = ${account}
      and epoch = ${epoch}`);
  return rowCount === 1;
}

function keep(
  db: Database,
  held: Holder,
  firstDeadline: number,
  clock: Clock,
  { leaseMs, renewMs, cooldownMs }: NonNullable<HoldOptions["timing"]>,
): Lease {
  let deadline = firstDeadline;
  let isLost = false;
  let renewal: Promise<void> | undefined;
  const renew = async () => {
    const askedAt = clock.now();
    try {
      if (await extend(db, held, leaseMs)) deadline = askedAt + leaseMs;
      else isLost = true;
    } catch {
      // The database is away: the deadline stands, and a page that is committed finds out why.
    }
    renewal = undefined;
  };
  const giveBack = async () => {
    // A renewal that arrived later would hold what was given back.
    await renewal;
    await extend(db, held, cooldownMs, "").catch(() => undefined);
  };
  const given = new AbortController();
  const keepRenewing = async () => {
    while (!given.signal.aborted) {
      await clock.sleep(renewMs, given.signal);
      renewal ??= renew();
    }
  };
  keepRenewing().catch(() => undefined);
  return {
    ...held,
    assertHeld() {
      if (isLost || clock.now() >= deadline) throw lost(held.account);
    },
    async [Symbol.asyncDispose]() {
      given.abort();
      // Where that fails or hangs, the lease runs out by itself: no reason to fail a run.
      await Promise.race([giveBack(), delay(leaseMs, undefined, { ref: false })]);
    },
  };
}
