// An update recreates changed views with their grants, or stops and names the objects in the way (from the
// migrations that held the views, too).

import { readdirSync } from "node:fs";
import { escapeIdentifier } from "pg";
import { describe, expect, test } from "vitest";
import { migrate } from "../src/db/migrate.ts";
import { viewNames } from "../src/sql/views.ts";
import { type TestDatabase, testDatabase } from "./support/database.ts";
import { query } from "./support/query.ts";

const definitions = `
  select
    relname,
    pg_get_viewdef(pg_class.oid) as definition,
    obj_description(pg_class.oid, 'pg_class') as comment,
    array(
      select format('%s %s: %s', attname, atttypid::regtype, col_description(attrelid, attnum))
      from pg_attribute
      where attrelid = pg_class.oid
      order by attnum
    ) as columns
  from pg_class
  where relnamespace = 'analytics'::regnamespace
  order by relname`;

const grantsOf = (role: string) => `
  select relname || coalesce('.' || attname, '') as of, privilege_type, is_grantable
  from pg_class
  cross join lateral (
    select null::name as attname, relacl as acl
    union all
    select attname, attacl
    from pg_attribute
    where attrelid = pg_class.oid
  ) as lists
  cross join aclexplode(acl)
  where relnamespace = 'analytics'::regnamespace
    and grantee = '${role}'::regrole
  order by 1, 2`;

// As left by a program whose view had other columns, none of which is the first of today's.
const asOfAnother = `
  drop view analytics.bonuses;
  create view analytics.bonuses as select 1 as other;
  update analytics_views set hash = 'another' where name = 'bonuses'`;

async function withRole(
  database: TestDatabase,
  work: (role: string) => Promise<void>,
): Promise<void> {
  const role = `reader_${new URL(database.url).pathname.slice(1)}`;
  await query(database.url, `create role ${escapeIdentifier(role)}`);
  try {
    await work(role);
  } finally {
    await query(database.url, `drop owned by ${role}; drop role ${role}`);
  }
}

test("each file of src/sql/views is a view that is made, and each view has one", () => {
  const files = readdirSync("src/sql/views").sort();
  expect(files).toEqual(viewNames.map((name) => `${name}.sql`).sort());
});

describe("views are made anew", () => {
  test.each([
    [
      "of which one is another version's",
      "update analytics_views set hash = 'x' where name = 'activity'",
    ],
    ["of which one has other columns", asOfAnother],
    ["of which one was dropped by hand", "drop view analytics.activity cascade"],
    ["of which none is left", "drop schema analytics cascade; create schema analytics"],
  ])("%s", async (_, damage) => {
    await using fresh = await testDatabase();
    await using database = await testDatabase();
    await query(database.url, damage);
    expect(await migrate(database.url)).toEqual({ migrations: 0, areViewsNew: true });
    expect(await query(database.url, definitions)).toEqual(await query(fresh.url, definitions));
    expect(await migrate(database.url)).toEqual({ migrations: 0, areViewsNew: false });
  });

  test("and who may read them stays who may, where they are replaced", async () => {
    await using database = await testDatabase();
    await withRole(database, async (role) => {
      await query(
        database.url,
        `update analytics_views set hash = 'x' where name = 'activity';
         grant select on analytics.activity to ${role} with grant option;
         grant select (account, coin) on analytics.transfers to ${role}`,
      );
      const before = await query(database.url, grantsOf(role));
      expect(before).toHaveLength(3);
      await migrate(database.url);
      expect(await query(database.url, grantsOf(role))).toEqual(before);
    });
  });

  test("not where another tool's objects hang on what must be dropped, which is told and left as it is", async () => {
    await using database = await testDatabase();
    await query(
      database.url,
      `${asOfAnother};
       create schema bi;
       create materialized view bi.days as select day from analytics.daily_rollforward;
       create view bi.weeks as select day from bi.days`,
    );
    const before = await query(database.url, definitions);
    const refusal = migrate(database.url);
    await expect(refusal).rejects.toThrow(
      /materialized view bi\.days depends on view analytics\.daily_rollforward; view bi\.weeks depends on .*\. Drop these objects, run bill-sync db migrate, and create them again$/,
    );
    expect(await query(database.url, definitions)).toEqual(before);
    await query(database.url, "drop schema bi cascade");
    expect(await migrate(database.url)).toMatchObject({ areViewsNew: true });
  });

  test("under such objects, where no column goes", async () => {
    await using database = await testDatabase();
    await query(
      database.url,
      `create view public.mine as select day from analytics.daily_rollforward;
       update analytics_views set hash = 'x'`,
    );
    expect(await migrate(database.url)).toMatchObject({ areViewsNew: true });
    expect(await query(database.url, "select from public.mine")).toEqual([]);
  });

  test("not where somebody else's view has the name of one, which is told and left as it is", async () => {
    await using database = await testDatabase();
    await query(
      database.url,
      `drop view analytics.bonuses;
       create view analytics.bonuses as select 'mine' as whose;
       delete from analytics_views where name = 'bonuses'`,
    );
    await expect(migrate(database.url)).rejects.toThrow(
      /bill-sync cannot make analytics\.bonuses, since another object has that name: rename it/,
    );
    expect(await query(database.url, "select whose from analytics.bonuses")).toEqual([
      { whose: "mine" },
    ]);
  });
});
