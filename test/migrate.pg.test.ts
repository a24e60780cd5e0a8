import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import { getTableName } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { escapeIdentifier } from "pg";
import { describe, expect, test } from "vitest";
import { listedBusinessTypes } from "../src/core/contract/unified-business-types.ts";
import { inTransaction, openDatabase } from "../src/core/postgres/connect.ts";
import { tables } from "../src/core/postgres/schema/tables.ts";
import {
  lockMigrations,
  migrateTo,
  migrationState,
  type ServerSettings,
  unfitness,
} from "../src/core/store/migrate.ts";
import { DatabaseError } from "../src/lib/errors.ts";
import { testDatabase } from "./support/database.ts";
import { migrateAt } from "./support/migrate-at.ts";
import { query } from "./support/query.ts";

const folder = fileURLToPath(new URL("../migrations", import.meta.url));
const journal: { entries: { idx: number; tag: string; when: number }[] } = JSON.parse(
  await readFile(join(folder, "meta/_journal.json"), "utf8"),
);
const migrationsCount = journal.entries.length;

const nothingToDo = { migrations: 0, areViewsNew: false };

const emptyDatabase = () => testDatabase({ isEmpty: true });

const ourTables = `
  select schemaname || '.' || tablename as name
  from pg_tables
  where schemaname not in ('pg_catalog', 'information_schema')
  order by 1`;

describe("a migration", () => {
  test("makes the tables, and a second one changes nothing", async () => {
    await using database = await emptyDatabase();
    expect(await migrateAt(database.url)).toEqual({
      migrations: migrationsCount,
      areViewsNew: true,
    });
    const contents = `
      select xmin::text, xmax::text, ctid::text, code from business_types
      union all
      select xmin::text, xmax::text, ctid::text, hash from drizzle.bill_sync_migrations
      union all
      select xmin::text, xmax::text, ctid::text, relname from pg_class
        where relnamespace in ('public'::regnamespace, 'analytics'::regnamespace)
      order by 4`;
    const before = await query(database.url, contents);
    expect(await migrateAt(database.url)).toEqual(nothingToDo);
    expect(await query(database.url, contents)).toEqual(before);
  });

  test("is applied once by four who start it at once", async () => {
    await using database = await emptyDatabase();
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrateAt(database.url)));
    expect(applied.map(({ migrations }) => migrations).sort()).toEqual([0, 0, 0, migrationsCount]);
    const rows = await query(database.url, "select from drizzle.bill_sync_migrations");
    expect(rows).toHaveLength(migrationsCount);
  });

  test("finds the journal that another process made while this one waited for it", async () => {
    await using database = await emptyDatabase();
    await using other = openDatabase(database.url);
    const waiting = await inTransaction(other.db, async (tx) => {
      await lockMigrations(tx);
      const migrated = migrateAt(database.url);
      const blocked = `
        select from pg_locks
        join pg_database on pg_database.oid = database and datname = current_database()
        where locktype = 'advisory' and not granted`;
      while ((await query(database.url, blocked)).length === 0) await delay(10);
      // Only the journal: thousands of new columns would have the server renew what the other one remembers.
      await tx.execute("create schema drizzle");
      await tx.execute(`
        create table drizzle.bill_sync_migrations (
          id serial primary key,
          hash text not null,
          created_at bigint
        )`);
      return { migrated };
    });
    expect(await waiting.migrated).toEqual({ migrations: migrationsCount, areViewsNew: true });
  });

  test("fills the list of business types, and leaves what was met and what a user mapped", async () => {
    await using database = await emptyDatabase();
    await migrateAt(database.url);
    await query(
      database.url,
      `insert into business_types (code, category, meaning)
         values ('met', 'unclassified', 'met');
       update business_types set category = 'bonus', category_by_user = 'bonus' where code = 'sell';
       update business_types set category = 'copy', listed_category = 'copy', meaning = 'older'
         where code = 'open_long';
       delete from business_types where code = 'buy'`,
    );
    await migrateAt(database.url);
    const found = await query(
      database.url,
      `select code, listed_category as category, meaning
       from business_types
       where code <> 'met'`,
    );
    expect(new Set(found)).toEqual(new Set(listedBusinessTypes));
    const own = "select code, category from business_types where category <> listed_category";
    expect(await query(database.url, own)).toEqual([{ code: "sell", category: "bonus" }]);
    expect(await query(database.url, "select from business_types")).toHaveLength(
      listedBusinessTypes.length + 1,
    );
  });

  test("writes no business type where none differs: no lock on the table holds it up", async () => {
    await using database = await emptyDatabase();
    await migrateAt(database.url);
    await using other = openDatabase(database.url);
    const client = await other.db.$client.connect();
    try {
      // Allows reading and no writing, as a distributed table does whose copy on one node is away.
      await client.query("begin; lock table business_types in share mode");
      expect(await Promise.race([migrateAt(database.url), delay(20_000, "held up")])).toEqual(
        nothingToDo,
      );
    } finally {
      await client.query("rollback");
      client.release();
    }
  });

  test("that fails is undone whole, its journal too, and applies once it is mended", async () => {
    await using database = await emptyDatabase();
    await using copy = await withMigration("create table half_made (); select 1 / 0");
    await expect(migrateAt(database.url, copy.folder)).rejects.toThrow(
      /^a migration failed and was undone: the database failed \(division by zero, 22012\)/,
    );
    expect(await query(database.url, ourTables)).toEqual([]);

    await migrateAt(database.url);
    const before = await query(database.url, ourTables);
    await expect(migrateAt(database.url, copy.folder)).rejects.toThrow(DatabaseError);
    expect(await query(database.url, ourTables)).toEqual(before);

    await using mended = await withMigration("create table whole ()");
    expect(await migrateAt(database.url, mended.folder)).toEqual({
      migrations: 1,
      areViewsNew: false,
    });
    expect(await migrateAt(database.url, mended.folder)).toEqual(nothingToDo);
  });
});

