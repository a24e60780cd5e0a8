import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { ProductType } from "../src/contract/product-types.ts";
import { inTransaction, type Transaction } from "../src/db/connect.ts";
import { writePage } from "../src/page/page.ts";
import type { FactsDeps } from "../src/page/trust/facts.ts";
import { readCoinNames } from "../src/page/wallets.ts";
import { readReconciled } from "../src/reports/reconciled.ts";
import { fileDatabase } from "./support/database.ts";
import { check, storeAccount } from "./support/page-states.ts";

// The page of many accounts, and of accounts of which nothing was read.

const { tables } = await fileDatabase();
const { db } = tables;

const accounts = 300;
await storeAccount(db, { account: "desk-000", density: 0.05 });
await check(db);
// The same ledger under other names, without its bills. One lost its time, and one was never reconciled.
await db.execute(sql`
  with names as (
    select 'desk-' || to_char(n, 'FM000') as name, n
    from generate_series(1, ${accounts}) as n
  ),
  days as (
    insert into ledger_days
    select (jsonb_populate_record(null::ledger_days, to_jsonb(stored) || jsonb_build_object('account', name))).*
    from ledger_days as stored, names
    where wallet = 'USDT-FUTURES'
      and day > current_date - 5
  ),
  counts as (
    insert into streams (
      account, product_type, bills, covered, lost, settled_to, read_at, lost_at, planned_at,
      planned_clock
    )
    select
      name, product_type, bills, case n when 250 then '{}' else covered end,
      case n when 250 then covered else lost end, settled_to, read_at, lost_at, planned_at,
      planned_clock
    from streams, names
    where product_type = 'USDT-FUTURES'
  )
  insert into reconciled_chains
  select (jsonb_populate_record(null::reconciled_chains, to_jsonb(chain) || jsonb_build_object('account', name))).*
  from reconciled_chains as chain, names
  where product_type = 'USDT-FUTURES'
    and n <> 123`);

type Written = { readonly page: string; readonly queries: number };

async function written(address: string, more: Partial<FactsDeps> = {}): Promise<Written> {
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
    const asked = { query, settleLagMs: 600_000, ...more };
    await writePage(counting, asked, ({ text }) => parts.push(text));
  });
  return { page: parts.join(""), queries };
}

const section = (page: string, id: string): string =>
  new RegExp(`<section[^>]* id="${id}"[\\s\\S]*?</section>`).exec(page)?.[0] ?? "";
const namesIn = (markup: string): readonly string[] =>
  [...markup.matchAll(/<span class="account">([^<]*)</g)].map(([, name = ""]) => name);

test("of many ledgers the worst are listed first, and the others are counted and found by name", async () => {
  const { page } = await written("");
  const ledgers = section(page, "ledgers");
  const [live = ""] = ledgers.split("<details>");
  expect(namesIn(live)).toHaveLength(50);
  expect(namesIn(live)[0]).toBe("desk-250");
  expect(live).toContain("and 253 ledgers more, of which 253 all read");
  const found = section((await written("find=DESK-29")).page, "ledgers");
  expect(namesIn(found)).toEqual(Array.from({ length: 10 }, (_, place) => `desk-29${place}`));
  expect(section((await written("find=<b>")).page, "ledgers")).toContain("“&lt;b&gt;”");
});

test("an account is chosen by a part of its name, and none by leafing through all", async () => {
  const filters = section((await written("account=K-277&product=USDT-FUTURES")).page, "filters");
  expect(filters).toContain('<input type="text" name="account" value="desk-277"');
  expect(filters.match(/<option/g)?.length).toBeLessThan(110);
  const first = section((await written("account=nobody")).page, "filters");
  expect(first).toContain('value="desk-000"');
});

