import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { systemClock } from "../src/clock.ts";
import { inTransaction, openDatabase } from "../src/db/connect.ts";
import { leaseTiming } from "../src/db/lease/lease-kind.ts";
import {
  checkSyncLease,
  type SyncLeaseOptions,
  takeSyncLease,
} from "../src/db/lease/sync-lease.ts";
import { AccountHeldError, LeaseLostError, StoppedError } from "../src/errors.ts";
import { readStoredBills } from "../src/ledger/bill-rows.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { aPage, minutes, untilBlocked } from "./support/held-store.ts";
import { type Fate, proxyTo } from "./support/tcp-proxy.ts";

type Timing = NonNullable<SyncLeaseOptions["timing"]>;

// A busy machine may delay this process for seconds, which must not cost it a lease.
const quick: Timing = { leaseMs: 30_000, renewMs: 50, pollMs: 20, cooldownMs: 100 };
/** The timing of a holder that is frozen or dead. */
const unrenewed: Timing = { ...quick, renewMs: 60_000 };
const me = `${hostname()} process ${process.pid}`;
const signal = new AbortController().signal;

const { database, tables } = await fileDatabase();

const hold = (account: string, options: Partial<SyncLeaseOptions> = {}, db = tables.db) =>
  takeSyncLease(db, account, { signal, timing: quick, ...options });

const expire = (account: string) =>
  tables.db.execute(sql`
    update account_leases
    set expires_at = clock_timestamp() - interval '1 s'
    where account = ${account}`);

async function leaseOf(account: string) {
  const { rows } = await tables.db.execute<{ holder: string; epoch: number; left_ms: number }>(sql`
    select
      holder,
      epoch::int,
      (extract(epoch from expires_at - clock_timestamp()) * 1000)::int as left_ms
    from account_leases
    where account = ${account}`);
  const [lease] = rows;
  if (lease === undefined) throw new Error(`nobody ever held ${account}`);
  return lease;
}

const isRenewal = (sent: string) => /set\s+expires_at/.test(sent);

