// What is stored of an account that is no longer configured can be read.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

test("an account that is no longer configured is read by its name, and a wrong name is told", async () => {
  await using sandbox = await openSandbox({ seed: "left", density: 0.05 });
  await using database = await testDatabase();
  const productType = "USDT-FUTURES";
  const envOf = (name: string) =>
    environmentFor(sandbox, database, { EXCHANGE_ACCOUNT: name, PRODUCT_TYPES: productType });
  const synced = await runCli(["sync", "--only", "bills"], { env: envOf("left") });
  expect(synced).toMatchObject({ code: 0 });
  await using tables = openDatabase(database.url);
  await tables.db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, fault_path, fault, rejected_at
    )
    values (
      'left', ${productType}, 'digest', '{}', 'billId', 'is missing',
      clock_timestamp()
    )`);
  const run = (command: string, ...args: readonly string[]) =>
    runCli([...command.split(" "), ...args], { env: envOf("main") });

  const status = await run("status", "--account", "left", "--json");
  expect(JSON.parse(status.stdout)).toMatchObject({ streams: [{ account: "left", productType }] });
  expect(JSON.parse(status.stdout).streams).toHaveLength(1);
  const reconciled = await run(
    "reconcile",
    "--account",
    "left",
    "--product",
    productType,
    "--json",
  );
  expect(JSON.parse(reconciled.stdout)).toMatchObject({ breaks: [] });
  const breaks = await run("breaks list", "--account", "left", "--json");
  expect(JSON.parse(breaks.stdout)).toMatchObject({ rejected: [{ account: "left" }] });

  for (const command of ["status", "reconcile", "breaks list"]) {
    expect(await run(command, "--account", "lef")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "--account lef: there is no such account, did you mean left? (known: main, left)\n",
    });
    expect(await run(command, "--account", "left", "--product", "COIN-FUTURES")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "--product COIN-FUTURES is neither configured nor stored\n",
    });
  }
});
