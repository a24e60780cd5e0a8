// Holds: One account one ledger, Whose key
// A key of another user writes nothing under a known name, two names of one user are one account, and a new key
// of the same user is taken; where the exchange does not tell the user, a new key is taken only if somebody
// trusts it, and all that can be read is read again.
// No ledger is stored under two names, and renaming an account takes all that is stored along.
// The user of a unified account is learned; of two processes that read its accounts, one is refused.

import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { financialRecords } from "../src/core/contract/financial-records.ts";
import { type KeyInfo, keyInfo } from "../src/core/contract/key-info.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import { type Database, openDatabase } from "../src/core/postgres/connect.ts";
import { msOf } from "../src/core/postgres/values.ts";
import { Secret } from "../src/lib/secret.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/lib/time.ts";
import type { LedgerBill } from "../src/wings/sandbox/entry.ts";
import type { SandboxAccount } from "../src/wings/sandbox/sandbox.ts";
import type { ModeChange } from "./exchange/account-ledger.ts";
import { openSandbox, type SandboxOptions } from "./exchange/sandbox.ts";
import { keyIsAccepted } from "./support/account-key.ts";
import { entryOf, writeAccounts } from "./support/accounts-file.ts";
import {
  type CliEnvironment,
  environmentFor,
  runCli,
  startCli,
  temporaryFolder,
} from "./support/cli.ts";
import { openTestDatabase, testDatabase } from "./support/database.ts";
import { queueAccounts } from "./support/fleet.ts";
import { openHouse } from "./support/house.ts";
import { query } from "./support/query.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

const productType = "USDT-FUTURES";
const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));
const repair = ["verify", "--from", daysAgo(20), "--to", daysAgo(1), "--repair"];
// Bills of two accounts under one name do not add up: that is not what these tests are about.
const sync = ["sync", "--only", "bills", "--no-reconcile"];

/**
 * An exchange with two accounts, a database, and the program configured for one of them. It tells nobody whose key it is,
 * unless a test lets it.
 */
async function house(options: Partial<SandboxOptions> = {}) {
  const at = await openHouse({
    ...{ seed: "proof", accountNames: ["main", "other"] },
    alterCredential: (credential) => ({ ...credential, permissions: ["bills"] }),
    ...options,
  });
  const [main, other] = at.sandbox.accounts;
  if (main === undefined || other === undefined) throw new Error("the sandbox has two accounts");
  const arrivals = () => at.sandbox.statistics().arrivals[accountBills.name] ?? 0;
  return Object.assign(at, {
    main,
    other,
    /** The number of requests for bills that `act` sends. */
    async requestsOf<Result>(act: Promise<Result>): Promise<readonly [Result, number]> {
      const before = arrivals();
      return [await act, arrivals() - before];
    },
    runAs: (account: SandboxAccount, command: readonly string[], others: CliEnvironment = {}) => {
      const env = environmentFor({ url: at.sandbox.url, account }, at, {
        ...{ PRODUCT_TYPES: productType, ...others },
      });
      return runCli(command, { env });
    },
    /** All that a ledger consists of, and the known keys. */
    async stored() {
      const { rows } = await at.db.execute(sql`
        select bills::text from bills
        union all select bill_revisions::text from bill_revisions
        union all select rejected_bills::text from rejected_bills
        union all select windows::text from windows
        union all select ledgers::text from ledgers
        union all select account_keys::text from account_keys
        order by 1`);
      return rows;
    },
  });
}

/** Makes the exchange serve these bills of an account, and no others. */
function serveOnly(account: SandboxAccount, bills: readonly LedgerBill[]): void {
  Object.assign(account.ledger.bills, { [productType]: bills });
}

/** An account's bills of a time in which a sync reads all of them, oldest first. */
const readable = (account: SandboxAccount): readonly LedgerBill[] =>
  account.ledger.bills[productType].filter(
    ({ cTime, visibleAt }) => cTime > Date.now() - 80 * dayMs && visibleAt < Date.now() - dayMs,
  );

