import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { Account, Configured } from "../src/accounts/account.ts";
import { readRoster } from "../src/accounts/roster.ts";
import { openTestDatabase } from "./support/database.ts";

// One account a state. A row of `ledgers` is a ledger that was read, or the state of a whole account.
const rows = `
  insert into ledgers (account, product_type, first_unread_at) values
    ('read', 'USDT-FUTURES', now()), ('retired', 'USDT-FUTURES', now()),
    ('part', 'USDT-FUTURES', now()), ('part', 'COIN-FUTURES', now()), ('ended', 'USDT-FUTURES', now()),
    ('refused', 'USDT-FUTURES', now()), ('gone', 'USDT-FUTURES', now()), ('unified', 'UTA-SPOT', now()),
    ('read', 'SUSDT-FUTURES', now()), ('funding', 'UTA-FUNDING', now());
  insert into ledgers (account, product_type, retired_at) values ('retired', '', now());
  insert into ledgers (account, product_type, mode, mode_since) values
    ('unified', '', 'unified', now()), ('funding', '', 'unified', now()), ('ended', '', 'unified', now());
  insert into ledgers (account, product_type, not_available_since, not_available_asked_at) values
    ('unified', 'UTA-MARGIN', now(), now());
  update ledgers set retired_at = now() where account = 'part' and product_type = 'COIN-FUTURES';
  update ledgers set ended_at = now() where account = 'ended' and product_type = 'USDT-FUTURES';
  update ledgers set not_available_since = now(), not_available_asked_at = now() where account = 'refused'`;

const account = (name: string, ...productTypes: Account["productTypes"]): Account => ({
  name,
  productTypes,
  readsAll: name === "refused",
});
const accounts = [
  account("read", "USDT-FUTURES", "COIN-FUTURES", "SUSDT-FUTURES"),
  ...["retired", "ended", "refused"].map((name) => account(name, "USDT-FUTURES")),
  account("part", "USDT-FUTURES", "COIN-FUTURES"),
  account("unified", "UTA-SPOT"),
  // Its wallet is its own: nothing else of the account is asked for.
  account("funding", "UTA-FUNDING"),
];
const configured: Configured = {
  accounts,
  accountNames: accounts.map(({ name }) => name),
  namesAccounts: true,
};

const states: readonly [ledger: string, state: string][] = [
  ["read/USDT-FUTURES", "active"],
  ["read/COIN-FUTURES", "active, never"],
  ["read/SUSDT-FUTURES", "active"],
  ["retired/USDT-FUTURES", "retired"],
  ["ended/USDT-FUTURES", "ended"],
  ["refused/USDT-FUTURES", "not-available"],
  ["part/USDT-FUTURES", "active"],
  ["part/COIN-FUTURES", "retired"],
  ["unified/UTA-SPOT", "active"],
  // Who reads one category of a unified account lacks those whose balances it shares, but for a refused one.
  ["unified/UTA-USDT-FUTURES", "not-configured, never"],
  ["unified/UTA-COIN-FUTURES", "not-configured, never"],
  ["unified/UTA-USDC-FUTURES", "not-configured, never"],
  ["unified/UTA-OTHER", "not-configured, never"],
  ["funding/UTA-FUNDING", "active"],
  ["gone/USDT-FUTURES", "not-configured"],
];

test("a ledger has one state, whoever asks for it", async () => {
  await using database = await openTestDatabase();
  await database.db.execute(sql.raw(rows));
  const { ledgers } = await readRoster(database.db, configured);
  expect(
    ledgers.map(({ state, isStored, ...ledger }) => [
      `${ledger.account}/${ledger.productType}`,
      [state, ...(isStored ? [] : ["never"])].join(", "),
    ]),
  ).toEqual(states);
  const namesOf = async (which: object) =>
    (await readRoster(database.db, configured, which)).ledgers.map((one) => one.account);
  expect(await namesOf({ accounts: ["gone", "read"] })).toEqual(["read", "read", "read", "gone"]);
  expect(await namesOf({ productTypes: ["SUSDT-FUTURES"] })).toEqual(["read"]);
  await expect(namesOf({ accounts: ["raed"] })).rejects.toThrow(/raed.* did you mean read\?/);
  await expect(namesOf({ productTypes: ["USDT-FUTURES", "SCOIN-FUTURES"] })).rejects.toThrow(
    "--product SCOIN-FUTURES is neither configured nor stored",
  );
});

test("a name that nobody configured is only the default's, unless it is typed", async () => {
  const main = account("main", "USDT-FUTURES");
  const unnamed = { accounts: [main], accountNames: ["main"], namesAccounts: false };
  expect((await readRoster(undefined, unnamed)).ledgers).toEqual([]);
  expect((await readRoster(undefined, unnamed, { accounts: ["main"] })).ledgers).toHaveLength(1);
});
