// Row-level security hides rows in silence. No command takes what it then sees for all that there is, and no backup of
// fewer bills than its ledgers say is written.

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inSnapshot, inTransaction, openDatabase } from "../src/core/postgres/connect.ts";
import { withDatabaseErrors } from "../src/core/postgres/database-errors.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, runCli, temporaryFolder } from "./support/cli.ts";
import { type TestDatabase, testDatabase } from "./support/database.ts";
import { query } from "./support/query.ts";

// Other tests share the server's roles, so this has a name of its own.
const writer = `rows_${process.pid}_${randomBytes(3).toString("hex")}`;
let database: TestDatabase;
let env: Readonly<Record<string, string | undefined>>;
const asWriter = () =>
  Object.assign(new URL(database.url), { username: writer, password: "word" }).href;

beforeAll(async () => {
  database = await testDatabase();
  await using sandbox = await openSandbox({ seed: "rows", density: 0.05, days: 3 });
  env = environmentFor(sandbox, database, { PRODUCT_TYPES: "SUSDT-FUTURES" });
  expect(await runCli(["sync"], { env })).toMatchObject({ code: 0 });
  await query(
    database.url,
    `create role ${writer} login password 'word';
     grant usage on all sequences in schema public to ${writer};
     grant select, insert, update, delete on all tables in schema public to ${writer};
     do $$ begin
       execute (
         select string_agg(format('grant usage on schema %1$I to ${writer}; grant select on all tables in schema %1$I to ${writer}', nspname), ';')
         from pg_namespace where nspname !~ '^(pg_|information_schema|public)'
       );
     end $$`,
  );
});

afterAll(async () => {
  await query(database.url, `drop owned by ${writer}; drop role ${writer}`);
  await database[Symbol.asyncDispose]();
});

test("a user from whom it hides rows is refused by every command, which names table, policy and remedy", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "b.gz");
  const given = { ...env, DATABASE_URL: asWriter() };
  const commands = [["db", "backup", path], ["sync"], ["status"], ["export", "--format", "csv"]];
  await query(
    database.url,
    "alter table bills enable row level security; create policy tenant on bills using (account = 'other')",
  );
  try {
    for (const args of commands) {
      const end = await runCli(args, { env: given });
      expect({ args, ...end }).toMatchObject({
        ...{ args, code: 1, stdout: "" },
        stderr: expect.stringMatching(
          /row-level security hides rows of table bills \(policy tenant\) .* alter table bills disable row level security/,
        ),
      });
    }
    expect(existsSync(path)).toBe(false);
    const doctor = await runCli(["doctor"], { env: given });
    expect(doctor).toMatchObject({ code: 1 });
    expect(doctor.stdout).toMatch(/^FAIL {2}database .*\(policy tenant\)/m);
    // The owner sees all rows, unless the table's security is forced upon it.
    expect(await runCli(["status"], { env })).toMatchObject({ code: 0 });
  } finally {
    await query(
      database.url,
      "drop policy tenant on bills; alter table bills disable row level security",
    );
  }
  expect(await runCli(["db", "backup", path], { env: given })).toMatchObject({ code: 0 });
});

test("a transaction is refused whose rows are hidden after the program began", async () => {
  await using writing = openDatabase(asWriter());
  await query(database.url, "alter table bills enable row level security");
  try {
    for (const run of [inTransaction, inSnapshot]) {
      const reading = withDatabaseErrors(() =>
        run(writing.db, (tx) => tx.execute("select count(*) from bills")),
      );
      await expect(reading).rejects.toThrow(
        /"bills", 42501\): row-level security hides rows of that table .* disable row level security/,
      );
    }
  } finally {
    await query(database.url, "alter table bills disable row level security");
  }
});

test("a backup of fewer bills than its ledgers say is not written", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "b.gz");
  const [{ bills } = { bills: 0 }] = await query<{ bills: number }>(
    database.url,
    "select bills::int from ledgers where product_type <> ''",
  );
  await query(database.url, "delete from bills where bill_id = (select min(bill_id) from bills)");
  const lack = `the database has ${bills - 1} of ${bills} bills of main SUSDT-FUTURES`;
  const refused = await runCli(["db", "backup", path], { env });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(lack) });
  expect(existsSync(path)).toBe(false);
  await runCli(["reconcile", "--full"], { env });
  expect(await runCli(["db", "backup", path], { env })).toMatchObject({ code: 0 });
});
