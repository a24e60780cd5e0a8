// A node that is down stops only its own accounts: each command does the others and names it.

import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { dayMs } from "../src/lib/time.ts";
import { openSandbox } from "../src/wings/sandbox/sandbox.ts";
import { changeKeys, type MirrorKey } from "../src/wings/serve/mirror/key-file.ts";
import { accountsEnvironment } from "./support/accounts-file.ts";
import { runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { divideTables } from "./support/divided-tables.ts";
import { queueAccounts } from "./support/fleet.ts";
import { aMirrorKey, askServer } from "./support/mirror.ts";
import { seriesOf } from "./support/promtool.ts";
import { query } from "./support/query.ts";

const accountNames = ["east", "north", "south", "west"];
const hanging = "south";

/** The extension's list of nodes: each of four nodes holds two parts of each table. */
const standIn = `
  create schema citus;
  create table citus.pg_dist_placement (shardid bigint, groupid int);
  insert into citus.pg_dist_placement select part, part / 2 from generate_series(0, 7) as part;
  create table citus.pg_dist_node (groupid int, nodename text, nodeport int, noderole text);
  insert into citus.pg_dist_node
  select node, 'node-' || node, 5432, role
  from generate_series(0, 3) as node, unnest(array['primary', 'secondary']) as role;
  create function citus.get_shard_id_for_distribution_column(named regclass, account text)
    returns bigint language sql as $$
      select part
      from generate_series(0, 7) as part
      where satisfies_hash_partition(named, 8, part, account collate "C")
    $$;`;

/** The database's address for a program that takes the parts of its tables for nodes. */
async function standInForNodes(url: string, ...options: readonly string[]): Promise<string> {
  await divideTables(url);
  await query(url, standIn);
  const address = new URL(url);
  const settings = ["-c search_path=public,citus,pg_catalog", ...options];
  address.searchParams.set("options", settings.join(" "));
  return address.href;
}

/** Locks the parts of all tables that hold the account's rows, as if their node hung. */
async function hangNode(url: string, account: string) {
  const [place] = await query<{ part: string }>(
    url,
    `select substring(tableoid::regclass::text from '_part_\\d+$') as part
     from ledgers where account = '${account}' limit 1`,
  );
  const tables = await query<{ name: string }>(
    url,
    `select relname as name from pg_class where relkind = 'r' and relname like '%${place?.part}'`,
  );
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`begin; lock table ${tables.map(({ name }) => name).join(", ")}`);
  return { [Symbol.asyncDispose]: () => client.end() };
}

