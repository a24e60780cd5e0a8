import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { productTypesOf } from "../src/core/words/account-state.ts";
import { startCli, temporaryFolder } from "./support/cli.ts";

/** Postgres removes this file when it ends. */
const isServing = (dataDir: string): boolean =>
  existsSync(join(dataDir, "demo/postgres/data/postmaster.pid"));

test.concurrent("demo of a unified account reads all of it, each bill is the sandbox's own, and its page stays up until the terminal is closed", async () => {
  await using folder = await temporaryFolder();
  const env = { DATA_DIR: join(folder.path, "data") };
  await using demo = await startCli(["demo", "--mode", "unified", "--open"], { env });
  const [, url = ""] = await demo.seen("stdout", /in a browser:\n(http:\S+)\n/);
  await demo.seen(
    "stdout",
    /^export DATA_DIR=\/.*\nexport DATABASE_URL=\nexport ACCOUNT_NAME=demo$/m,
  );
  const page = await (await fetch(url)).text();
  expect(page).toMatch(
    /<h1[^>]*><i class="dot"><\/i>Complete, with bills recovered from tax records<\/h1>/,
  );
  // One wallet over all categories. Each category is a ledger.
  expect(page.match(/<th scope="row">UTA-/g)).toHaveLength(productTypesOf("unified").length);
  expect(page).toMatch(/<option value="account=demo&amp;product=UTA&amp;coin=\w+" selected>/);
  expect(isServing(env.DATA_DIR)).toBe(true);
  demo.kill("SIGHUP");
  const { code, stdout: all } = await demo.ended;
  expect(code, all).toBe(0);
  expect(isServing(env.DATA_DIR)).toBe(false);
  const stdout = all.slice(0, all.indexOf("\n$ bill-sync serve "));
  const [, status = "", reconciled = ""] = stdout.split("\n$ bill-sync ").slice(1);
  const complete = status.match(/^UTA-[A-Z-]+(?= +[\d,]+ +\S+ \S+ +- +- )/gm);
  expect(complete, status).toEqual(productTypesOf("unified"));
  expect(reconciled.match(/^demo\/UTA \w+ /gm)?.length).toBeGreaterThan(5);
  expect(reconciled).toContain("nothing is open: the ledger adds up");
  const [, equal, expected] = /ledger: ([\d,]+) of ([\d,]+) bills are equal/.exec(stdout) ?? [];
  expect(equal).toBe(expected);
  expect(Number(expected?.replace(",", ""))).toBeGreaterThan(3_000);
  expect(stdout).toMatch(/\n0 stored bills are not in it\n$/);
}, 240_000);

test.concurrent("Ctrl-C ends the demo's Postgres in the middle of its sync, and says how the demo is started again", async () => {
  await using folder = await temporaryFolder();
  const env = { DATA_DIR: join(folder.path, "data") };
  await using demo = await startCli(["demo"], { env });
  await demo.seen("stderr", /planned/);
  expect(isServing(env.DATA_DIR)).toBe(true);
  demo.kill("SIGINT");
  expect(await demo.ended).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /\nthe demo was stopped; bill-sync demo starts it again from the beginning\n$/,
    ),
  });
  expect(isServing(env.DATA_DIR)).toBe(false);
});
