// A backup has all of one moment, and is restored whole or not at all, also into another version of Postgres; a
// sync after restoring an older one misses nothing (cut, changed and foreign files; where /usr/lib/postgresql
// has another version, it says so).

import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { readStoredBills } from "../src/core/store/bill-rows.ts";
import { Leases } from "../src/core/store/lease.ts";
import { horizonAt } from "../src/core/words/plan.ts";
import { StoppedError } from "../src/lib/errors.ts";
import { dayMs, epochMs } from "../src/lib/time.ts";
import { backUp, keptTables } from "../src/wings/backup/backup.ts";
import { readBackup } from "../src/wings/backup/backup-file.ts";
import { restore } from "../src/wings/backup/restore.ts";
import { compareWithLedger } from "../src/wings/sandbox/comparison.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { openTestDatabase, type TestDatabase, testDatabase } from "./support/database.ts";
import { otherPostgres } from "./support/debian-postgres.ts";
import { migrateAt } from "./support/migrate-at.ts";
import { query } from "./support/query.ts";
import { scratch } from "./support/scratch.ts";
import { distantServer } from "./support/tcp-proxy.ts";
import { throwawayServer } from "./support/throwaway-server.ts";

const { signal } = new AbortController();
const emptyDatabase = () => openTestDatabase({ isEmpty: true });

async function backup(url: string, path: string) {
  const end = await runCli(["db", "backup", path, "--force", "--json"], {
    env: { DATABASE_URL: url },
  });
  expect(end).toMatchObject({ code: 0, stderr: "" });
  return JSON.parse(end.stdout);
}

/** The digest of each table's rows. */
async function digestsOf(path: string) {
  const digests = new Map<string, string>();
  await readBackup(path, {
    async take({ name }, rows) {
      const text = Buffer.concat(await Array.fromAsync(rows)).toString("latin1");
      const sorted = text.split("\n").toSorted().join("\n");
      digests.set(name, createHash("sha256").update(sorted).digest("hex"));
    },
  });
  return digests;
}

// Content that a text format could lose: separators, escapes, digits, spellings, and NULL beside "".
const hostile = String.raw`
  insert into bills (
    account, product_type, bill_id, symbol, amount, fee, fee_by_coupon, business_type, coin, balance, c_time, extra,
    ingested_at
  )
  values
    ('a', 'USDT-FUTURES', e'1\\.', e'\\.\n\\.', 1e-400, 0.0, null, e'\t', e'\\N', -0.00, '1970-01-01Z',
     '{"spelled" : 0E-8,  "text": "\\n\u00e9"}', '2026-01-01Z'),
    ('a', 'USDT-FUTURES', e'2\r\n', '', 123456789012345678901234567890.123456789000, 0, 0, '\.', '',
     null, '9999-12-31 23:59:59.999Z', null, '2026-01-01Z');
  insert into rejected_bills (
    account, product_type, digest, received, path, reason, rejected_at
  )
  values
    ('a', 'USDT-FUTURES', 'd', e'{"x":"\\t\\\\."}\n\\.\n', '', e'\x01', now());
  insert into ltv_snapshots (
    account, risk_unit_id, first_seen_at, last_seen_at, ltv, sub_account_uids, usdt_balance, unpaid_usdt_amount
  )
  values ('a', '', now(), now(), 0.10, array['1', null, '{},"', ''], 1, 2);`;

let folder: string;
let full: TestDatabase;
let path: string;
let made: Awaited<ReturnType<typeof backup>>;

beforeAll(async () => {
  folder = await mkdtemp(join(scratch, "bill-sync-backup-"));
  full = await testDatabase();
  await using sandbox = await openSandbox({ seed: "backup", density: 0.2 });
  const env = environmentFor(sandbox, full, { SYNC_LTV: "true" });
  expect(await runCli(["sync"], { env })).toMatchObject({ code: 0 });
  await query(
    full.url,
    `update bills set balance = balance + 1
    where bill_id = (select bill_id from bills where balance is not null order by c_time limit 1 offset 9)`,
  );
  expect(await runCli(["reconcile", "--full"], { env })).toMatchObject({ code: 1 });
  await query(full.url, hostile);
  path = join(folder, "full.gz");
  made = await backup(full.url, path);
}, 120_000);

