// The roles of docs/operations.md: the writer runs every command and cannot drop, empty or alter a table, the
// analyst looks and cannot write.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dayMs } from "../src/lib/time.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { type TestDatabase, testDatabase } from "./support/database.ts";
import { migrateAt } from "./support/migrate-at.ts";
import { query } from "./support/query.ts";

const page = readFileSync("docs/operations.md", "utf8");
const [, rolesSection = ""] = /\n## Roles\n(.*?)\n## /s.exec(page) ?? [];
const [setUp = "", grants = ""] = [...rolesSection.matchAll(/```sql\n(.*?)```/gs)].map(
  ([, block = ""]) => block,
);

// Other tests share the server's roles, so these have names of their own.
const prefix = `bs_${process.pid}_${randomBytes(3).toString("hex")}_`;
const roleNames = ["owner", "writer", "analyst"] as const;
type RoleName = (typeof roleNames)[number];

/** A code block of the page, for this test's roles and database. */
const forTest = (block: string, url: string): string =>
  block
    .replaceAll("bill_sync_", prefix)
    .replaceAll(/on database ledger/g, `on database ${new URL(url).pathname.slice(1)}`);

const urlOf = (role: RoleName, { url }: TestDatabase): string =>
  Object.assign(new URL(url), {
    username: `${prefix}${role}`,
    password: `${role.toUpperCase()}-PASSWORD`,
  }).href;

/** @returns the server's warnings. */
async function run(url: string, statements: string): Promise<readonly string[]> {
  const client = new Client({ connectionString: url });
  const warnings: string[] = [];
  client.on("notice", ({ message = "" }) => warnings.push(message));
  await client.connect();
  try {
    await client.query(statements);
    return warnings;
  } finally {
    await client.end();
  }
}

/** The SQLSTATE of each statement's refusal; "done" if there was none. */
async function refusalsOf(url: string, statements: readonly string[]) {
  const client = new Client({ connectionString: url });
  await client.connect();
  const refusals: Record<string, string> = {};
  for (const statement of statements) {
    refusals[statement] = await client.query(`begin read write; ${statement}`).then(
      () => "done",
      (error: { code?: string }) => `${error.code}`,
    );
    await client.query("rollback");
  }
  await client.end();
  return refusals;
}

/** All of these with the same end. */
const all = (statements: readonly string[], end: string) =>
  Object.fromEntries(statements.map((statement) => [statement, end]));

const notAllowed = "42501";

let database: TestDatabase;
let tables: readonly string[] = [];