test("a node that hangs holds up its own account: each command does the others, names it and ends with 1", async () => {
  await using database = await testDatabase();
  const address = await standInForNodes(database.url);
  await using sandbox = await openSandbox({
    seed: "node down",
    accountNames,
    productTypes: ["USDT-FUTURES"],
    density: 0.02,
  });
  await using folder = await temporaryFolder();
  const env = {
    DATABASE_URL: address,
    ...(await accountsEnvironment(folder.path, sandbox, "USDT-FUTURES")),
  };
  const [ofWest, ofHanging] = ["west", hanging].map((name) =>
    aMirrorKey(name, { incomplete: "allow" }),
  );
  if (ofWest === undefined || ofHanging === undefined) throw new Error("no keys");
  await changeKeys(join(folder.path, "mirror-keys.json"), () => [ofWest, ofHanging]);
  expect(await runCli(["sync"], { env })).toMatchObject({ code: 0 });
  await queueAccounts(env);
  await query(database.url, "delete from fleet.job");
  // The other accounts' rows lie in other parts.
  expect(
    await query(
      database.url,
      `select distinct account from ledgers where tableoid in (
         select tableoid from ledgers where account = '${hanging}')`,
    ),
  ).toEqual([{ account: hanging }]);

  // The rows that a rename leaves under the old name.
  await query(
    database.url,
    `insert into leases (account, holder, epoch, taken_at, expires_at)
     values ('old-name', '', 1, now(), now())`,
  );
  // A bill is missing, so that reconcile finds a break. The others' transfers are left to be paired.
  await query(
    database.url,
    "delete from bills where account = 'west' and business_type like 'trans_%_contract'",
  );

  await using _ = await hangNode(database.url, hanging);
  const run = (words: string) => runCli(words.split(" "), { env, maxMs: 120_000 });
  const away = [
    { account: hanging, error: expect.stringMatching(/^its rows cannot be read \(.*time/) },
  ];
  const others = accountNames.filter((name) => name !== hanging);
  const accountsIn = (told: readonly object[]) => [
    ...new Set(told.map((one) => Reflect.get(one, "account"))),
  ];
  /** What a command prints as JSON, of the accounts that can be read. */
  const told = async (words: string) => {
    const end = await run(`${words} --json`);
    expect({ words, ...end }, end.stderr).toMatchObject({ words, code: 1 });
    return JSON.parse(end.stdout);
  };
  const day = (ago: number) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);
  await using serving = await startCli(["serve", "--port", "0"], { env, cwd: folder.path });
  const [url = ""] = await serving.seen("stdout", /^http:\/\/127\.0\.0\.1:\d+/);
  const get = async (path: string) => {
    const answer = await fetch(`${url}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  // More often than a plan for all accounts would be made.
  const askFor = (key: MirrorKey) =>
    Promise.all(Array.from({ length: 8 }, () => askServer(url, key)));

  // A few commands at a time. Each asks for all accounts first, and then for one account after the other.
  const [reconciled, listed, planned, examined] = await Promise.all(
    ["reconcile --full", "accounts list", "sync --dry-run", "doctor"].map(told),
  );
  const [synced, status] = await Promise.all(["sync", "status"].map(told));
  const verified = await told(`verify --repair --from ${day(20)} --to ${day(2)}`);
  for (const { unreachable } of [reconciled, listed, planned, status])
    expect(unreachable).toMatchObject(away);
  expect(accountsIn(reconciled.chains)).toEqual(others);
  expect(accountsIn(reconciled.breaks)).not.toContain(hanging);
  expect(accountsIn(listed.ledgers)).toEqual(others);
  expect(accountsIn(status.ledgers)).toEqual(others);
  expect(synced.outcome).toBe("incomplete");
  const failed = synced.accounts.filter(({ error }: { error: string | null }) => error !== null);
  expect(failed).toMatchObject(away);
  expect(synced.ledgers).toMatchObject(
    others.map((account) => ({ account, windowsPlanned: 1, windowsRead: 1 })),
  );
  expect(verified.accounts).toMatchObject([...others.map((account) => ({ account })), ...away]);
  expect(accountsIn(verified.ledgers)).toEqual(others);
  const checks = examined.checks.filter(({ name }: { name: string }) =>
    /^(account |rows)/.test(name),
  );
  expect(checks).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        status: "FAIL",
        result: expect.stringMatching(/^south: its rows/),
      }),
      ...others.map((name) => expect.objectContaining({ name: `account ${name}`, status: "ok" })),
    ]),
  );

  const [break_] = await query<{ id: string }>(
    database.url,
    "select break_id as id from ledger_breaks where account = 'west'",
  );
  // The words of a command, its exit code, and what it prints of both streams.
  for (const [words, code, shown] of [
    [
      "status --check",
      1,
      /^critical +bill-sync doctor +south cannot be read from the database$[\s\S]*^south: its rows cannot be read /m,
    ],
    ["breaks list --all", 1, /west/],
    [`breaks accept ${break_?.id} --note known`, 0, /^accepted 1 break \(#\d+\): known$/m],
    [`breaks reopen ${break_?.id}`, 0, /^reopened 1 break /m],
    [
      "breaks accept 999 --note known",
      1,
      /^there is no open break #999 in the accounts that can be read; nothing was/m,
    ],
    [
      `breaks accept ${"a".repeat(64)} --note x`,
      1,
      /^there is no open rejected row a+ in the accounts that can be read; /m,
    ],
    // A file has all requested accounts, or is not written.
    [
      `report --month ${day(20).slice(0, 7)}`,
      1,
      /^nothing was written: south: its rows .*--account$/m,
    ],
    [
      "export --format csv",
      1,
      /^nothing was written: south: its rows cannot be read .*--account$/m,
    ],
    ["export --format hledger --account west north", 0, /\bnorth\b[\s\S]*\bwest\b/],
    ["status --format prometheus", 1, /^left out: south: its rows cannot be read /m],
  ] as const) {
    const end = await run(words);
    expect({ words, code: end.code, shown: end.stdout + end.stderr }).toEqual({
      ...{ words, code, shown: expect.stringMatching(shown) },
    });
  }
  expect(await queueAccounts(env)).toMatch(
    /^queued 4 of 4 jobs\nnot queued: south: its rows cannot /,
  );

  const [ofOther, ofItself] = await Promise.all([askFor(ofWest), askFor(ofHanging)]);
  for (const answer of ofOther) expect(answer).toMatchObject({ status: 200, code: "00000" });
  for (const answer of ofItself) expect(answer).toMatchObject({ status: 503, code: "40725" });
  const ready = await get("/readyz");
  expect([ready.status, JSON.parse(ready.text)]).toMatchObject([200, { unreachable: 1 }]);
  const page = await get("/");
  expect(page.status).toBe(503);
  expect(page.text).toMatch(/An account cannot be read.*south: its rows cannot be read /s);
  const values = (text: string, name: string) => seriesOf(text, `bill_sync_${name}`);
  for (const text of [
    (await get("/metrics")).text,
    (await run("status --format prometheus")).stdout,
  ]) {
    expect(values(text, "findings")['kind="unreachable",severity="critical"']).toBe(1);
    expect(values(text, "accounts")).toEqual({ "": others.length });
  }
}, 240_000);
