// An update recreates changed views with their grants, or stops and names the objects in the way (from the
// migrations that held the views, too).

import { expect, test } from "vitest";
import { testDatabase } from "./support/database.ts";
import { migrateAt } from "./support/migrate-at.ts";
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

const changed = "update analytics_views set hash = 'x' where name = 'activity'";
// As left by a program whose view had other columns, none of which is the first of today's.
const asOfAnother = `
  drop view analytics.bonuses;
  create view analytics.bonuses as select 1 as other;
  update analytics_views set hash = 'another' where name = 'bonuses'`;

test.each([
  ["of which one is another version's", changed],
  ["of which one has other columns", asOfAnother],
  ["of which one was dropped by hand", "drop view analytics.activity cascade"],
  ["of which none is left", "drop schema analytics cascade; create schema analytics"],
])("views are made anew %s", async (_, damage) => {
  await using fresh = await testDatabase();
  await using database = await testDatabase();
  await query(database.url, damage);
  expect(await migrateAt(database.url)).toEqual({ migrations: 0, areViewsNew: true });
  expect(await query(database.url, definitions)).toEqual(await query(fresh.url, definitions));
  expect(await migrateAt(database.url)).toEqual({ migrations: 0, areViewsNew: false });
});

test("who may read views stays who may, and where no column goes, others' objects stay", async () => {
  await using database = await testDatabase();
  const role = `reader_${new URL(database.url).pathname.slice(1)}`;
  await query(database.url, `create role ${role}`);
  try {
    await query(
      database.url,
      `${changed};
       create view public.mine as select day from analytics.daily_rollforward;
       grant select on analytics.activity to ${role} with grant option;
       grant select (account, coin) on analytics.transfers to ${role}`,
    );
    const before = await query(database.url, grantsOf(role));
    expect(before).toHaveLength(3);
    expect(await migrateAt(database.url)).toMatchObject({ areViewsNew: true });
    expect(await query(database.url, grantsOf(role))).toEqual(before);
    expect(await query(database.url, "select from public.mine")).toEqual([]);
  } finally {
    await query(database.url, `drop owned by ${role}; drop role ${role}`);
  }
});

test.each([
  [
    `${asOfAnother};
     create schema bi;
     create materialized view bi.days as select day from analytics.daily_rollforward;
     create view bi.weeks as select day from bi.days`,
    /materialized view bi\.days depends on view analytics\.daily_rollforward; view bi\.weeks depends on .*, 2BP01\): drop these objects, run bill-sync db migrate, and create them again;/,
    "drop schema bi cascade",
  ],
  [
    `drop view analytics.bonuses;
     create view analytics.bonuses as select 'mine' as whose;
     delete from analytics_views where name = 'bonuses'`,
    /bill-sync cannot make analytics\.bonuses, since another object has that name: rename it/,
    "alter view analytics.bonuses rename to mine",
  ],
])("what is in the way of a view is told and left as it is", async (obstacle, message, remedy) => {
  await using database = await testDatabase();
  await query(database.url, obstacle);
  const before = await query(database.url, definitions);
  await expect(migrateAt(database.url)).rejects.toThrow(message);
  expect(await query(database.url, definitions)).toEqual(before);
  await query(database.url, remedy);
  expect(await migrateAt(database.url)).toMatchObject({ areViewsNew: true });
});

test("an object in a new database that has a view's name is told, and no migration drops it", async () => {
  await using database = await testDatabase({ isEmpty: true });
  await query(database.url, "create schema analytics; create view analytics.breaks as select 1");
  await expect(migrateAt(database.url)).rejects.toThrow(
    /bill-sync cannot make analytics\.breaks, since another object has that name: rename it/,
  );
  expect(await query(database.url, "select from analytics.breaks")).toHaveLength(1);
});
