import { type SQL, sql } from "drizzle-orm";
import { systemClock } from "../../clock.ts";
import { LeaseLostError } from "../../errors.ts";
import type { Database, Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { timeText } from "../sql/time-text.ts";
import { takeTurn } from "./account-turn.ts";
import { type LeaseInUse, type LeaseKind, leaseTiming, type RenewableLease } from "./lease-kind.ts";
import { type LeaseOptions, takeLease } from "./renewable-lease.ts";
import { Renewals } from "./renewals.ts";

/** Its holder is the one process that syncs the account: see renewable-lease.ts. */
export type SyncLease = RenewableLease;

/** How the holder of a sync lease leaves the holder of the verify lease its share of the rate limit. */
export type RateShare = {
  /** Leaves the share from now on. Resolves once none of its past requests counts any more. */
  readonly leaveShare: () => Promise<void>;
  readonly takeBack: () => void;
};

export type SyncLeaseOptions = LeaseOptions & {
  /** Left out by a holder that sends the exchange no requests: it has no share to leave. */
  readonly rateShare?: RateShare;
};

const noShareNeeded: RateShare = { leaveShare: () => Promise.resolve(), takeBack: () => undefined };

/**
 * The epoch of an account's verify lease; null where it is free. The holder may have sent its last
 * requests right before the lease ended, so the lease counts until no rate limit counts them. A row
 * that expires more than an hour from now was written while the server's clock was wrong.
 */
const verifyLeaseOf = (account: SQL) => sql`(
        select epoch::text
        from account_guests
        where account_guests.account = ${account}
          and account_guests.expires_at
            > clock_timestamp() - ${leaseTiming.cooldownMs} * interval '1 ms'
          and account_guests.expires_at < clock_timestamp() + interval '1 hour'
      )`;

const syncLeaseKind: LeaseKind = {
  table: "account_leases",
  onTake: sql`, yielded_to = null`,
  seen: verifyLeaseOf(sql`leases.account`),
  isHeldBy: (account, holder) => `account ${account} is held by ${holder}`,
  isAtWork: (account, holder) => `another run holds account ${account} (${holder})`,
  overtaken: (account, holder) =>
    new LeaseLostError(
      `this run lost account ${account} to another one${holder === "" ? "" : ` (${holder})`} and ` +
        "wrote nothing more; run sync again",
    ),
  ranOut: (account) =>
    new LeaseLostError(
      `this run lost account ${account}, whose lease was not renewed in time, and wrote nothing more: ` +
        "the database did not answer, a lock held up its row, its clock was set, or this process was " +
        "frozen; run sync again",
    ),
};

/** Renews the leases of all accounts that a run holds together. */
export const syncLeaseRenewals = (db: Database): Renewals => new Renewals(db, syncLeaseKind);

/**
 * Takes an account's sync lease, and leaves the holder of a verify lease its rate share from then on.
 * @throws AccountHeldError where another run syncs the account.
 */
export function takeSyncLease(
  db: Database,
  account: string,
  options: SyncLeaseOptions,
): Promise<SyncLease> {
  return withDatabaseErrors(async () => {
    await using stack = new AsyncDisposableStack();
    let handover: RateShareHandover | undefined;
    const onSeen = (verifyLease: string | null) => handover?.see(verifyLease);
    const lease = stack.use(await takeLease(db, syncLeaseKind, account, { ...options, onSeen }));
    handover = new RateShareHandover(db, lease, options.rateShare ?? noShareNeeded);
    const { rows } = await db.execute<{ verifyLease: string | null }>(
      sql`select ${verifyLeaseOf(sql`${account}`)} as "verifyLease"`,
    );
    handover.see(rows[0]?.verifyLease ?? null);
    const kept = stack.move();
    return { ...lease, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  });
}

/**
 * The holder of the account's sync lease; undefined where it is free. Where it was just given back, this
 * waits up to two seconds, until no rate limit counts its last requests. A lease that expires later
 * than any lease can is not reported: {@link takeLease} finds out whether it is abandoned.
 */
export async function syncLeaseHolder(
  db: Database,
  account: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const last = await currentLease(db, account);
  if (last?.holder !== "") return last?.holder;
  const { cooldownMs } = leaseTiming;
  await systemClock.sleep(Math.min(last.leftMs, cooldownMs) + cooldownMs, signal);
  return (await currentLease(db, account))?.holder || undefined;
}

async function currentLease(db: Database, account: string) {
  const { leaseMs, cooldownMs } = leaseTiming;
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ holder: string; leftMs: number }>(sql`
      select
        holder,
        extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as "leftMs"
      from account_leases
      where account = ${account}
        and expires_at > clock_timestamp() - ${cooldownMs} * interval '1 ms'
        and expires_at <= clock_timestamp() + ${leaseMs} * interval '1 ms'`),
  );
  return rows[0];
}

/** Leaves the rate share while another process holds the verify lease, and takes it back afterwards. */
class RateShareHandover {
  readonly #db: Database;
  readonly #lease: Pick<SyncLease, "account" | "epoch">;
  readonly #rateShare: RateShare;
  #verifyLease: string | null = null;
  #acknowledged: string | null = null;
  #leaving: Promise<void> | undefined;

  constructor(db: Database, lease: Pick<SyncLease, "account" | "epoch">, rateShare: RateShare) {
    this.#db = db;
    this.#lease = lease;
    this.#rateShare = rateShare;
  }

  see(verifyLease: string | null): void {
    if (verifyLease === null && this.#verifyLease !== null) this.#rateShare.takeBack();
    this.#verifyLease = verifyLease;
    if (verifyLease === null || verifyLease === this.#acknowledged) return;
    this.#leaving ??= this.#leaveShare(verifyLease).finally(() => {
      this.#leaving = undefined;
    });
  }

  /** Never rejects: a failure is tried again at the next renewal. */
  async #leaveShare(verifyLease: string): Promise<void> {
    await this.#rateShare.leaveShare();
    // The holder may have ended meanwhile, so that the share was taken back.
    if (this.#verifyLease !== verifyLease) return;
    const { account, epoch } = this.#lease;
    const told = this.#db.execute(sql`
      update account_leases
      set yielded_to = ${verifyLease}
      where account = ${account}
        and epoch = ${epoch}`);
    await told.then(
      () => {
        this.#acknowledged = verifyLease;
      },
      () => undefined,
    );
  }
}

/**
 * Fails a transaction whose run lost the sync lease, and makes the account's writers take turns.
 * Another process can take the lease only after the transaction; renewals need not wait for it.
 * @returns the database's time, as text. Nothing that is stored for the account after this is older.
 */
export async function checkSyncLease(tx: Transaction, lease: LeaseInUse): Promise<string> {
  // In this order, in one round trip.
  const [, now] = await Promise.all([takeTurn(tx, lease.account), refuseOvertaken(tx, lease)]);
  return now;
}

async function refuseOvertaken(tx: Transaction, { account, epoch }: LeaseInUse): Promise<string> {
  const { rows } = await tx.execute<{ holder: string; epoch: string; now: string }>(sql`
    select holder, epoch, ${timeText(sql`clock_timestamp()::timestamptz(3)`)} as now
    from account_leases
    where account = ${account}
    for key share`);
  const [row] = rows;
  if (row === undefined || Number(row.epoch) !== epoch) {
    throw syncLeaseKind.overtaken(account, row?.holder ?? "");
  }
  return row.now;
}
