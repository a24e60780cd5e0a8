import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { inTransaction, type Transaction } from "../src/core/postgres/connect.ts";
import type { OverviewDeps } from "../src/wings/serve/page/overview.ts";
import { writePage } from "../src/wings/serve/page/page.ts";
import { fileDatabase } from "./support/database.ts";
import { check, storeAccount } from "./support/page-states.ts";
import { unconfigured } from "./support/roster.ts";

const { db } = await fileDatabase();

const accounts = 300;
await storeAccount(db, { account: "desk-000", density: 0.05 });
await check(db);
// The same ledger under other names, without its bills. One lost its time, and one was never reconciled.
await db.execute(sql`
  with names as (
    select 'desk-' || to_char(n, 'FM000') as name, n
    from generate_series(1, ${accounts}) as n
  ),
  stored_bills as (
    insert into bills
    select (jsonb_populate_record(null::bills, to_jsonb(stored) || jsonb_build_object('account', name))).*
    from bills as stored, names
    where product_type = 'USDT-FUTURES'
      and c_time > current_date - 5
  ),
  counts as (
    insert into ledgers
    select (jsonb_populate_record(null::ledgers, to_jsonb(stored) || jsonb_build_object('account', name)
      || case when n = 250 then jsonb_build_object('covered', '{}', 'lost', covered) else '{}' end)).*
    from ledgers as stored, names
    where product_type = 'USDT-FUTURES'
  )
  insert into reconciled_chains
  select (jsonb_populate_record(null::reconciled_chains, to_jsonb(chain) || jsonb_build_object('account', name))).*
  from reconciled_chains as chain, names
  where wallet = 'USDT-FUTURES'
    and n <> 123`);

async function written(address: string, more: Partial<OverviewDeps> = {}) {
  const query = new URLSearchParams(address);
  const parts: string[] = [];
  let queries = 0;
  await inTransaction(db, async (tx) => {
    const counting = new Proxy(tx, {
      get(target, name) {
        if (name === "execute") queries += 1;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }) as Transaction;
    await writePage(counting, { ...unconfigured, query, ...more }, ({ text }) => parts.push(text));
  });
  return { page: parts.join(""), queries };
}

const section = (page: string, id: string): string =>
  new RegExp(`<section[^>]* id="${id}"[\\s\\S]*?</section>`).exec(page)?.[0] ?? "";
const ledgersIn = (page: string): readonly string[] =>
  [...section(page, "ledgers").matchAll(/<th scope="row">([^<]*)/g)].map(([, name = ""]) => name);

test("of many ledgers the worst are listed first, and the others are counted and found by name", async () => {
  const { page } = await written("");
  expect(ledgersIn(page)).toHaveLength(12);
  expect(ledgersIn(page)[0]).toBe("desk-250 USDT-FUTURES");
  expect(section(page, "ledgers")).toContain(`12 of ${accounts + 4}`);
  expect(section(page, "todo")).toContain("desk-250/USDT-FUTURES was not read from ");
  const found = (await written("find=DESK-29")).page;
  expect(ledgersIn(found).every((name) => name.startsWith("desk-29"))).toBe(true);
  expect(ledgersIn(found)).toHaveLength(10);
  expect(section((await written("find=<b>")).page, "ledgers")).toContain("“&lt;b&gt;”");
});

test("an account is chosen by a part of its name, and none by leafing through all", async () => {
  const chosen = section((await written("account=K-277&product=USDT-FUTURES")).page, "statement");
  expect(chosen).toContain('<input type="search" name="account" value="desk-277"');
  expect(chosen.match(/<option/g)?.length).toBeLessThan(20);
  expect(chosen).toContain("There is no account “K-277”");
  const first = section((await written("account=nobody")).page, "statement");
  expect(first).toContain('value="desk-000"');
});

test("many ledgers are read with as many queries as one", async () => {
  const { queries: many } = await written("account=desk-000");
  for (const table of ["ledgers", "bills", "reconciled_chains"])
    await db.execute(sql`delete from ${sql.identifier(table)} where account <> 'desk-000'`);
  expect((await written("account=desk-000")).queries).toBe(many);
  expect(many).toBeLessThan(20);
});