test.concurrent("an unknown key under a known name writes nothing where the exchange does not tell its user, and doctor says so", async () => {
  await using at = await house();
  expect((await at.runAs(at.main, sync)).code).toBe(0);
  const before = await at.stored();
  for (const command of [sync, repair]) {
    const [refused, requests] = await at.requestsOf(at.runAs(at.other, command));
    expect(refused.code, refused.stdout).toBe(2);
    expect(refused.stdout).toMatch(
      /^main: this API key was not used for account main before, .*does not tell.*--trust-key/m,
    );
    // It asks for the account's mode.
    expect(requests).toBe(1);
    expect(await at.stored()).toEqual(before);
  }
  const doctor = await at.runAs(at.other, ["doctor"]);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(
    /^FAIL {2}account main .*this API key was not used for account main/m,
  );
  expect((await at.runAs(at.main, sync)).code).toBe(0);
});

test.concurrent.each([
  ["whose user the exchange does not tell", {}],
  ["of another user", { alterCredential: (credential) => credential }],
] satisfies [string, Partial<SandboxOptions>][])(
  "a name that was first synced with a wrong key of an empty account, %s, reads all by --trust-key, and the wrong key is refused",
  async (_, options) => {
    await using at = await house(options);
    const stranger = readable(at.other);
    serveOnly(at.other, []);
    expect((await at.runAs(at.other, sync)).code).toBe(0);
    expect((await at.runAs(at.main, sync)).code).toBe(2);
    const syncedAt = Date.now();
    const taken = await at.runAs(at.main, [...sync, "--trust-key"]);
    expect(taken.code).toBe(0);
    expect(taken.stderr).toContain("main: its key is new");
    expect(await heldAgainstLedger(at.db, at.sandbox, productType, syncedAt)).toMatchObject(
      exactly,
    );
    const [known, requests] = await at.requestsOf(at.runAs(at.main, [...sync, "--trust-key"]));
    expect([known.code, requests < 5]).toEqual([0, true]);
    serveOnly(at.other, stranger);
    const before = await at.stored();
    const back = await at.runAs(at.other, sync);
    expect(back.code, back.stdout).toBe(2);
    expect(await at.stored()).toEqual(before);
    // The wrong key is free for the account that it belongs to.
    expect((await at.runAs(at.other, sync, { ACCOUNT_NAME: "other" })).code).toBe(0);
  },
);

const infoOf = (userId: string): KeyInfo => ({
  ...{ userId, mayOnlyRead: true, rights: [], readsTax: true, ips: [] },
});

/** As a run of account main with a key of this name. */
const take = (db: Database, name: string, info?: KeyInfo, isTrusted = false): Promise<void> =>
  keyIsAccepted(
    db,
    { account: "main", key: new Secret(name), isTrusted },
    { ...(info && { info }), productTypes: [productType], horizon: epochMs(reach) },
  );

const now = Date.now();
const [old, reach, yesterday] = [200, 90, 1].map((days) => now - days * dayMs) as [
  number,
  number,
  number,
];

test.concurrent.each([
  ["that nobody is told of", [undefined, undefined], 1, [old, reach + hourMs]],
  ["that nobody is told of, where no bill is stored,", [undefined, undefined], 0, [null, null]],
  ["of the same user", ["1", "1"], 1, [old, yesterday]],
  ["of another user, where no bill is stored,", ["1", "2"], 0, [null, null]],
] as const)(
  "a trusted key %s leaves as much covered as it may",
  async (_, users, bills, [from, to]) => {
    await using at = await house();
    for (const [index, userId] of users.entries()) {
      await take(at.db, `key ${index}`, userId && infoOf(userId), true);
      if (index > 0) continue;
      const covered = `{[${[old, yesterday].map((ms) => isoTime(epochMs(ms))).join()})}`;
      await at.db.execute(sql`
        insert into ledgers (account, product_type, first_unread_at, covered, bills)
        values ('main', ${productType}, now(), ${covered}::tstzmultirange, ${bills})`);
    }
    const { rows } = await at.db.execute<{ from: string; to: string }>(sql`
      select ${msOf(sql`lower(covered)`)} as from, ${msOf(sql`upper(covered)`)} as to
      from ledgers where product_type = ${productType}`);
    expect(rows).toEqual([{ from: from && String(from), to: to && String(to) }]);
  },
);

test.concurrent.each([
  ["is settled", "first_unread_at", "now()"],
  ["is stored of it, and none is settled yet", "bills", "1"],
])("a key with which nothing was read is refused once time %s", async (_, column, value) => {
  await using at = await house();
  await take(at.db, "of an empty account");
  await take(at.db, "of the account");
  await at.db.execute(sql`
    insert into ledgers (account, product_type, ${sql.raw(column)})
    values ('main', ${productType}, ${sql.raw(value)})`);
  await take(at.db, "of the account");
  for (const name of ["of an empty account", "new"])
    await expect(take(at.db, name)).rejects.toThrow(/was not used for account main before/);
});

