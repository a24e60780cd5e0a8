// Holds: Within the limit

import { expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { billsApiOf } from "../src/contract/bills-api.ts";
import { secondMs } from "../src/contract/time.ts";
import {
  accountsAtOnce,
  createAddressLimits,
  readSideBySide,
} from "../src/exchange/address-limits.ts";
import { exchangeOf } from "../src/exchange/session.ts";
import { rollingWindow } from "../src/exchange-server/arrivals.ts";
import { Secret } from "../src/secret.ts";
import { virtualClock } from "./support/virtual-clock.ts";

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
  const arrivals = rollingWindow(secondMs);
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
    const config = { baseUrl: new URL("http://127.0.0.1"), locale: "en-US" };
    const { client, useLimitsOf } = exchangeOf(config, { credentials }, access);
    const ask = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () => client.ask(operation, query({ limit: 1 }), { signal })),
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
