import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { inTransaction } from "../src/db/connect.ts";
import {
  checkSyncLease,
  type RateShare,
  type SyncLeaseOptions,
  takeSyncLease,
} from "../src/db/lease/sync-lease.ts";
import { recordUser } from "../src/db/lease/users.ts";
import {
  checkVerifyLease,
  takeVerifyLease,
  type VerifyLeaseOptions,
} from "../src/db/lease/verify-lease.ts";
import { AccountHeldError, LeaseLostError, StoppedError } from "../src/errors.ts";
import { fileDatabase } from "./support/database.ts";
import { untilBlocked } from "./support/held-store.ts";

// A busy machine may delay this process for seconds, which must not cost it a lease.
const timing = { leaseMs: 30_000, renewMs: 50, pollMs: 20, cooldownMs: 100 };
/** The timing of a holder that is frozen or dead. */
const unrenewed = { ...timing, renewMs: 60_000 };
const signal = new AbortController().signal;

const { tables } = await fileDatabase();

const hold = (account: string, options: Partial<SyncLeaseOptions> = {}) =>
  takeSyncLease(tables.db, account, { signal, timing, ...options });
const visit = (account: string, options: Partial<VerifyLeaseOptions> = {}) =>
  takeVerifyLease(tables.db, account, { signal, timing, ...options });

