// Holds: Within the limit
// All accounts of a process share the limit of its address.
// After a ban of the address, no more requests are sent for any account.

import { describe, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { billsApiOf } from "../src/core/contract/bills-api.ts";
import { symbols } from "../src/core/contract/symbols.ts";
import {
  type AddressLimits,
  accountsAtOnce,
  createAddressLimits,
  readSideBySide,
} from "../src/core/exchange/address-limits.ts";
import { createRateLimiter, type RateLimiter } from "../src/core/exchange/rate-limiter.ts";
import { openExchange } from "../src/core/exchange/session.ts";
import type { HttpAnswer, Transport } from "../src/core/exchange/transport.ts";
import type { Clock } from "../src/lib/clock.ts";
import type { ExchangeError } from "../src/lib/errors.ts";
import { Secret } from "../src/lib/secret.ts";
import { hourMs, minuteMs, secondMs } from "../src/lib/time.ts";
import { createSandbox } from "./exchange/sandbox.ts";
import { peakOf } from "./exchange/statistics.ts";
import { emptyPage, secretsOf, testAccount } from "./support/exchange-client.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const wayMs = 20;

/** An exchange of many accounts in virtual time. All of them send from one address. */
function world(accounts: number) {
  const time = virtualClock(Date.UTC(2026, 3, 30));
  const sandbox = createSandbox({
    seed: "address",
    now: time.now,
    density: 0,
    edges: [],
    accountNames: Array.from({ length: accounts }, (_, index) => `desk-${index}`),
  });
  const minute = peakOf(minuteMs);
  const transport: Transport = async ({ url, headers }) => {
    await time.clock.sleep(wayMs);
    minute.arrive(time.now());
    const answer = await sandbox.answer({
      method: "GET",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers,
      clientAddress: "127.0.0.1",
    });
    await time.clock.sleep(wayMs);
    return { status: answer.status, retryAfter: undefined, body: answer.body };
  };
  const clientsUnder = (limitsOf: () => AddressLimits) =>
    sandbox.accounts.map(
      (account) =>
        openExchange(
          { baseUrl: new URL("http://127.0.0.1") },
          { credentials: secretsOf(account) },
          { transport, clock: time.clock, random: () => 0.5, addressLimits: limitsOf() },
        ).client,
    );
  return { time, sandbox, clientsUnder, peaks: { minute: minute.peak } };
}

type Client = ReturnType<ReturnType<typeof world>["clientsUnder"]>[number];

const askBills = (client: Client, signal?: AbortSignal) =>
  client.ask(
    accountBills,
    { productType: "USDT-FUTURES", limit: "1" },
    signal === undefined ? {} : { signal },
  );

/** The limits of one process. All of its accounts share them. */
function oneOf(clock: Clock): () => AddressLimits {
  const limits = createAddressLimits(clock);
  return () => limits;
}

const times = <T>(count: number, act: () => T): T[] => Array.from({ length: count }, act);

test("two runs one after the other, which know nothing of each other, stay under 6,000 requests a minute, and near it", async () => {
  const { time, sandbox, clientsUnder, peaks } = world(20);
  const startedAt = time.now();
  for (let run = 0; run < 2; run++) {
    const clients = clientsUnder(oneOf(time.clock));
    await time.run(Promise.all(clients.flatMap((client) => times(270, () => askBills(client)))));
  }
  expect(sandbox.statistics().refusals).toEqual({});
  expect(peaks.minute()).toBeLessThanOrEqual(5_400 + 90);
  expect((2 * 20 * 270) / ((time.now() - startedAt) / minuteMs)).toBeGreaterThan(5_000);
});

test("an account that waits for its own limit takes nothing from the others", async () => {
  const { time, clientsUnder } = world(9);
  const [busy, ...others] = clientsUnder(oneOf(time.clock));
  if (busy === undefined) throw new Error("the world has no accounts");
  const stop = new AbortController();
  const endless = times(1_000, () => askBills(busy, stop.signal).catch(() => undefined));
  const startedAt = time.now();
  await time.run(Promise.all(others.flatMap((client) => times(30, () => askBills(client)))));
  // Thirty requests at ten a second, as if each account were alone.
  expect(time.now() - startedAt).toBeLessThan(3 * (secondMs + 10 * wayMs));
  stop.abort(new Error("enough"));
  await time.run(Promise.all(endless));
});

test("what is limited by address is limited over all accounts together", async () => {
  const { time, sandbox, clientsUnder } = world(4);
  const asked = clientsUnder(oneOf(time.clock)).flatMap((client) =>
    times(15, () => client.ask(symbols, { symbol: "BTCUSDT" })),
  );
  await time.run(Promise.all(asked));
  const { peaks, refusals } = sandbox.statistics();
  expect(peaks).toEqual([{ operation: symbols.name, scope: "127.0.0.1", requests: 20 }]);
  expect(refusals).toEqual({});
});

test("an account that holds off, being refused, leaves the others at work", async () => {
  const time = virtualClock(0);
  const limits = createAddressLimits(time.clock);
  const [refused, other] = times(2, () =>
    limits.under(accountBills, () =>
      createRateLimiter({ ...accountBills.limit, perMs: 1_000 }, time.clock),
    ),
  );
  refused?.holdOff(minuteMs);
  const sentAt = (limiter: RateLimiter | undefined) => limiter?.run(async () => time.now());
  const sent = await time.run(Promise.all([sentAt(refused), sentAt(other)]));
  expect(sent[0]).toBeGreaterThanOrEqual(minuteMs);
  expect(sent[1]).toBe(0);
});

test("bans that follow one another add up, and one after a quiet hour begins anew", async () => {
  const time = virtualClock(0);
  const limits = createAddressLimits(time.clock);
  const banAfter = async (ms: number) => {
    await time.run(time.clock.sleep(ms));
    return limits.countBan(time.now());
  };
  expect(await banAfter(0)).toBe(1);
  expect(limits.countBan(-5)).toBe(1);
  expect(await banAfter(minuteMs)).toBe(2);
  expect(await banAfter(hourMs - 1)).toBe(3);
  expect(await banAfter(hourMs)).toBe(1);
});

describe("a ban", () => {
  const wayMs = 50;
  const page: HttpAnswer = {
    status: 200,
    retryAfter: undefined,
    body: JSON.stringify(emptyPage.body),
  };
  const ban = (retryAfter?: string): HttpAnswer => ({
    status: 403,
    retryAfter,
    body: "<html><title>Access denied</title>",
  });

  /** Three accounts at one address, and an exchange that answers as the test says. */
  function world(answerAt: (arrival: number, sinceMs: number) => HttpAnswer) {
    const time = virtualClock(Date.UTC(2026, 3, 30));
    const begun = time.now();
    const sent: number[] = [];
    let toldAt = Number.POSITIVE_INFINITY;
    const transport: Transport = async () => {
      const arrival = sent.push(time.now() - begun);
      await time.clock.sleep(wayMs);
      const answer = answerAt(arrival, time.now() - begun);
      await time.clock.sleep(wayMs);
      if (answer.status === 403) toldAt = Math.min(toldAt, time.now() - begun);
      return answer;
    };
    const addressLimits = createAddressLimits(time.clock);
    const credentials = secretsOf(testAccount);
    const clients = [1, 2, 3].map(
      () =>
        openExchange(
          { baseUrl: new URL("http://127.0.0.1") },
          { credentials },
          { transport, clock: time.clock, random: () => 0.5, addressLimits },
        ).client,
    );
    const attempts: (ExchangeError | undefined)[] = [];
    const onAttempt = (failure: ExchangeError | undefined) => void attempts.push(failure);
    const query = { productType: "USDT-FUTURES", limit: "3" };
    const asked = Promise.allSettled(
      clients.flatMap((client) =>
        Array.from({ length: 40 }, () => client.ask(accountBills, query, { onAttempt })),
      ),
    );
    return { time, sent, toldAt: () => toldAt, attempts, ends: () => time.run(asked) };
  }

  describe("an address that is banned", () => {
    test("asks nothing more from the first answer that says so, for no account", async () => {
      const { sent, toldAt, attempts, ends } = world((arrival) => (arrival > 45 ? ban() : page));
      const settled = await ends();
      expect(sent.filter((at) => at > toldAt())).toEqual([]);
      const failed = settled.filter(({ status }) => status === "rejected");
      expect(failed).toHaveLength(120 - 45);
      for (const end of failed)
        expect(end).toMatchObject({ reason: { kind: "banned", code: "HTTP 403" } });
      // A request that was not sent is not counted.
      expect(attempts).toHaveLength(sent.length);
      expect(sent.length).toBeLessThan(120);
    });

    test("waits as long as it is told, then asks one at a time until an answer comes, then all", async () => {
      const freeAtMs = 45_000;
      const { sent, toldAt, ends } = world((arrival, sinceMs) =>
        arrival > 45 && sinceMs < freeAtMs ? ban("30") : page,
      );
      expect((await ends()).every(({ status }) => status === "fulfilled")).toBe(true);
      const later = sent.filter((at) => at > toldAt());
      const [first = 0, second = 0, third = 0] = later;
      expect(first).toBeGreaterThanOrEqual(toldAt() + 30_000);
      expect(second).toBeGreaterThanOrEqual(first + 30_000);
      expect(third).toBeGreaterThanOrEqual(second + 2 * wayMs);
      // The full rate is back: the other requests take seconds. One at a time they would take a minute.
      expect((later.at(-1) ?? 0) - second).toBeLessThan(15_000);
    });

    test("that stays banned is tried twice more, and no more", async () => {
      const { sent, toldAt, ends } = world((arrival) => (arrival > 45 ? ban("30") : page));
      const settled = await ends();
      expect(sent.filter((at) => at > toldAt())).toHaveLength(2);
      expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(75);
    });
  });
});

describe("accounts side by side", () => {
  const { signal } = new AbortController();

  test("accounts are read side by side, only so many at once, and reported in their order", async () => {
    const time = virtualClock(Date.UTC(2026, 3, 30));
    const names = Array.from({ length: 100 }, (_, index) => String(index));
    let atOnce = 0;
    let most = 0;
    const read = async (name: string) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await time.clock.sleep(300 - Number(name));
      atOnce -= 1;
      return name;
    };
    expect(await time.run(readSideBySide(names, read))).toEqual(names);
    expect(most).toBe(accountsAtOnce);
  });

  test("accounts of one user share its limit from the moment when the user is known", async () => {
    const time = virtualClock(Date.UTC(2026, 3, 30));
    const arrivals = peakOf(secondMs);
    const access = {
      clock: time.clock,
      random: () => 0.5,
      addressLimits: createAddressLimits(time.clock),
      userLimits: new Map(),
      async transport() {
        await time.clock.sleep(20);
        arrivals.arrive(time.now());
        const requestTime = time.clock.now();
        await time.clock.sleep(20);
        const data = { bills: [], endId: null };
        const body = JSON.stringify({ code: "00000", msg: "success", requestTime, data });
        return { status: 200, retryAfter: undefined, body };
      },
    };
    const { operation, query } = billsApiOf("USDT-FUTURES");
    const work = async (name: string, asksFirst = 0) => {
      const secret = (what: string) => new Secret(`the ${what} of ${name}`);
      const [key, credentialSecret] = [secret("key"), secret("secret")];
      const credentials = { key, secret: credentialSecret, passphrase: secret("passphrase") };
      const config = { baseUrl: new URL("http://127.0.0.1") };
      const { client, useLimitsOf } = openExchange(config, { credentials }, access);
      const ask = (count: number) =>
        Promise.all(
          Array.from({ length: count }, () =>
            client.ask(operation, query({ limit: 1 }), { signal }),
          ),
        );
      await ask(asksFirst);
      await useLimitsOf("7");
      await ask(100);
    };
    const { requests } = accountBills.limit;
    await time.run(Promise.all([work("one"), work("two")]));
    expect(arrivals.peak()).toBe(requests);
    // Whose account the third one is, its first answer says.
    await time.run(Promise.all([work("one"), work("two"), work("three", 1)]));
    expect(arrivals.peak()).toBe(requests + 1);
  });
});