afterAll(async () => {
  await full[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe("a backup", () => {
  test("holds every table of the ledger whole, and not who holds an account", async () => {
    const counts = keptTables.map(
      (table) => `select '${table}' as table, count(*)::int as rows from ${table}`,
    );
    const rows = await query<object>(full.url, counts.join(" union all "));
    expect(made.tables).toEqual(expect.arrayContaining([...rows]));
    expect(made.tables.filter(({ rows }: { rows: number }) => rows > 0).length).toBeGreaterThan(13);
    const names = made.tables.map(({ table }: { table: string }) => table);
    expect(names).not.toContain("leases");
    const others = await query<{ name: string }>(
      full.url,
      "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and not relispartition",
    );
    expect(new Set([...names, "leases", "analytics_views"])).toEqual(
      new Set(others.map(({ name }) => name)),
    );
  });

  test("is its owner's alone, and is not written over a file that is there", async () => {
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).filter((name) => name.startsWith("."))).toEqual([]);
    const before = await readFile(path);
    const end = await runCli(["db", "backup", path], { env: { DATABASE_URL: full.url } });
    expect(end).toMatchObject({ code: 2, stderr: `${path} exists; add --force to replace it\n` });
    expect(await readFile(path)).toEqual(before);
  });

  test("holds one moment, whatever is committed while it is taken", async () => {
    await using database = openDatabase(full.url);
    await using own = await emptyDatabase();
    await migrateAt(own.url);
    const moment = join(folder, "moment.gz");
    const parts: Buffer[] = [];
    const header = await backUp(
      database.db,
      async (lines) => {
        for await (const part of lines) {
          if (parts.length === 0) {
            await query(
              full.url,
              "update bills set symbol = symbol; insert into wallet_rules (account, product_type, category, counts_amount, counts_fee, counts_coupon, is_testable, tested, fitting) values ('later', 'x', 'x', true, true, true, true, 1, 1)",
            );
          }
          parts.push(Buffer.from(part));
        }
      },
      signal,
    );
    await query(full.url, "delete from wallet_rules where account = 'later'");
    await writeFile(moment, gzipSync(Buffer.concat(parts)));
    expect(header.tables.map(({ name, rows }) => ({ table: name, rows }))).toEqual(made.tables);
    expect(await digestsOf(moment)).toEqual(await digestsOf(path));
  });
});

test("a stop ends a backup and a restore with its reason, and leaves nothing", async () => {
  const stopped = new StoppedError("stopped on request");
  await using database = openDatabase(full.url);
  const stop = new AbortController();
  const writing = backUp(
    database.db,
    async (lines) => {
      for await (const _ of lines) stop.abort(stopped);
    },
    stop.signal,
  );
  await expect(writing).rejects.toBe(stopped);
  await using other = await emptyDatabase();
  await expect(restore(other.db, path, stop.signal)).rejects.toBe(stopped);
  const left = "select 1 from pg_class where relnamespace = 'public'::regnamespace";
  expect(await query(other.url, left)).toEqual([]);
});

describe("restore", () => {
  test("gives every row back as it was, in every table", async () => {
    await using database = await emptyDatabase();
    await using way = await distantServer(database.url, { roundTripMs: 0 });
    const env = { DATABASE_URL: way.url };
    const end = await runCli(["db", "restore", path], { env });
    expect(end).toMatchObject({ code: 0, stderr: "" });
    // A role, or a pooler in session mode, may have no second one.
    expect(way.connections().most).toBe(1);
    expect(end.stdout).toMatch(/^restored \S+: [\d,]+ bills, [\d,]+ rows of \d+ tables, taken /);
    const again = join(folder, "again.gz");
    await backup(database.url, again);
    expect(await digestsOf(again)).toEqual(await digestsOf(path));
    expect((await runCli(["status", "--json"], { env })).code).toBe(0);
    expect(
      await query(database.url, "select 1 from analytics.daily_rollforward limit 1"),
    ).toHaveLength(1);
  });

  test("refuses a database that holds bills by name, and changes nothing there", async () => {
    await using database = await testDatabase();
    await query(
      database.url,
      "insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, c_time, ingested_at) values ('a', 'p', '1', 1, 0, 'x', 'x', now(), now())",
    );
    const end = await runCli(["db", "restore", path], { env: { DATABASE_URL: database.url } });
    const name = new URL(database.url).pathname.slice(1);
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toMatch(
      new RegExp(
        `^the database ${name} is not empty, its table bills holds 1 row:.*another DATA_DIR\\n$`,
      ),
    );
    expect(await query(database.url, "select bill_id from bills")).toEqual([{ bill_id: "1" }]);
    expect(await query(database.url, "select 1 from windows")).toEqual([]);
  });

  test("takes a database that was only migrated, and one where a run is at work not", async () => {
    await using database = await openTestDatabase();
    {
      await using _lease = await new Leases(database.db).take("a", { signal });
      const end = await runCli(["db", "restore", path], { env: { DATABASE_URL: database.url } });
      expect(end).toMatchObject({
        ...{ code: 3, stderr: expect.stringMatching(/is at work in the database/) },
      });
    }
    expect(await restore(database.db, path, signal)).toMatchObject({ migrated: 0 });
    // Without statistics a report of a year took 40 s instead of 7, until autovacuum came.
    const known = "select count(*)::int > 0 as known from pg_stats where tablename = 'bills'";
    expect(await query(database.url, known)).toEqual([{ known: true }]);
  });

  test("works for a role that owns nothing but what it makes", async () => {
    await using database = await emptyDatabase();
    const url = new URL(database.url);
    const role = `bs_${process.pid}_${randomBytes(3).toString("hex")}`;
    await query(
      database.url,
      `create role ${role} login password 'word'; grant create, temporary on database ${url.pathname.slice(1)} to ${role}; grant create, usage on schema public to ${role}`,
    );
    try {
      Object.assign(url, { username: role, password: "word" });
      expect(
        await runCli(["db", "restore", path], { env: { DATABASE_URL: url.href } }),
      ).toMatchObject({
        code: 0,
      });
    } finally {
      await query(database.url, `drop owned by ${role} cascade; drop role ${role}`);
    }
  });

  test("refuses files that are cut, changed, foreign or of a newer program, and leaves nothing behind", async () => {
    await using database = await emptyDatabase();
    const whole = await readFile(path);
    const text = gunzipSync(whole);
    const bad = join(folder, "bad.gz");
    const refusal = async (bytes: Uint8Array) => {
      await writeFile(bad, bytes);
      return await restore(database.db, bad, signal).then(
        () => "restored",
        (error: Error) => `${error.name}: ${error.message}`,
      );
    };
    const changed = (change: (copy: Buffer) => void) => {
      const copy = Buffer.from(text);
      change(copy);
      return copy;
    };
    const damaged = new RegExp(
      `^ReportableError: ${bad} is damaged \\(.+\\); take another backup$`,
    );
    for (const bytes of [11, 2_000, Math.floor(whole.length / 2), whole.length - 1])
      expect(await refusal(whole.subarray(0, bytes))).toMatch(damaged);
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(255 - flipped.readUInt8(whole.length >> 1), whole.length >> 1);
    expect(await refusal(flipped)).toMatch(damaged);
    const lineEnds = [...text.toString("latin1").matchAll(/\n/g)].map(({ index }) => index + 1);
    for (const share of [0.001, 0.5, 1]) {
      const at = lineEnds[Math.floor((lineEnds.length - 2) * share)] ?? 0;
      expect(await refusal(gzipSync(text.subarray(0, at)))).toMatch(damaged);
    }
    // A changed digit of a bill, a missing row, a repeated row, a wrong count, and a wrong last digest.
    const bill = text.indexOf('"table":"bills","rows"');
    const digit = text.subarray(0, bill).lastIndexOf("2026-");
    const row = lineEnds.findLast((end) => end < digit) ?? 0;
    const next = lineEnds.find((end) => end > digit) ?? 0;
    const last = text.length - 10;
    const other = text[last] === 0x30 ? "1" : "0";
    const latin = text.toString("latin1");
    const replaced = (part: string, by: string) => Buffer.from(latin.replace(part, by), "latin1");
    for (const [content, message] of [
      [changed((copy) => copy.write("2025-", digit)), /content does not match/],
      [[text.subarray(0, row), text.subarray(next)], /rows of bills are not/],
      [[text.subarray(0, next), text.subarray(row)], /duplicate key|rows of bills are not/],
      [changed((copy) => copy.write(other, last)), /content does not match/],
      [[text, Buffer.from("more\n")], /there is more after its last line/],
      [[Buffer.from("id,amount\n1,2\n")], /^UsageError: .* is not a backup of bill-sync/],
      [[Buffer.alloc(300_000)], damaged],
      [[replaced('"migrations":[', '"migrations":[9999999999999,')], /update the program$/],
      [[replaced('"version":1', '"version":2')], /^UsageError: .*update the program$/],
    ] as const)
      expect(await refusal(gzipSync(Buffer.concat([content].flat())))).toMatch(message);
    expect(await refusal(Buffer.from("id,amount\n1,2\n"))).toMatch(
      /^UsageError: .* is not a backup of bill-sync/,
    );
    expect(await refusal(Buffer.alloc(0))).toMatch(damaged);
    const left = "select 1 from pg_class where relnamespace = 'public'::regnamespace";
    expect(await query(database.url, left)).toEqual([]);
    const schema = "select 1 from pg_namespace where nspname = 'drizzle'";
    expect(await query(database.url, schema)).toEqual([]);
    expect(await restore(database.db, path, signal)).toMatchObject({ migrated: 0 });
  }, 180_000);

  test("takes the backup of a database that the replaced migrations made, and of no earlier one", async () => {
    const before = fileURLToPath(new URL("fixtures/before-one-migration.backup", import.meta.url));
    await using database = await emptyDatabase();
    await restore(database.db, before, signal);
    const stored = "select account, bills from ledgers where bills > 0";
    expect(await query(database.url, stored)).toEqual([{ account: "main", bills: "413" }]);
    expect(await query(database.url, "select 1 from bills")).toHaveLength(413);

    const text = gunzipSync(await readFile(before)).toString("latin1");
    const earlier = join(folder, "earlier.gz");
    const cut = text.replace(/"migrations":\[([^\]]*),\d+\]/, '"migrations":[$1]');
    await writeFile(earlier, gzipSync(Buffer.from(cut, "latin1")));
    await using other = await emptyDatabase();
    await expect(restore(other.db, earlier, signal)).rejects.toThrow(
      /^the backup is of a version before 0\.1\.0/,
    );
    await using migrated = await openTestDatabase();
    await expect(restore(migrated.db, earlier, signal)).rejects.toThrow(
      /are of another version than the backup's: restore into an empty database/,
    );
  });
});

