import { getTableName } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { tables } from "../src/core/postgres/schema/tables.ts";
import { placements } from "../src/wings/citus/citus.ts";
import { runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { query } from "./support/query.ts";

const distribute = (url: string, ...options: readonly string[]) =>
  runCli(["db", "distribute", ...options], { env: { DATABASE_URL: url } });

test("a dry run names every table of the schema once, and where it goes; without the extension nothing is changed", async () => {
  await using database = await testDatabase();
  const end = await distribute(database.url, "--dry-run");
  expect(end).toMatchObject({ code: 0 });
  const named = (pattern: RegExp) =>
    [...end.stdout.matchAll(pattern)].map(([, name = ""]) => name).toSorted();
  const namesOf = (wanted: (name: keyof typeof tables) => boolean) =>
    Object.entries(tables)
      .filter(([name]) => wanted(name as keyof typeof tables))
      .map(([, table]) => getTableName(table))
      .toSorted();
  expect(named(/^-- public\.(\w+) /gm)).toEqual(namesOf(() => true));
  expect(named(/create_(?:distributed|reference)_table\('public\.(\w+)'/g)).toEqual(
    namesOf((name) => placements[name] !== "coordinator"),
  );
  expect(await distribute(database.url)).toMatchObject({
    ...{ code: 1, stdout: "", stderr: expect.stringContaining("create extension citus") },
  });
});

/**
 * The part of the extension that `distribute` uses. It notes this database's tables, and does not move
 * them.
 */
const standIn = `
  create schema citus;
  create table citus.pg_extension (extname name);
  insert into citus.pg_extension values ('citus');
  create table citus.pg_dist_partition (
    place bigint generated always as identity,
    logicalrelid regclass primary key,
    partmethod "char",
    partkey text,
    colocationid integer
  );
  create table citus.emptied (logicalrelid regclass);
  create function citus.create_distributed_table(named regclass, key text, colocate_with text)
    returns void language sql as $$
      insert into citus.pg_dist_partition (logicalrelid, partmethod, partkey, colocationid)
      select named, 'h', attname, case when colocate_with = 'none' then 1 else beside.colocationid end
      from pg_attribute
      left join citus.pg_dist_partition as beside
        on colocate_with <> 'none' and beside.logicalrelid = colocate_with::regclass
      where attrelid = named and attname = key
    $$;
  create function citus.create_reference_table(named regclass) returns void language sql as $$
    insert into citus.pg_dist_partition (logicalrelid, partmethod, colocationid) values (named, 'n', 2)
  $$;
  create function citus.truncate_local_data_after_distributing_table(named regclass)
    returns void language sql as $$ insert into citus.emptied values (named) $$;`;

test("the statements are valid, in order and done once", async () => {
  await using database = await testDatabase();
  await query(database.url, standIn);
  const url = new URL(database.url);
  url.searchParams.set("options", "-c search_path=public,citus,pg_catalog");
  const end = await distribute(url.href);
  expect(end, end.stderr).toMatchObject({ code: 0 });
  const laid = await query<{ name: string; key: string | null; colocation: number }>(
    database.url,
    `select relname as name, partkey as key, colocationid as colocation
     from citus.pg_dist_partition
     join pg_class on pg_class.oid = logicalrelid
     order by place`,
  );
  expect(laid.slice(0, 2)).toEqual([
    { name: "business_types", key: null, colocation: 2 },
    { name: "bills", key: "account", colocation: 1 },
  ]);
  // A table that is not placed beside the bills would have another number.
  expect(new Set(laid.slice(1).map(({ key, colocation }) => `${key} ${colocation}`))).toEqual(
    new Set(["account 1"]),
  );
  const [emptied] = await query<{ tables: number }>(
    database.url,
    "select count(distinct logicalrelid)::int as tables from citus.emptied",
  );
  expect(emptied?.tables).toBe(laid.length);

  // A second run only finds tables that still hold rows here. The stand-in of the first run moved none.
  await query(database.url, "truncate citus.emptied, business_types");
  expect(await distribute(url.href)).toMatchObject({ code: 0 });
  expect(await query(database.url, "select 1 from citus.pg_dist_partition")).toHaveLength(
    laid.length,
  );
});

test("a table that is divided by account has it in its key and in each unique index, and refers to no other", () => {
  const divided = Object.entries(tables).filter(
    ([name]) => placements[name as keyof typeof tables] === "account",
  );
  for (const [, table] of divided) {
    const config = getTableConfig(table as PgTable);
    const name = getTableName(table);
    const isKey = ({ name: column }: { readonly name: string }) => column === "account";
    const keys = [
      ...config.primaryKeys.map(({ columns }) => columns),
      ...config.uniqueConstraints.map(({ columns }) => columns),
    ];
    expect(keys.length, name).toBeGreaterThan(0);
    for (const columns of keys) expect(columns.some(isKey), name).toBe(true);
    expect(config.foreignKeys, name).toEqual([]);
    const unique = config.indexes.filter(({ config: index }) => index.unique);
    expect(unique, name).toEqual([]);
  }
});
