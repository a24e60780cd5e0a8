import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { keyInfo } from "../src/contract/key-info.ts";
import { balancesOperations } from "../src/contract/wallet-balances.ts";
import type { SandboxOptions } from "../src/sandbox/sandbox.ts";
import { withFaults } from "./faults/network.ts";
import { type CliEnvironment, runCli } from "./support/cli.ts";
import { openHouse } from "./support/house.ts";

/** A house that reads loan-to-value, too. */
async function house(options: Partial<SandboxOptions> = {}, others: CliEnvironment = {}) {
  const at = await openHouse({ seed: "only", ...options }, { SYNC_LTV: "true", ...others });
  return {
    ...at,
    async rows() {
      const { rows } = await at.db.execute<Record<string, number>>(sql`
        select
          (select count(*)::int from bills) as bills,
          (select count(*)::int from ltv_snapshots) as ltv,
          (select count(*)::int from symbols) as symbols,
          (select count(*)::int from contracts) as contracts`);
      return rows[0];
    },
    asked: () => Object.keys(at.sandbox.statistics().arrivals).sort(),
  };
}

const someBills = expect.toSatisfy((bills: number) => bills > 0);

test.concurrent("sync --only symbols needs no credentials and sends none", async () => {
  await using at = await house();
  const env = { DATABASE_URL: at.env["DATABASE_URL"], EXCHANGE_BASE_URL: at.sandbox.url };
  const end = await runCli(["sync", "--only", "symbols"], { env });
  expect(end.stdout).toMatch(/^list .*\nsymbols +60 +60 +0 +0 +0 +yes\n\ncomplete, after .*\n$/);
  expect(end.code).toBe(0);
  expect(await at.rows()).toEqual({ bills: 0, ltv: 0, symbols: 60, contracts: 0 });
  expect(at.sandbox.statistics()).toMatchObject({ arrivals: { symbols: 1 }, strayCredentials: 0 });

  const again = await runCli(["sync", "--only", "symbols", "--json"], { env });
  expect(JSON.parse(again.stdout)).toMatchObject({
    outcome: "complete",
    lists: [{ name: "symbols", entries: 60, new: 0, changed: 0, returned: 0, gone: 0, broken: [] }],
    accounts: [],
  });
});

test.concurrent("sync --only contracts needs no credentials, and asks for the product types that are wanted", async () => {
  await using at = await house();
  const env = { DATABASE_URL: at.env["DATABASE_URL"], EXCHANGE_BASE_URL: at.sandbox.url };
  const end = await runCli(["sync", "--only", "contracts"], { env });
  expect(end.stdout).toMatch(
    /^list .*\n(?:contracts of \S+-FUTURES +\d+ .* yes\n){3}\ncomplete, after .*\n$/,
  );
  expect(end.code).toBe(0);
  const asked = at.sandbox.statistics();
  expect(asked).toMatchObject({ arrivals: { contracts: 3 }, strayCredentials: 0 });
  const words = ["--only", "contracts", "--json", "--product", "USDC-FUTURES", "UTA-USDT-FUTURES"];
  const again = await runCli(["sync", ...words], { env });
  const counts = { new: 0, changed: 0, returned: 0, gone: 0, broken: [], requests: 1 };
  expect(JSON.parse(again.stdout)).toMatchObject({
    outcome: "complete",
    lists: [
      { name: "contracts of USDT-FUTURES", entries: 5, ...counts },
      { name: "contracts of USDC-FUTURES", entries: 3, ...counts },
    ],
  });
  // No contracts are listed for the spot ledger of a unified account.
  const none = await runCli(["sync", "--dry-run", ...words.slice(0, 3), "--product", "UTA-SPOT"], {
    env,
  });
  expect(JSON.parse(none.stdout)).toMatchObject({ requestsMin: 0 });
  const status = await runCli(["status"], { env });
  expect(status.stdout).toMatch(/\n(contracts of \S+ +\d+ contracts, 0 gone +20\d\d-.*\n){3}/);
});