test("a database that had all the migrations which the first one replaced has the first one", async () => {
  await using database = await testDatabase();
  await query(
    database.url,
    "insert into drizzle.bill_sync_migrations (hash, created_at) select 'x', min(created_at) - 1 from drizzle.bill_sync_migrations",
  );
  expect(await migrateAt(database.url)).toEqual(nothingToDo);
});

test("breaks of the older kinds are of the new ones, and those of one bill stay apart", async () => {
  await using database = await emptyDatabase();
  {
    await using earlier = openDatabase(database.url);
    const before = journal.entries.filter(({ tag }) => tag < "0009").map(({ when }) => when);
    await inTransaction(earlier.db, (tx) => migrateTo(tx, before));
  }
  const breaks = [
    ["chain", "USDT", "7", "resolved"],
    ["duplicate", "USDT", "7", "open"],
    ["rounding", "USDT", "7", "resolved"],
    ["balance-now", "USDT", "now", "open"],
    ["chain-unread", "USDT", "8", "open"],
    ["ltv-assets", "", "12/T", "open"],
    ["ltv-haircut", "BTC", "12/T", "open"],
    ["restatement", "", "since T", "accepted"],
  ];
  const rows = breaks.map(
    ([kind, coin, anchor, state], index) =>
      `(${index}, '${kind}', 'a', 'USDT-FUTURES', '${coin}', '${anchor}', '', now(), now(), '${state}')`,
  );
  await query(
    database.url,
    `insert into ledger_breaks (break_id, kind, account, ledger, coin, anchor, explanation, first_seen_at, last_seen_at, state)
     values ${rows.join(", ")}`,
  );
  await migrateAt(database.url);
  const kept = await query(
    database.url,
    "select concat_ws(' ', kind, coin, anchor) as kept from ledger_breaks order by break_id",
  );
  expect(kept.map((row) => row["kept"])).toEqual([
    ...["balance USDT 7 #0", "balance USDT 7", "balance USDT 7 #2", "balance USDT now"],
    ...["unread USDT 8", "ltv  12/T assets", "ltv  12/T BTC", "restated  since T"],
  ]);
});