test("what others added to the schema is left out and named, and the rest is restored", async () => {
  await using database = await testDatabase();
  await using sandbox = await openSandbox({ seed: "added", density: 0.05, days: 3 });
  const env = environmentFor(sandbox, database, { PRODUCT_TYPES: "SUSDT-FUTURES" });
  expect(await runCli(["sync"], { env })).toMatchObject({ code: 0 });
  const plain = join(folder, "plain.gz");
  expect(await backup(database.url, plain)).toMatchObject({ leftOut: [] });
  await query(
    database.url,
    `alter table bills add column reviewed boolean not null default false;
     alter table ledgers add column "My Note" text default e'a\tb';
     create index my_index on bills (symbol);
     create unique index my_unique on key_salt (salt);
     create table shop_orders (id int primary key);
     alter table bills add column doubled numeric generated always as (amount * 2) stored`,
  );
  const added = join(folder, "added.gz");
  const leftOut = [
    "column bills.doubled",
    "column bills.reviewed",
    "column ledgers.My Note",
    "index my_index of bills",
    "index my_unique of key_salt",
    "table shop_orders",
  ];
  expect(await backup(database.url, added)).toMatchObject({ leftOut });
  expect(await digestsOf(added)).toEqual(await digestsOf(plain));
  const checked = await runCli(["db", "backup", "--check", added], { env: {} });
  expect(checked.stdout).toContain(`left out, since others added it to the schema: ${leftOut[0]},`);
  await using other = await emptyDatabase();
  expect(await restore(other.db, added, signal)).toMatchObject({ header: { leftOut } });
  const again = join(folder, "added-again.gz");
  expect(await backup(other.url, again)).toMatchObject({ leftOut: [] });
  expect(await digestsOf(again)).toEqual(await digestsOf(plain));
});

