// Holds: Whose key
// The user of a unified account is learned; of two processes that read its accounts, one is refused.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { financialRecords } from "../src/contract/financial-records.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import type { ModeChange } from "../src/sandbox/ledger.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { entryOf, writeAccounts } from "./support/accounts-file.ts";
import { runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { queueAccounts } from "./support/fleet.ts";
import { query } from "./support/query.ts";

const unified: readonly ModeChange[] = [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }];
const typesOf: Readonly<Record<string, readonly ProductType[]>> = {
  futures: ["UTA-SPOT"],
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
  let held: Promise<void> | undefined;
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
        if (held !== undefined) await Promise.race([held, sleep(heldMs)]);
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
    /** Holds all answers back. */
    holdUntil(over: Promise<void>) {
      held = over;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test.concurrent("the user of unified accounts is learned, and they share its limit from then on", async () => {
  await using at = await house({ density: 0.05 });
  const { env, askers } = at;
  const first = await runCli(["sync", "--only", "bills"], { env });
  expect(first, first.stdout).toMatchObject({ code: 0 });
  const known = "select account, uid from leases where uid is not null order by account";
  expect(await query(at.url, known)).toEqual(
    ["coins", "futures"].map((account) => ({ account, uid: at.user })),
  );

  askers.length = 0;
  const second = await runCli(["sync", "--only", "bills"], { env });
  expect(second, second.stdout).toMatchObject({ code: 0 });
  expect(new Set(askers).size).toBe(2);
  const leases = "select account, holder from leases where account like 'user %'";
  expect(await query(at.url, leases)).toEqual([{ account: `user ${at.user}`, holder: "" }]);

  expect(await queueAccounts(env)).toMatch(/^queued/);
  expect(
    await query(at.url, "select distinct group_id from fleet.job where group_id <> 'lists'"),
  ).toEqual([{ group_id: `uid ${at.user}` }]);

  // What is configured counts, and doctor says that the exchange says otherwise.
  const otherwise = await at.envWith({ uid: "7" });
  const examined = await runCli(["doctor", "--json"], { env: otherwise });
  const { checks } = JSON.parse(examined.stdout);
  const result = expect.stringContaining(
    `its uid is configured as 7, and the exchange says ${at.user}`,
  );
  for (const name of Object.keys(typesOf)) {
    expect(checks).toContainEqual(
      expect.objectContaining({ name: `account ${name}`, status: "warn", result }),
    );
  }
  const third = await runCli(["sync", "--only", "bills"], { env: otherwise });
  expect(third, third.stdout).toMatchObject({ code: 0 });
  expect(await query(at.url, "select distinct uid from leases where uid is not null")).toEqual([
    { uid: "7" },
  ]);
}, 120_000);

test.concurrent("while a process reads one account of a user, another one is refused the others with code 3", async () => {
  await using at = await house({ density: 0.05 });
  const { env, askers } = at;
  const sync = ["sync", "--only", "bills"];
  for (const account of Object.keys(typesOf)) {
    const first = await runCli([...sync, "--account", account], { env });
    expect(first, first.stdout).toMatchObject({ code: 0 });
  }
  const before = askers.length;
  const over = Promise.withResolvers<void>();
  at.holdUntil(over.promise);
  await using running = await startCli([...sync, "--account", "futures"], { env });
  while (askers.length === before) await sleep(10);
  const day = (ago: number) => isoTime(epochMs(Date.now() - ago * dayMs));
  const span = ["--from", day(30), "--to", day(2)];
  const bySince = new RegExp(
    String.raw`another run holds user ${at.user}, whose accounts share a rate limit \(\S+ process \d+, since `,
  );
  const others = [sync, ["verify", ...span]].map((command) =>
    runCli([...command, "--account", "coins"], { env }),
  );
  const examining = runCli(["doctor", "--account", "coins"], { env });
  for (const { code, stdout } of await Promise.all(others)) {
    expect(code).toBe(3);
    expect(stdout).toMatch(bySince);
  }
  const examined = await examining;
  expect(examined.stdout).toMatch(
    /^warn {2}account coins +its key was not tried, another run holds/m,
  );
  expect(new Set(askers.slice(before)).size).toBe(1);
  over.resolve();
  const end = await running.ended;
  expect(end, end.stdout).toMatchObject({ code: 0 });
}, 120_000);