const telling: Partial<SandboxOptions> = { alterCredential: (credential) => credential };

/** Tells that all keys are of one user, as two keys of one account are. */
const ofOneUser: Partial<SandboxOptions> = {
  alterCredential: (credential) => ({ ...credential, info: { userId: "77" } }),
};

test.concurrent("another user's key under a known name writes nothing, whatever bills both accounts share, and doctor says so", async () => {
  await using at = await house(telling);
  const bills = readable(at.main);
  for (const account of [at.main, at.other]) serveOnly(account, bills);
  expect((await at.runAs(at.main, sync)).code).toBe(0);
  // A row that an older version rejected, and that can be read now.
  const received = JSON.stringify({ ...Object(bills[0]?.row), billId: "1" });
  await at.db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, path, reason, rejected_at
    )
    values ('main', ${productType}, '1', ${received}, 'old', 'is old', clock_timestamp())`);
  const before = await at.stored();
  for (const command of [sync, repair, [...sync, "--trust-key"]]) {
    const refused = await at.runAs(at.other, command);
    expect(refused.code, refused.stdout).toBe(2);
    expect(refused.stdout).not.toContain("--trust-key");
    const users = `user ${at.other.uid}'s, and account main is user ${at.main.uid}'s: it belongs to another`;
    expect(refused.stdout).toContain(`main: this API key is ${users}`);
    expect(await at.stored()).toEqual(before);
  }
  const doctor = await at.runAs(at.other, ["doctor"]);
  expect(doctor.stdout).toMatch(/^FAIL {2}account main .*this API key is user \d+'s/m);
  // A new key of the same user is taken, without a request for bills that are stored.
  await at.db.execute(sql`update account_keys set fingerprint = 'of the key before'`);
  const [rotated, requests] = await at.requestsOf(at.runAs(at.main, sync));
  const [again, fewer] = await at.requestsOf(at.runAs(at.main, sync));
  expect([rotated.code, again.code, requests - fewer]).toEqual([0, 0, 0]);
  expect(rotated.stderr).toContain(`main: its key is new: user ${at.main.uid}'s; it may only read`);
  expect(again.stderr).not.toContain("its key is new");
});

