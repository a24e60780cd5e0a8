// After a ban of the address, no more requests are sent for any account.

import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import type { ExchangeError } from "../src/errors.ts";
import { createAddressLimits } from "../src/exchange/address-limits.ts";
import { exchangeOf } from "../src/exchange/session.ts";
import type { HttpAnswer, Transport } from "../src/exchange/transport.ts";
import { emptyPage, secretsOf, testAccount } from "./support/exchange-client.ts";
import { virtualClock } from "./support/virtual-clock.ts";

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
      exchangeOf(
        { baseUrl: new URL("http://127.0.0.1"), locale: "en-US" },
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
    for (const end of failed) {
      expect(end).toMatchObject({ reason: { kind: "banned", code: "HTTP 403" } });
    }
    // A request that was not sent is not counted.
    expect(attempts).toHaveLength(sent.length);
    expect(sent.length).toBeLessThan(120);
  });

  test("waits as long as it is told, then asks one at a time until an answer comes, then all", async () => {
    const freeAtMs = 45_000;
    const { sent, toldAt, ends } = world((arrival, sinceMs) =>
      arrival > 45 && sinceMs < freeAtMs ? ban("30") : page,
    );
    const settled = await ends();
    expect(settled.every(({ status }) => status === "fulfilled")).toBe(true);
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
