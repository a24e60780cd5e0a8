// A query of a view for one account reads no other account's bills, except transfers.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { inSnapshot, openDatabase, readOnlyAtOnce } from "../src/core/postgres/connect.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { fileDatabase } from "./support/database.ts";
import { smallLedger, storeLedgers } from "./support/small-ledger.ts";

const { db, url } = await fileDatabase();

type Node = { readonly [key: string]: unknown; readonly Plans?: readonly Node[] };

const nodesOf = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
const conditionOf = (node: Node) =>
  [node["Index Cond"], node["Recheck Cond"], node["Filter"]].filter(Boolean).join(" and ");

await storeLedgers(
  db,
  new Map(["a", "b", "c", "d"].map((name) => [name, smallLedger(seededRandom(name))])),
);
await db.execute(sql`analyze`);

const { rows: views } = await db.execute<{ name: string }>(sql`
  select table_name::text as name
  from information_schema.columns
  where table_schema = 'analytics'
    and column_name in ('account', 'product_type')
  group by table_name
  having count(*) = 2
  order by 1`);

/** Of a hundred thousand accounts, the windows of all took 100 ms for each query of one. */
const readsWindows = (view: string) => /rollforward|balances|coverage|data_quality/.test(view);

test.each(views)(
  "$name of one account reads no other account's bills, days or, of most views, windows",
  async ({ name }) => {
    const { rows } = await db.execute<{ "QUERY PLAN": readonly { Plan: Node }[] }>(
      sql.raw(`
      explain (format json)
      select *
      from analytics.${name}
      where account = 'a'
        and product_type = 'USDT-FUTURES'`),
    );
    const plan = rows[0]?.["QUERY PLAN"][0]?.Plan ?? {};
    const tables = ["bills"];
    if (readsWindows(name)) tables.push("ledgers");
    const ofAll = nodesOf(plan)
      .filter((node) => tables.includes(`${node["Relation Name"]}`))
      .filter((node) => !/account = ('a'|(\w+|"[^"]+")\.account)/.test(conditionOf(node)));
    expect(ofAll.map((node) => [node["Alias"], conditionOf(node)])).toEqual([]);
  },
);

/** How often the plan of an account's days from one on begins to read bills, and how many it reads in all. */
async function readsOfDays(account: string, from = "-infinity") {
  await db.execute(sql`analyze`);
  const { rows } = await db.execute<{ "QUERY PLAN": readonly { Plan: Node }[] }>(sql`
    explain (analyze, format json)
    select *
    from analytics.daily_rollforward
    where account = ${account}
      and day >= ${from}::date`);
  const scans = nodesOf(rows[0]?.["QUERY PLAN"][0]?.Plan ?? {})
    .filter((node) => node["Relation Name"] === "bills")
    .map((node) => [Number(node["Actual Loops"]), Number(node["Actual Rows"])] as const);
  return {
    loops: Math.max(...scans.map(([loops]) => loops)),
    bills: scans.reduce((sum, [loops, bills]) => sum + loops * bills, 0),
  };
}

/** Bills of one coin, of which one shows a balance. */
async function storeWithOneBalance(account: string, bills: number, every: string, shown: number) {
  await db.execute(sql`
    insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, balance, c_time, ingested_at)
    select
      ${account}, 'USDT-FUTURES', n, 1, 0, 'close_long', 'USDT', case when n = ${shown}::int then n end,
      timestamptz '2020-01-01Z' + n * ${every}::interval, now()
    from generate_series(0, ${bills}::int) as n`);
  await db.execute(
    sql`insert into ledgers (account, product_type) values (${account}, 'USDT-FUTURES')`,
  );
}

test("the bills after a coin's last balance are read once a day, and nothing is looked up for each", async () => {
  await storeWithOneBalance("late", 300, "1 minute", 1);
  expect((await readsOfDays("late")).loops).toBeLessThan(300 / 10);
});

test("the bills before a coin's first balance are read once, however many days there are", async () => {
  const days = 400;
  await storeWithOneBalance("early", days, "1 day", days);
  expect((await readsOfDays("early")).bills).toBeLessThan(10 * days);
});

test("none of the bills before a coin's first balance are read for a later day", async () => {
  await storeWithOneBalance("recovered", 400, "1 day", 399);
  expect((await readsOfDays("recovered", "2021-02-04")).bills).toBeLessThan(40);
});

test("a day of many bills beside ones without a balance does not begin with a balance of weeks ago", async () => {
  const account = "doubtful";
  await db.execute(sql`
    insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, balance, c_time, ingested_at)
    select
      ${account}, case when n = 0 then 'UTA-SPOT' else 'UTA-USDT-FUTURES' end, n, 1, 0, 'close_long', 'USDT',
      case when n % 2 = 0 then n end, timestamptz '2026-01-01Z' + (n + case n when 0 then 0 else 60 end) * interval '10 seconds', now()
    from generate_series(0, 19 * 8640) as n`);
  await db.execute(sql`
    insert into ledgers (account, product_type) values (${account}, 'UTA-SPOT'), (${account}, 'UTA-USDT-FUTURES')`);
  expect((await readsOfDays(account, "2026-01-19")).bills).toBeLessThan(100_000);
});

test("no statement is compiled, which takes a view of days longer than to run", async () => {
  const compiling = new URL(url);
  compiling.searchParams.set("options", "-c jit=on");
  await using database = openDatabase(compiling.href);
  const asked = sql`select current_setting('jit') as jit`;
  const reads = [
    readOnlyAtOnce(database.db, false)(asked),
    inSnapshot(database.db, (tx) => tx.execute(asked)),
  ];
  for (const { rows } of await Promise.all(reads)) expect(rows).toEqual([{ jit: "off" }]);
});
