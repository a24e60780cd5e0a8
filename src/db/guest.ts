import { sql } from "drizzle-orm";
import { systemClock } from "../clock.ts";
import { minuteMs } from "../contract/time.ts";
import { AccountHeldError, LeaseLostError } from "../errors.ts";
import {
  type Claim,
  type ClaimKind,
  type ClaimOptions,
  claimTiming,
  takeAccount,
} from "./claim.ts";
import type { Database, Transaction } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";

/** A place beside whoever holds an account, with a share of its rate limit. There is one. */
export type Guest = Claim;

/** The share: of an account's requests so many are left to a guest, and no more are used by it. */
export const guestRequests = 2;

// A sync sees its guest within 3 s, and gives slots up once their answers are in, for which it
// waits 30 s at most.
const roomMaxMs = minuteMs;

const guests: ClaimKind = {
  table: "account_guests",
  onTake: sql``,
  seen: () => sql`null::text`,
  isHeldBy: (account, holder) => `account ${account} is being verified by ${holder}`,
  isAtWork: (account, holder) => `another verify reads account ${account} (${holder})`,
  lost: (account) =>
    new LeaseLostError(
      `this run lost its place beside the syncs of account ${account}; run it again`,
    ),
};

export type VisitOptions = ClaimOptions & { readonly roomMaxMs?: number };

/**
 * Takes the place beside whoever holds the account, now or later, and waits until a holder that
 * is at work has left room.
 *
 * @throws AccountHeldError where another guest is there, or no room was made.
 */
export function visitAccount(db: Database, account: string, options: VisitOptions): Promise<Guest> {
  return withDatabaseErrors(async () => {
    await using stack = new AsyncDisposableStack();
    await makeLeaseRow(db, account);
    const guest = stack.use(await takeAccount(db, guests, account, options));
    await waitForRoom(db, guest, options);
    const kept = stack.move();
    return { ...guest, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  });
}

/** Who writes the account locks its lease's row, so there must be one, though nobody ever held it. */
async function makeLeaseRow(db: Database, account: string): Promise<void> {
  await db.execute(sql`
    insert into account_leases (account, holder, epoch, expires_at)
    values (${account}, '', 0, clock_timestamp() - interval '1 day')
    on conflict (account) do nothing`);
}

async function waitForRoom(
  db: Database,
  { account, epoch, assertHeld }: Guest,
  options: VisitOptions,
): Promise<void> {
  const { onWait, signal, clock = systemClock, timing = claimTiming } = options;
  const waitMaxMs = options.roomMaxMs ?? roomMaxMs;
  const polls = Math.ceil(waitMaxMs / timing.pollMs);
  let holder = "";
  for (let poll = 0; poll < polls; poll++) {
    signal.throwIfAborted();
    assertHeld();
    // A lease that ran out may have sent its last request at its end.
    const { rows } = await db.execute<{ holder: string; has_room: boolean }>(sql`
      select
        holder,
        coalesce(yielded_to = ${epoch}, false)
          or expires_at <= clock_timestamp() - ${claimTiming.cooldownMs} * interval '1 ms'
          as has_room
      from account_leases
      where account = ${account}`);
    const [lease] = rows;
    if (lease === undefined || lease.has_room) return;
    if (holder === "" && lease.holder !== "") {
      onWait?.(`account ${account} is held by ${lease.holder}; waiting until it makes room`);
    }
    holder = lease.holder;
    await clock.sleep(timing.pollMs);
  }
  throw new AccountHeldError(
    `${holder} holds account ${account} and made no room within ${waitMaxMs} ms; ` +
      "wait until it has ended, and see that it is of this version",
  );
}

/**
 * Fails a transaction whose guest lost its place, and makes the account's writers take turns: the
 * lease's row is the one that each of them locks.
 */
export async function checkGuest(
  tx: Transaction,
  { account, epoch }: Pick<Guest, "account" | "epoch">,
): Promise<void> {
  await tx.execute(sql`select 1 from account_leases where account = ${account} for update`);
  const { rows } = await tx.execute(sql`
    select 1
    from account_guests
    where account = ${account}
      and epoch = ${epoch}
      and expires_at > clock_timestamp()
    for update`);
  if (rows.length === 0) throw guests.lost(account);
}
