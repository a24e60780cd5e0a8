import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { type SQL, sql } from "drizzle-orm";
import { type Clock, systemClock } from "../clock.ts";
import { secondMs } from "../contract/time.ts";
import { AccountHeldError, type LeaseLostError } from "../errors.ts";
import type { Database } from "./connect.ts";
import { pastStalledCopies } from "./stalled-copies.ts";
import { timeText } from "./time-text.ts";

/** A row of a table by which a process has an account, for as long as it renews it. */
export type Claim = AsyncDisposable & {
  readonly account: string;
  /** One more with each holder. */
  readonly epoch: number;
  /** @throws LeaseLostError once the claim could have run out. Asks this machine's clock only. */
  assertHeld(): void;
};

/** What tells the claims of one table from those of another. */
export type ClaimKind = {
  readonly table: "account_leases" | "account_guests";
  /** Assignments that a new holder makes beside the claim's own. */
  readonly onTake: SQL;
  /** What each renewal tells, in one statement with itself. */
  readonly seen: (account: string) => SQL;
  /** "account x is held by elsewhere process 7" */
  readonly isHeldBy: (account: string, holder: string) => string;
  readonly isAtWork: (account: string, holder: string) => string;
  readonly lost: (account: string) => LeaseLostError;
};

export const claimTiming = {
  /** How long a claim holds that is not renewed. */
  leaseMs: 15 * secondMs,
  renewMs: 3 * secondMs,
  pollMs: 250,
  /** A claim that is given back still blocks for as long as a rate limit remembers requests. */
  cooldownMs: secondMs,
} as const;

export type ClaimOptions = {
  readonly onWait?: (message: string) => void;
  readonly signal: AbortSignal;
  /** What tells the claim's time here; at the server it is the server's. Default this machine's. */
  readonly clock?: Clock;
  readonly timing?: { readonly [name in keyof typeof claimTiming]: number };
};

type Seeing = {
  /** Told of what each renewal saw. */
  readonly onSeen?: (seen: string | null) => void;
};

/**
 * Takes an account. A claim whose holder died runs out and is taken over: that is waited for.
 * One whose holder renews it is refused.
 * @throws AccountHeldError where another process has it.
 */
export async function takeAccount(
  db: Database,
  kind: ClaimKind,
  account: string,
  { onWait, signal, clock = systemClock, timing = claimTiming, onSeen }: ClaimOptions & Seeing,
): Promise<Claim> {
  const { leaseMs, renewMs, pollMs } = timing;
  const watch = { clock, stalledAfterMs: leaseMs, everyMs: renewMs };
  const polls = Math.ceil((2 * leaseMs) / pollMs);
  let seen: Holding | undefined;
  for (let poll = 0; poll < polls; poll++) {
    signal.throwIfAborted();
    const askedAt = clock.now();
    const epoch = await pastStalledCopies(db, watch, take(db, kind, account, leaseMs));
    if (epoch !== undefined) {
      const claim = { kind, account, epoch };
      const keeping = { clock, timing, ...(onSeen && { onSeen }) };
      return keep(db, claim, askedAt + usableMs(timing), keeping);
    }
    const holding = await holderOf(db, kind, account);
    // Somebody moved the claim's end since it was last seen, and not to give it back.
    if (isTaken(holding) && seen !== undefined && holding.expiresAt !== seen.expiresAt) {
      throw new AccountHeldError(
        `${kind.isAtWork(account, holding.holder)}; wait until it has ended`,
      );
    }
    if (seen === undefined && isTaken(holding)) {
      onWait?.(`${kind.isHeldBy(account, holding.holder)}; waiting to see whether it is alive`);
    }
    seen = holding ?? seen;
    await clock.sleep(pollMs);
  }
  throw new AccountHeldError(
    `account ${account} did not become free within ${2 * leaseMs} ms` +
      `${isTaken(seen) ? ` (${seen.holder})` : ""}; see whether another run hangs`,
  );
}

