// Holds: One account one ledger
// No ledger is stored under two names, and renaming an account takes all that is stored along.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { accountBills } from "../src/contract/account-bills.ts";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { type Database, openDatabase } from "../src/db/connect.ts";
import { ExchangeError, KeyTakenError } from "../src/errors.ts";
import { AccountKey } from "../src/ledger/account-key.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { Secret } from "../src/secret.ts";
import { type CliEnvironment, environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

async function openTables() {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(url));
  return { url, db, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const keyOf = (db: Database, account: string, key: string) =>
  new AccountKey(db, { account, key: new Secret(key) }, { isTrusted: true });

/** Makes it the account's key, as a sync does of which the exchange told no user. */
async function take(db: Database, account: string, key: string): Promise<void> {
  const info = new ExchangeError("refused-permission", "not told");
  const accountKey = keyOf(db, account, key);
  await accountKey.check({ info, productTypes: [] });
  await accountKey.take(async () => undefined);
}

const refuseTaken = (db: Database, account: string, key: string) =>
  keyOf(db, account, key).refuseTaken();

const rowsOf = async (db: Database) => {
  const { rows } = await db.execute<{ account: string; fingerprint: string }>(
    sql`select account, fingerprint from account_keys order by account, fingerprint`,
  );
  return rows;
};

describe("a key", () => {
  test("that was recorded under one name is refused under another, and not under its own", async () => {
    await using at = await openTables();
    await take(at.db, "a", "key-1");
    await refuseTaken(at.db, "a", "key-1");
    await take(at.db, "a", "key-1");
    for (const refused of [refuseTaken, take]) {
      const attempt = refused(at.db, "b", "key-1");
      await expect(attempt).rejects.toBeInstanceOf(KeyTakenError);
      await expect(attempt).rejects.toThrow(/is stored as account a, .* name the account a again/);
    }
    expect((await rowsOf(at.db)).map(({ account }) => account)).toEqual(["a"]);
  });

  test("that is only looked for leaves nothing behind, not even in a new database", async () => {
    await using at = await openTables();
    await refuseTaken(at.db, "a", "key-1");
    const { rows } = await at.db.execute(sql`
      select (select count(*) from account_keys) as keys, (select count(*) from key_salt) as salts`);
    expect(rows).toEqual([{ keys: "0", salts: "0" }]);
  });

  test("is given to one name alone, however many ask for it at once", async () => {
    for (let round = 0; round < 2; round++) {
      await using at = await openTables();
      const names = ["a", "b", "c", "d"];
      const ends = await Promise.allSettled(
        names.map(async (name) => {
          await using own = openDatabase(at.url);
          await take(own.db, name, "key-1");
        }),
      );
      expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(await rowsOf(at.db)).toHaveLength(1);
    }
  });

  test("leaves a fingerprint that does not show it, and is another one in each database", async () => {
    await using first = await openTables();
    await using second = await openTables();
    for (const { db } of [first, second]) await take(db, "a", "key-1");
    const [one] = await rowsOf(first.db);
    const [other] = await rowsOf(second.db);
    expect(one?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(one?.fingerprint).not.toBe(other?.fingerprint);
  });
});

/** A sandbox exchange, a database, and the program with both configured. */
async function house() {
  const stack = new AsyncDisposableStack();
  const sandbox = stack.use(await openSandbox({ seed: "keys", density: 0.1 }));
  const at = stack.use(await openTables());
  const run = (others: CliEnvironment, command: readonly string[] = ["sync"]) =>
    runCli(command, {
      env: environmentFor(sandbox, at, { PRODUCT_TYPES: "SUSDT-FUTURES", ...others }),
    });
  const requests = () => sandbox.statistics().arrivals[accountBills.name] ?? 0;
  return { ...at, sandbox, run, requests, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const billsOf = async (db: Database) => {
  const { rows } = await db.execute(sql`
    select account, count(*)::integer as bills from bills group by account order by account`);
  return rows;
};

test.concurrent("a renamed account is refused before the exchange is asked; the remedy renames what is stored in all tables", async () => {
  await using at = await house();
  expect((await at.run({ EXCHANGE_ACCOUNT: "old" })).code).toBe(0);
  await reconcile(at.db, { accounts: ["old"], productTypes: undefined }, { isFull: true });
  const [stored] = await billsOf(at.db);
  const asked = at.requests();

  const refused = await at.run({ EXCHANGE_ACCOUNT: "main" });
  expect(refused.code).toBe(2);
  expect(at.requests()).toBe(asked);
  const line = refused.stdout.split("\n").find((text) => text.startsWith("main: ")) ?? "";
  expect(line).toMatch(
    /^main: this API key's ledger is stored as account old, and as main it would/,
  );
  expect(await billsOf(at.db)).toEqual([stored]);
  const { rows } = await at.db.execute(sql`select account from leases`);
  expect(rows).toEqual([{ account: "old" }]);

  const [, words = ""] = /: bill-sync (accounts rename .*)$/.exec(line) ?? [];
  expect(await at.run({ EXCHANGE_ACCOUNT: "main" }, words.split(" "))).toMatchObject({ code: 0 });
  const renamedAt = Date.now();
  const renamed = await at.run({ EXCHANGE_ACCOUNT: "main" });
  expect(renamed.code).toBe(0);
  expect(await heldAgainstLedger(at.db, at.sandbox, "SUSDT-FUTURES", renamedAt)).toMatchObject(
    exactly,
  );
  // Covered time is not read again: only the newest period was requested.
  expect(at.requests() - asked).toBeLessThan(6);
  for (const table of [
    "bills",
    "ledgers",
    "bill_revisions",
    "rejected_bills",
    "windows",
    "account_keys",
    "reconciled_chains",
    "wallet_rules",
  ]) {
    const left = await at.db.execute(
      sql`select 1 from ${sql.identifier(table)} where account = 'old'`,
    );
    expect({ table, left: left.rowCount }).toEqual({ table, left: 0 });
  }
});

test.concurrent("a verification remembers the key that it repairs with, and refuses one that is stored under another name", async () => {
  await using at = await house();
  const day = (ago: number) => isoTime(epochMs(Date.now() - ago * dayMs));
  const verify = ["verify", "--from", day(9), "--to", day(1), "--repair"];
  expect((await at.run({ EXCHANGE_ACCOUNT: "old" }, verify)).code).toBe(0);
  const [stored] = await billsOf(at.db);
  expect(stored).toMatchObject({ account: "old" });
  const asked = at.requests();
  for (const command of [["sync"], verify]) {
    const refused = await at.run({ EXCHANGE_ACCOUNT: "main" }, command);
    expect(refused.code).toBe(2);
    expect(refused.stdout).toMatch(/^main: this API key's ledger is stored as account old/m);
  }
  expect(at.requests()).toBe(asked);
  expect(await billsOf(at.db)).toEqual([stored]);
});

test.concurrent("a key that the exchange refused is nobody's: keys that were mixed up can be put right", async () => {
  await using at = await house();
  const mixedUp = await at.run({ EXCHANGE_ACCOUNT: "b", EXCHANGE_API_SECRET: "of another key" });
  expect(mixedUp.code).toBe(1);
  expect(await rowsOf(at.db)).toEqual([]);
  expect((await at.run({ EXCHANGE_ACCOUNT: "a" })).code).toBe(0);
  expect((await rowsOf(at.db)).map(({ account }) => account)).toEqual(["a"]);
});
