// Holds: Within the limit, Bounded
// Leases whose end is hours or a year ahead, by a server's wrong clock.
// A sync frozen for longer than its lease, eight who ask at once.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { inTransaction, openDatabase } from "../src/core/postgres/connect.ts";
import {
  checkLease,
  Leases,
  type LeasesOptions,
  type TakeOptions,
} from "../src/core/store/lease.ts";
import { systemClock } from "../src/lib/clock.ts";
import { AccountHeldError, LeaseLostError } from "../src/lib/errors.ts";
import { fileDatabase } from "./support/database.ts";
import { untilBlocked } from "./support/held-store.ts";
import { proxyTo } from "./support/tcp-proxy.ts";

type Timing = NonNullable<LeasesOptions["timing"]>;
type HoldOptions = Partial<TakeOptions> & LeasesOptions;

// A busy machine may delay this process for seconds, which must not cost it a lease.
const quick: Timing = { leaseMs: 20_000, renewMs: 50, pollMs: 20, cooldownMs: 100 };
/** The timing of a holder that is frozen or dead. */
const unrenewed: Timing = { ...quick, renewMs: 60_000 };
const me = `${hostname()} process ${process.pid}`;
const signal = new AbortController().signal;

const tables = await fileDatabase();

/** Another process, as far as leases go. */
const processOf = (options: LeasesOptions = {}, db = tables.db) =>
  new Leases(db, { timing: quick, ...options });
const hold = (account: string, options: HoldOptions = {}, db = tables.db) =>
  processOf(options, db).take(account, { signal, ...options });

const expire = (account: string) =>
  tables.db.execute(sql`
    update leases
    set expires_at = clock_timestamp() - interval '1 s'
    where account = ${account}`);

async function leaseOf(account: string) {
  const { rows } = await tables.db.execute<{ holder: string; epoch: number; left_ms: number }>(sql`
    select
      holder,
      epoch::int,
      (extract(epoch from expires_at - clock_timestamp()) * 1000)::int as left_ms
    from leases
    where account = ${account}`);
  const [lease] = rows;
  if (lease === undefined) throw new Error(`nobody ever held ${account}`);
  return lease;
}

const isRenewal = (sent: string) => sent.includes("skip locked");

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
});