/** Asks until it holds the lease, or until the test runs out of time. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

const isLost = (lease: { assertHeld(): void }) => () => {
  try {
    lease.assertHeld();
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(LeaseLostError);
    return true;
  }
};
describe("an account that nobody holds", () => {
  test("is had at once, each time with an epoch that is one more", async () => {
    const account = randomUUID();
    const epochs: number[] = [];
    for (let holder = 0; holder < 3; holder++) {
      await using lease = await hold(account);
      epochs.push(lease.epoch);
      expect(await leaseOf(account)).toMatchObject({ holder: me, epoch: lease.epoch });
      lease.assertHeld();
    }
    expect(epochs).toEqual([1, 2, 3]);
  });

  test("goes to exactly one of eight who ask at once, new or run out", async () => {
    const account = randomUUID();
    for (const epoch of [1, 2]) {
      const asked = await Promise.allSettled(Array.from({ length: 8 }, () => hold(account)));
      const holders = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      const refused = asked.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
      expect(holders.map((lease) => lease.epoch)).toEqual([epoch]);
      expect(refused).toHaveLength(7);
      for (const error of refused) expect(error).toBeInstanceOf(AccountHeldError);
      await holders[0]?.[Symbol.asyncDispose]();
      await expire(account);
    }
  });

  test("does not have to wait for another account's holder", async () => {
    await using other = await hold(randomUUID());
    await using lease = await hold(randomUUID());
    expect([other.epoch, lease.epoch]).toEqual([1, 1]);
  });
});

describe("an account whose holder is alive", () => {
  test("is refused, with the holder's name and the remedy", async () => {
    const account = randomUUID();
    await using lease = await hold(account);
    const refusal = hold(account);
    await expect(refusal).rejects.toThrow(AccountHeldError);
    const taken = sql`to_char(taken_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS"Z"')`;
    const { rows } = await tables.db.execute<{ since: string }>(
      sql`select ${taken} as since from account_leases where account = ${account}`,
    );
    await expect(refusal).rejects.toThrow(
      `another run holds account ${account} (${me}, since ${rows[0]?.since}); wait until it has ended`,
    );
    lease.assertHeld();
    expect(await leaseOf(account)).toMatchObject({ epoch: 1 });
  });

  test("stays held for longer than a lease", async () => {
    const account = randomUUID();
    await using lease = await hold(account, { timing: { ...quick, leaseMs: 3_000 } });
    await sleep(3_200);
    lease.assertHeld();
    expect((await leaseOf(account)).left_ms).toBeGreaterThan(0);
  });

  test("is had after it is given back and has cooled down, without a word about a holder", async () => {
    const account = randomUUID();
    const waits: string[] = [];
    const first = await hold(account, { timing: { ...quick, cooldownMs: 300 } });
    await first[Symbol.asyncDispose]();
    expect(await leaseOf(account)).toMatchObject({ holder: "", epoch: 1 });
    expect((await leaseOf(account)).left_ms).toBeLessThanOrEqual(300);
    await using second = await hold(account, { onWait: (message) => waits.push(message) });
    expect(second.epoch).toBe(2);
    expect(waits).toEqual([]);
  });

  test("is had where it is given back while another waits for it", async () => {
    const account = randomUUID();
    const first = await hold(account, { timing: unrenewed });
    const noticed = Promise.withResolvers<void>();
    const waiting = hold(account, { onWait: () => noticed.resolve() });
    await noticed.promise;
    await first[Symbol.asyncDispose]();
    await using second = await waiting;
    expect(second.epoch).toBe(2);
  });

  test("is given back for good by a holder whose renewal is still on its way", async () => {
    const account = randomUUID();
    const underWay = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let renewals = 0;
    await using proxy = await proxyTo(database.url, async (sent) => {
      if (isRenewal(sent) && ++renewals === 1) {
        underWay.resolve();
        await gate.promise;
      }
      return "pass" as const;
    });
    await using remote = openDatabase(proxy.url);
    const lease = await hold(account, {}, remote.db);
    await underWay.promise;
    const returned = lease[Symbol.asyncDispose]();
    await Promise.race([returned, sleep(200)]);
    gate.resolve();
    await returned;
    await sleep(100);
    const { holder, left_ms } = await leaseOf(account);
    expect(holder).toBe("");
    expect(left_ms).toBeLessThanOrEqual(quick.cooldownMs);
  });
});

describe("an account whose holder is dead", () => {
  test("is waited for, with one word about it, and taken over", async () => {
    const account = randomUUID();
    const waits: string[] = [];
    await tables.db.execute(sql`
      insert into account_leases (account, holder, epoch, expires_at)
      values (${account}, 'elsewhere process 7', 41, clock_timestamp() + interval '2 s')`);
    await using lease = await hold(account, { onWait: (message) => waits.push(message) });
    expect(lease.epoch).toBe(42);
    expect(waits).toEqual([
      `account ${account} is held by elsewhere process 7; waiting to see whether that process is alive`,
    ]);
  });

  test.each(["6 hours", "1 year"])(
    "is taken over after a lease's length, though a server's wrong clock put its end %s off",
    async (off) => {
      const account = randomUUID();
      await tables.db.execute(sql`
        insert into account_leases (account, holder, epoch, expires_at)
        values (${account}, 'elsewhere process 7', 41, clock_timestamp() + ${off}::interval)`);
      const askedAt = performance.now();
      await using lease = await hold(account, { timing: { ...quick, leaseMs: 500 } });
      expect(lease.epoch).toBe(42);
      expect(performance.now() - askedAt).toBeGreaterThan(500);
      expect((await leaseOf(account)).left_ms).toBeLessThanOrEqual(500);
    },
  );

  test("is not taken over while the end that is hours off still moves", async () => {
    const account = randomUUID();
    await tables.db.execute(sql`
      insert into account_leases (account, holder, epoch, expires_at)
      values (${account}, 'elsewhere process 7', 41, clock_timestamp() + interval '6 hours')`);
    const taking = hold(account, {
      timing: { ...quick, leaseMs: 60_000 },
      onWait: () =>
        void tables.db
          .execute(sql`
            update account_leases
            set expires_at = expires_at + interval '3 s'
            where account = ${account}`)
          .catch(() => undefined),
    });
    await expect(taking).rejects.toThrow(AccountHeldError);
    expect(await leaseOf(account)).toMatchObject({ epoch: 41 });
  });

  test("is waited for no longer than until the run is stopped", async () => {
    const account = randomUUID();
    await using _ = await hold(account, { timing: { ...unrenewed, leaseMs: 60_000 } });
    const stop = new AbortController();
    const waiting = hold(account, {
      signal: stop.signal,
      timing: { ...quick, leaseMs: 60_000 },
      onWait: () => stop.abort(new StoppedError("stopped on request")),
    });
    await expect(waiting).rejects.toThrow(StoppedError);
  });
});

describe("a holder that was frozen while its lease ran out", () => {
  const window = minutes(0, 10);
  const stream = () => ({ account: randomUUID(), productType: "USDT-FUTURES" }) as const;

  test("writes nothing once another has the account", async () => {
    const own = stream();
    await using frozen = await hold(own.account, { timing: unrenewed });
    const store = openStore(tables.db, frozen, randomUUID());
    await store.recordPlan({ stream: own, walks: [{ window }], expired: [] });
    await expire(own.account);
    await using next = await hold(own.account);
    const page = aPage(own, window, { cursor: "c1" }, { bills: [aBill()] });

    await expect(store.commitPage(page)).rejects.toThrow(LeaseLostError);
    const divided = store.divideWindow(own, window, [minutes(5, 6).from]);
    await expect(divided).rejects.toThrow(LeaseLostError);
    const plan = store.recordPlan({ stream: own, walks: [], expired: [] });
    await expect(plan).rejects.toThrow(LeaseLostError);
    expect(await readStoredBills(tables.db, own)).toEqual([]);
    expect((await store.knownTime(own)).open).toEqual([{ window }]);
    const counts = await openStore(tables.db, next, randomUUID()).commitPage(page);
    expect(counts.new).toBe(1);
  });

  test("knows it from its own clock, before it asks the database", async () => {
    const timing = { ...unrenewed, leaseMs: 2_000 };
    await using lease = await hold(randomUUID(), { timing });
    lease.assertHeld();
    // The lease ends early for its holder: its last requests must have left the exchange's rolling window
    // when another run takes it.
    await sleep(timing.leaseMs - 2 * timing.cooldownMs + 20);
    expect(lease.assertHeld).toThrow(LeaseLostError);
  });

  test("knows it as soon as it wakes up from a sleep of the machine, in which its clock stood still", async () => {
    let sleptMs = 0;
    const clock = { ...systemClock, sleptMs: () => sleptMs };
    await using lease = await hold(randomUUID(), { timing: unrenewed, clock });
    lease.assertHeld();
    sleptMs = unrenewed.leaseMs;
    expect(lease.assertHeld).toThrow(LeaseLostError);
  });

  test("learns from its next renewal that another has the account", async () => {
    const account = randomUUID();
    await using lease = await hold(account, { timing: { ...quick, leaseMs: 60_000 } });
    await tables.db.execute(sql`
      update account_leases set epoch = epoch + 1 where account = ${account}`);
    await until(isLost(lease));
  });

  test("does not give back what is another's by now", async () => {
    const account = randomUUID();
    const frozen = await hold(account, { timing: unrenewed });
    await expire(account);
    await using next = await hold(account);
    await frozen[Symbol.asyncDispose]();
    expect(await leaseOf(account)).toMatchObject({ holder: me, epoch: next.epoch });
  });

  test("finishes the page that it was committing before the account is handed over", async () => {
    const { account } = stream();
    await using frozen = await hold(account, { timing: unrenewed });
    const order: string[] = [];
    await expire(account);
    const taken = await inTransaction(tables.db, async (tx) => {
      await checkSyncLease(tx, frozen);
      const next = hold(account).then((lease) => {
        order.push("taken over");
        return lease;
      });
      await untilBlocked(tables.db, 1);
      order.push("committed");
      return { next };
    });
    await using next = await taken.next;
    expect(order).toEqual(["committed", "taken over"]);
    expect(next.epoch).toBe(2);
  });
});

describe("a database that is away", () => {
  test("for less than a lease costs nothing", async () => {
    const account = randomUUID();
    await using proxy = await proxyTo(database.url);
    await using remote = openDatabase(proxy.url);
    await using lease = await hold(account, { timing: quick }, remote.db);
    proxy.cutOff();
    await sleep(200);
    proxy.resume();
    const { left_ms } = await leaseOf(account);
    await until(async () => (await leaseOf(account)).left_ms > left_ms);
    lease.assertHeld();
  });

  test("for longer ends the run's right to ask, and giving back is no error", async () => {
    await using proxy = await proxyTo(database.url);
    await using remote = openDatabase(proxy.url);
    const lease = await hold(randomUUID(), { timing: { ...quick, leaseMs: 300 } }, remote.db);
    proxy.cutOff();
    await until(isLost(lease));
    await lease[Symbol.asyncDispose]();
  });
});

test("a database that hangs does not keep a run from ending", async () => {
  const never = new Promise<Fate>(() => undefined);
  await using proxy = await proxyTo(database.url, (sent) => (isRenewal(sent) ? never : "pass"));
  const remote = openDatabase(proxy.url);
  const lease = await hold(randomUUID(), { timing: { ...quick, leaseMs: 300 } }, remote.db);
  await lease[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
  expect(isLost(lease)()).toBe(true);
});

test("a lease outlives three renewals that fail, and a waiting run sees one renewal", () => {
  const { leaseMs, renewMs, pollMs } = leaseTiming;
  expect(3 * renewMs).toBeLessThan(leaseMs);
  expect(renewMs + pollMs).toBeLessThan(leaseMs);
});
