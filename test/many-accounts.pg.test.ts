// Ten accounts, three of them failing. Their limits are tested in virtual time.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { entryOf, writeAccounts } from "./support/accounts-file.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

const productType = "USDT-FUTURES";
const names = Array.from({ length: 10 }, (_, index) => `desk-${index + 1}`);
const unified = "desk-4";
const wrongSecret = "desk-9";
const withoutRight = "desk-7";
const failing = [unified, wrongSecret, withoutRight];

const exchangeOfTen = () =>
  openSandbox({
    seed: "ten",
    accountNames: names,
    productTypes: [productType],
    density: 0.1,
    alterCredential: (credential) => ({
      ...credential,
      ...(credential.name === unified ? { accountMode: "unified" } : {}),
      ...(credential.name === withoutRight ? { permissions: ["loan-to-value"] } : {}),
    }),
  });

test("of ten accounts, one sync mirrors the seven that work, and names the three that do not", async () => {
  await using folder = await temporaryFolder();
  await using database = await testDatabase();
  await using sandbox = await exchangeOfTen();
  await using open = openDatabase(database.url);
  const entries = sandbox.accounts.map((account) => ({
    ...entryOf(account),
    ...(account.name === wrongSecret ? { apiSecret: "another" } : {}),
  }));
  const env = {
    DATABASE_URL: database.url,
    EXCHANGE_BASE_URL: sandbox.url,
    ACCOUNTS_FILE: await writeAccounts(folder.path, entries, 0o640),
    PRODUCT_TYPES: productType,
  };
  const startedAt = Date.now();
  const end = await runCli(["sync"], { env });

  const [table, lists = "", remarks = ""] = end.stdout.split("\n\n");
  expect(lists.match(/^(?:spot pairs|contracts of [A-Z-]+) +\d+ +\d+/gm)).toEqual([
    expect.stringMatching(/^spot pairs +60 +60$/),
    expect.stringMatching(/^contracts of USDT-FUTURES +5 +5$/),
  ]);
  // The sandbox serves a bill of each account twenty seconds late, so the exchange may hold more than the bills say.
  const isOfLateBill = (line: string) => line.endsWith("; asked again by the next sync");
  const lines = remarks.trimEnd().split("\n");
  expect(lines.filter((line) => !isOfLateBill(line))).toEqual([
    expect.stringMatching(
      `^${unified}: account ${unified} is unified and has no ${productType}: nothing of it is read`,
    ),
    expect.stringMatching(`^${withoutRight}/${productType}: the exchange refused \\(40014`),
    expect.stringMatching(`^${wrongSecret}: the exchange refused \\(40009.* or its apiSecret in`),
    expect.stringMatching(/^NOT complete \(7 of 10 accounts are complete\), after /),
  ]);
  expect(end.code).toBe(1);
  expect(table?.match(/^desk-\d+/gm)).toEqual(
    names.filter((name) => name !== unified && name !== wrongSecret),
  );

  expect(end.stderr).toMatch(/^\S+ holds credentials, .*chmod 600/m);
  for (const { apiKey, apiSecret, apiPassphrase } of sandbox.accounts)
    for (const secret of [apiKey, apiSecret, apiPassphrase])
      expect(end.stdout + end.stderr).not.toContain(secret);

  for (const account of sandbox.accounts) {
    const found = await heldAgainstLedger(
      open.db,
      { account },
      productType,
      startedAt,
      account.name,
    );
    expect(found.expected).toBeGreaterThan(300);
    if (failing.includes(account.name)) expect(found.equal).toBe(0);
    else expect({ name: account.name, ...found }).toMatchObject({ name: account.name, ...exactly });
  }

  const { "429": _, ...refusals } = sandbox.statistics().refusals;
  expect(Object.keys(refusals).sort()).toEqual(["40009", "40014", "40085"]);

  const { rows } = await open.db.execute(sql`
    select count(*)::integer as keys, count(distinct account)::integer as accounts from account_keys`);
  // The keys of the unified account and of the one without the right are whose the exchange tells.
  expect(rows).toEqual([{ keys: 9, accounts: 9 }]);
});