test("a sync after an older backup was restored leaves exactly the ledger", async () => {
  let ago = 12 * dayMs;
  await using sandbox = await openSandbox({
    seed: "older",
    density: 0.1,
    now: () => Date.now() - ago,
  });
  await using first = await testDatabase();
  const types = ["USDT-FUTURES", "COIN-FUTURES"] as const;
  const sync = (database: { readonly url: string }, read: readonly string[] = types) =>
    runCli(["sync", "--only", "bills"], {
      env: environmentFor(sandbox, database, { PRODUCT_TYPES: read.join() }),
    });
  expect(await sync(first, ["USDT-FUTURES"])).toMatchObject({ code: 0 });
  const old = join(folder, "old.gz");
  const { rows: before } = await backup(first.url, old);
  ago = 0;
  expect(await sync(first)).toMatchObject({ code: 0 });
  await using second = await emptyDatabase();
  await restore(second.db, old, signal);
  const visibleAt = epochMs(Date.now());
  expect(await sync(second)).toMatchObject({ code: 0 });
  for (const productType of types) {
    const stored = await readStoredBills(second.db, { account: "main", productType });
    const from = horizonAt(epochMs(Date.now()));
    const ledger = sandbox.account.ledger.bills[productType];
    const { missing, different } = compareWithLedger(ledger, stored, { from, visibleAt });
    expect({ productType, missing, different }).toEqual({
      productType,
      missing: [],
      different: [],
    });
    const served = new Set(ledger.map(({ billId }) => billId));
    expect(stored.filter(({ billId }) => !served.has(billId))).toEqual([]);
  }
  expect(before).toBeGreaterThan(0);
});

test("a backup goes from one major version of Postgres to another and back, where two are installed", async () => {
  const [{ major } = { major: "" }] = await query<{ major: string }>(
    full.url,
    "select current_setting('server_version_num')::int / 10000 || '' as major",
  );
  const other = otherPostgres(major);
  process.stdout.write(
    other === undefined
      ? `no Postgres but ${major} is in /usr/lib/postgresql: backups were restored into ${major} alone\n`
      : `a backup of Postgres ${major} was restored into ${other.major}, and back\n`,
  );
  await using server = await throwawayServer({ binaries: other });
  await using through = openDatabase(server.url);
  await restore(through.db, path, signal);
  const there = join(folder, "there.gz");
  const { postgres } = await backup(server.url, there);
  if (other !== undefined) expect(postgres).toMatch(new RegExp(`^${other.major}\\.`));
  expect(await digestsOf(there)).toEqual(await digestsOf(path));
  await using back = await emptyDatabase();
  await restore(back.db, there, signal);
  await backup(back.url, there);
  expect(await digestsOf(there)).toEqual(await digestsOf(path));
});