test("what others made of a table keeps a migration from dropping it, and is named", async () => {
  await using database = await emptyDatabase();
  {
    await using earlier = openDatabase(database.url);
    const before = journal.entries.filter(({ tag }) => tag < "0012").map(({ when }) => when);
    await inTransaction(earlier.db, (tx) => migrateTo(tx, before));
  }
  await query(database.url, "create view mine as select * from type_days");
  await expect(migrateAt(database.url)).rejects.toThrow(
    /depend on it: view mine depends on table type_days, 2BP01\): drop these objects, run .*, and create them again;/,
  );
  await query(database.url, "drop view mine");
  expect(await migrateAt(database.url)).toMatchObject({ migrations: migrationsCount - 12 });
});

test("a database of the first migration alone keeps what the second one renames", async () => {
  await using database = await emptyDatabase();
  {
    await using earlier = openDatabase(database.url);
    const [first] = journal.entries;
    await inTransaction(earlier.db, (tx) => migrateTo(tx, [first?.when ?? 0]));
  }
  await query(
    database.url,
    `insert into ledgers (account, product_type, closed_at, tax_comparison)
       values ('a', 'USDT-FUTURES', '2026-01-01Z', '{"at":1,"compared":2,"withheld":"why","unrecovered":[3]}');
     insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, c_time, source, ingested_at)
       values ('a', 'USDT-FUTURES', '1', 0, 0, 'buy', 'USDT', now(), 'tax', now());
     insert into ledger_breaks (
       break_id, kind, account, ledger, coin, anchor, difference, explanation, first_seen_at, last_seen_at, state
     )
       values
         (1, 'deleted', 'a', 'USDT-FUTURES', '', 'found', -1, 'gone', now(), now(), 'open'),
         (2, 'unread', 'a', 'USDT-FUTURES', 'USDT', '1', -1, 'unread', now(), now(), 'open')`,
  );
  expect(await migrateAt(database.url)).toEqual({
    migrations: migrationsCount - 1,
    areViewsNew: true,
  });
  const rows = await query(
    database.url,
    `select ended_at = '2026-01-01Z' as ended, tax_comparison, kind, source
     from ledgers
     join bills using (account)
     join ledger_breaks using (account)
     order by break_id`,
  );
  const tax_comparison = { at: 1, compared: 2, notRecoveredReason: "why", partlyRecovered: [3] };
  expect(rows).toEqual(
    ["rows-gone", "unread"].map((kind) => ({
      ended: true,
      tax_comparison,
      kind,
      source: "tax-records",
    })),
  );
});

describe("the journal that Drizzle gives all programs which name none, and that 0.1.0 had", () => {
  const shared = "drizzle.__drizzle_migrations";
  const moveBack = `alter table drizzle.bill_sync_migrations rename to __drizzle_migrations`;

  test.each([1_790_000_000_000, 9_990_000_000_000])(
    "is another program's, too, whose migration of %d stays there",
    async (time) => {
      await using database = await testDatabase();
      await query(
        database.url,
        `${moveBack}; insert into ${shared} (hash, created_at) values ('shop', ${time})`,
      );
      expect(await migrateAt(database.url)).toEqual(nothingToDo);
      expect(await query(database.url, `select hash from ${shared}`)).toEqual([{ hash: "shop" }]);
      expect(await migrateAt(database.url)).toEqual(nothingToDo);
    },
  );

  test("that has ours alone is moved: nothing is applied again, and no table of that name is left", async () => {
    await using database = await testDatabase();
    const before = await query(database.url, ourTables);
    await query(database.url, moveBack);
    await using opened = openDatabase(database.url);
    expect(await migrationState(opened.db)).toMatchObject({ pending: 0, areViewsOld: true });
    expect(await migrateAt(database.url)).toEqual(nothingToDo);
    expect(await migrationState(opened.db)).toMatchObject({ pending: 0, areViewsOld: false });
    expect(await query(database.url, ourTables)).toEqual(before);
  });
});

