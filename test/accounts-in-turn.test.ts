import { expect, test } from "vitest";
import { accountsAtOnce, inTurn } from "../src/app/accounts-in-turn.ts";
import type { Check } from "../src/commands/doctor/check.ts";
import { checkExchange } from "../src/commands/doctor/exchange.ts";
import type { Account } from "../src/config/account.ts";
import { accountBills } from "../src/contract/account-bills.ts";
import { classicProductTypes } from "../src/contract/product-types.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { Secret } from "../src/secret.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const { signal } = new AbortController();

test("accounts are read side by side, only so many at once, and those of one user a limit's period apart", async () => {
  const time = virtualClock(Date.UTC(2026, 3, 30));
  const userOf = (index: number) => (index % 10 === 0 ? String(index % 20) : undefined);
  const accounts = Array.from({ length: 100 }, (_, index) => ({
    name: String(index),
    productTypes: classicProductTypes,
    // Of every second one of them, the user is configured; of the others, the last sync knew it.
    ...(index % 40 < 20 && userOf(index) !== undefined && { uid: String(userOf(index)) }),
  }));
  const users = new Map(accounts.map(({ name }, index) => [name, userOf(index) ?? name]));
  let atOnce = 0;
  let most = 0;
  const read = async ({ name }: Account) => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    const from = time.now();
    await time.clock.sleep(300);
    atOnce -= 1;
    return { name, from, to: time.now() };
  };
  const reports = await time.run(inTurn(accounts, read, { clock: time.clock, signal, users }));
  expect(reports.map(({ name }) => name)).toEqual(accounts.map(({ name }) => name));
  expect(most).toBe(accountsAtOnce);
  for (const user of ["0", "10"]) {
    const own = reports.filter(({ name }) => users.get(name) === user);
    const pauses = own.slice(1).map(({ from }, index) => from - (own[index]?.to ?? 0));
    expect(pauses).toHaveLength(4);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(accountBills.limit.perMs);
  }
});

test("doctor keeps to the limit of a user who has several accounts", async () => {
  const accountNames = ["first", "second"];
  let user: string | undefined;
  await using sandbox = await openSandbox({
    seed: "one user",
    density: 0.01,
    accountNames,
    alterCredential(credential) {
      user ??= credential.uid;
      return { ...credential, uid: user };
    },
  });
  const config = {
    baseUrl: new URL(sandbox.url),
    locale: "en-US",
    accounts: sandbox.accounts.map(
      ({ name, apiKey, apiSecret, apiPassphrase }): Account => ({
        name,
        uid: "1",
        productTypes: classicProductTypes,
        readsAll: true,
        credentials: {
          key: new Secret(apiKey),
          secret: new Secret(apiSecret),
          passphrase: new Secret(apiPassphrase),
        },
      }),
    ),
  };
  const checks: Check[] = [];
  const tell = (check: Check) => checks.push(check);
  await checkExchange(config, undefined, tell, signal);
  const { peaks, refusals } = sandbox.statistics();
  const good = ["exchange", "clock", "account first", "account second"];
  expect(checks.map(({ status, name }) => `${status} ${name}`)).toEqual(
    good.map((name) => `ok ${name}`),
  );
  const bills = peaks.find(({ operation }) => operation === accountBills.name);
  expect(bills?.requests).toBeLessThanOrEqual(accountBills.limit.requests);
  // The requests of both accounts within one second would exceed the limit.
  expect(2 * classicProductTypes.length).toBeGreaterThan(accountBills.limit.requests);
  expect(refusals).not.toHaveProperty("429");
});
