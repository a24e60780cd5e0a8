// Holds: One account one ledger, Whose key
// A key of another user writes nothing under a known name, two names of one user are one account, and a new key
// of the same user is taken; where the exchange does not tell the user, a new key is taken only if somebody
// trusts it, and all that can be read is read again.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { type KeyInfo, keyInfo } from "../src/contract/key-info.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { type Database, openDatabase } from "../src/db/connect.ts";
import { msOf } from "../src/db/values.ts";
import { ExchangeError, ForeignKeyError } from "../src/errors.ts";
import { AccountKey } from "../src/ledger/account-key.ts";
import type { LedgerBill } from "../src/sandbox/entry.ts";
import { openSandbox, type SandboxAccount, type SandboxOptions } from "../src/sandbox/sandbox.ts";
import { Secret } from "../src/secret.ts";
import { entryOf, writeAccounts } from "./support/accounts-file.ts";
import { type CliEnvironment, environmentFor, runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
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
  const stack = new AsyncDisposableStack();
  const sandbox = stack.use(
    await openSandbox({
      ...{ seed: "proof", density: 0.1, accountNames: ["main", "other"] },
      alterCredential: (credential) => ({ ...credential, permissions: ["bills"] }),
      ...options,
    }),
  );
  const database = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(database.url));
  const [main, other] = sandbox.accounts;
  if (main === undefined || other === undefined) throw new Error("the sandbox has two accounts");
  const arrivals = () => sandbox.statistics().arrivals[accountBills.name] ?? 0;
  return {
    sandbox,
    db,
    main,
    other,
    /** The number of requests for bills that `act` sends. */
    async requestsOf<Result>(act: Promise<Result>): Promise<readonly [Result, number]> {
      const before = arrivals();
      const result = await act;
      return [result, arrivals() - before];
    },
    run: (account: SandboxAccount, command: readonly string[], others: CliEnvironment = {}) =>
      runCli(command, {
        env: environmentFor({ url: sandbox.url, account }, database, {
          PRODUCT_TYPES: productType,
          ...others,
        }),
      }),
    /** All that a ledger consists of, and the known keys. */
    async stored() {
      const { rows } = await db.execute(sql`
        select
          (select count(*) from bills) as bills,
          (select count(*) from bill_revisions) as revisions,
          (select count(*) from rejected_bills) as rejected,
          (select string_agg(windows::text, ',' order by window_start) from windows) as windows,
          (select string_agg(ledgers::text, ',' order by product_type) from ledgers) as ledgers,
          (select string_agg(account_keys::text, ',' order by fingerprint) from account_keys) as keys`);
      return rows[0];
    },
    /** How many bills each account has. */
    async counts() {
      const { rows } = await db.execute<{ account: string; bills: number }>(sql`
        select account, count(*)::int as bills from bills group by account order by account`);
      return Object.fromEntries(rows.map(({ account, bills }) => [account, bills]));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
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
  expect((await at.run(at.main, sync)).code).toBe(0);
  const before = await at.stored();
  for (const command of [sync, repair]) {
    const [refused, requests] = await at.requestsOf(at.run(at.other, command));
    expect(refused.code, refused.stdout).toBe(2);
    expect(refused.stdout).toMatch(
      /^main: this API key was not used for account main before, .*does not tell.*--trust-key/m,
    );
    // It asks for the account's mode.
    expect(requests).toBe(1);
    expect(await at.stored()).toEqual(before);
  }
  const doctor = await at.run(at.other, ["doctor"]);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(
    /^FAIL {2}account main .*this API key was not used for account main/m,
  );
  expect((await at.run(at.main, sync)).code).toBe(0);
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
    expect((await at.run(at.other, sync)).code).toBe(0);
    expect((await at.run(at.main, sync)).code).toBe(2);
    const syncedAt = Date.now();
    const taken = await at.run(at.main, [...sync, "--trust-key"]);
    expect(taken.code).toBe(0);
    expect(taken.stderr).toContain("main: its key is new");
    expect(await heldAgainstLedger(at.db, at.sandbox, productType, syncedAt)).toMatchObject(
      exactly,
    );
    const [known, requests] = await at.requestsOf(at.run(at.main, [...sync, "--trust-key"]));
    expect([known.code, requests < 5]).toEqual([0, true]);
    serveOnly(at.other, stranger);
    const before = await at.stored();
    const back = await at.run(at.other, sync);
    expect(back.code, back.stdout).toBe(2);
    expect(await at.stored()).toEqual(before);
    // The wrong key is free for the account that it belongs to.
    expect((await at.run(at.other, sync, { EXCHANGE_ACCOUNT: "other" })).code).toBe(0);
  },
);

const untold = new ExchangeError("refused-permission", "not told");
const infoOf = (userId: string): KeyInfo => ({
  ...{ userId, mayOnlyRead: true, rights: [], readsTax: true, ips: [] },
});

/** As a run of account main with a key of this name. */
async function take(
  db: Database,
  name: string,
  info: KeyInfo | ExchangeError = untold,
  isTrusted = false,
): Promise<void> {
  const key = new AccountKey(db, { account: "main", key: new Secret(name) }, { isTrusted });
  await key.check({ info, productTypes: [productType] });
  await key.take(async () => undefined, isTrusted ? epochMs(reach) : undefined);
}

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
      const info = userId === undefined ? untold : infoOf(userId);
      await take(at.db, `key ${index}`, info, true);
      if (index > 0) continue;
      const covered = `{[${[old, yesterday].map((ms) => isoTime(epochMs(ms))).join()})}`;
      await at.db.execute(sql`
        insert into ledgers (account, product_type, first_gap_at, covered, bills)
        values ('main', ${productType}, now(), ${covered}::tstzmultirange, ${bills})`);
    }
    const { rows } = await at.db.execute<{ from: string; to: string }>(sql`
      select ${msOf(sql`lower(covered)`)} as from, ${msOf(sql`upper(covered)`)} as to
      from ledgers where product_type = ${productType}`);
    expect(rows).toEqual([{ from: from && String(from), to: to && String(to) }]);
  },
);