test("many ledgers are read with as many queries as one, and each chain counts", async () => {
  const of = async (address: string) => (await written(address)).queries;
  const many = await of("account=desk-000");
  const coins = (isDistributed: boolean) => readCoinNames(db, { isDistributed });
  expect(await coins(true)).toEqual(await coins(false));
  const reconciled = (isDistributed: boolean) =>
    inTransaction(db, (tx) => readReconciled(tx, { isDistributed }));
  const { chains } = await reconciled(false);
  expect(chains.length).toBeGreaterThan(accounts);
  expect(chains.every(({ billsSince, isOutdated }) => billsSince === 0 && !isOutdated)).toBe(true);
  const [, some, all] = /(\d+) of (\d+) coins were/.exec((await written("")).page) ?? [];
  expect(Number(all) - Number(some)).toBe(1);
  // A bill of the chain that is reconciled first, and one of a chain among those that are counted together.
  await db.execute(sql`
    update reconciled_chains
    set reconciled_at = reconciled_at - interval '1 hour'
    where account between 'desk-001' and 'desk-200'`);
  await db.execute(sql`
    insert into bills (
      account, product_type, bill_id, amount, fee, business_type, coin, balance, c_time, ingested_at
    )
    select
      account, 'USDT-FUTURES', '1', 0, 0, 'buy', 'USDT', 0, now() - interval '1 day', clock_timestamp()
    from unnest(array['desk-001', 'desk-300']) as account`);
  const since = async () =>
    (await reconciled(false)).chains
      .filter(({ billsSince }) => billsSince > 0)
      .map(({ account, billsSince }) => [account, billsSince]);
  expect(await since()).toEqual([
    ["desk-001", 1],
    ["desk-300", 1],
  ]);
  const sorted = async (isDistributed: boolean) =>
    (await reconciled(isDistributed)).chains.toSorted((a, b) => (a.account < b.account ? -1 : 1));
  expect(await sorted(true)).toEqual(await sorted(false));
  await db.execute(sql`delete from streams where account <> 'desk-000'`);
  await db.execute(sql`delete from ledger_days where account <> 'desk-000'`);
  await db.execute(sql`delete from reconciled_chains where account <> 'desk-000'`);
  expect(await of("account=desk-000")).toBe(many);
  expect(many).toBeLessThan(50);
});

test("what is configured and was never read is said, and is no whole", async () => {
  const configured = () =>
    (["USDT-FUTURES", "COIN-FUTURES", "SUSDT-FUTURES"] as const).flatMap(
      (productType: ProductType) =>
        ["desk-000", "new desk"].map((account) => ({ account, productType })),
    );
  const { page } = await written("", { configured });
  expect(page).toMatch(/<h1[^>]*>(<svg.*?<\/svg>)?Not complete/);
  expect(section(page, "trust")).toContain(
    "new desk/USDT-FUTURES and new desk/COIN-FUTURES were never read.",
  );
  const [live = ""] = section(page, "ledgers").split("<details>");
  expect(namesIn(live)).toEqual(["new desk", "desk-000", "desk-000", "desk-000"]);
  expect(live).toContain("npm run sync -- --account &#39;new desk&#39;");
  expect((await written("")).page).not.toContain("never read");
});

test("a ledger whose account became of the other kind is not the first, and no sync is said to read it", async () => {
  const productOf = (page: string) =>
    /<option value="([A-Z-]+)" selected>/.exec(section(page, "filters").split("Wallet")[1] ?? "");
  expect(productOf((await written("")).page)?.[1]).toBe("USDT-FUTURES");
  await db.execute(sql`
    insert into stream_states (account, product_type, closed_at)
    values ('desk-000', 'USDT-FUTURES', now())`);
  const { page } = await written("");
  expect(productOf(page)?.[1]).not.toBe("USDT-FUTURES");
  const trust = section(page, "trust");
  expect(trust).toContain(
    "desk-000/USDT-FUTURES were not read before the account became of another kind",
  );
  expect(trust).not.toContain("npm run sync");
  expect(section(page, "ledgers")).toContain("<details open><summary>Read no more: 1 ledger");
  // Behind its last day nothing is unknown.
  const own = section((await written("product=USDT-FUTURES")).page, "balance");
  expect(own).toContain("The balance as a table");
  expect(own).not.toContain("unknown");
});

test("where the commands of the page need variables, it has them", async () => {
  const { page } = await written("", { variables: "DATA_DIR=/tmp/a\nEXCHANGE_ACCOUNT=demo\n" });
  expect(section(page, "trust")).toContain(
    "export DATA_DIR=/tmp/a\nexport EXCHANGE_ACCOUNT=demo\n</pre>",
  );
  expect(section((await written("")).page, "trust")).not.toContain("export ");
});
