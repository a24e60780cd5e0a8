import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { financialRecords } from "../src/contract/financial-records.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import type { ModeChange } from "../src/sandbox/modes.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { entryOf, writeAccounts } from "./support/accounts-file.ts";
import { runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { query } from "./support/query.ts";

const unified: readonly ModeChange[] = [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }];
const typesOf: Readonly<Record<string, readonly ProductType[]>> = {
  futures: ["UTA-USDT-FUTURES", "UTA-SPOT"],
  coins: ["UTA-COIN-FUTURES"],
};

// Below what a client takes for silence.
const heldMs = 5_000;

/** Two accounts of one user here, each with product types of its own, and nothing configured of the user. */
async function house({ density }: { readonly density: number }) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const database = stack.use(await testDatabase());
  const askers: string[] = [];
  let held: string | undefined;
  let user: string | undefined;
  const sandbox = stack.use(
    await openSandbox({
      seed: "one user",
      density,
      accountNames: Object.keys(typesOf),
      modes: unified,
      alterCredential(credential) {
        user ??= credential.uid;
        return { ...credential, uid: user };
      },
      wrapAnswer: (answer) => async (request) => {
        const key = request.headers["access-key"] ?? "";
        if (request.path === financialRecords.path) askers.push(key);
        const until = performance.now() + heldMs;
        while (held === key && performance.now() < until) {
          if (askers.at(-1) !== key) held = undefined;
          await sleep(10);
        }
        return answer(request);
      },
    }),
  );
  const envWith = async (fields: object) => {
    const entryWith = (account: (typeof sandbox.accounts)[number]) => ({
      ...entryOf(account),
      productTypes: typesOf[account.name],
      ...fields,
    });
    return {
      DATABASE_URL: database.url,
      EXCHANGE_BASE_URL: sandbox.url,
      ACCOUNTS_FILE: await writeAccounts(folder.path, sandbox.accounts.map(entryWith)),
      LOG_LEVEL: "warn",
    };
  };
  return {
    url: database.url,
    user,
    sandbox,
    /** The keys that asked for bills, in the order of their requests. */
    askers,
    envWith,
    env: await envWith({}),
    /** Answers one of them slowly until the other asks too: else it may have ended by then. */
    hold(key: string) {
      held = key;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test("the user of unified accounts is learned, and they take turns from then on", async () => {
  await using at = await house({ density: 0.05 });
  const { env, askers } = at;
  const first = await runCli(["sync", "--only", "bills"], { env });
  expect(first, first.stdout).toMatchObject({ code: 0 });
  const known = "select account, uid from account_leases order by account";
  expect(await query(at.url, known)).toEqual(
    ["coins", "futures"].map((account) => ({ account, uid: at.user })),
  );

  askers.length = 0;
  const second = await runCli(["sync", "--only", "bills"], { env });
  expect(second, second.stdout).toMatchObject({ code: 0 });
  const turns = askers.filter((key, index) => key !== askers[index - 1]);
  expect(turns).toHaveLength(2);

  expect(await runCli(["enqueue"], { env })).toMatchObject({ code: 0 });
  expect(
    await query(at.url, "select distinct group_id from fleet.job where group_id <> 'lists'"),
  ).toEqual([{ group_id: `uid ${at.user}` }]);

  // What is configured counts, and doctor says that the exchange says otherwise.
  const otherwise = await at.envWith({ uid: "7" });
  const examined = await runCli(["doctor", "--json"], { env: otherwise });
  const { checks } = JSON.parse(examined.stdout);
  const found = expect.stringContaining(
    `its uid is configured as 7, and the exchange says ${at.user}`,
  );
  for (const name of Object.keys(typesOf)) {
    expect(checks).toContainEqual(
      expect.objectContaining({ name: `account ${name}`, status: "warn", found }),
    );
  }
  const third = await runCli(["sync", "--only", "bills"], { env: otherwise });
  expect(third, third.stdout).toMatchObject({ code: 0 });
  expect(await query(at.url, "select distinct uid from account_leases")).toEqual([{ uid: "7" }]);
}, 120_000);

test("a verification of one account keeps to the user's limit beside a sync of another one", async () => {
  await using at = await house({ density: 1 });
  const { env, askers } = at;
  const coins = await runCli(["sync", "--only", "bills", "--account", "coins"], { env });
  expect(coins, coins.stdout).toMatchObject({ code: 0 });
  const before = askers.length;
  await using sync = await startCli(["sync", "--only", "bills", "--account", "futures"], { env });
  while (askers.length < before + 5) await sleep(10);
  at.hold(askers.at(-1) ?? "");
  const day = (ago: number) => isoTime(epochMs(Date.now() - ago * dayMs));
  const span = ["--from", day(30), "--to", day(2)];
  await using verify = await startCli(["verify", ...span, "--account", "coins"], { env });
  const [verified, synced] = await Promise.all([verify.ended, sync.ended]);
  expect(verified, verified.stdout).toMatchObject({ code: 0 });
  expect(synced, synced.stdout).toMatchObject({ code: 0 });
  // They were at work at the same time.
  const turns = askers.slice(before).filter((key, index, all) => key !== all[index - 1]);
  expect(turns.length).toBeGreaterThan(2);
  const { peaks, refusals } = at.sandbox.statistics();
  const bills = peaks.filter(({ operation }) => operation === financialRecords.name);
  expect(bills).toHaveLength(1);
  expect(bills[0]?.requests).toBeLessThanOrEqual(financialRecords.limit.requests);
  expect(refusals).not.toHaveProperty("429");
}, 120_000);