const ofBills = [balancesOperations.classic.name, accountBills.name, keyInfo.classic.name];

describe.concurrent("sync brings", () => {
  test.each<[string, readonly string[], Readonly<Record<string, unknown>>, readonly string[]]>([
    [
      "all four without --only",
      [],
      { bills: someBills, ltv: 1, symbols: 60, contracts: 5 },
      [...ofBills, "contracts", "loan-to-value", "symbols"],
    ],
    [
      "the two that --only ltv,symbols names",
      ["--only", "ltv,symbols"],
      { bills: 0, ltv: 1, symbols: 60, contracts: 0 },
      // Only the account's settings say which of the two APIs serves it.
      [keyInfo.classic.name, "account settings", "loan-to-value", "symbols"],
    ],
  ])("%s", async (_, args, rows, asked) => {
    await using at = await house();
    const end = await at.run("sync", ...args);
    expect(end.code, end.stdout + end.stderr).toBe(0);
    expect(await at.rows()).toEqual(rows);
    expect(at.asked()).toEqual(asked);
  });

  test("the loan-to-value of a unified account that was never asked for its mode", async () => {
    const modes = [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }];
    await using at = await house({ modes }, { PRODUCT_TYPES: "" });
    const end = await at.run("sync", "--only", "ltv");
    expect(end.code, end.stdout + end.stderr).toBe(0);
    expect(await at.rows()).toEqual({ bills: 0, ltv: 1, symbols: 0, contracts: 0 });
  });
});

describe.concurrent("--only is refused", () => {
  test.each([
    ["sync", "symbol", /^--only "symbol" is not a target of a sync, did you mean symbols\?\n/],
    [
      "sync --dry-run",
      "bills,xyzzyx",
      /^--only "xyzzyx" is not a target .*\(there are bills, ltv, symbols, contracts\)\n/,
    ],
    ["sync", "ltv", /^--only ltv: no account asks for it; set SYNC_LTV=true\n/],
  ])("by %s with %s", async (command, words, message) => {
    const env = { EXCHANGE_API_KEY: "k", EXCHANGE_API_SECRET: "s", EXCHANGE_API_PASSPHRASE: "p" };
    const end = await runCli([...command.split(" "), "--only", words], { env });
    expect(end.stderr).toMatch(message);
    expect(end).toMatchObject({ code: 2, stdout: "" });
  });
});

describe.concurrent("symbols that fail", () => {
  test("leave the bills and loan-to-value whole, and the run ends with code 1 and their name", async () => {
    await using at = await house({
      wrapAnswer: (answer) =>
        withFaults(answer, ({ path }) =>
          path.endsWith("/symbols") ? { kind: "no-data", data: "null" } : undefined,
        ),
    });
    const end = await at.run("sync");
    expect(end.code).toBe(1);
    expect(end.stdout).toMatch(/\nsymbols: the answer to symbols broke the contract at data: /);
    expect(end.stdout).toMatch(/\nmain\/loan-to-value +[\d.]+ +[\d.]+ +[\d.]+ +first\n/);
    expect(end.stdout).toMatch(/\nNOT complete, after /);
    expect(await at.rows()).toEqual({ bills: someBills, ltv: 1, symbols: 0, contracts: 5 });
  });
});

test.concurrent("loan-to-value that is refused is told once with the remedy, and leaves the bills whole", async () => {
  await using at = await house({
    alterCredential: (credential) => ({ ...credential, permissions: ["bills"] }),
  });
  const end = await at.run("sync", "--only", "bills,ltv");
  expect(end.code).toBe(1);
  expect(end.stdout.match(/^main\/loan-to-value: .*40014.*leaves SYNC_LTV out$/gm)).toHaveLength(1);
  expect(await at.rows()).toEqual({ bills: someBills, ltv: 0, symbols: 0, contracts: 0 });
  const { completeThrough } = JSON.parse((await at.run("status", "--json")).stdout).ledgers[0];
  expect(completeThrough).toMatch(/Z$/);
});
