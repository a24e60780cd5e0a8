// Doctor names each failing check, and no secret, and who holds an account whose key it leaves alone.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { retire } from "../src/accounts/account-changes.ts";
import { diskCheck, keyCheck } from "../src/commands/doctor.ts";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { loanToValue } from "../src/core/contract/loan-to-value.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import type { Database } from "../src/core/postgres/connect.ts";
import { Leases } from "../src/core/store/lease.ts";
import { ExchangeError } from "../src/lib/errors.ts";
import { Secret } from "../src/lib/secret.ts";
import { openSandbox, type SandboxOptions } from "./exchange/sandbox.ts";
import { keyIsAccepted } from "./support/account-key.ts";
import { entryOf, writeAccounts } from "./support/accounts-file.ts";
import { type CliEnvironment, runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { openTestDatabase } from "./support/database.ts";
import { untilBlocked } from "./support/held-store.ts";

type House = {
  readonly sandbox?: Partial<SandboxOptions>;
  /** What the entries of the two accounts have else. */
  readonly entries?: readonly [object, object];
  readonly env?: CliEnvironment;
  readonly isEmpty?: boolean;
  /** Options of the database's sessions. */
  readonly session?: string;
};

/** A sandbox exchange of two accounts, a database, and `doctor` configured for both. */
async function house({
  sandbox: options,
  entries = [{}, {}],
  env,
  isEmpty = false,
  session,
}: House = {}) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const sandbox = stack.use(
    await openSandbox({ seed: "doctor", density: 0, accountNames: ["a", "b"], ...options }),
  );
  const { db, ...database } = stack.use(await openTestDatabase({ isEmpty }));
  const url = new URL(database.url);
  if (session !== undefined) url.searchParams.set("options", session);
  const environment = {
    DATABASE_URL: url.href,
    EXCHANGE_BASE_URL: sandbox.url,
    ACCOUNTS_FILE: await writeAccounts(
      folder.path,
      sandbox.accounts.map((account, index) => ({ ...entryOf(account), ...entries[index] })),
    ),
    ...env,
  };
  return {
    ...{ sandbox, db },
    async doctor(...args: readonly string[]) {
      const end = await runCli(["doctor", ...args], { env: environment });
      const { accounts } = sandbox;
      const secrets = accounts.flatMap((one) => [one.apiKey, one.apiSecret, one.apiPassphrase]);
      for (const secret of [...secrets, "canary"])
        expect(end.stdout + end.stderr).not.toContain(secret);
      const lines = end.stdout.trimEnd().split("\n");
      expect(lines.filter((line) => !/^(ok|warn|FAIL) +\S/.test(line))).toEqual([]);
      const { arrivals } = sandbox.statistics();
      const bills = arrivals[accountBills.name] ?? 0;
      return { ...end, lines, asked: { bills, ltv: arrivals[loanToValue.name] ?? 0 } };
    },
    run: (...args: readonly string[]) => runCli(args, { env: environment }),
    start: () => startCli(["doctor"], { env: environment }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const ltv = [{ ltv: true }, { ltv: true }] as const;

test.concurrent("a healthy set-up is one line a check, all ok, with a request for each key and record; only leases are written", async () => {
  await using at = await house({ entries: ltv });
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
  const end = await at.doctor();
  expect(end).toMatchObject({ code: 0, stderr: "" });
  const [a, b] = at.sandbox.accounts.map(
    ({ uid }) =>
      "a classic account; its key reads bills of USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, " +
      `SUSDT-FUTURES, SCOIN-FUTURES, SUSDC-FUTURES and SPOT; user ${uid}'s; it may only read; ` +
      "it can read tax records; it is bound to no IP address",
  );
  expect(end.lines).toEqual([
    "ok    config           2 accounts configured",
    expect.stringMatching(/^ok {4}accounts file {4}\S+ shows no credential to other users$/),
    expect.stringMatching(
      /^ok {4}database {9}PostgreSQL \d+\.\d+, 127\.0\.0\.1:\d+\/bill_sync_test_\w+, shown in time zone \S+$/,
    ),
    expect.stringMatching(/^ok {4}migrations {7}up to date \(\d+ applied\)$/),
    "ok    bills            as many as the ledgers say",
    expect.stringMatching(/^ok {4}exchange {9}http:\/\/127\.0\.0\.1:\d+ answers$/),
    expect.stringMatching(/^ok {4}clock {12}this machine is \d\.\d s \w+( of)? the exchange$/),
    `ok    account a        ${a}`,
    "ok    ltv a            its key reads the loan-to-value record of its own",
    `ok    account b        ${b}`,
    "ok    ltv b            its key reads the loan-to-value record of its own",
  ]);
  expect(end.asked).toEqual({ bills: 12, ltv: 2 });
  expect(at.sandbox.statistics().refusals).toEqual({});
  expect(await written()).toEqual(before);
  const { rows } = await at.db.execute(sql`
    select holder, expires_at < clock_timestamp() + interval '1 s' as is_over
    from leases`);
  expect(rows).toEqual(Array(2).fill({ holder: "", is_over: true }));
});

/** Credentials of the two accounts that are other ones at the exchange. */
const altered = (...changes: readonly [object, object]): Partial<SandboxOptions> => ({
  alterCredential: (credential) => ({ ...credential, ...changes[credential.name === "a" ? 0 : 1] }),
});

/** What is wrong, the exit code, lines that are printed (without the spaces between their parts), and what is asked. */
const broken: readonly [
  title: string,
  house: House & { readonly before?: (db: Database, apiKey: string) => Promise<unknown> },
  code: 0 | 1 | 2,
  lines: readonly string[],
  asked?: object,
][] = [
  [
    "a wrong secret, and no right to read bills",
    { entries: [{ apiSecret: "canary1" }, {}], sandbox: altered({}, { permissions: [] }) },
    1,
    [
      "FAIL account a .*40009.*apiSecret in ACCOUNTS_FILE$",
      "FAIL account b +a classic .* reads no bills; refused: .*40014.*give it the right",
    ],
  ],
  [
    "a unified account, and one in transit",
    { sandbox: altered({ accountMode: "unified" }, { accountMode: "upgrading" }) },
    1,
    [
      "\\w+ account a .*a unified account; its key reads bills of UTA-SPOT, .* and UTA-FUNDING; ",
      'FAIL account b .*is changing between classic and unified .*mode "upgrading"',
    ],
  ],
  [
    "a demo key that is not called one, and no right to the loan-to-value record",
    { sandbox: altered({ environment: "demo" }, { permissions: ["bills"] }), entries: ltv },
    1,
    [
      'FAIL account a +a classic .* reads no bills; .*40099.*"demo": true in ACCOUNTS_FILE',
      ...["ok account b", "FAIL ltv b .*40014.*; where the account has no institutional loan"],
    ],
    // Of an account whose key is refused, nothing more is asked.
    { ltv: 1 },
  ],
  [
    "a clock that is off, and tables that were never made",
    { sandbox: { now: () => Date.now() + 600_000 }, isEmpty: true },
    0,
    [
      "warn clock +this machine is (9 m 59 s|10 m) behind the exchange; set the clock",
      ...["warn migrations +none applied yet; run bill-sync sync", "ok account a"],
    ],
  ],
  [
    "an exchange that is away",
    { env: { EXCHANGE_BASE_URL: "http://127.0.0.1:1" } },
    1,
    ["ok migrations", "FAIL exchange .*no answer from 127.0.0.1:1: .*ECONNREFUSED 127.0.0.1:1$"],
  ],
  [
    "a database that is away",
    { env: { DATABASE_URL: "postgres://u:canary2@127.0.0.1:1/x" } },
    1,
    ["FAIL database .*ECONNREFUSED.*start the server", "ok account a"],
  ],
  [
    "wrong configuration",
    { env: { LOG_LEVEL: "loud", PRODUCT_TYPE: "x", EXCHANGE_API_KEY: "canary3" } },
    2,
    [
      "FAIL config .*ACCOUNTS_FILE is set together with",
      ...['FAIL config .*LOG_LEVEL "loud"', "FAIL config .*PRODUCT_TYPE is not"],
    ],
  ],
  [
    "nothing, on the embedded server",
    { env: { DATABASE_URL: "" } },
    0,
    [
      "ok database +PostgreSQL \\d+\\.\\d+, embedded, shown in time zone \\S+$",
      "(ok|warn) disk +[\\d,]+ MiB free in ./data, the database takes \\d+ MiB",
    ],
  ],
  [
    "a retired account, a retired product type, and a slip",
    {
      entries: ltv,
      env: { LOG_LEVL: "debug" },
      before: async (db) => {
        await retire(db, "b", undefined);
        await retire(db, "a", "COIN-FUTURES");
      },
    },
    0,
    [
      "ok accounts .*b: every product type configured but retired, so not synced",
      "ok accounts .*a: COIN-FUTURES configured but retired, so not synced",
      "warn config +LOG_LEVL is not a variable of this program, did you mean LOG_LEVEL\\?$",
    ],
    { bills: 5, ltv: 1 },
  ],
  [
    "a database user who may take no lease",
    { session: "-cdefault_transaction_read_only=on" },
    1,
    [
      "FAIL database .*; it is read-only; DATABASE_URL names a server or a user that may not write",
      "warn account a +its key was not tried, this database user may not .*; run doctor as the user",
    ],
    { bills: 0, ltv: 0 },
  ],
  [
    "bills that somebody deleted",
    {
      before: (db) =>
        db.execute("insert into ledgers (account, product_type, bills) values ('z', 'SPOT', 3)"),
    },
    1,
    [
      "FAIL bills +the database has 0 of 3 bills of z SPOT; bill-sync verify --repair",
      "ok account b",
    ],
  ],
  [
    "a table that somebody dropped",
    { before: (db) => db.execute("drop table withdrawals") },
    1,
    ["FAIL tables +not there: withdrawals; restore a backup into an empty database"],
  ],
  [
    "a table of another program that has a name of ours, in a new database",
    { isEmpty: true, before: (db) => db.execute("create table runs ()") },
    1,
    ['FAIL migrations .*relation "runs" already exists.*; use an empty database, or remove them'],
  ],
  [
    "a database that is newer than the program",
    {
      before: (db) =>
        db.execute(
          "insert into drizzle.bill_sync_migrations (hash, created_at) values ('x', 9999999999999)",
        ),
    },
    1,
    ["FAIL migrations .*this version does not know: a newer version .*; update the program$"],
  ],
  [
    "a key that is stored under another name",
    {
      before: (db, apiKey) => keyIsAccepted(db, { account: "z", key: new Secret(apiKey) }),
    },
    1,
    ["FAIL account a .*is stored as account z", "ok account b"],
    { bills: 6, ltv: 0 },
  ],
];

describe.concurrent("what is wrong is named with the remedy, and the rest is looked at all the same", () => {
  test.each(broken)("%s", async (_title, { before, ...options }, code, expected, asked = {}) => {
    await using at = await house(options);
    await before?.(at.db, at.sandbox.account.apiKey);
    const end = await at.doctor();
    expect(end, end.stdout).toMatchObject({ code, stderr: "", asked });
    for (const line of expected) {
      const pattern = new RegExp(`^${line.replace(/^(\S+) /, "$1 +")}`);
      expect(end.lines).toContainEqual(expect.stringMatching(pattern));
    }
  });
});

test("a .env that others may read is told with the remedy, where it holds a credential; so is one that is not there", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, ".env");
  const doctor = () => runCli(["doctor"], { cwd: folder.path });
  const none = await doctor();
  expect(none).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/^FAIL {2}config +EXCHANGE_/m),
  });
  expect(none.stdout).toContain(`there is no ${path}; create it as .env.example`);
  const withText = async (text: string, mode: number) => {
    await writeFile(path, text);
    await chmod(path, mode);
    return (await doctor()).stdout;
  };
  const secret = "EXCHANGE_API_SECRET=canary\nDATABASE_URL=postgres://127.0.0.1:1/x\n";
  expect(await withText(secret, 0o666)).toMatch(
    /^warn {2}env file {9}\.env holds credentials, and other users may read or change it; run chmod 600 \.env$/m,
  );
  expect(await withText(secret, 0o600)).toMatch(/^ok {4}env file {9}\.env shows no credential to/m);
  expect(await withText("LOG_LEVEL=info\nDATA_DIR=x\n", 0o666)).not.toMatch(/env file/);
});

