// Nothing that another user of the database made runs as the program's user, on a database set up as Postgres 14
// does.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { type TestDatabase, testDatabase } from "./support/database.ts";
import { query } from "./support/query.ts";

// Other tests share the server's roles, so these have names of their own.
const prefix = `strangers_${process.pid}_${randomBytes(3).toString("hex")}`;
const [stranger, user] = [`${prefix}_mallory`, `${prefix}_user`];

let database: TestDatabase;
const as = (role: string) =>
  Object.assign(new URL(database.url), { username: role, password: "word" }).href;

beforeAll(async () => {
  database = await testDatabase();
  const name = new URL(database.url).pathname.slice(1);
  // As in Postgres 14, whichever version this is: everybody may create in public.
  await query(
    database.url,
    `create role ${stranger} login password 'word';
     create role ${user} login password 'word';
     grant ${user} to current_user;
     grant create on database ${name} to ${user};
     grant usage, create on schema public to public;
     grant select, insert, update, delete on all tables in schema public to ${user};
     grant usage on schema drizzle, analytics to ${user};
     grant select on all tables in schema drizzle, analytics to ${user}`,
  );
});

afterAll(async () => {
  await query(
    database.url,
    `drop owned by ${stranger}, ${user} cascade; drop role ${stranger}, ${user}`,
  );
  await database[Symbol.asyncDispose]();
});

/** An operator that is preferred to a coercion, and tells who called it. */
const plant = `
  create table calls (role name not null);
  grant insert, select on calls to public;
  create function planted(text, varchar, out answer boolean) language plpgsql as
    $body$ begin insert into public.calls values (current_user); end $body$;
  create operator = (leftarg = text, rightarg = varchar, function = planted);
  create function planted(text, name, out answer text) language plpgsql as
    $body$ begin insert into public.calls values (current_user); end $body$;
  create operator || (leftarg = text, rightarg = name, function = planted)`;

const calls = () => query(database.url, "select distinct role from public.calls");
const commands = [["sync"], ["status"], ["reconcile"]];

test("what another role made in schema public never runs as the program's user, and is named", async () => {
  await query(as(stranger), plant);
  await using sandbox = await openSandbox({ seed: "strangers", density: 0.05, days: 3 });
  const env = environmentFor(sandbox, { url: as(user) }, { PRODUCT_TYPES: "SUSDT-FUTURES" });
  const expectRefusals = async (message: RegExp) => {
    for (const args of commands) {
      expect({ args, ...(await runCli(args, { env })), calls: await calls() }).toMatchObject({
        ...{ args, code: 1, calls: [] },
        stderr: expect.stringMatching(message),
      });
    }
  };
  const revoke = 'revoke create on schema "public" from public';
  await expectRefusals(new RegExp(`every user of the database may create .*run ${revoke}`));
  await query(database.url, revoke);
  const named = `function public\\.planted\\(.*?\\) of ${stranger} and \\d+ more would run as`;
  await expectRefusals(new RegExp(named));
  expect((await runCli(["doctor"], { env })).stdout).toMatch(
    new RegExp(`^FAIL {2}database .*${named}`, "m"),
  );
  await query(database.url, `drop owned by ${stranger} cascade`);
  await query(database.url, `grant create on schema public to ${stranger}`);
  await query(as(stranger), "create table theirs ()");
  expect(await runCli(["status"], { env })).toMatchObject({ code: 0, stderr: "" });
});

test("a trigger of another role on one of the program's tables is refused", async () => {
  await query(
    database.url,
    `revoke create on schema public from public;
     create schema theirs authorization ${stranger}; grant trigger on bills to ${stranger}`,
  );
  await query(
    as(stranger),
    `create function theirs.look() returns trigger language plpgsql as $$ begin return new; end $$;
     create trigger look before insert on public.bills for each row execute function theirs.look()`,
  );
  expect((await runCli(["status"], { env: { DATABASE_URL: as(user) } })).stderr).toMatch(
    new RegExp(`trigger look on table public\\.bills of ${stranger} would run as`),
  );
  await query(database.url, "drop trigger look on bills");
});

test("the owner of schema public ends everybody's right to create there, and says so", async () => {
  await query(
    database.url,
    `revoke create on schema public from ${stranger}; grant create on schema public to public`,
  );
  const env = { DATABASE_URL: database.url };
  expect(await runCli(["status"], { env })).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/may no longer create in schema public/),
  });
  expect(await runCli(["status"], { env })).toMatchObject({ code: 0, stderr: "" });
  await expect(query(as(stranger), "create table public.another ()")).rejects.toMatchObject({
    code: "42501",
  });
});
