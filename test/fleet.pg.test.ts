// Workers on several addresses, killed and cut off from Postgres, sync every account exactly once, within every
// limit (FLEET_ACCOUNTS=1000 for more).

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { addressLimit } from "../src/core/exchange/address-limits.ts";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { readStoredBills } from "../src/core/store/bill-rows.ts";
import { dayMs, epochMs, minuteMs } from "../src/lib/time.ts";
import { readQueue } from "../src/wings/fleet/queue-status.ts";
import { compareWithLedger } from "../src/wings/sandbox/comparison.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { peakOf } from "./exchange/statistics.ts";
import { accountsEnvironment, entryOf, writeAccounts } from "./support/accounts-file.ts";
import { runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { queueAccounts } from "./support/fleet.ts";
import { coverUpTo } from "./support/stored-ledger.ts";
import { throwawayServer } from "./support/throwaway-server.ts";

const productType = "USDT-FUTURES";
/** FLEET_ACCOUNTS=1000 for more: minutes of CPU. */
const accountNames = Array.from(
  { length: Number(process.env["FLEET_ACCOUNTS"] ?? 24) },
  (_, index) => `fund-${index}`,
);
/** The public lists are one more job. */
const jobs = accountNames.length + 1;
const drainedMaxMs = 60_000 + 2_000 * accountNames.length;
const refused = "fund-7";
/**
 * An account takes three requests and its pages. The pages are small here, so that a kill finds many
 * accounts at work.
 */
const historyDays = 6;
const pageDelayMs = 40;

/** A sandbox that counts the requests of each address in a rolling second. */
async function countingExchange() {
  const windows = new Map<string, ReturnType<typeof peakOf>>();
  const sandbox = await openSandbox({
    seed: "fleet",
    accountNames,
    productTypes: [productType],
    density: 2,
    days: historyDays,
    wrapAnswer: (answer) => async (request) => {
      const address = request.clientAddress;
      const window = windows.get(address) ?? peakOf(addressLimit.perMs);
      windows.set(address, window);
      window.arrive(performance.now());
      await new Promise((resolve) => setTimeout(resolve, pageDelayMs));
      return answer(request);
    },
  });
  return {
    ...sandbox,
    addresses: () => [...windows.keys()].toSorted(),
    addressPeaks: () => [...windows.values()].map(({ peak }) => peak()),
  };
}

test(
  "two workers on two addresses, one of them killed and Postgres started anew, bring every account up to now, once, within every limit",
  async () => {
    await using folder = await temporaryFolder();
    await using server = await throwawayServer();
    await using sandbox = await countingExchange();
    const env = {
      DATABASE_URL: server.url,
      EXCHANGE_BASE_URL: sandbox.url,
      ACCOUNTS_FILE: await writeAccounts(
        folder.path,
        sandbox.accounts.map((account) => ({
          ...entryOf(account),
          ...(account.name === refused ? { apiSecret: "another" } : {}),
        })),
      ),
      PRODUCT_TYPES: productType,
    };
    expect(await runCli(["db", "migrate"], { env })).toMatchObject({ code: 0 });
    await using open = openDatabase(server.url);
    const { db } = open;
    for (const account of accountNames)
      await coverUpTo(db, { account, productType }, Date.now() - historyDays * dayMs - minuteMs);
    const shown = jobs.toLocaleString("en");
    expect(await queueAccounts(env)).toBe(`queued ${shown} of ${shown} jobs`);
    expect(await queueAccounts(env)).toBe(
      `queued 0 of ${shown} jobs; ${shown} wait already, or are at work`,
    );

    const begun = Date.now();
    const worker = (address: string) =>
      startCli(["worker", "--address", address, "--concurrency", "8"], {
        env,
        maxMs: 2 * drainedMaxMs,
      });
    await using first = await worker("127.0.0.2");
    await using second = await worker("127.0.0.3");
    /** The jobs that wait or are at work. */
    const left = async () => {
      const { rows } = await db.execute<{ jobs: number }>(sql`
      select count(*)::int as jobs from fleet.job where name = 'sync' and state <= 'active'`);
      return rows[0]?.jobs;
    };
    await expect.poll(sandbox.addresses, { timeout: 60_000 }).toEqual(["127.0.0.2", "127.0.0.3"]);
    first.kill("SIGKILL");
    await server.stop("immediate");
    await server.start();
    await expect
      .poll(() => left().catch(() => undefined), { timeout: drainedMaxMs, interval: 250 })
      .toBe(0);
    second.kill("SIGTERM");
    expect(await second.ended).toMatchObject({ code: 0 });

    const status = await runCli(["status", "--json"], { env });
    expect(JSON.parse(status.stdout).queue).toEqual({ waiting: 0, atWork: 0 });
    const { rows: whys } = await db.execute(sql`
      select distinct substring(error from 'the exchange refused .40009') as why
      from runs
      where error is not null`);
    expect(whys).toContainEqual({ why: "the exchange refused (40009" });
    for (const { name, ledger } of sandbox.accounts.filter((account) => account.name !== refused)) {
      const stored = await readStoredBills(db, { account: name, productType });
      const at = { from: epochMs(0), visibleAt: epochMs(begun) };
      const { expected, ...found } = compareWithLedger(ledger.bills[productType], stored, at);
      expect(expected).toBeGreaterThan(50);
      expect({ name, ...found }).toMatchObject({ name, missing: [], extra: [], different: [] });
    }
    const { peaks } = sandbox.statistics();
    const { requests } = accountBills.limit;
    expect(peaks.filter((peak) => peak.requests > requests)).toEqual([]);
    expect(Math.max(...sandbox.addressPeaks())).toBeLessThanOrEqual(addressLimit.requests);
  },
  2 * drainedMaxMs,
);

test.concurrent("a worker alone queues a round and does it, and one that is asked to stop gives back what it did not finish", async () => {
  await using folder = await temporaryFolder();
  await using database = await testDatabase();
  await using sandbox = await openSandbox({
    seed: "stop",
    accountNames: ["a", "b"],
    productTypes: [productType],
    density: 0,
    // Long enough to be stopped in the middle of an account.
    wrapAnswer: (answer) => async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return answer(request);
    },
  });
  const env = {
    DATABASE_URL: database.url,
    ...(await accountsEnvironment(folder.path, sandbox, productType)),
  };
  await using open = openDatabase(database.url);
  await using worker = await startCli(["worker", "--every", "1h"], { env });
  await worker.seen("stderr", /queued 3 of 3 jobs/);
  const held = async () => {
    return (await open.db.execute(sql`select 1 from leases where holder <> ''`)).rows.length;
  };
  await expect.poll(held, { timeout: 60_000 }).toBe(2);
  worker.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });
  const queue = await readQueue(open.db);
  expect(queue).toMatchObject({ atWork: 0 });
  expect(queue?.waiting).toBeGreaterThanOrEqual(2);
  expect(await held()).toBe(0);
});
