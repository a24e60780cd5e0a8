import { join } from "node:path";
import { expect, test } from "vitest";
import { unifiedProductTypes } from "../src/contract/product-types.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";

test("demo of a unified account reads all of it, and each bill is the sandbox's own", async () => {
  await using folder = await temporaryFolder();
  const env = { DATA_DIR: join(folder.path, "data") };
  const { code, stdout } = await runCli(["demo", "--mode", "unified"], { env });
  expect(code, stdout).toBe(0);
  const [, status = "", reconciled = ""] = stdout.split("\n$ bill-sync ").slice(1);
  const complete = status.match(/^UTA-[A-Z-]+(?= .* 100\.0% .* - {5}- )/gm);
  expect(complete).toEqual(unifiedProductTypes);
  expect(status).toMatch(/^demo: a unified account$/m);
  expect(reconciled.match(/^demo\/UTA \w+ /gm)?.length).toBeGreaterThan(5);
  expect(reconciled).toContain("nothing is open: the ledger adds up");
  const [, equal, expected] = /ledger: ([\d,]+) of ([\d,]+) bills equal/.exec(stdout) ?? [];
  expect(equal).toBe(expected);
  expect(Number(expected?.replace(",", ""))).toBeGreaterThan(3_000);
  expect(stdout).toMatch(/\n0 stored that it does not have\n$/);
}, 120_000);
