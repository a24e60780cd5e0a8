// Holds: No false success

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { classicProductTypes, spotWallet } from "../src/core/contract/product-types.ts";
import { dayMs } from "../src/lib/time.ts";
import type { Credential } from "../src/wings/sandbox/exchange/credential.ts";
import type { SandboxOptions } from "./exchange/sandbox.ts";
import { type CliEnvironment, runCli } from "./support/cli.ts";
import { openHouse } from "./support/house.ts";

async function house(options: Partial<SandboxOptions>, others: CliEnvironment = {}) {
  const at = await openHouse({ seed: "refusals", ...options }, others);
  return { ...at, requests: () => at.sandbox.statistics().arrivals[accountBills.name] };
}

const altered = (changes: Partial<Credential>): Partial<SandboxOptions> => ({
  alterCredential: (credential) => ({ ...credential, ...changes }),
});

test.each([
  ["EXCHANGE_API_KEY", /40037: .* no such API key; check EXCHANGE_API_KEY, or its apiKey in ACC/],
  ["EXCHANGE_API_PASSPHRASE", /40036: .* check EXCHANGE_API_PASSPHRASE, or its apiPassphrase in /],
])("a wrong %s is refused once, and told apart", async (name, message) => {
  await using at = await house({}, { PRODUCT_TYPES: "", [name]: "other" });
  const end = await at.run("sync", "--only", "bills");
  const [line, last] = end.stdout.split("\n");
  expect(line).toMatch(/^main: the exchange refused \(/);
  expect(line).toMatch(message);
  expect([end.code, last, at.requests()]).toEqual([2, expect.stringMatching(/^FAILED, after /), 1]);
  const told = { outcome: "failed", error: expect.stringMatching(message) };
  expect(JSON.parse(end.stderr.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    ...{ level: "error", ...told },
  });
  const { rows } = await at.db.execute(sql`select outcome, error from runs where command = 'sync'`);
  expect(rows).toEqual([told]);
});

test.concurrent("a key that is refused after a good sync fails a check at once, until a sync has read with a right one", async () => {
  await using at = await house({ isClassified: true });
  const syncBills = ["sync", "--only", "bills"];
  const checkIs = async (code: number, stdout: RegExp) =>
    expect(await at.run("status", "--check")).toMatchObject({
      code,
      stdout: expect.stringMatching(stdout),
    });
  expect((await at.run(...syncBills)).code).toBe(0);
  await checkIs(0, /^Complete/);
  for (const EXCHANGE_API_KEY of ["other", "second"]) {
    expect(await runCli(syncBills, { env: { ...at.env, EXCHANGE_API_KEY } })).toMatchObject({
      code: 2,
    });
  }
  await checkIs(
    1,
    /^An account could not be synced\n\n.*\ncritical {2}bill-sync doctor {2}main could not be synced: the exchange refused /,
  );
  expect((await at.run(...syncBills)).code).toBe(0);
  await checkIs(0, /^Complete/);
});

test.concurrent("a key without the right to any product type is told so once by sync, and once by verify, with all of them", async () => {
  await using at = await house(altered({ environment: "demo" }), { PRODUCT_TYPES: "" });
  const all = [...classicProductTypes, spotWallet];
  const types = all.join(", ");
  const synced = await at.run("sync", "--only", "bills");
  expect([synced.code, at.requests()]).toEqual([1, 6]);
  expect(synced.stdout.match(/^.*40099.*$/gm)).toEqual([
    expect.stringMatching(`^main/${types}: the exchange refused \\(40099: `),
  ]);
  // The refusal is logged where it happens, and in the run's last line.
  const logged = synced.stderr.match(/^.*40099.*$/gm)?.map((line) => JSON.parse(line));
  expect(logged).toMatchObject([
    { productType: "USDT-FUTURES", also: all.slice(1).join(", ") },
    { outcome: "incomplete" },
  ]);
  const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();
  const verified = await at.run("verify", "--from", daysAgo(2), "--to", daysAgo(1));
  expect(`${verified.stdout}${verified.stderr}`.match(/^.*40099.*$/gm)).toEqual([
    expect.stringMatching(`^main/${types}: not read to its end: `),
  ]);
});