test.concurrent("two names for one user are one account said twice: the second stores nothing, even while the account is quiet", async () => {
  await using at = await house(ofOneUser);
  for (const account of [at.main, at.other]) serveOnly(account, []);
  expect((await at.runAs(at.main, sync, { ACCOUNT_NAME: "first" })).code).toBe(0);
  const refused = await at.runAs(at.other, sync, { ACCOUNT_NAME: "second" });
  expect(refused.code, refused.stdout).toBe(2);
  expect(refused.stdout).toMatch(/^second: user 77's ledger, .* is stored as account first, and/m);
  // Other product types are another ledger: these two take turns.
  const coins = { ACCOUNT_NAME: "second", PRODUCT_TYPES: "COIN-FUTURES" };
  expect((await at.runAs(at.other, sync, coins)).code).toBe(0);
  const { rows } = await at.db.execute(sql`
    select user_id, product_type, account from account_users order by account`);
  expect(rows).toEqual([
    { user_id: "77", product_type: productType, account: "first" },
    { user_id: "77", product_type: "COIN-FUTURES", account: "second" },
  ]);
});

const accountsEnv = async (...args: Parameters<typeof writeAccounts>) => ({
  ACCOUNTS_FILE: await writeAccounts(...args),
  ...{ EXCHANGE_API_KEY: undefined, EXCHANGE_API_SECRET: undefined },
  EXCHANGE_API_PASSPHRASE: undefined,
});

test.concurrent("two names for one user in one run: one of them is refused", async () => {
  await using at = await house(ofOneUser);
  await using folder = await temporaryFolder();
  const accounts = await accountsEnv(folder.path, at.sandbox.accounts.map(entryOf));
  for (const account of [at.main, at.other]) serveOnly(account, readable(at.main));
  expect((await at.runAs(at.main, sync, accounts)).code).not.toBe(0);
  const { rows } = await at.db.execute(sql`
    select count(*)::int as bills from bills group by account`);
  expect(rows).toEqual([{ bills: readable(at.main).length }]);
});

test.concurrent("a demo key of the same user is another ledger", async () => {
  await using at = await house({
    ...ofOneUser,
    alterCredential: (credential) => ({
      ...credential,
      environment: credential.name === "other" ? "demo" : "live",
    }),
  });
  await using folder = await temporaryFolder();
  const [main, other] = at.sandbox.accounts.map(entryOf);
  const accounts = await accountsEnv(folder.path, [{ ...main }, { ...other, demo: true }]);
  const end = await at.runAs(at.main, sync, accounts);
  expect(end.code, end.stdout).toBe(0);
});

test("where the exchange no longer tells whose key it is, the key that it told of goes on, and no new one does", async () => {
  await using at = await house();
  await take(at.db, "told", infoOf("1"));
  await at.db.execute(sql`
    insert into ledgers (account, product_type, first_unread_at) values ('main', ${productType}, now())`);
  await take(at.db, "told");
  await expect(take(at.db, "new")).rejects.toThrow(/was not used for account main before/);
});

test.concurrent("a new key waits for the next run where the exchange fails to tell whose it is", async () => {
  await using at = await house({
    ...telling,
    wrapAnswer: (answer) => async (request) =>
      request.path === keyInfo.classic.path
        ? { status: 502, headers: { "retry-after": "999" }, body: "" }
        : answer(request),
  });
  expect((await at.runAs(at.main, sync)).code).toBe(1);
  expect(await at.db.execute(sql`select from bills`)).toMatchObject({ rowCount: 0 });
});

describe("a key and a name", () => {
  const take = (db: Database, account: string, key: string): Promise<void> =>
    keyIsAccepted(db, { account, key: new Secret(key), isTrusted: true });

  const rowsOf = async (db: Database) => {
    const { rows } = await db.execute<{ account: string; fingerprint: string }>(
      sql`select account, fingerprint from account_keys order by account, fingerprint`,
    );
    return rows;
  };

  test("a key is given to one name alone, however many ask at once, by a fingerprint of that database", async () => {
    const fingerprints = new Set<string | undefined>();
    for (let round = 0; round < 2; round++) {
      await using at = await openTestDatabase();
      const ends = await Promise.allSettled(
        ["a", "b", "c", "d"].map(async (name) => {
          await using database = openDatabase(at.url);
          await take(database.db, name, "key-1");
        }),
      );
      expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const rows = await rowsOf(at.db);
      expect(rows).toEqual([
        { account: expect.any(String), fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) },
      ]);
      fingerprints.add(rows[0]?.fingerprint);
    }
    expect(fingerprints.size).toBe(2);
  });

  /** The program, configured for other accounts than its house is. */
  async function house() {
    const at = await openHouse({ seed: "keys" }, { PRODUCT_TYPES: "SUSDT-FUTURES" });
    return Object.assign(at, {
      runAs: (others: CliEnvironment, command: readonly string[] = ["sync"]) =>
        runCli(command, { env: { ...at.env, ...others } }),
      requests: () => at.sandbox.statistics().arrivals[accountBills.name] ?? 0,
    });
  }

  const billsOf = async (db: Database) => {
    const { rows } = await db.execute(sql`
    select account, count(*)::integer as bills from bills group by account order by account`);
    return rows;
  };

  test("a renamed account is refused before the exchange is asked; the remedy renames what is stored in all tables", async () => {
    await using at = await house();
    // A key that the exchange refused is nobody's.
    const mixedUp = { ACCOUNT_NAME: "b", EXCHANGE_API_SECRET: "of another key" };
    expect((await at.runAs(mixedUp)).code).toBe(2);
    expect(await rowsOf(at.db)).toEqual([]);
    // A verification remembers the key that it repairs with.
    const verify = ["verify", "--from", daysAgo(9), "--to", daysAgo(1), "--repair"];
    const old = { ACCOUNT_NAME: "old" };
    expect((await at.runAs(old, verify)).code).toBe(0);
    expect((await rowsOf(at.db)).map(({ account }) => account)).toEqual(["old"]);
    expect((await at.runAs(old)).code).toBe(0);
    await reconcile(at.db, { accounts: ["old"], productTypes: undefined }, { isFull: true });
    const stored = await billsOf(at.db);
    const asked = at.requests();

    const main = { ACCOUNT_NAME: "main" };
    const isStored =
      /^main: this API key's ledger is stored as account old, and as main it would.*/m;
    const { code, stdout } = await at.runAs(main);
    const refused = await at.runAs(main, verify);
    expect([code, refused.code]).toEqual([2, 2]);
    expect(refused.stdout).toMatch(isStored);
    expect(at.requests()).toBe(asked);
    expect(await billsOf(at.db)).toEqual(stored);
    const { rows } = await at.db.execute(sql`select account from leases where account = 'main'`);
    expect(rows).toEqual([]);

    const [, words = ""] =
      /: bill-sync (accounts rename .*)$/.exec(isStored.exec(stdout)?.[0] ?? "") ?? [];
    expect(await at.runAs(main, words.split(" "))).toMatchObject({ code: 0 });
    const renamedAt = Date.now();
    expect((await at.runAs(main)).code).toBe(0);
    expect(await heldAgainstLedger(at.db, at.sandbox, "SUSDT-FUTURES", renamedAt)).toMatchObject(
      exactly,
    );
    // Covered time is not read again: only the newest period was requested.
    expect(at.requests() - asked).toBeLessThan(6);
    for (const table of [
      ...["bills", "ledgers", "bill_revisions", "rejected_bills", "windows", "account_keys"],
      ...["reconciled_chains", "wallet_rules"],
    ]) {
      const left = await at.db.execute(
        sql`select 1 from ${sql.identifier(table)} where account = 'old'`,
      );
      expect({ table, left: left.rowCount }).toEqual({ table, left: 0 });
    }
  });
});

