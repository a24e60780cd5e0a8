// A ledger moves to another database by the commands of docs/many-accounts.md, without losing a bill.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";
import { unitCommand } from "./support/units.ts";

const productType = "USDT-FUTURES";
const [, section = ""] = readFileSync("docs/many-accounts.md", "utf8").split(
  "\n## From one machine to a cluster\n",
);
const [, block = ""] = /```sh\n(.*?)```/s.exec(section) ?? [];
const lines = block.trim().split("\n");

test("the commands of docs/many-accounts.md move a ledger to another database, where a worker brings it up to now, without losing a bill", async () => {
  expect(lines.length).toBeGreaterThan(3);
  await using folder = await temporaryFolder();
  await using old = await testDatabase({ isEmpty: true });
  await using cluster = await testDatabase({ isEmpty: true });
  // Many bills, so that some appear between the backup and the worker's start.
  await using sandbox = await openSandbox({ seed: "move", density: 2, days: 5 });
  let env = environmentFor(sandbox, old, { PRODUCT_TYPES: productType });
  expect(await runCli(["sync"], { env })).toMatchObject({ code: 0 });
  for (const line of lines) {
    const [, command, words = ""] = /^npm run (\w+)(?: (?:-- )?(.*))?$/.exec(line) ?? [];
    if (line.startsWith("export DATABASE_URL=")) env = { ...env, DATABASE_URL: cluster.url };
    else if (command === undefined) throw new Error(`the test cannot run ${line}`);
    else {
      const args = [command, ...words.split(" ").filter((word) => word !== "")];
      const cwd = folder.path;
      expect(await runCli(args, { env, cwd }), line).toMatchObject({ code: 0 });
    }
  }
  const begun = Date.now();
  await using worker = await startCli(["worker", "--every", "1h"], { env, cwd: join(folder.path) });
  const status = async () => JSON.parse((await runCli(["status", "--json"], { env })).stdout);
  await worker.seen("stderr", /"msg":"queued \d+ of /);
  await expect
    .poll(async () => (await status()).queue, { timeout: 120_000, interval: 500 })
    .toEqual({ waiting: 0, atWork: 0 });
  await using open = openDatabase(cluster.url);
  const checked = async () => {
    const { rows } = await open.db.execute(sql`
      select account, coin from reconciled_chains`);
    return rows;
  };
  await expect
    .poll(checked, { timeout: 60_000, interval: 250 })
    .toEqual([{ account: "main", coin: "USDT" }]);
  worker.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });
  expect((await status()).queue).toEqual({ waiting: 0, atWork: 0 });
  const { expected, ...found } = await heldAgainstLedger(open.db, sandbox, productType, begun);
  expect(expected).toBeGreaterThan(100);
  expect(found).toMatchObject(exactly);
});

test("what bill-sync-worker.service runs ends in good order on a SIGTERM to its first process", async () => {
  await using database = await testDatabase();
  await using sandbox = await openSandbox({ seed: "unit", density: 0.05 });
  const { script, args } = unitCommand("bill-sync-worker.service");
  const child = spawn(process.execPath, [...script.split(" ").slice(1), ...args.slice(1)], {
    env: { ...environmentFor(sandbox, database), RECOVER_FROM: "none" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const begun = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => {
      if (/working off the queue|^queued /m.test(String(text))) begun.resolve();
    });
  }
  await Promise.race([begun.promise, ended]);
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});
