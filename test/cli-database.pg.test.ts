import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

test.concurrent("db prints the address of a configured database without its password, and leaves it to its own server", async () => {
  await using database = await testDatabase();
  const end = await runCli(["db", "url"], { env: { DATABASE_URL: database.url } });
  const shown = Object.assign(new URL(database.url), {
    protocol: "postgresql:",
    password: "",
  }).href;
  expect(end).toMatchObject({ code: 0, stdout: `${shown}\n`, stderr: "" });
  const write = await runCli(["db", "url", "--read-write"], {
    env: { DATABASE_URL: database.url },
  });
  expect(write).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^--read-write is/),
  });
});

test.concurrent("the password may stand in PGPASSFILE: cron gets no mail of it", async () => {
  await using database = await testDatabase();
  await using folder = await temporaryFolder();
  const url = new URL(database.url);
  const PGPASSFILE = join(folder.path, "pgpass");
  await writeFile(PGPASSFILE, `*:*:*:*:${url.password}\n`, { mode: 0o600 });
  url.password = "";
  const running = await startCli(["status"], { env: { DATABASE_URL: url.href, PGPASSFILE } });
  expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
});

test.concurrent("db keeps the embedded server up until Ctrl-C; sync and status then find the same data", async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await using sandbox = await openSandbox({ seed: "db", density: 0.1 });
  const env = environmentFor(sandbox, { url: "" }, { PRODUCT_TYPES: "SUSDT-FUTURES" });

  await using db = await startCli(["db", "url"], { cwd });
  const [, url = ""] = await db.seen("stdout", /^(postgresql:\S+)\n/);
  const sync = await runCli(["sync", "--json"], { cwd, env });
  expect(sync.code).toBe(0);
  const stored = JSON.parse(sync.stdout).ledgers[0].new;
  {
    await using database = openDatabase(url);
    const { rows } = await database.db.execute(sql`select count(*)::integer as bills from bills`);
    expect(rows).toEqual([{ bills: stored }]);
    for (const statement of ["delete from bills", "create table mine ()", "select lo_create(0)"]) {
      await expect(database.db.execute(statement)).rejects.toMatchObject({
        cause: { code: "25006" },
      });
    }
    const others = await runCli(["status"], { cwd, env: { DATABASE_URL: url } });
    expect(others).toMatchObject({ code: 0 });
  }
  await using writing = await startCli(["db", "url", "--read-write"], { cwd });
  const [, writer = ""] = await writing.seen("stdout", /^(postgresql:\S+)\n/);
  {
    await using database = openDatabase(writer);
    await database.db.execute("update bills set symbol = symbol");
  }
  writing.kill("SIGINT");
  expect(await writing.ended).toMatchObject({ code: 0 });
  await using again = await startCli(["db", "url"], { cwd });
  expect((await again.seen("stdout", /^(postgresql:\S+)\n/))[1]).toBe(url);
  again.kill("SIGINT");
  await again.ended;
  db.kill("SIGINT");
  expect(await db.ended).toMatchObject({ code: 0, stdout: `${url}\n` });

  await using closed = openDatabase(url);
  await expect(closed.db.execute("select 1")).rejects.toMatchObject({
    cause: { code: "ENOENT" },
  });
  const { ledgers } = JSON.parse((await runCli(["status", "--json"], { cwd, env })).stdout);
  expect(ledgers).toMatchObject([{ productType: "SUSDT-FUTURES", bills: stored }]);
});