/** The program's migrations, and one more with these statements. */
async function withMigration(statements: string) {
  const dir = await mkdtemp(join(tmpdir(), "bill-sync-migrations-"));
  await cp(folder, dir, { recursive: true });
  const last = journal.entries.at(-1);
  const entry = { ...last, idx: migrationsCount, when: (last?.when ?? 0) + 1, tag: "9999_more" };
  const text = JSON.stringify({ ...journal, entries: [...journal.entries, entry] });
  await writeFile(join(dir, "meta/_journal.json"), text);
  await writeFile(
    join(dir, "9999_more.sql"),
    statements.replaceAll(";", ";\n--> statement-breakpoint\n"),
  );
  return {
    folder: dir,
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

describe("a database is refused, with the remedy, and left as it is", () => {
  test.each<[string, string, RegExp]>([
    [
      "whose journal knows a migration that the program does not",
      "insert into drizzle.bill_sync_migrations (hash, created_at) values ('x', 9999999999999)",
      /^the database has 1 migration that this version does not know: .*update the program$/,
    ],
    [
      "whose tables are there and whose journal is not",
      "drop schema drizzle cascade",
      /already exists, 42P07\): the database holds tables .*; use an empty database, or remove them/,
    ],
  ])("%s", async (_, damage, message) => {
    await using database = await testDatabase();
    await query(database.url, damage);
    const before = await query(database.url, ourTables);
    const refusal = migrateAt(database.url);
    await expect(refusal).rejects.toThrow(DatabaseError);
    await expect(refusal).rejects.toThrow(message);
    expect(await query(database.url, ourTables)).toEqual(before);
  });

  test("that is not in UTF-8", async () => {
    await using database = await emptyDatabase();
    const url = new URL(database.url);
    const name = `latin_${url.pathname.slice(1)}`;
    await query(
      database.url,
      `create database ${escapeIdentifier(name)} template template0
         encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`,
    );
    try {
      url.pathname = `/${name}`;
      await expect(migrateAt(url.href)).rejects.toThrow(/^the database's encoding is LATIN1/);
      expect(await query(url.href, ourTables)).toEqual([]);
    } finally {
      await query(database.url, `drop database ${escapeIdentifier(name)} with (force)`);
    }
  });

  test("whose search_path leads to another schema", async () => {
    await using database = await emptyDatabase();
    await query(database.url, "create schema tenant");
    const url = new URL(database.url);
    url.searchParams.set("options", "-c search_path=tenant,public");
    await expect(migrateAt(url.href)).rejects.toThrow(/search_path begins with schema tenant/);
    expect(await query(database.url, ourTables)).toEqual([]);
  });

  const fit: ServerSettings = {
    versionNumber: 140_000,
    encoding: "UTF8",
    currentSchema: "public",
  };

  test.each<[Partial<ServerSettings>, RegExp]>([
    [{ versionNumber: 130_099 }, /PostgreSQL 13, and 14 or newer is needed; point DATABASE_URL/],
    [{ currentSchema: null }, /begins with schema \(none\), .*set search_path = public/],
  ])("whose server says %o", (but, message) => {
    expect(unfitness(fit)).toBeUndefined();
    expect(unfitness({ ...fit, ...but })).toMatch(message);
  });
});

describe("the schema in TypeScript", () => {
  test("says what the migrations' last snapshot says (else: npm run generate)", async () => {
    const last = String(journal.entries.at(-1)?.idx).padStart(4, "0");
    const snapshot = JSON.parse(await readFile(join(folder, `meta/${last}_snapshot.json`), "utf8"));
    expect(await generateMigration(snapshot, generateDrizzleJson(tables, snapshot.id))).toEqual([]);
  });

  test("names the columns that a migrated database has, with their types, and no others", async () => {
    await using database = await testDatabase();
    const found = await query(
      database.url,
      `select
         concat_ws(
           ' ',
           relname || '.' || attname,
           format_type(atttypid, atttypmod),
           case when collname = 'C' then 'COLLATE "C"' end,
           case when attnotnull then 'not null' end
         ) as column
       from pg_attribute
       join pg_class on pg_class.oid = attrelid
       left join pg_collation on pg_collation.oid = attcollation
       where relnamespace = 'public'::regnamespace
         and relkind = 'r'
         and not relispartition
         and attnum > 0
         and not attisdropped`,
    );
    const wanted = Object.values(tables).flatMap((table: PgTable) =>
      getTableConfig(table).columns.map((column) => {
        const type = column.getSQLType().replace("timestamp (3)", "timestamp(3)");
        const suffix = column.notNull ? " not null" : "";
        return `${getTableName(table)}.${column.name} ${type}${suffix}`;
      }),
    );
    expect(found.map(({ column }) => column).sort()).toEqual(wanted.sort());
  });
});