test.concurrent("a key of another user is refused where bills are stored, even if it is trusted", async () => {
  await using at = await house({ alterCredential: (credential) => credential });
  expect((await at.run(at.main, sync)).code).toBe(0);
  const before = await at.stored();
  const refused = await at.run(at.other, [...sync, "--trust-key"]);
  expect(refused).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/is user \d+'s, and account main is user \d+'s.*name of its own/),
  });
  expect(refused.stdout).not.toContain("--trust-key");
  expect(await at.stored()).toEqual(before);
});

test.concurrent.each([
  ["is settled", "first_gap_at", "now()"],
  ["is stored of it, and none is settled yet", "bills", "1"],
])("a key with which nothing was read is refused once time %s", async (_, column, value) => {
  await using at = await house();
  await take(at.db, "of an empty account");
  await take(at.db, "of the account");
  await at.db.execute(sql`
    insert into ledgers (account, product_type, ${sql.raw(column)})
    values ('main', ${productType}, ${sql.raw(value)})`);
  await take(at.db, "of the account");
  for (const name of ["of an empty account", "new"]) {
    await expect(take(at.db, name)).rejects.toThrow(ForeignKeyError);
  }
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
  expect((await at.run(at.main, sync)).code).toBe(0);
  // A row that an older version rejected, and that can be read now.
  const received = JSON.stringify({ ...Object(bills[0]?.row), billId: "1" });
  await at.db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, fault_path, fault, rejected_at
    )
    values ('main', ${productType}, '1', ${received}, 'old', 'is old', clock_timestamp())`);
  const before = await at.stored();
  for (const command of [sync, repair]) {
    const refused = await at.run(at.other, command);
    expect(refused.code, refused.stdout).toBe(2);
    const users = `user ${at.other.uid}'s, and account main is user ${at.main.uid}'s: it belongs to another`;
    expect(refused.stdout).toContain(`main: this API key is ${users}`);
    expect(await at.stored()).toEqual(before);
  }
  const doctor = await at.run(at.other, ["doctor"]);
  expect(doctor.stdout).toMatch(/^FAIL {2}account main .*this API key is user \d+'s/m);
  // A new key of the same user is taken, without a request for bills that are stored.
  await at.db.execute(sql`update account_keys set fingerprint = 'of the key before'`);
  const [rotated, requests] = await at.requestsOf(at.run(at.main, sync));
  const [again, fewer] = await at.requestsOf(at.run(at.main, sync));
  expect([rotated.code, again.code, requests - fewer]).toEqual([0, 0, 0]);
  expect(rotated.stderr).toContain(`main: its key is new: user ${at.main.uid}'s; it may only read`);
  expect(again.stderr).not.toContain("its key is new");
});

test.concurrent("two names for one user are one account said twice: the second stores nothing, even while the account is quiet", async () => {
  await using at = await house(ofOneUser);
  for (const account of [at.main, at.other]) serveOnly(account, []);
  expect((await at.run(at.main, sync, { EXCHANGE_ACCOUNT: "first" })).code).toBe(0);
  const refused = await at.run(at.other, sync, { EXCHANGE_ACCOUNT: "second" });
  expect(refused.code, refused.stdout).toBe(2);
  expect(refused.stdout).toMatch(/^second: user 77's ledger, .* is stored as account first, and/m);
  // Other product types are another ledger: these two take turns.
  const coins = { EXCHANGE_ACCOUNT: "second", PRODUCT_TYPES: "COIN-FUTURES" };
  expect((await at.run(at.other, sync, coins)).code).toBe(0);
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
  expect((await at.run(at.main, sync, accounts)).code).not.toBe(0);
  expect(Object.values(await at.counts())).toEqual([readable(at.main).length]);
});

test.concurrent("a demo key of the same user is another ledger", async () => {
  await using at = await house({ ...ofOneUser, isDemoKey: (name) => name === "other" });
  await using folder = await temporaryFolder();
  const [main, other] = at.sandbox.accounts.map(entryOf);
  const accounts = await accountsEnv(folder.path, [{ ...main }, { ...other, demo: true }]);
  const end = await at.run(at.main, sync, accounts);
  expect(end.code, end.stdout).toBe(0);
});

test("where the exchange no longer tells whose key it is, the key that it told of goes on, and no new one does", async () => {
  await using at = await house();
  await take(at.db, "told", infoOf("1"));
  await at.db.execute(sql`
    insert into ledgers (account, product_type, first_gap_at) values ('main', ${productType}, now())`);
  await take(at.db, "told");
  await expect(take(at.db, "new")).rejects.toThrow(ForeignKeyError);
});

test.concurrent("a new key waits for the next run where the exchange fails to tell whose it is", async () => {
  await using at = await house({
    ...telling,
    wrapAnswer: (answer) => async (request) =>
      request.path === keyInfo.classic.path
        ? { status: 502, headers: { "retry-after": "999" }, body: "" }
        : answer(request),
  });
  expect((await at.run(at.main, sync)).code).toBe(1);
  expect(await at.counts()).toEqual({});
});
