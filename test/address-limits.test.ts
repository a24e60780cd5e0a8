// Processes of one machine, each with an account of its own, share the limit of its address.

import { expect, test } from "vitest";
import type { Clock } from "../src/clock.ts";
import { accountBills } from "../src/contract/account-bills.ts";
import { symbols } from "../src/contract/symbols.ts";
import { hourMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { type AddressLimits, createAddressLimits } from "../src/exchange/address-limits.ts";
import { createRateLimiter, type RateLimiter } from "../src/exchange/rate-limiter.ts";
import { exchangeOf } from "../src/exchange/session.ts";
import type { Transport } from "../src/exchange/transport.ts";
import { rollingWindow } from "../src/exchange-server/arrivals.ts";
import { createSandbox } from "../src/sandbox/sandbox.ts";
import { secretsOf } from "./support/exchange-client.ts";
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
  const minute = rollingWindow(minuteMs);
  const second = rollingWindow(secondMs);
  const transport: Transport = async ({ url, headers }) => {
    await time.clock.sleep(wayMs);
    for (const window of [minute, second]) window.arrive(time.now());
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
        exchangeOf(
          { baseUrl: new URL("http://127.0.0.1"), locale: "en-US" },
          { credentials: secretsOf(account) },
          { transport, clock: time.clock, random: () => 0.5, addressLimits: limitsOf() },
        ).client,
    );
  return { time, sandbox, clientsUnder, peaks: { minute: minute.peak, second: second.peak } };
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

test("twenty accounts at full speed for more than a minute stay under 6,000 requests a minute, and near it", async () => {
  const { time, sandbox, clientsUnder, peaks } = world(20);
  const clients = clientsUnder(oneOf(time.clock));
  const startedAt = time.now();
  const asked = clients.flatMap((client) => times(340, () => askBills(client)));
  await time.run(Promise.all(asked));
  expect(sandbox.statistics().refusals).toEqual({});
  expect(peaks.minute()).toBeLessThanOrEqual(5_400);
  expect(peaks.second()).toBeLessThanOrEqual(90);
  expect(asked.length / ((time.now() - startedAt) / minuteMs)).toBeGreaterThan(5_000);
});

test("a run that begins right after another one, and does not know of it, stays under the limit as well", async () => {
  const { time, sandbox, clientsUnder, peaks } = world(20);
  for (let run = 0; run < 2; run++) {
    const clients = clientsUnder(oneOf(time.clock));
    await time.run(Promise.all(clients.flatMap((client) => times(270, () => askBills(client)))));
  }
  expect(sandbox.statistics().refusals).toEqual({});
  expect(peaks.minute()).toBeLessThanOrEqual(5_400 + 90);
});

test.each([200])(
  "%i processes of one account each share the limit of their address",
  async (processes) => {
    const { time, sandbox, clientsUnder, peaks } = world(processes);
    const clients = clientsUnder(() => {
      const limits = createAddressLimits(time.clock);
      limits.shareAmong(processes);
      return limits;
    });
    const startedAt = time.now();
    const asked = 5_600;
    const each = Math.ceil(asked / processes);
    await time.run(Promise.all(clients.flatMap((client) => times(each, () => askBills(client)))));
    expect(sandbox.statistics().refusals).toEqual({});
    // Each process may send one request as soon as it begins.
    expect(peaks.minute()).toBeLessThanOrEqual(4_800 + processes);
    expect(asked / ((time.now() - startedAt) / minuteMs)).toBeGreaterThan(4_000);
  },
);

test("a process that is alone again has the whole limit of its address", async () => {
  const { time, clientsUnder } = world(20);
  const limits = createAddressLimits(time.clock);
  limits.shareAmong(100);
  const clients = clientsUnder(() => limits);
  const startedAt = time.now();
  const asked = Promise.all(clients.flatMap((client) => times(50, () => askBills(client))));
  limits.shareAmong(1);
  await time.run(asked);
  expect(time.now() - startedAt).toBeLessThan(15 * secondMs);
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
  const clients = clientsUnder(oneOf(time.clock));
  const asked = clients.flatMap((client) =>
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
    limits.under(accountBills, () => createRateLimiter(accountBills.limit, time.clock)),
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
