import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { keyInfo } from "../src/core/contract/key-info.ts";
import { balancesOperations } from "../src/core/contract/wallet-balances.ts";
import { withFaults } from "./exchange/network.ts";
import type { SandboxOptions } from "./exchange/sandbox.ts";
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
          (select count(*)::int from spot_pairs) as symbols,
          (select count(*)::int from contracts) as contracts`);
      return rows[0];
    },
    asked: () => Object.keys(at.sandbox.statistics().arrivals).sort(),
  };
}

const someBills = expect.toSatisfy((bills: number) => bills > 0);

test.concurrent("sync --only of a public list needs no credentials and sends none, and asks for the product types that are wanted", async () => {
  await using at = await house();
  const env = { DATABASE_URL: at.env["DATABASE_URL"], EXCHANGE_BASE_URL: at.sandbox.url };
  const lists = async (...args: readonly string[]) =>
    JSON.parse((await runCli(["sync", "--json", "--only", ...args], { env })).stdout);
  const counts = { changed: 0, returned: 0, gone: 0, broken: [] };
  expect(await lists("spot-pairs")).toMatchObject({
    ...{ outcome: "complete", accounts: [] },
    lists: [{ name: "spot pairs", entries: 60, new: 60, ...counts }],
  });
  expect(await lists("contracts", "--product", "USDC-FUTURES", "UTA-USDT-FUTURES")).toMatchObject({
    outcome: "complete",
    lists: [
      { name: "contracts of USDT-FUTURES", entries: 5, new: 5, requests: 1, ...counts },
      { name: "contracts of USDC-FUTURES", entries: 3, new: 3, requests: 1, ...counts },
    ],
  });
  expect(at.sandbox.statistics()).toMatchObject({
    ...{ arrivals: { symbols: 1, contracts: 2 }, strayCredentials: 0 },
  });
  // No contracts are listed for the spot ledger of a unified account.
  const none = await lists("contracts", "--dry-run", "--product", "UTA-SPOT");
  expect(none).toMatchObject({ requestsMin: 0 });
});

const ofBills = [balancesOperations.classic.name, accountBills.name, keyInfo.classic.name];

test.each<[readonly string[], Readonly<Record<string, unknown>>, readonly string[]]>([
  [
    [],
    { bills: someBills, ltv: 1, symbols: 60, contracts: 5 },
    [...ofBills, "contracts", "loan-to-value", "symbols"],
  ],
  [
    ["--only", "ltv,spot-pairs"],
    { bills: 0, ltv: 1, symbols: 60, contracts: 0 },
    // Only the account's settings say which of the two APIs serves it.
    [keyInfo.classic.name, "account settings", "loan-to-value", "symbols"],
  ],
])("sync %j brings what it names", async (args, rows, asked) => {
  await using at = await house();
  const end = await at.run("sync", ...args);
  expect(end.code, end.stdout + end.stderr).toBe(0);
  expect(await at.rows()).toEqual(rows);
  expect(at.asked()).toEqual(asked);
});

test.each([
  ["contract", /^--only "contract" is not a target of a sync, did you mean contracts\?\n/],
  ["bills,xyzzyx", /^--only "xyzzyx" is not .*\(there are bills, ltv, spot-pairs, contracts\)\n/],
  ["ltv", /^--only ltv: no account asks for it; set SYNC_LTV=true\n/],
])("--only %s is refused", async (words, message) => {
  const env = { EXCHANGE_API_KEY: "k", EXCHANGE_API_SECRET: "s", EXCHANGE_API_PASSPHRASE: "p" };
  expect(await runCli(["sync", "--only", words], { env })).toMatchObject({
    ...{ code: 2, stdout: "", stderr: expect.stringMatching(message) },
  });
});

test.concurrent("symbols and loan-to-value that fail are told once, leave the bills whole, and end the run with code 1", async () => {
  await using at = await house({
    alterCredential: (credential) => ({ ...credential, permissions: ["bills"] }),
    wrapAnswer: (answer) =>
      withFaults(answer, ({ path }) =>
        path.endsWith("/symbols") ? { kind: "no-data", data: "null" } : undefined,
      ),
  });
  const end = await at.run("sync");
  expect(end.code).toBe(1);
  expect(end.stdout).toMatch(
    /\nspot pairs: the answer to symbols broke the API's contract at data: /,
  );
  expect(end.stdout.match(/^main\/loan-to-value: .*40014.*leaves SYNC_LTV out$/gm)).toHaveLength(1);
  expect(end.stdout).toMatch(/\nNOT complete, after /);
  expect(await at.rows()).toEqual({ bills: someBills, ltv: 0, symbols: 0, contracts: 5 });
  const { readThrough } = JSON.parse((await at.run("status", "--json")).stdout).ledgers[0];
  expect(readThrough).toMatch(/Z$/);
});