/** `holder` is empty once the claim was given back. */
type Holding = { readonly holder: string; readonly expiresAt: string };

const isTaken = (holding: Holding | undefined): holding is Holding =>
  holding !== undefined && holding.holder !== "";

async function holderOf(
  db: Database,
  { table }: ClaimKind,
  account: string,
): Promise<Holding | undefined> {
  const { rows } = await db.execute<{ holder: string; expires_at: string }>(sql`
    select holder, ${timeText(sql`expires_at`)} as expires_at
    from ${sql.raw(table)}
    where account = ${account}`);
  const [row] = rows;
  return row === undefined ? undefined : { holder: row.holder, expiresAt: row.expires_at };
}

async function take(
  db: Database,
  { table, onTake }: ClaimKind,
  account: string,
  leaseMs: number,
): Promise<number | undefined> {
  const holder = `${hostname()} process ${process.pid}`;
  const { rows } = await db.execute<{ epoch: string }>(sql`
    insert into ${sql.raw(table)} as claims (account, holder, epoch, expires_at)
    values (${account}, ${holder}, 1, clock_timestamp() + ${leaseMs} * interval '1 ms')
    on conflict (account) do update
    set
      holder = excluded.holder,
      epoch = claims.epoch + 1,
      expires_at = excluded.expires_at${onTake}
    where claims.expires_at <= excluded.expires_at - ${leaseMs} * interval '1 ms'
    returning epoch`);
  return rows[0] === undefined ? undefined : Number(rows[0].epoch);
}

/**
 * How long a claim is used after it was asked for. It ends before the claim does, so that the last
 * requests under it have arrived, and no rate limit remembers them, when another process begins:
 * without this, a run that stood still for as long as a lease sent 5 requests beside its successor's.
 */
const usableMs = ({ leaseMs, cooldownMs }: NonNullable<ClaimOptions["timing"]>): number =>
  leaseMs - 2 * cooldownMs;

type Held = { readonly kind: ClaimKind; readonly account: string; readonly epoch: number };

/**
 * Sets how long the claim still holds. One that has run out is not brought back, though nobody
 * took it: whoever saw it run out may count on it.
 * @returns what was seen; undefined where the claim is lost.
 */
async function extend(
  db: Database,
  { kind, account, epoch }: Held,
  ms: number,
  holder?: string,
): Promise<{ readonly seen: string | null } | undefined> {
  const { rows } = await db.execute<{ seen: string | null }>(sql`
    update ${sql.raw(kind.table)}
    set
      expires_at = clock_timestamp() + ${ms} * interval '1 ms',
      holder = coalesce(${holder ?? null}, holder)
    where account = ${account}
      and epoch = ${epoch}
      and expires_at > clock_timestamp()
    returning ${kind.seen(account)} as seen`);
  return rows[0];
}

function keep(
  db: Database,
  held: Held,
  firstDeadline: number,
  { clock, timing, onSeen }: Required<Pick<ClaimOptions, "clock" | "timing">> & Seeing,
): Claim {
  const { leaseMs, renewMs, cooldownMs } = timing;
  const { kind, account, epoch } = held;
  let deadline = firstDeadline;
  let isLost = false;
  let renewal: Promise<void> | undefined;
  const renew = async () => {
    const askedAt = clock.now();
    try {
      const renewed = await extend(db, held, leaseMs);
      if (renewed === undefined) isLost = true;
      else {
        deadline = askedAt + usableMs(timing);
        onSeen?.(renewed.seen);
      }
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
    account,
    epoch,
    assertHeld() {
      if (isLost || clock.now() >= deadline) throw kind.lost(account);
    },
    async [Symbol.asyncDispose]() {
      given.abort();
      // Where that fails or hangs, the claim runs out by itself: no reason to fail a run.
      await Promise.race([giveBack(), delay(leaseMs, undefined, { ref: false })]);
    },
  };
}
