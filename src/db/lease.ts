import { sql } from "drizzle-orm";
import { systemClock } from "../clock.ts";
import { LeaseLostError } from "../errors.ts";
import {
  type Claim,
  type ClaimKind,
  type ClaimOptions,
  claimTiming,
  takeAccount,
} from "./claim.ts";
import type { Database, Transaction } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";

/** An account held by this process: no other one syncs it. */
export type Lease = Claim;

export const leaseTiming = claimTiming;

/** How a holder leaves a guest of the account its share of the rate limit. */
export type Room = {
  /** Leaves it from now on; resolves once nothing that is under way can be in the guest's way. */
  readonly leave: () => Promise<void>;
  readonly takeBack: () => void;
};

export type HoldOptions = ClaimOptions & {
  /** Default that of a holder that asks the exchange nothing. */
  readonly room?: Room;
};

const noRoomNeeded: Room = { leave: () => Promise.resolve(), takeBack: () => undefined };

/**
 * The guest that is at work on an account. Its last requests may be as young as its row's end,
 * so it counts as there for as long as a rate limit remembers them.
 */
const guestOf = (account: string) => sql`(
      select epoch::text
      from account_guests
      where account_guests.account = ${account}
        and account_guests.expires_at
          > clock_timestamp() - ${claimTiming.cooldownMs} * interval '1 ms'
    )`;

const leases: ClaimKind = {
  table: "account_leases",
  onTake: sql`, yielded_to = null`,
  seen: guestOf,
  isHeldBy: (account, holder) => `account ${account} is held by ${holder}`,
  isAtWork: (account, holder) => `another run holds account ${account} (${holder})`,
  lost: (account) =>
    new LeaseLostError(
      `this run lost account ${account} to another one and wrote nothing more; run sync again`,
    ),
};

/**
 * Holds an account. A lease whose holder died runs out and is taken over: that is waited for.
 * One whose holder renews it is refused. The epoch grows with each holder, so that a holder
 * that was frozen, and wakes up after its lease ran out, writes nothing.
 *
 * A guest that comes is seen at the next renewal, and is left its room; one that is there is seen
 * here, before the first request: the lease is committed before this looks, and the guest's row
 * before the guest looks for a lease, so at least one of them sees the other.
 *
 * @throws AccountHeldError where another run is at work on the account.
 */
export function holdAccount(db: Database, account: string, options: HoldOptions): Promise<Lease> {
  return withDatabaseErrors(async () => {
    await using stack = new AsyncDisposableStack();
    let host: Host | undefined;
    const onSeen = (guest: string | null) => host?.see(guest);
    const lease = stack.use(await takeAccount(db, leases, account, { ...options, onSeen }));
    host = new Host(db, lease, options.room ?? noRoomNeeded);
    const { rows } = await db.execute<{ guest: string | null }>(
      sql`select ${guestOf(account)} as guest`,
    );
    host.see(rows[0]?.guest ?? null);
    const kept = stack.move();
    return { ...lease, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  });
}

/**
 * Who holds the account; undefined where nobody does. Where somebody has just given it back, it is
 * waited for, two seconds, until a rate limit has forgotten his last requests.
 */
export async function holderAtWork(db: Database, account: string): Promise<string | undefined> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ holder: string; left_ms: number }>(sql`
      select
        holder,
        (extract(epoch from expires_at - clock_timestamp()) * 1000)::int
          + ${claimTiming.cooldownMs}::int as left_ms
      from account_leases
      where account = ${account}
        and expires_at > clock_timestamp() - ${claimTiming.cooldownMs} * interval '1 ms'`),
  );
  const [last] = rows;
  if (last === undefined || last.holder !== "") return last?.holder;
  await systemClock.sleep(Math.max(1, last.left_ms));
  return holderAtWork(db, account);
}

/** What a holder does about guests. */
class Host {
  readonly #db: Database;
  readonly #lease: Pick<Lease, "account" | "epoch">;
  readonly #room: Room;
  #guest: string | null = null;
  #acknowledged: string | null = null;
  #leaving: Promise<void> | undefined;

  constructor(db: Database, lease: Pick<Lease, "account" | "epoch">, room: Room) {
    this.#db = db;
    this.#lease = lease;
    this.#room = room;
  }

  see(guest: string | null): void {
    if (guest === null && this.#guest !== null) this.#room.takeBack();
    this.#guest = guest;
    if (guest === null || guest === this.#acknowledged) return;
    this.#leaving ??= this.#leaveRoom(guest).finally(() => {
      this.#leaving = undefined;
    });
  }

  /** Never rejects: what failed is tried again at the next renewal. */
  async #leaveRoom(guest: string): Promise<void> {
    await this.#room.leave();
    // It may have gone meanwhile, and the room with it.
    if (this.#guest !== guest) return;
    const { account, epoch } = this.#lease;
    const told = this.#db.execute(sql`
      update account_leases
      set yielded_to = ${guest}
      where account = ${account}
        and epoch = ${epoch}`);
    await told.then(
      () => {
        this.#acknowledged = guest;
      },
      () => undefined,
    );
  }
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
  if (rows.length === 0) throw leases.lost(account);
}