/** Records what a holder did with its rate share. Leaving the share takes until `let` is called. */
function aRateShare() {
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const rateShare: RateShare = {
    async leaveShare() {
      done.push("leave");
      await gate.promise;
      done.push("left");
    },
    takeBack: () => done.push("take back"),
  };
  return { rateShare, done, let: () => gate.resolve() };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

const expire = (table: "account_leases" | "account_guests", account: string, agoMs: number) =>
  tables.db.execute(sql`
    update ${sql.raw(table)}
    set expires_at = clock_timestamp() - ${agoMs} * interval '1 ms'
    where account = ${account}`);

describe("a verify of an account", () => {
  test("that nobody holds begins at once, and again after it has gone", async () => {
    const account = randomUUID();
    for (const epoch of [1, 2]) {
      await using lease = await visit(account);
      expect(lease.epoch).toBe(epoch);
      lease.assertHeld();
    }
  });

  test("that another one visits is refused, by name and with the remedy", async () => {
    const account = randomUUID();
    await using _ = await visit(account);
    const refused = visit(account);
    await expect(refused).rejects.toThrow(AccountHeldError);
    await expect(refused).rejects.toThrow(
      /^another verify reads account \S+ \(.+ process \d+, since 2\S+ \S+Z\); wait until it has ended$/,
    );
  });

  test("and of another account of its user, at the same moment: one of them begins, forty times of forty", async () => {
    const uid = randomUUID();
    const accounts = [randomUUID(), randomUUID(), randomUUID()];
    for (const account of accounts) {
      await using lease = await hold(account);
      await recordUser(tables.db, lease, uid);
    }
    for (let round = 0; round < 40; round++) {
      const refusals: unknown[] = [];
      const visits = accounts.map((account) =>
        visit(account).catch((error) => refusals.push(error)),
      );
      const leases = (await Promise.all(visits)).filter((lease) => typeof lease === "object");
      expect(leases).toHaveLength(1);
      expect(refusals).toEqual(accounts.slice(1).map(() => expect.any(AccountHeldError)));
      for (const lease of leases) await lease[Symbol.asyncDispose]();
    }
  });

  test("that is held begins once its holder has left the rate share, not before", async () => {
    const account = randomUUID();
    const { rateShare, done, let: letLeave } = aRateShare();
    const waits: string[] = [];
    await using _ = await hold(account, { rateShare });
    let hasBegun = false;
    const visiting = visit(account, { onWait: (text) => waits.push(text) }).then((lease) => {
      hasBegun = true;
      return lease;
    });
    await until(() => done.includes("leave"));
    await sleep(200);
    expect({ hasBegun, done }).toEqual({ hasBegun: false, done: ["leave"] });
    letLeave();
    await using lease = await visiting;
    expect(done).toEqual(["leave", "left"]);
    expect(waits).toEqual([
      expect.stringMatching(/^account \S+ is held by .+; waiting for a share of its rate limit$/),
    ]);
    lease.assertHeld();
  });

  test("gives up, and goes, where its holder leaves no rate share", async () => {
    const account = randomUUID();
    await using _ = await hold(account, { timing: unrenewed });
    await expect(visit(account, { shareMaxMs: 200 })).rejects.toThrow(
      /^\S+ process \d+ holds account \S+ and left no share of its rate limit within 0\.2 s; wait until/,
    );
    const { rows } = await tables.db.execute(
      sql`select holder from account_guests where account = ${account}`,
    );
    expect(rows).toEqual([{ holder: "" }]);
  });

  test("waits no longer for its rate share than until it is stopped", async () => {
    const account = randomUUID();
    await using _ = await hold(account, { timing: unrenewed });
    const stop = new AbortController();
    const visiting = visit(account, {
      signal: stop.signal,
      onWait: () => stop.abort(new StoppedError("stopped on request")),
    });
    await expect(visiting).rejects.toThrow(StoppedError);
  });

  test("whose holder died begins when the lease has run out, and a second has passed", async () => {
    const account = randomUUID();
    await using _ = await hold(account, { timing: unrenewed });
    const startedAt = performance.now();
    await expire("account_leases", account, -300);
    await using lease = await visit(account);
    expect(performance.now() - startedAt).toBeGreaterThan(1_200);
    lease.assertHeld();
  });

  test("is lost once its row expired, though nobody took it: a sync counts on it", async () => {
    const account = randomUUID();
    await using lease = await visit(account);
    await expire("account_guests", account, 1);
    await until(() => {
      try {
        lease.assertHeld();
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(LeaseLostError);
        return true;
      }
    });
    const check = inTransaction(tables.db, (tx) => checkVerifyLease(tx, lease));
    await expect(check).rejects.toThrow(LeaseLostError);
  });
});

describe("a holder of an account", () => {
  test("leaves the rate share before it has the account where the verify is there already", async () => {
    const account = randomUUID();
    const { rateShare, done, let: letLeave } = aRateShare();
    await using lease = await visit(account);
    await using _ = await hold(account, { rateShare });
    expect(done).toEqual(["leave"]);
    letLeave();
    lease.assertHeld();
  });

  test("takes the rate share back when the verify has ended, a second after its last request", async () => {
    const account = randomUUID();
    const { rateShare, done, let: letLeave } = aRateShare();
    letLeave();
    await using _ = await hold(account, { rateShare });
    const lease = await visit(account);
    const goneAt = performance.now();
    await lease[Symbol.asyncDispose]();
    await until(() => done.includes("take back"));
    expect(performance.now() - goneAt).toBeGreaterThan(1_000);
    await using again = await visit(account);
    expect(done).toEqual(["leave", "left", "take back", "leave", "left"]);
    again.assertHeld();
  });

  test("takes the rate share back when the verify was killed, and its row ran out", async () => {
    const account = randomUUID();
    const { rateShare, done, let: letLeave } = aRateShare();
    letLeave();
    await using _ = await hold(account, { rateShare });
    await using killed = await visit(account, { timing: unrenewed });
    await expire("account_guests", account, 2_000);
    await until(() => done.includes("take back"));
    expect(killed.epoch).toBe(1);
  });

  test("is not taken at the word of the one before: each one leaves the share itself", async () => {
    const account = randomUUID();
    {
      await using _ = await hold(account);
      await using lease = await visit(account);
      lease.assertHeld();
    }
    const { rateShare, done, let: letLeave } = aRateShare();
    await using _ = await hold(account, { rateShare });
    // The epoch of the verify for which the first holder left its share, as if rows had been restored.
    await tables.db.execute(sql`delete from account_guests where account = ${account}`);
    const visiting = visit(account);
    await until(() => done.includes("leave"));
    const left = await Promise.race([visiting.then(() => "begun"), sleep(200, "waiting")]);
    expect(left).toBe("waiting");
    letLeave();
    await using lease = await visiting;
    expect(lease.epoch).toBe(1);
  });

  test("and a verify that begin at the same moment see each other, forty times of forty", async () => {
    const rounds = Array.from({ length: 40 }, async () => {
      const account = randomUUID();
      const { rateShare, done, let: letLeave } = aRateShare();
      letLeave();
      const holding = hold(account, { rateShare });
      await using lease = await visit(account);
      // The holder has begun to leave it: either it saw the lease, or it will see it when it looks.
      await using _ = await holding;
      expect(done).toContain("leave");
      lease.assertHeld();
    });
    await Promise.all(rounds);
  });

  test("and a verify write the account in turns", async () => {
    const account = randomUUID();
    await using lease = await hold(account);
    await using verifyLease = await visit(account);
    const order: string[] = [];
    const writing = await inTransaction(tables.db, async (tx) => {
      await checkSyncLease(tx, lease);
      const healing = inTransaction(tables.db, async (other) => {
        await checkVerifyLease(other, verifyLease);
        order.push("verify");
      });
      await untilBlocked(tables.db, 1);
      order.push("holder");
      return { healing };
    });
    await writing.healing;
    expect(order).toEqual(["holder", "verify"]);
  });
});
