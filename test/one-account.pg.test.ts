// A statement that writes touches only the rows of one account, and names it as a constant, which the plan
// shows. What distributed Postgres refuses anyway, reports and views of days, is not among them.

import { expect, test } from "vitest";
import { dayMs, hourMs } from "../src/lib/time.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { accountsEnvironment } from "./support/accounts-file.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import {
  brokenRules,
  dividedTables,
  divideTables,
  type SeenStatement,
  seenStatement,
  statementNotices,
} from "./support/divided-tables.ts";
import { query } from "./support/query.ts";
import { proxyTo } from "./support/tcp-proxy.ts";

/** Statements that ask for several accounts at once, and why. Each of them only reads. */
const forSeveral: readonly (readonly [pattern: RegExp, why: string])[] = [
  [
    / from ledgers where (?:retired_at |product_type = '' )|^select account, product_type, mode, /,
    "what is retired or refused, of the accounts of a command",
  ],
  [/ from rejected_bills where \(?closed_at is null/, "which rows are rejected, for all to see"],
  [/^select account from "ledger_breaks" union /, "whom to reconcile: account by account, then"],
  [/ where ledgers\.bills > coalesce\(counts\.bills/, "doctor: which ledgers have lost bills"],
  [/ from ledgers where planned_at /, "what time it is at the exchange"],
  [/ from "ledger_breaks" where "ledger_breaks"."state" /, "breaks list: those of all accounts"],
  [/ from "ledger_breaks" where \("ledger_breaks"."state" /, "repair: which time to read again"],
  [/ from "break_decisions" where true /, "breaks list: what was decided of them"],
  [/^select count\(\*\) from "ledger_breaks" where /, "reconcile: how its last line ends"],
];

const textOf = ({ text }: SeenStatement): string => text.replaceAll(/\s+/g, " ").trim();

test("each statement that writes touches one account's rows alone, and few that read touch more", async () => {
  await using database = await testDatabase();
  await divideTables(database.url);
  const seen: SeenStatement[] = [];
  const listen = statementNotices((told) => seen.push(seenStatement(told)));
  await using proxy = await proxyTo(database.url, undefined, listen);
  await using sandbox = await openSandbox({
    seed: "one account",
    accountNames: ["north", "south", "west"],
    productTypes: ["USDT-FUTURES"],
    density: 0.02,
    // Where the exchange does not tell whose key it is, other accounts' bills are looked at.
    alterCredential: (credential) =>
      credential.name === "west" ? { ...credential, permissions: ["bills"] } : credential,
  });
  await using folder = await temporaryFolder();
  const env = {
    DATABASE_URL: proxy.url,
    ...(await accountsEnvironment(folder.path, sandbox, "USDT-FUTURES")),
  };
  const run = async (...args: readonly string[]) => {
    const end = await runCli(args, { env });
    expect(end.code, `${args.join(" ")}: ${end.stderr}`).toBeLessThanOrEqual(1);
  };
  await run("sync");
  await query(database.url, damage);
  const at = (ago: number) => new Date(Date.now() - ago).toISOString();
  await run("verify", "--from", at(10 * dayMs), "--to", at(hourMs), "--repair");
  await run("breaks", "list");
  await run("sync");
  await run("reconcile");
  await run("reconcile", "--full");
  await run("doctor");

  const tables = new Set(seen.flatMap((statement) => [...statement.tables]));
  for (const table of [
    ...["bills", "bill_revisions", "rejected_bills", "ledgers", "windows"],
    ...["wallet_rules", "ledger_breaks", "reconciled_chains"],
  ]) {
    expect(tables, table).toContain(table);
  }
  const broken = seen.flatMap(({ texts }) =>
    texts.flatMap((text) => brokenRules(text).map((rule) => `${rule}: ${text}`)),
  );
  expect([...new Set(broken)]).toEqual([]);
  expect(seen.filter(({ written }) => written.size > 1).map(textOf)).toEqual([]);
  const wide = seen.filter(({ parts }) => parts.size > 1);
  expect(wide.filter(({ written }) => written.size > 0).map(textOf)).toEqual([]);
  const texts = new Set(wide.map(textOf));
  const unknown = [...texts].filter((text) => !forSeveral.some(([pattern]) => pattern.test(text)));
  expect(unknown).toEqual([]);
  const unused = forSeveral.filter(([pattern]) => ![...texts].some((text) => pattern.test(text)));
  expect(unused).toEqual([]);

  await query(database.url, dividedTables.map(keepsAccount).join(";\n"));
  await run("accounts", "rename", "west", "east");
  const accounts = "select distinct account from bills order by account";
  expect(await query(database.url, accounts)).toEqual(
    ["east", "north", "south"].map((account) => ({ account })),
  );
}, 240_000);

/** A distributed table's rows keep the account by which they are divided. */
const keepsAccount = (table: string): string => `
  create or replace function keep_account() returns trigger language plpgsql as $$
  begin
    if new.account <> old.account then raise 'the account of a row is updated'; end if;
    return new;
  end
  $$;
  create trigger keep_account before update on ${table}
  for each row execute function keep_account()`;

/** Some bills are missing, some are different, and one rejected row can be read now. */
const damage = `
  delete from bills
  where bill_id in (select max(bill_id) from bills where c_time < now() - interval '1 day' group by account);
  update bills
  set amount = amount + 1
  where bill_id in (select max(bill_id) from bills where c_time < now() - interval '1 day' group by account);
  insert into rejected_bills (
    account, product_type, digest, received, path, reason, rejected_at
  )
  select
    account,
    'USDT-FUTURES',
    'digest of ' || account,
    json_build_object(
      'billId', '1098396773329305606', 'symbol', 'BTCUSDT', 'amount', '1', 'fee', '0', 'feeByCoupon', '',
      'businessType', 'open_long', 'coin', 'USDT', 'balance', '1', 'cTime', '1695715052000'
    )::text,
    '',
    'an older version could not read it',
    now()
  from (select distinct account from bills) as accounts`;
