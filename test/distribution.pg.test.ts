// The tables can be distributed by account, as ops/citus does it.

import { readFileSync } from "node:fs";
import { getTableName } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { tables } from "../src/core/postgres/schema/tables.ts";
import { testDatabase } from "./support/database.ts";
import { dividedTables } from "./support/divided-tables.ts";
import { query } from "./support/query.ts";

/** The part of the extension that is used. It notes this database's tables, and does not move them. */
const standIn = `
  create table pg_dist_partition (
    place bigint generated always as identity,
    logicalrelid regclass primary key,
    partkey text,
    colocate_with text
  );
  create table emptied (logicalrelid regclass);
  create function create_distributed_table(named regclass, key text, colocate_with text)
    returns void language sql as $$
      insert into pg_dist_partition (logicalrelid, partkey, colocate_with)
      select named, attname, colocate_with
      from pg_attribute
      where attrelid = named and attname = key
    $$;
  create function create_reference_table(named regclass) returns void language sql as $$
    insert into pg_dist_partition (logicalrelid) values (named)
  $$;
  create function truncate_local_data_after_distributing_table(named regclass)
    returns void language sql as $$ insert into emptied values (named) $$;
  create function undistribute_table(named regclass) returns void language sql as $$
    delete from pg_dist_partition where logicalrelid = named
  $$;`;

/** Does what psql does: runs each query, and what its answer says. @returns the statements. */
async function runFile(url: string, name: string): Promise<readonly string[]> {
  const text = readFileSync(`ops/citus/${name}.sql`, "utf8").replace(/^\\set .*$/m, "");
  const statements: string[] = [];
  for (const part of text.split("\\gexec").slice(0, -1)) {
    const made = await query<Readonly<Record<string, string>>>(url, part);
    for (const statement of made.flatMap((row) => Object.values(row))) {
      await query(url, statement);
      statements.push(statement);
    }
  }
  return statements;
}

test("the statements are valid, in order, done once, and undone", async () => {
  await using database = await testDatabase();
  await query(database.url, standIn);
  await query(
    database.url,
    `insert into windows (account, product_type, window_start, window_end, started_at)
     values ('a', 'USDT-FUTURES', '2026-01-01', '2026-01-02', now())`,
  );
  await runFile(database.url, "distribute");
  const placed = await query(
    database.url,
    `select logicalrelid::text as name, partkey as key, colocate_with as beside
     from pg_dist_partition
     order by place`,
  );
  const others = dividedTables.filter((name) => name !== "bills").toSorted();
  expect(placed).toEqual([
    { name: "business_types", key: null, beside: null },
    { name: "bills", key: "account", beside: "none" },
    ...others.map((name) => ({ name, key: "account", beside: "public.bills" })),
  ]);
  expect(await query(database.url, "select logicalrelid::text as name from emptied")).toEqual(
    ["business_types", "windows"].map((name) => ({ name })),
  );

  // What the stand-in left in place is emptied again, and no table is distributed again.
  const again = await runFile(database.url, "distribute");
  expect(again.filter((statement) => /create_/.test(statement))).toEqual([]);
  expect(await runFile(database.url, "undo")).toHaveLength(placed.length + 1);
  expect(await query(database.url, "select 1 from pg_dist_partition")).toEqual([]);
});

test("a table that can be distributed has the account in each of its keys, and refers to no other", () => {
  const divided = Object.values(tables).filter((table) =>
    dividedTables.includes(getTableName(table)),
  );
  expect(divided.length).toBeGreaterThan(10);
  for (const table of divided) {
    const config = getTableConfig(table as PgTable);
    const name = getTableName(table);
    const isKey = ({ name: column }: { readonly name: string }) => column === "account";
    const keys = [
      ...config.primaryKeys.map(({ columns }) => columns),
      ...config.uniqueConstraints.map(({ columns }) => columns),
    ];
    for (const columns of keys) expect(columns.some(isKey), name).toBe(true);
    expect(config.foreignKeys, name).toEqual([]);
    const unique = config.indexes.filter(({ config: index }) => index.unique);
    expect(unique, name).toEqual([]);
  }
});
