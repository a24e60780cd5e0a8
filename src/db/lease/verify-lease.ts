import { sql } from "drizzle-orm";
import { systemClock } from "../../clock.ts";
import { minuteMs, secondMs } from "../../contract/time.ts";
import { AccountHeldError, LeaseLostError } from "../../errors.ts";
import type { Database, Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { timeText } from "../sql/time-text.ts";
import { takeTurn } from "./account-turn.ts";
import { type LeaseInUse, type LeaseKind, leaseTiming, type RenewableLease } from "./lease-kind.ts";
import { type LeaseOptions, type LeaseState, RenewalWatch, takeLease } from "./renewable-lease.ts";
import { Renewals } from "./renewals.ts";
import { readOthersOfUser } from "./users.ts";

/** Its holder reads the account beside a sync, with a rate share: see renewable-lease.ts. */
export type VerifyLease = RenewableLease;

/** The rate share of a verify lease's holder. @param requests what the operation's limit allows. */
export const verifyShareOf = (requests: number): number => requests / 5;

// A sync sees the verify lease within 3 s, and frees slots once their requests are answered, 30 s later
// at most.
const shareMaxMs = minuteMs;

const verifyLeaseKind: LeaseKind = {
  table: "account_guests",
  onTake: sql``,
  seen: sql`null::text`,
  isHeldBy: (account, holder) => `account ${account} is being verified by ${holder}`,
  isAtWork: (account, holder) => `another verify reads account ${account} (${holder})`,
  overtaken: (account, holder) =>
    new LeaseLostError(
      `this run lost the verify lease of account ${account} to another run` +
        `${holder === "" ? "" : ` (${holder})`} and wrote nothing more; run it again`,
    ),
  ranOut: (account) =>
    new LeaseLostError(
      `this run lost the verify lease of account ${account}, which was not renewed in time, and ` +
        "wrote nothing more: the database did not answer, a lock held up its row, its clock was set, " +
        "or this process was frozen; run it again",
    ),
};

/** Renews the verify leases of all accounts that a run reads, together. */
export const verifyLeaseRenewals = (db: Database): Renewals => new Renewals(db, verifyLeaseKind);

export type VerifyLeaseOptions = LeaseOptions & {
  readonly shareMaxMs?: number;
  /** The exchange's user whose account it is, if configured. Default as the last sync knew. */
  readonly uid?: string | undefined;
};

/**
 * Takes an account's verify lease, and waits until a sync that is running has left the rate share. The
 * same for the other accounts of its user, because a sync of any of them uses the user's rate limit.
 * @throws AccountHeldError where another process holds a verify lease, or a sync left no share.
 */
export function takeVerifyLease(
  db: Database,
  account: string,
  options: VerifyLeaseOptions,
): Promise<VerifyLease> {
  return withDatabaseErrors(async () => {
    await using stack = new AsyncDisposableStack();
    const leases: VerifyLease[] = [];
    const take = async (name: string) => {
      const lease = stack.use(await takeLease(db, verifyLeaseKind, name, options));
      leases.push(lease);
      return lease;
    };
    const others = await readOthersOfUser(db, account, options.uid);
    // By name: of two verifications of one user that begin at the same moment, one gets all leases.
    for (const other of others.filter((name) => name < account)) await take(other);
    const own = await take(account);
    for (const other of others.filter((name) => name > account)) await take(other);
    for (const lease of leases) await waitForShare(db, lease, options);
    const kept = stack.move();
    return {
      ...own,
      assertHeld() {
        for (const lease of leases) lease.assertHeld();
      },
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  });
}

async function waitForShare(
  db: Database,
  { account, epoch, assertHeld }: VerifyLease,
  options: VerifyLeaseOptions,
): Promise<void> {
  const { onWait, signal, clock = systemClock, timing = leaseTiming } = options;
  const waitMaxMs = options.shareMaxMs ?? shareMaxMs;
  const polls = Math.ceil(waitMaxMs / timing.pollMs);
  const renewalWatch = new RenewalWatch(clock, timing.leaseMs);
  let holder = "";
  for (let poll = 0; poll < polls; poll++) {
    signal.throwIfAborted();
    assertHeld();
    const wasAbandoned = renewalWatch.isAbandoned();
    // The holder may have sent its last request at the moment when its lease expired.
    const { rows } = await db.execute<LeaseState & { has_share: boolean }>(sql`
      select
        holder,
        epoch::text as epoch,
        ${timeText(sql`expires_at`)} as "expiresAt",
        ${timeText(sql`taken_at`)} as "takenAt",
        coalesce(yielded_to = ${epoch}, false)
          or expires_at <= clock_timestamp() - ${leaseTiming.cooldownMs} * interval '1 ms'
          as has_share
      from account_leases
      where account = ${account}`);
    const [lease] = rows;
    renewalWatch.see(lease);
    // Abandoned counts only where it was so before this statement was sent, and the row has not changed.
    if (lease === undefined || lease.has_share || (wasAbandoned && renewalWatch.isAbandoned()))
      return;
    if (holder === "" && lease.holder !== "") {
      onWait?.(
        `account ${account} is held by ${lease.holder}; waiting for a share of its rate limit`,
      );
    }
    holder = lease.holder;
    await clock.sleep(timing.pollMs, signal);
  }
  throw new AccountHeldError(
    `${holder} holds account ${account} and left no share of its rate limit within ${waitMaxMs / secondMs} s; ` +
      "wait until it has ended, and check that it is the same version of bill-sync",
  );
}

/** Fails a transaction whose run lost the verify lease, and makes the account's writers take turns. */
export async function checkVerifyLease(tx: Transaction, lease: LeaseInUse): Promise<void> {
  // In this order, in one round trip.
  await Promise.all([takeTurn(tx, lease.account), refuseLost(tx, lease)]);
}

async function refuseLost(tx: Transaction, { account, epoch }: LeaseInUse): Promise<void> {
  const { rows } = await tx.execute<{ holder: string; epoch: string; is_current: boolean }>(sql`
    select holder, epoch, expires_at > clock_timestamp() as is_current
    from account_guests
    where account = ${account}
    for key share`);
  const [row] = rows;
  if (Number(row?.epoch) !== epoch) throw verifyLeaseKind.overtaken(account, row?.holder ?? "");
  if (row?.is_current !== true) throw verifyLeaseKind.ranOut(account);
}