test.concurrent("doctor leaves the exchange to a run that holds the account, and says so", async () => {
  await using at = await house({ entries: ltv });
  const { signal } = new AbortController();
  await using lease = await new Leases(at.db).take("a", { signal });
  const end = await at.doctor();
  expect(end).toMatchObject({ code: 0, asked: { bills: 6, ltv: 1 } });
  expect(end.stdout).toMatch(
    /^warn {2}account a +its key was not tried, another run holds account a \(\S+ process \d+, since .+\); wait until/m,
  );
  expect(end.stdout).toMatch(/^ok {4}account b/m);
  lease.assertHeld();
});

test.concurrent("why no older bills of an account are recovered is said, as the last sync found it", async () => {
  const sandbox = altered({ permissions: ["bills", "spot", "loan-to-value"] }, {});
  await using at = await house({
    sandbox: { ...sandbox, density: 0.01, productTypes: ["USDT-FUTURES"], days: 120 },
    env: { RECOVER_FROM: "2020-01-01", PRODUCT_TYPES: "USDT-FUTURES" },
  });
  await at.run("sync", "--account", "a");
  expect((await at.doctor("--account", "a")).stdout).toMatch(
    /^warn {2}recovery a {7}older bills of USDT-FUTURES are not recovered: the key may not read tax records: .*40014/m,
  );
});

