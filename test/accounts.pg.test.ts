// An account that is retired is not read, and a rename takes every table that has an account.

import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { Leases } from "../src/core/store/lease.ts";
import { changeKeys, readKeys } from "../src/wings/serve/mirror/key-file.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { writeAccounts } from "./support/accounts-file.ts";
import { type CliEnvironment, environmentFor, runCli, temporaryFolder } from "./support/cli.ts";
import { openTestDatabase } from "./support/database.ts";
import { aMirrorKey } from "./support/mirror.ts";

const both = "USDT-FUTURES,COIN-FUTURES";

/** A sandbox exchange, a database, and the program with both configured. */
async function house() {
  const stack = new AsyncDisposableStack();
  const sandbox = stack.use(await openSandbox({ seed: "accounts", density: 0.05 }));
  const { url, db } = stack.use(await openTestDatabase());
  const run = (args: readonly string[], env: CliEnvironment = {}) =>
    runCli(args, { env: environmentFor(sandbox, { url }, { PRODUCT_TYPES: both, ...env }) });
  const requests = () => sandbox.statistics().arrivals[accountBills.name] ?? 0;
  const statusOf = async (productType: string) => {
    const { stdout } = await run(["status", "--json"]);
    const { ledgers } = JSON.parse(stdout) as { ledgers: { productType: string }[] };
    return ledgers.find((ledger) => ledger.productType === productType);
  };
  return { url, db, run, requests, statusOf, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const syncBills = ["sync", "--only", "bills"];

// The tests follow one account from its first name to its last.
const at = await house();
afterAll(() => at[Symbol.asyncDispose]());

test("an account is retired whole, and what is not known is refused", async () => {
  expect(await at.run(syncBills, { ACCOUNT_NAME: "old" })).toMatchObject({ code: 0 });
  const retire = (...words: readonly string[]) => at.run(["accounts", ...words]);
  expect((await at.run(["status"])).stdout).toMatch(/^old\/COIN-FUTURES .* not-configured$/m);
  expect(await retire("retire", "od")).toMatchObject({
    code: 2,
    stderr: "there is no account od, did you mean old? (known: main, old)\n",
  });
  expect(await retire("retire", "old")).toMatchObject({ code: 0 });
  expect(await retire("retire", "--undo", "old", "--product", "USDT-FUTURES")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("the whole account old is retired"),
  });
  const { ledgers } = JSON.parse((await at.run(["accounts", "list", "--json"])).stdout);
  const old = ledgers.filter(({ account }: { account: string }) => account === "old");
  const retired = { configured: false, state: "retired", since: expect.any(String) };
  expect(old).toMatchObject([retired, retired]);
  expect(await retire("retire", "--undo", "old")).toMatchObject({ code: 0 });
  expect((await at.run(["status"])).stdout).not.toContain("retired");
});

test("an account is renamed in all tables at once; two ledgers are never put into one", async () => {
  const rename = (...names: readonly string[]) => at.run(["accounts", "rename", ...names]);
  expect(await rename("od", "new")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nothing is stored under the name od"),
  });
  expect(await rename("old", "a name")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^"a name" is not a name: 1 to 64 letters/),
  });
  for (const name of ["--help", "-rf", ".."])
    expect(await rename("--", "old", name)).toMatchObject({ code: 2, stdout: "" });
  // One that was stored before such names were refused.
  await at.db.execute(sql`
    insert into ledgers (account, product_type, bills) values ('-rf', 'USDT-FUTURES', 0)`);
  expect(await rename("--", "-rf", "renamed")).toMatchObject({ code: 0 });
  await using elsewhere = await new Leases(at.db).take("old", {
    signal: AbortSignal.timeout(50_000),
  });
  expect(await rename("old", "main")).toMatchObject({ code: 3 });
  await elsewhere[Symbol.asyncDispose]();
  expect(await rename("old", "main")).toMatchObject({
    code: 0,
    stdout: "account old is now stored as main\n",
  });
  // The sync continues the same ledger: it reads only the newest time, with the same key.
  const before = at.requests();
  expect(await at.run(syncBills)).toMatchObject({ code: 0 });
  expect(at.requests() - before).toBeLessThan(8);
  await at.db.execute(sql`
    insert into ledgers (account, product_type, bills) values ('third', 'USDT-FUTURES', 0)`);
  expect(await rename("main", "third")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("account third has rows of its own already (ledgers)"),
  });
  const { rows } = await at.db.execute(sql`select distinct account from bills`);
  expect(rows).toEqual([{ account: "main" }]);
});

