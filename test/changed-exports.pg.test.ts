// An export after `accounts rename` or `types set` has what they changed, and Koinly knows the bills of a renamed account.

import { expect, test } from "vitest";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { query } from "./support/query.ts";

const rowsOf = (csv: string): readonly string[] => csv.trim().split(/\r?\n/).slice(1);

test("--changed-since has the bills of a type whose category changed, and of an account that was renamed", async () => {
  await using database = await testDatabase();
  await using sandbox = await openSandbox({ seed: "changed", density: 0.1, days: 5 });
  const env = environmentFor(sandbox, database, { PRODUCT_TYPES: "USDT-FUTURES" });
  const run = async (...args: string[]) => {
    const end = await runCli(args, { env });
    expect(end, end.stderr).toMatchObject({ code: 0 });
    return end;
  };
  await run("sync");
  const nowOf = async () => {
    const [{ now } = { now: "" }] = await query<{ now: string }>(
      database.url,
      "select to_char(now() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') as now",
    );
    return now;
  };
  const since = await nowOf();
  const changed = (time = since) => run("export", "--format", "csv", "--changed-since", time);
  const hashes = async (...args: string[]) => {
    const { stdout } = await run("export", "--format", "koinly", ...args);
    return rowsOf(stdout).map((row) => row.split(",").at(-1));
  };
  const all = rowsOf((await run("export", "--format", "csv", "--to", "2999-01-01")).stdout);
  expect(rowsOf((await changed()).stdout)).toEqual([]);

  const ofFees = all.filter((row) => row.includes("contract_settle_fee")).length;
  expect(ofFees).toBeGreaterThan(0);
  const [listed] = await query<{ category: string }>(
    database.url,
    "select category from business_types where code = 'contract_settle_fee'",
  );
  // What changes no category changes no export.
  await run("types", "set", "contract_settle_fee", listed?.category ?? "");
  expect(rowsOf((await changed()).stdout)).toEqual([]);
  const set = await run("types", "set", "contract_settle_fee", "bonus");
  expect(set.stdout).toMatch(/the next export --changed-since has all its bills; Koinly keeps/);
  const remapped = rowsOf((await changed()).stdout);
  expect(remapped).toHaveLength(ofFees);
  for (const row of remapped) expect(row).toContain("bonus");
  await run("types", "unset", "contract_settle_fee");
  expect(rowsOf((await changed()).stdout)).toHaveLength(ofFees);

  const beforeRename = await nowOf();
  const before = await hashes();
  await run("accounts", "rename", "main", "desk");
  await run("accounts", "rename", "desk", "fund");
  const renamed = await changed(beforeRename);
  expect(rowsOf(renamed.stdout)).toHaveLength(all.length);
  expect(renamed.stderr).toMatch(
    /account fund was renamed since then, and first was main: all its bills are in the file/,
  );
  expect(rowsOf((await changed(await nowOf())).stdout)).toEqual([]);
  expect(before.length).toBeGreaterThan(0);
  expect(await hashes("--account", "fund")).toEqual(before);
});