test.concurrent("doctor ends at the first signal, whatever it waits for", async () => {
  await using at = await house();
  const blocker = await at.db.$client.connect();
  await blocker.query("begin; lock table key_salt");
  await using doctor = await at.start();
  await untilBlocked(at.db);
  doctor.kill("SIGTERM");
  expect(await doctor.ended).toMatchObject({
    ...{ code: 1, stderr: expect.stringMatching("stopped on request") },
  });
  blocker.release(true);
});

test.each([
  [1_024, "ok", "1,024 MiB free in ./data, the database takes 12 MiB"],
  [1_023, "warn", "1,023 MiB free in ./data, the database takes 12 MiB"],
  [64, "warn", "64 MiB free in ./data, the database takes 12 MiB"],
  [
    63,
    "FAIL",
    "63 MiB free in ./data, the database takes 12 MiB: too little for the database to write",
  ],
])("a disk with %i MiB for the embedded server is %s", (mebibytes, status, result) => {
  const check = diskCheck("./data", mebibytes * 1_024 ** 2, 12.5 * 1_024 ** 2);
  expect(check).toMatchObject({ status, result });
});

test("product types that are refused alike are named together, and what a key may do is told", () => {
  const noRight = new ExchangeError("refused-permission", "no right");
  const info = { userId: "12", mayOnlyRead: true, rights: [], readsTax: false, ips: ["x", "y"] };
  const tried = { mode: "classic", read: ["USDT-FUTURES"], refused: new Map(), info } as const;
  const refused = new Map<ProductType, ExchangeError>([
    ["COIN-FUTURES", noRight],
    ["SUSDT-FUTURES", new ExchangeError("refused-request", "gone")],
    ["USDC-FUTURES", noRight],
  ]);
  const types = "COIN-FUTURES and USDC-FUTURES: no right; ";
  for (const [readsAll, but, status, told] of [
    [false, { refused }, "FAIL", `refused: ${types}SUSDT-FUTURES: gone`],
    [true, { refused }, "ok", `not available to it: ${types}not available to it: SUSDT`],
    [true, { refused, read: [] }, "FAIL", "its key reads no bills; refused: "],
    [false, {}, "ok", "it may only read; it has no right to tax records; it is bound to 2 IP add"],
    ...(
      [
        [["coow"], "it may trade; "],
        [["coow", "stow", "wwow"], "it may withdraw and trade; "],
        [["smow", "wtow", "wwow", "pllw"], "it may withdraw, transfer, trade and borrow; "],
        [["uta_trade", "withdraw"], "it may withdraw and trade; "],
        [["new\n", "trade"], "it may trade and do what the exchange calls new\\n; "],
        [[], "it may do more than read; "],
      ] as const
    ).map(
      ([rights, words]) =>
        [false, { info: { ...info, mayOnlyRead: false, rights } }, "warn", words] as const,
    ),
    [false, { info: noRight }, "ok", "the exchange did not tell whose key it is, nor what it may"],
  ] as const) {
    const check = keyCheck({ readsAll }, { ...tried, ...but });
    expect(check).toMatchObject({ status, result: expect.stringContaining(told) });
  }
});