test("a product type that is retired is read no more, fails no run and has no gap; when that is undone, it is read on", async () => {
  expect(await at.run(syncBills)).toMatchObject({ code: 0 });
  // A gap, a rejected row, and a year without a sync.
  await at.db.execute(sql`
    update ledgers
    set
      covered = covered - tstzmultirange(
        tstzrange(lower(covered) + interval '35 days', lower(covered) + interval '42 days')
      ),
      first_unread_at = lower(covered) + interval '35 days'
    where product_type = 'COIN-FUTURES'`);
  await at.db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, path, reason, rejected_at
    )
    values ('main', 'COIN-FUTURES', 'digest', '{}', 'billId', 'is missing', clock_timestamp())`);
  expect(await at.statusOf("COIN-FUTURES")).toMatchObject({ unread: [{}], retiredAt: null });
  expect(await at.run(syncBills, { PRODUCT_TYPES: "COIN-FUTURES" })).toMatchObject({ code: 1 });

  expect(await at.run(["accounts", "retire", "main", "--product", "COIN-FUTURES"])).toMatchObject({
    code: 0,
    stdout: "main/COIN-FUTURES is retired: its history stays, and no sync reads it any more\n",
  });
  expect(await at.statusOf("COIN-FUTURES")).toMatchObject({
    configured: true,
    retiredAt: expect.stringMatching(/^\d{4}-.*Z$/),
    unread: [],
    expiresAt: null,
  });
  const before = at.requests();
  const alone = await at.run(syncBills, { PRODUCT_TYPES: "COIN-FUTURES" });
  expect(alone).toMatchObject({ code: 0 });
  expect(alone.stdout).toMatch(
    /^main: COIN-FUTURES configured but retired, so not synced; .*: bill-sync accounts retire --undo main\nno account was synced, since each is retired, after /,
  );
  expect(at.requests()).toBe(before);
  const synced = await at.run(syncBills);
  expect(synced).toMatchObject({ code: 0 });
  expect(synced.stdout).not.toMatch(/^COIN-FUTURES/m);
  expect((await at.run(["sync", "--dry-run"])).stdout).not.toContain("COIN-FUTURES");
  expect((await at.run(["status"])).stdout).toMatch(/^COIN-FUTURES +[\d,]+ .* retired$/m);
  expect((await at.run(["accounts", "list"])).stdout).toMatch(
    /^main\/USDT-FUTURES +active .*\nmain\/COIN-FUTURES +retired +\d{4}-/m,
  );

  const back = await at.run(["accounts", "retire", "--undo", "main", "--product", "COIN-FUTURES"]);
  expect(back).toMatchObject({ code: 0, stdout: expect.stringContaining("no longer retired") });
  expect(await at.statusOf("COIN-FUTURES")).toMatchObject({ retiredAt: null });
  expect(await at.run(syncBills)).toMatchObject({ code: 1 });
  expect(await at.statusOf("COIN-FUTURES")).toMatchObject({ openRejected: 1 });
});

test("a rename takes the mirror's keys with it, which lie beside the accounts file", async () => {
  await using folder = await temporaryFolder();
  const entry = { name: "other", apiKey: "key", apiSecret: "secret", apiPassphrase: "pass" };
  const env = { DATABASE_URL: at.url, ACCOUNTS_FILE: await writeAccounts(folder.path, [entry]) };
  const keysPath = join(folder.path, "mirror-keys.json");
  await changeKeys(keysPath, () => [aMirrorKey("first"), aMirrorKey("main")]);
  expect(await runCli(["accounts", "rename", "main", "other"], { env })).toMatchObject({
    code: 0,
    stdout: "account main is now stored as other\n",
  });
  expect(readKeys(keysPath).map(({ account }) => account)).toEqual(["first", "other"]);
});