describe("a user of several accounts", () => {
  const unified: readonly ModeChange[] = [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }];
  const typesOf: Readonly<Record<string, readonly ProductType[]>> = {
    futures: ["UTA-SPOT"],
    coins: ["UTA-COIN-FUTURES"],
  };

  // Below what a client takes for silence.
  const heldMs = 5_000;

  /** Two accounts of one user here, each with product types of its own, and nothing configured of the user. */
  async function house() {
    const stack = new AsyncDisposableStack();
    const folder = stack.use(await temporaryFolder());
    const database = stack.use(await testDatabase());
    const askers: string[] = [];
    let held: Promise<void> | undefined;
    let user: string | undefined;
    const sandbox = stack.use(
      await openSandbox({
        seed: "one user",
        density: 0.05,
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
    const entries = sandbox.accounts.map((account) => ({
      ...{ ...entryOf(account), productTypes: typesOf[account.name] },
    }));
    const env = {
      DATABASE_URL: database.url,
      EXCHANGE_BASE_URL: sandbox.url,
      ACCOUNTS_FILE: await writeAccounts(folder.path, entries),
      LOG_LEVEL: "warn",
    };
    return {
      url: database.url,
      user,
      sandbox,
      /** The keys that asked for bills, in the order of their requests. */
      askers,
      env,
      /** Holds all answers back. */
      holdUntil(over: Promise<void>) {
        held = over;
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  }

  test("the user of unified accounts is learned, and one process at a time reads the accounts that share its limit", async () => {
    await using at = await house();
    const { env, askers } = at;
    const sync = ["sync", "--only", "bills"];
    const first = await runCli(sync, { env });
    expect(first, first.stdout).toMatchObject({ code: 0 });
    const known = "select account, user_id from account_users order by account";
    expect(await query(at.url, known)).toEqual(
      ["coins", "futures"].map((account) => ({ account, user_id: at.user })),
    );

    askers.length = 0;
    const second = await runCli(sync, { env });
    expect(second, second.stdout).toMatchObject({ code: 0 });
    expect(new Set(askers).size).toBe(2);
    const leases = "select account, holder from leases where account like 'user %'";
    expect(await query(at.url, leases)).toEqual([{ account: `user ${at.user}`, holder: "" }]);

    expect(await queueAccounts(env)).toMatch(/^queued/);
    expect(
      await query(at.url, "select distinct group_id from fleet.job where group_id <> 'lists'"),
    ).toEqual([{ group_id: `uid ${at.user}` }]);

    // While a process reads one account of the user, another one is refused the others with code 3.
    const before = askers.length;
    const over = Promise.withResolvers<void>();
    at.holdUntil(over.promise);
    await using running = await startCli([...sync, "--account", "futures"], { env });
    while (askers.length === before) await sleep(10);
    const span = ["--from", daysAgo(30), "--to", daysAgo(2)];
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
    expect((await examining).stdout).toMatch(
      /^warn {2}account coins +its key was not tried, another run holds/m,
    );
    expect(new Set(askers.slice(before)).size).toBe(1);
    over.resolve();
    const end = await running.ended;
    expect(end, end.stdout).toMatchObject({ code: 0 });
  }, 120_000);
});