beforeAll(async () => {
  database = await testDatabase({ isEmpty: true });
  // As in Postgres 14, whichever version this is.
  await run(database.url, "grant create on schema public to public");
  expect(await run(database.url, forTest(setUp, database.url))).toEqual([]);
  await migrateAt(urlOf("owner", database));
  expect(await run(urlOf("owner", database), forTest(grants, database.url))).toEqual([]);
  const owned = await query<{ name: string }>(
    database.url,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where tableowner = '${prefix}owner'`,
  );
  tables = owned.map(({ name }) => name);
});

afterAll(async () => {
  const roles = roleNames.map((name) => `${prefix}${name}`).join(", ");
  await run(database.url, `drop owned by ${roles} cascade; drop role ${roles}`);
  await database[Symbol.asyncDispose]();
});

const keyTables = ["account_keys", "account_users", "leases", "key_salt"].map(
  (name) => `public.${name}`,
);
const onlyAddedTo = [
  "account_keys",
  "account_users",
  "bill_revisions",
  "break_decisions",
  "key_salt",
  "ltv_collateral",
  "ltv_debts",
].map((name) => `public.${name}`);
const emptiedByRow = [
  "public.windows",
  "public.wallet_rules",
  "public.runs",
  "public.account_keys",
  "public.account_users",
];

describe("the roles of docs/operations.md", () => {
  test("let the writer run every command but those of the owner", async () => {
    await using sandbox = await openSandbox({ seed: "roles", density: 0.05 });
    const others = { PRODUCT_TYPES: "USDT-FUTURES", SYNC_LTV: "true" };
    const env = environmentFor(sandbox, { url: urlOf("writer", database) }, others);
    const day = (ago: number) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);
    const [from, to] = [day(40), day(5)];
    const ofSpan = `c_time >= '${from}Z' and c_time < '${to}Z'`;
    expect(await runCli(["sync"], { env })).toMatchObject({ code: 0 });
    // What verify has to repair: one bill is missing, and one was restated.
    await run(
      urlOf("owner", database),
      `delete from bills where bill_id = (select min(bill_id) from bills where ${ofSpan});
      update bills set amount = amount + 1
      where bill_id = (select max(bill_id) from bills where ${ofSpan})`,
    );
    const repair = await runCli(["verify", "--from", from, "--to", to, "--repair"], { env });
    expect(repair).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/2 bills were repaired/),
    });
    // The restatement is reported until it is accepted.
    expect((await runCli(["reconcile"], { env })).stdout).toMatch(/^#1 +restated /m);
    for (const words of [
      ...["sync", "breaks accept 1 --note test", "reconcile", "breaks list"],
      ...["export --format csv", "db backup ledger.gz", "sync --dry-run", "status", "doctor"],
      "db migrate",
    ]) {
      const end = await runCli(words.split(" "), { env });
      expect({ words, ...end }).toMatchObject({ words, code: 0 });
    }
    const made = "do $$ begin assert exists (select from bills); end $$";
    expect(await run(database.url, made)).toEqual([]);
  }, 180_000);

  test("fail doctor, too, where one of the writer's grants was not run", async () => {
    await using sandbox = await openSandbox({ seed: "roles", density: 0 });
    const env = environmentFor(sandbox, { url: urlOf("writer", database) });
    const ofProgram = tables.filter((name) => name.startsWith("public."));
    for (const [taken, without] of [
      ["insert on withdrawals, bills", ["public.bills", "public.withdrawals"]],
      ["delete on all tables in schema public", emptiedByRow],
      [
        "update on all tables in schema public",
        ofProgram.filter((name) => !onlyAddedTo.includes(name)),
      ],
    ] as const) {
      await run(urlOf("owner", database), `revoke ${taken} from ${prefix}writer`);
      try {
        const { code, stdout } = await runCli(["doctor"], { env });
        const [, named = ""] =
          /^FAIL {2}tables +this user may not read and write: (.*); .*Roles/m.exec(stdout) ?? [];
        expect([taken, code, named.split(", ").map((name) => `public.${name}`)]).toEqual([
          ...[taken, 1, without.toSorted()],
        ]);
      } finally {
        await run(urlOf("owner", database), forTest(grants, database.url));
      }
    }
  });

  test("fail doctor, too, where an update waits for the owner", async () => {
    await using sandbox = await openSandbox({ seed: "roles", density: 0 });
    const env = environmentFor(sandbox, { url: urlOf("writer", database) });
    await run(urlOf("owner", database), "update analytics_views set hash = 'x'");
    try {
      for (const command of ["doctor", "sync"])
        expect(await runCli([command], { env })).toMatchObject({ code: 1 });
      expect((await runCli(["doctor"], { env })).stdout).toMatch(
        /^FAIL {2}migrations .*; this user does not own the tables; run bill-sync db migrate as their owner$/m,
      );
    } finally {
      await migrateAt(urlOf("owner", database));
    }
  });

  test("let doctor go on where it cannot see what they are", async () => {
    await using sandbox = await openSandbox({ seed: "roles", density: 0 });
    const env = environmentFor(sandbox, { url: urlOf("writer", database) });
    const asked = "execute on function has_table_privilege(oid, text)";
    await run(database.url, `revoke ${asked} from public`);
    try {
      const end = await runCli(["doctor"], { env });
      expect(end).toMatchObject({ code: 1, stderr: "" });
      expect(end.stdout).toMatch(/^FAIL {2}tables +.*permission denied.*has_table_privilege/m);
      expect(end.stdout).toMatch(/^ok {4}account /m);
    } finally {
      await run(database.url, `grant ${asked} to public`);
    }
  });

  test("let the writer neither drop, empty, alter nor make anything", async () => {
    const url = urlOf("writer", database);
    const refused = tables.flatMap((table) => [
      `drop table ${table}`,
      `truncate ${table}`,
      `alter table ${table} add x int`,
      `create index on ${table} ((1))`,
      ...(emptiedByRow.includes(table) ? [] : [`delete from ${table}`]),
      ...(onlyAddedTo.includes(table) ? [`select 1 from ${table} for update`] : []),
    ]);
    const others = [
      "create table public.mine (a int)",
      "create schema mine",
      "drop schema drizzle cascade",
      "create function public.f() returns int language sql as 'select 1'",
      "update drizzle.bill_sync_migrations set hash = ''",
      `set role ${prefix}owner`,
    ];
    const statements = [...refused, ...others];
    expect(await refusalsOf(url, statements)).toEqual(all(statements, notAllowed));
  });

  test("let the analyst read the ledger, write nothing, and see nothing of the keys", async () => {
    const url = urlOf("analyst", database);
    const readable = tables.filter((table) => !keyTables.includes(table));
    expect(readable.length).toBeGreaterThan(15);
    const done = [
      ...readable.map((table) => `select * from ${table}`),
      ...["select 1 from analytics.daily_rollforward", "select account from leases"],
    ];
    const refused = [
      ...keyTables.map((table) => `select * from ${table}`),
      ...tables.flatMap((table) => [
        ...[`insert into ${table} default values`, `delete from ${table}`],
        ...[`truncate ${table}`, `drop table ${table}`],
      ]),
      ...["select holder from leases", "update bills set amount = 0"],
      ...["create table mine (a int)", "create temporary table mine (a int)"],
    ];
    expect(await refusalsOf(url, [...done, ...refused])).toEqual({
      ...{ ...all(done, "done"), ...all(refused, notAllowed) },
    });
    await expect(run(url, "create temporary table mine (a int)")).rejects.toThrow(/read-only/);
  });

  test("let the analyst neither make a large object nor take a lock that others wait for", async () => {
    const objects = ["select lo_create(0)", "select lo_from_bytea(0, '')"];
    const locks = ["", "try_"].map((kind) => `select pg_${kind}advisory_lock(1)`);
    expect(await refusalsOf(urlOf("analyst", database), [...objects, ...locks])).toEqual({
      ...{ ...all(objects, notAllowed), ...all(locks, notAllowed) },
    });
    expect(await refusalsOf(urlOf("writer", database), [...objects, ...locks])).toEqual({
      ...{ ...all(objects, notAllowed), ...all(locks, "done") },
    });
  });

  test("let the analyst look, and tell who it is that may do the rest", async () => {
    await using sandbox = await openSandbox({ seed: "roles", density: 0.05 });
    const env = environmentFor(sandbox, { url: urlOf("analyst", database) });
    for (const words of ["status", "sync --dry-run", "doctor", "export --format csv"]) {
      const end = await runCli(words.split(" "), { env });
      // No sync could write with this role, and doctor says so.
      const code = words === "doctor" ? 1 : 0;
      expect({ words, ...end }, end.stderr).toMatchObject({ words, code });
      expect(end.stdout).toMatch(
        /USDT-FUTURES|its key was not tried, this database user may not see/,
      );
    }
    for (const words of ["sync", "reconcile", "db backup ledger.gz"])
      expect({ words, ...(await runCli(words.split(" "), { env })) }).toMatchObject({
        ...{ words, code: 1 },
        stderr: expect.stringMatching(/a user who writes|the address of a user who has it/),
      });
  });
});