describe("an account whose holder is alive", () => {
  test("is refused, with the holder's name and the remedy", async () => {
    const account = randomUUID();
    await using lease = await hold(account);
    const refusal = hold(account);
    await expect(refusal).rejects.toThrow(AccountHeldError);
    await expect(refusal).rejects.toThrow(
      new RegExp(`another run holds account ${account} \\(${me}, since [\\d :-]+Z\\); wait`),
    );
    lease.assertHeld();
    expect(await leaseOf(account)).toMatchObject({ epoch: 1 });
  });

  test("is had after it is given back and has cooled down, without a word about a holder, who may ask no more", async () => {
    const account = randomUUID();
    const waits: string[] = [];
    const first = await hold(account, { timing: { ...quick, cooldownMs: 300 } });
    await first[Symbol.asyncDispose]();
    expect(first.assertHeld).toThrow(LeaseLostError);
    expect(await leaseOf(account)).toMatchObject({ holder: "", epoch: 1 });
    expect((await leaseOf(account)).left_ms).toBeLessThanOrEqual(300);
    await using second = await hold(account, { onWait: (message) => waits.push(message) });
    expect(second.epoch).toBe(2);
    expect(waits).toEqual([]);
  });

  test("is given back for good by a holder whose renewal is still on its way", async () => {
    const account = randomUUID();
    const underWay = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let renewals = 0;
    await using proxy = await proxyTo(tables.url, async (sent) => {
      if (isRenewal(sent) && ++renewals === 1) {
        underWay.resolve();
        await gate.promise;
      }
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
      insert into leases (account, holder, epoch, expires_at)
      values (${account}, 'elsewhere process 7', 41, clock_timestamp() + interval '2 s')`);
    await using lease = await hold(account, { onWait: (message) => waits.push(message) });
    expect(lease.epoch).toBe(42);
    expect(waits).toEqual([
      `elsewhere process 7 holds account ${account}; waiting to see whether that process is alive`,
    ]);
  });

  test("is free where its end is 31 s ahead: the server's clock was wrong", async () => {
    const account = randomUUID();
    await tables.db.execute(sql`
      insert into leases (account, holder, epoch, expires_at)
      values (${account}, 'elsewhere process 7', 41, clock_timestamp() + interval '31 s')`);
    await using lease = await hold(account);
    expect(lease.epoch).toBe(42);
    expect((await leaseOf(account)).left_ms).toBeLessThanOrEqual(quick.leaseMs);
  });
});

describe("a holder that was frozen while its lease ran out", () => {
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
    await using lease = await hold(account);
    await tables.db.execute(sql`
      update leases set epoch = epoch + 1 where account = ${account}`);
    await until(isLost(lease));
  });

  test("has lost it for good once it ran out, though nobody took it", async () => {
    const account = randomUUID();
    await using lease = await hold(account);
    await expire(account);
    await until(isLost(lease));
    await tables.db.execute(sql`
      update leases set expires_at = clock_timestamp() + interval '10 s' where account = ${account}`);
    const { left_ms } = await leaseOf(account);
    await sleep(4 * quick.renewMs);
    expect(isLost(lease)()).toBe(true);
    expect((await leaseOf(account)).left_ms).toBeLessThan(left_ms);
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
    const account = randomUUID();
    await using frozen = await hold(account, { timing: unrenewed });
    const order: string[] = [];
    await expire(account);
    const taken = await inTransaction(tables.db, async (tx) => {
      await checkLease(tx, frozen);
      const next = hold(account).then((lease) => {
        order.push("taken over");
        return lease;
      });
      await untilBlocked(tables.db);
      order.push("committed");
      return { next };
    });
    await using next = await taken.next;
    expect(order).toEqual(["committed", "taken over"]);
    expect(next.epoch).toBe(2);
  });
});

test.each([7_200, -7_200])(
  "where a server's clock is set by %s s while a holder works, one process goes on, the other writes nothing",
  async (by) => {
    const account = randomUUID();
    await using first = await hold(account, { timing: unrenewed });
    await tables.db.execute(sql`
      update leases
      set expires_at = expires_at - ${by} * interval '1 s'
      where account = ${account}`);
    await using second = await hold(account);
    expect(second.epoch).toBe(first.epoch + 1);
    const write = (lease: typeof first) => inTransaction(tables.db, (tx) => checkLease(tx, lease));
    await expect(write(first)).rejects.toThrow(LeaseLostError);
    await write(second);
  },
);

describe("a user's lease", () => {
  test("is shared by the accounts of one process, and given back with the last of them", async () => {
    const [uid, process] = [randomUUID(), processOf()];
    const [one, two] = await Promise.all([
      process.takeUser(uid, { signal }),
      process.takeUser(uid, { signal }),
    ]);
    expect([one.epoch, two.epoch]).toEqual([1, 1]);
    await one[Symbol.asyncDispose]();
    two.assertHeld();
    expect(await leaseOf(`user ${uid}`)).toMatchObject({ holder: me });
    const other = processOf();
    await expect(other.takeUser(uid, { signal })).rejects.toThrow(AccountHeldError);
    await two[Symbol.asyncDispose]();
    expect(await leaseOf(`user ${uid}`)).toMatchObject({ holder: "" });
    await using again = await other.takeUser(uid, { signal });
    expect(again.epoch).toBe(2);
  });
});

describe("a database that is away", () => {
  test("for less than a lease costs nothing", async () => {
    const account = randomUUID();
    await using proxy = await proxyTo(tables.url);
    await using remote = openDatabase(proxy.url);
    await using lease = await hold(account, { timing: quick }, remote.db);
    proxy.cutOff();
    await sleep(200);
    proxy.resume();
    const { left_ms } = await leaseOf(account);
    await until(async () => (await leaseOf(account)).left_ms > left_ms);
    lease.assertHeld();
  });
});

test("a database that hangs does not keep a run from ending", async () => {
  const never = new Promise(() => undefined);
  const isOfLease = (sent: string) => /set\s+expires_at/.test(sent);
  await using proxy = await proxyTo(tables.url, (sent) => isOfLease(sent) && never);
  const remote = openDatabase(proxy.url);
  const lease = await hold(randomUUID(), { timing: { ...quick, leaseMs: 300 } }, remote.db);
  await lease[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
  expect(isLost(lease)()).toBe(true);
});
