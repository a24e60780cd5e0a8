// Doctor names each failing check, and no secret, and who holds an account whose key it leaves alone.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { keyInfo } from "../src/contract/key-info.ts";
import { loanToValue } from "../src/contract/loan-to-value.ts";
import { retire } from "../src/db/accounts/decisions.ts";
import { openDatabase } from "../src/db/connect.ts";
import { Leases } from "../src/db/lease/leases.ts";
import { AccountKey } from "../src/ledger/account-key.ts";
import { openSandbox, type SandboxOptions } from "../src/sandbox/sandbox.ts";
import { Secret } from "../src/secret.ts";
import { entryOf, writeAccounts } from "./support/accounts-file.ts";
import { type CliEnvironment, runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

type House = {
  readonly sandbox?: Partial<SandboxOptions>;
  /** Changes the entries of the two accounts before they are written. */
  readonly alter?: (entries: readonly object[]) => readonly object[];
  readonly mode?: number;
  readonly env?: CliEnvironment;
  readonly isEmpty?: boolean;
  readonly alterUrl?: (url: URL) => void;
};

/** A sandbox exchange of two accounts, a database, and `doctor` configured for both. */
async function house(given: House = {}) {
  const { sandbox: options, alter, mode, env, isEmpty = false, alterUrl } = given;
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const sandbox = stack.use(
    await openSandbox({ seed: "doctor", density: 0, accountNames: ["a", "b"], ...options }),
  );
  const { url } = stack.use(await testDatabase({ isEmpty }));
  const { db } = stack.use(openDatabase(url));
  const entries = sandbox.accounts.map(entryOf);
  const path = await writeAccounts(folder.path, alter?.(entries) ?? entries, mode);
  const doctorUrl = new URL(url);
  alterUrl?.(doctorUrl);
  const environment = {
    DATABASE_URL: doctorUrl.href,
    EXCHANGE_BASE_URL: sandbox.url,
    ACCOUNTS_FILE: path,
    ...env,
  };
  const canaries = [
    ...sandbox.accounts.flatMap(({ apiKey, apiSecret, apiPassphrase }) => [
      apiKey,
      apiSecret,
      apiPassphrase,
    ]),
    ...Object.values(env ?? {}).flatMap((text) => text?.match(/canary\w*/g) ?? []),
  ];
  const doctor = async (...args: readonly string[]) => {
    const end = await runCli(["doctor", ...args], { env: environment });
    for (const canary of canaries) expect(end.stdout + end.stderr).not.toContain(canary);
    return end;
  };
  const run = (...args: readonly string[]) => runCli(args, { env: environment });
  const start = () => startCli(["doctor"], { env: environment });
  return {
    sandbox,
    db,
    path,
    doctor,
    run,
    start,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const allTypes =
  "USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, SUSDT-FUTURES, SCOIN-FUTURES, SUSDC-FUTURES and SPOT";

const mayOnlyRead = "it may only read; it can read tax records; it is bound to no IP address";

const linesOf = (stdout: string) => stdout.trimEnd().split("\n");

const withLtv = (entries: readonly object[]) => entries.map((entry) => ({ ...entry, ltv: true }));

test.concurrent("a healthy set-up is one line a check, all ok, with a request for each key and record", async () => {
  await using at = await house({ alter: withLtv });
  const end = await at.doctor();
  expect(end).toMatchObject({ code: 0, stderr: "" });
  const [a, b] = at.sandbox.accounts;
  expect(linesOf(end.stdout)).toEqual([
    "ok    config           2 accounts configured",
    `ok    accounts file    ${at.path} shows no credential to other users`,
    expect.stringMatching(
      /^ok {4}database {9}PostgreSQL \d+\.\d+, 127\.0\.0\.1:\d+\/bill_sync_test_\w+, shown in time zone \S+$/,
    ),
    expect.stringMatching(/^ok {4}migrations {7}up to date \(\d+ applied\)$/),
    expect.stringMatching(/^ok {4}exchange {9}http:\/\/127\.0\.0\.1:\d+ answers$/),
    expect.stringMatching(/^ok {4}clock {12}this machine is \d\.\d s \w+( of)? the exchange$/),
    `ok    account a        a classic account; its key reads bills of ${allTypes}; user ${a?.uid}'s; ${mayOnlyRead}`,
    "ok    ltv a            its key reads the loan-to-value record of its own",
    `ok    account b        a classic account; its key reads bills of ${allTypes}; user ${b?.uid}'s; ${mayOnlyRead}`,
    "ok    ltv b            its key reads the loan-to-value record of its own",
  ]);
  const { arrivals, refusals } = at.sandbox.statistics();
  expect(arrivals).toMatchObject({
    [accountBills.name]: 12,
    [loanToValue.name]: 2,
    [keyInfo.classic.name]: 2,
  });
  expect(refusals).toEqual({});
});

test.concurrent("the key of a retired account is not tried, nor is one of a retired product type; a slip is told", async () => {
  await using at = await house({ alter: withLtv, env: { LOG_LEVLE: "debug" } });
  await retire(at.db, "b", undefined);
  await retire(at.db, "a", "COIN-FUTURES");
  const end = await at.doctor();
  expect(end.code).toBe(0);
  expect(end.stdout).toMatch(
    /^ok {4}accounts .*b: every product type configured but retired, so not synced/m,
  );
  expect(end.stdout).toMatch(
    /^ok {4}accounts .*a: COIN-FUTURES configured but retired, so not synced/m,
  );
  expect(end.stdout).not.toMatch(/^ok {4}(?:account|ltv) b/m);
  expect(end.stdout).toMatch(
    /^warn {2}config {11}LOG_LEVLE is not a variable of this program, did you mean LOG_LEVEL\?$/m,
  );
  expect(at.sandbox.statistics().arrivals).toMatchObject({
    [accountBills.name]: 5,
    [loanToValue.name]: 1,
  });
});

test("a .env that others may read is told with the remedy, where it holds a credential", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, ".env");
  const doctor = async (text: string, mode: number) => {
    await writeFile(path, text);
    await chmod(path, mode);
    return (await runCli(["doctor"], { cwd: folder.path })).stdout;
  };
  const secret = "EXCHANGE_API_SECRET=canary\nDATABASE_URL=postgres://127.0.0.1:1/x\n";
  expect(await doctor(secret, 0o666)).toMatch(
    /^warn {2}env file {9}\.env holds credentials, and other users may read or change it; run chmod 600 \.env$/m,
  );
  expect(await doctor(secret, 0o600)).toMatch(
    /^ok {4}env file {9}\.env shows no credential to other users$/m,
  );
  expect(await doctor("LOG_LEVEL=info\nDATA_DIR=x\n", 0o666)).not.toMatch(/env file/);
});

test("without a .env, a configuration with faults says where one is looked for", async () => {
  await using folder = await temporaryFolder();
  const { code, stdout } = await runCli(["doctor"], { cwd: folder.path });
  expect(code).toBe(2);
  const [first, second] = stdout.split("\n");
  expect(first).toContain(`there is no ${join(folder.path, ".env")}; create it as .env.example`);
  expect(second).toMatch(/^FAIL {2}config +EXCHANGE_API_KEY is missing/);
});

test.concurrent("doctor writes nothing to the database but leases", async () => {
  await using at = await house();
  const written = async () => {
    const { rows } = await at.db.execute(sql`
      select relname, n_tup_ins + n_tup_upd + n_tup_del as writes
      from pg_stat_user_tables
      where relname <> 'leases'
      order by relname`);
    await at.db.execute(sql`select pg_stat_clear_snapshot()`);
    return rows;
  };
  const before = await written();
  expect((await at.doctor()).code).toBe(0);
  expect(await written()).toEqual(before);
  const { rows } = await at.db.execute(sql`
    select holder, expires_at < clock_timestamp() + interval '1 s' as is_over
    from leases`);
  expect(rows).toEqual(Array(2).fill({ holder: "", is_over: true }));
});

test.concurrent("doctor tries no key where the database does not let it take the lease", async () => {
  await using at = await house({
    alterUrl: ({ searchParams }) =>
      searchParams.set("options", "-cdefault_transaction_read_only=on"),
  });
  const end = await at.doctor();
  expect(end.code).toBe(0);
  expect(end.stdout).toMatch(
    /^warn {2}account a +its key was not tried, this database user may not see .*; run doctor as the user/m,
  );
  expect(at.sandbox.statistics().arrivals[accountBills.name]).toBeUndefined();
});

test.concurrent("doctor leaves the exchange to a run that holds the account, and says so", async () => {
  await using at = await house({ alter: withLtv });
  const { signal } = new AbortController();
  await using lease = await new Leases(at.db).take("a", { signal });
  const end = await at.doctor();
  expect(end.code).toBe(0);
  expect(end.stdout).toMatch(
    /^warn {2}account a +its key was not tried, another run holds account a \(\S+ process \d+, since .+\); wait until/m,
  );
  expect(end.stdout).toMatch(/^ok {4}account b/m);
  expect(at.sandbox.statistics().arrivals).toMatchObject({
    [accountBills.name]: 6,
    [loanToValue.name]: 1,
  });
  lease.assertHeld();
});

test.concurrent("why no older bills of an account are recovered is said, as the last sync found it", async () => {
  const sandbox = revoked("a", { permissions: ["bills", "spot", "loan-to-value"] });
  await using at = await house({
    sandbox: { ...sandbox, density: 0.01, productTypes: ["USDT-FUTURES"], days: 120 },
    env: { HISTORY_FROM: "2020-01-01", PRODUCT_TYPES: "USDT-FUTURES" },
  });
  await at.run("sync", "--account", "a");
  const { stdout } = await at.doctor("--account", "a");
  expect(stdout).toMatch(
    /^warn {2}history a {8}older bills of USDT-FUTURES are not recovered: the key may not read tax records: .*40014/m,
  );
});

const revoked = (name: string, changes: object): Partial<SandboxOptions> => ({
  alterCredential: (credential) =>
    credential.name === name ? { ...credential, ...changes } : credential,
});

const changed = (index: number, change: object) => (entries: readonly object[]) =>
  entries.map((entry, at) => (at === index ? { ...entry, ...change } : entry));

const closed = "http://127.0.0.1:1";

const broken: readonly [string, House, 0 | 1 | 2, readonly RegExp[]][] = [
  [
    "a wrong secret",
    { alter: changed(0, { apiSecret: "canary1" }) },
    1,
    [/^FAIL {2}account a .*40009.*apiSecret in ACCOUNTS_FILE$/, /^ok {4}account b/],
  ],
  [
    "no right to read bills",
    { sandbox: revoked("b", { permissions: [] }) },
    1,
    [
      /^ok {4}account a/,
      /^FAIL {2}account b +a classic account; its key reads no bills; refused: .*40014.*give it the right/,
    ],
  ],
  [
    "a unified account",
    { sandbox: revoked("a", { accountMode: "unified" }) },
    0,
    [
      /^\w+ {2,4}account a .*a unified account; its key reads bills of UTA-SPOT, .* and UTA-FUNDING; /,
    ],
  ],
  [
    "an account in transit",
    { sandbox: revoked("a", { accountMode: "upgrading" }) },
    1,
    [/^FAIL {2}account a .*is changing between classic and unified .*mode "upgrading"/],
  ],
  [
    "a demo key that is not called one",
    { sandbox: revoked("a", { environment: "demo" }) },
    1,
    [
      /^FAIL {2}account a +a classic account; its key reads no bills; refused: .*: .*40099.*"demo": true in ACCOUNTS_FILE/,
    ],
  ],
  [
    "no right to the loan-to-value record",
    { sandbox: revoked("a", { permissions: ["bills"] }), alter: withLtv },
    1,
    [
      /^ok {4}account a/,
      /^FAIL {2}ltv a .*40014.*; where the account has no institutional loan/,
      /^ok {4}ltv b/,
    ],
  ],
  [
    "a clock that is off",
    { sandbox: { now: () => Date.now() + 600_000 } },
    0,
    [
      /^warn {2}clock {12}this machine is (?:9 m 59 s|10 m) behind the exchange; set the clock/,
      /^ok {4}account a/,
    ],
  ],
  [
    "an exchange that is away",
    { env: { EXCHANGE_BASE_URL: closed } },
    1,
    [
      /^ok {4}migrations/,
      /^FAIL {2}exchange .*no answer from 127\.0\.0\.1:1: .*ECONNREFUSED 127\.0\.0\.1:1$/,
    ],
  ],
  [
    "a database that is away",
    { env: { DATABASE_URL: "postgres://u:canary2@127.0.0.1:1/x" } },
    1,
    [/^FAIL {2}database .*ECONNREFUSED.*start the server/, /^ok {4}account a/],
  ],
  [
    "tables that were never made",
    { isEmpty: true },
    0,
    [/^warn {2}migrations {7}none applied yet; run bill-sync sync/, /^ok {4}account a/],
  ],
  [
    "wrong configuration",
    { env: { LOG_LEVEL: "loud", PRODUCT_TYPE: "x", EXCHANGE_API_KEY: "canary3" } },
    2,
    [
      /^FAIL {2}config .*ACCOUNTS_FILE is set together with/,
      /^FAIL {2}config .*LOG_LEVEL "loud"/,
      /^FAIL {2}config .*PRODUCT_TYPE is not/,
      /^ok {4}database/,
    ],
  ],
  [
    "nothing, on the embedded server",
    { env: { DATABASE_URL: "" } },
    0,
    [
      /^ok {4}database {9}PostgreSQL \d+\.\d+, embedded, shown in time zone \S+$/,
      /^(ok|warn) +disk {13}[\d,]+ MiB free in \.\/data, the database takes \d+ MiB/,
    ],
  ],
];

describe.concurrent("what is wrong is named with the remedy, and the rest is looked at all the same", () => {
  test.each(broken)("%s", async (_title, options, code, expected) => {
    await using at = await house(options);
    const end = await at.doctor();
    expect(end).toMatchObject({ code, stderr: "" });
    const lines = linesOf(end.stdout);
    for (const line of expected) expect(lines).toContainEqual(expect.stringMatching(line));
    expect(lines.filter((line) => !/^(ok|warn|FAIL) +\S/.test(line))).toEqual([]);
  });

  test("a database that is newer than the program", async () => {
    await using at = await house();
    await at.db.execute(
      sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('x', 9999999999999)`,
    );
    const newer = await at.doctor();
    expect(newer.code).toBe(1);
    expect(newer.stdout).toMatch(
      /^FAIL {2}migrations .*this version does not know: a newer version of bill-sync has migrated it; update the program$/m,
    );
  });

  test("a key that is stored under another name, without a request for it", async () => {
    await using at = await house();
    const key = new AccountKey(at.db, {
      account: "z",
      key: new Secret(at.sandbox.account.apiKey),
    });
    await key.take(async () => undefined);
    const end = await at.doctor();
    expect(end.code).toBe(1);
    expect(end.stdout).toMatch(/^FAIL {2}account a .*is stored as account z/m);
    expect(end.stdout).toMatch(/^ok {4}account b/m);
    expect(at.sandbox.statistics().arrivals[accountBills.name]).toBe(6);
  });
});

test.concurrent("doctor ends at the first signal, whatever it waits for", async () => {
  await using at = await house();
  const blocker = await at.db.$client.connect();
  await blocker.query("begin");
  await blocker.query("lock table key_salt");
  await using doctor = await at.start();
  const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  while ((await at.db.execute(waiting)).rows.length === 0) await sleep(50);
  doctor.kill("SIGTERM");
  const { code, stderr } = await doctor.ended;
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching("stopped on request"),
  });
  blocker.release(true);
});
