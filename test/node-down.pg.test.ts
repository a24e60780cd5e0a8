// A node that is down stops only its own accounts: each command does the others and names it.

import { join } from "node:path";
import { sql } from "drizzle-orm";
import pg from "pg";
import { expect, test } from "vitest";
import { dayMs } from "../src/contract/time.ts";
import { readReachable } from "../src/db/citus.ts";
import { openDatabase } from "../src/db/connect.ts";
import { countLedgers } from "../src/health/ledgers.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { changeKeys, type MirrorKey } from "../src/serve/keys/key-file.ts";
import { accountsEnvironment } from "./support/accounts-file.ts";
import { runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { divideTables } from "./support/divided-tables.ts";
import { coverUpTo, queueAccounts } from "./support/fleet.ts";
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
  const run = (...args: readonly string[]) => runCli(args, { env, maxMs: 120_000 });
  await using serving = await startCli(["serve", "--port", "0"], { env, cwd: folder.path });
  const [url] = await serving.seen("stdout", /^http:\/\/127\.0\.0\.1:\d+/);
  const get = async (path: string) => {
    const answer = await fetch(`${url}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  const day = (ago: number) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);
  // A few commands at a time. Each asks for all accounts first, and then for one account after the other.
  const [reconciled, listed, planned, exported, refused, examined] = await Promise.all([
    run("reconcile", "--full", "--json"),
    run("accounts", "list", "--json"),
    run("sync", "--dry-run", "--json"),
    run("export", "--format", "hledger", "--account", "west", "north"),
    run("export", "--format", "csv"),
    run("doctor", "--json"),
  ]);
  const [synced, status, shown, queued] = await Promise.all([
    run("sync", "--json"),
    run("status", "--json"),
    run("status", "--check"),
    queueAccounts(env),
  ]);
  // More often than a plan for all accounts would be made.
  const askFor = (key: MirrorKey) =>
    Promise.all(Array.from({ length: 8 }, () => askServer(url ?? "", key)));
  const ofItself = askFor(ofHanging);
  const [metrics, served, ready, mirrored, verified] = await Promise.all([
    run("status", "--format", "prometheus"),
    get("/metrics"),
    get("/readyz"),
    askFor(ofWest),
    run("verify", "--json", "--repair", "--from", day(20), "--to", day(2)),
  ]);
  const [breakOfWest] = await query<{ id: string }>(
    database.url,
    "select break_id as id from ledger_breaks where account = 'west'",
  );
  const id = breakOfWest?.id ?? "";
  const accepting = (wanted: string) => run("breaks", "accept", wanted, "--note", "known");
  const [page, reports, listedBreaks, accepted, notFound, rowNotFound] = await Promise.all([
    get("/"),
    run("report", "--month", day(20).slice(0, 7)),
    run("breaks", "list", "--all", "--json"),
    accepting(id),
    accepting("999"),
    accepting("a".repeat(64)),
  ]);
  const reopened = await run("breaks", "reopen", id);
  const others = accountNames.filter((name) => name !== hanging);
  const reason = expect.stringMatching(/^its rows cannot be read \(.*statement timeout/);

  expect(synced, synced.stderr).toMatchObject({ code: 1 });
  const { accounts, outcome, ledgers } = JSON.parse(synced.stdout);
  expect(outcome).toBe("incomplete");
  const failed = accounts.filter(({ error }: { error: string | null }) => error !== null);
  expect(failed).toMatchObject([{ account: hanging, error: reason }]);
  expect(ledgers).toMatchObject(
    others.map((account) => ({ account, windows: { planned: 1, walked: 1 } })),
  );

  expect(status, status.stderr).toMatchObject({ code: 1 });
  const told = JSON.parse(status.stdout);
  expect(told.unreachable).toMatchObject([{ account: hanging, error: reason }]);
  expect(told.ledgers).toMatchObject(others.map((account) => ({ account })));
  expect(shown, shown.stderr).toMatchObject({ code: 1 });
  expect(shown.stdout).toMatch(/^south: its rows cannot be read /m);
  expect(shown.stdout).toMatch(
    /^critical +south cannot be read from the database +bill-sync doctor$/m,
  );

  expect(queued).toMatch(/^queued 4 of 4 jobs\nnot queued: south: its rows cannot /);

  const away = [{ account: hanging, error: reason }];
  const accountsIn = (told: readonly object[]) => told.map((one) => Reflect.get(one, "account"));
  const checked = JSON.parse(reconciled.stdout);
  expect(reconciled, reconciled.stderr).toMatchObject({ code: 1 });
  expect(checked.unreachable).toMatchObject(away);
  expect([...new Set(accountsIn(checked.chains))]).toEqual(others);
  expect(accountsIn(checked.breaks)).not.toContain(hanging);
  expect(listed, listed.stderr).toMatchObject({ code: 1 });
  expect(JSON.parse(listed.stdout).unreachable).toMatchObject(away);
  expect(accountsIn(JSON.parse(listed.stdout).ledgers)).toEqual(others);
  expect(planned, planned.stderr).toMatchObject({ code: 1 });
  expect(JSON.parse(planned.stdout).unreachable).toMatchObject(away);
  expect(verified, verified.stderr).toMatchObject({ code: 1 });
  const { accounts: read, ledgers: compared } = JSON.parse(verified.stdout);
  expect(read).toMatchObject([...others.map((account) => ({ account })), ...away]);
  expect(accountsIn(compared)).toEqual(others);
  const { checks } = JSON.parse(examined.stdout);
  expect(examined, examined.stderr).toMatchObject({ code: 1 });
  expect(checks.filter(({ status }: { status: string }) => status === "FAIL")).toMatchObject([
    { name: "rows", result: expect.stringMatching(/^south: its rows cannot be read /) },
  ]);
  for (const name of others.map((account) => `account ${account}`))
    expect(checks).toContainEqual(expect.objectContaining({ name, status: "ok" }));

  expect(page.status).toBe(503);
  expect(page.text).toMatch(/Some accounts cannot be read.*south: its rows cannot be read /s);
  expect(listedBreaks).toMatchObject({ code: 1 });
  expect(JSON.parse(listedBreaks.stdout).unreachable).toMatchObject(away);
  expect(accountsIn(JSON.parse(listedBreaks.stdout).breaks)).toContain("west");
  expect(accepted, accepted.stderr).toMatchObject({ code: 0 });
  expect(accepted.stdout).toMatch(/^accepted 1 break \(#\d+\): known$/m);
  expect(reopened, reopened.stderr).toMatchObject({ code: 0 });
  expect(reopened.stdout).toMatch(/^reopened 1 break /m);
  for (const { code, stderr } of [notFound, rowNotFound]) {
    expect({ code, stderr }).toMatchObject({ code: 1 });
    expect(stderr).toMatch(
      /^\w+: no .* in the accounts that can be read; nothing was changed; .*: south: its rows /m,
    );
  }

  // A file has all requested accounts, or is not written.
  expect(reports).toMatchObject({ code: 1, stdout: "" });
  expect(reports.stderr).toMatch(/^nothing was written: south: its rows .*--account$/m);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(
    /^nothing was written: south: its rows cannot be read .*--account$/m,
  );
  expect(exported, exported.stderr).toMatchObject({ code: 0 });
  expect([...new Set(exported.stdout.match(/\b(?:north|west)\b/g))]).toEqual(["north", "west"]);

  expect(metrics, metrics.stderr).toMatchObject({ code: 1 });
  expect(metrics.stderr).toMatch(/^left out: south: its rows cannot be read /m);
  for (const answer of mirrored) expect(answer).toMatchObject({ status: 200, code: "00000" });
  for (const answer of await ofItself) expect(answer).toMatchObject({ status: 503, code: "40725" });
  expect(ready.status).toBe(200);
  expect(JSON.parse(ready.text)).toMatchObject({ status: "ready", unreachable: 1 });
  expect(served.status).toBe(200);
  for (const text of [metrics.stdout, served.text]) {
    const values = (name: string) => seriesOf(text, `bill_sync_${name}`);
    expect(values("findings")['kind="unreachable",severity="critical"']).toBe(1);
    expect(values("accounts")).toEqual({ "": others.length });
    expect(Object.keys(values("complete_through_timestamp_seconds"))).toEqual([""]);
  }
}, 240_000);

test("of very many accounts each node is asked once, and those of one that is down are left out", async () => {
  await using database = await testDatabase();
  // A statement that waits for the node fails at once.
  const address = await standInForNodes(database.url, "-c lock_timeout=100");
  const names = Array.from({ length: 300 }, (_, index) => `fund-${index}`);
  await using open = openDatabase(address);
  const { db } = open;
  await coverUpTo(db, names, "USDT-FUTURES", Date.now());
  const { rows } = await db.execute<{ account: string }>(sql`
    select account
    from ledgers
    where citus.get_shard_id_for_distribution_column('ledgers', account) in (4, 5)
    order by account`);
  const ofNode = rows.map(({ account }) => account);
  expect(ofNode.length).toBeGreaterThan(20);
  await using _ = await hangNode(database.url, ofNode[0] ?? "");
  const { result, unreachable } = await readReachable(
    db,
    async () => names,
    (accounts) => countLedgers(db, { accounts }),
  );
  expect(unreachable.map(({ account }) => account).toSorted()).toEqual(ofNode);
  expect(new Set(unreachable.map(({ error }) => /node (\S+)/.exec(error.message)?.[1]))).toEqual(
    new Set(["node-2:5432"]),
  );
  expect(result).toBe(names.length - ofNode.length);
}, 60_000);
