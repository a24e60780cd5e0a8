import { setTimeout as sleep } from "node:timers/promises";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { openDatabases, query } from "./backfill/databases.ts";
import { type Bench, type BenchResult, median } from "./result.ts";
import { chainedLedger } from "./support/chained-ledger.ts";

/*
 * What an hourly check of what changed takes with few and with many stored bills. The ledgers take turns:
 * each gets the bills of an hour, and is checked. How many rows a check reads does not depend on the
 * machine's other work.
 */

const billsAnHour = 100;
const scope = { accounts: ["main"], productTypes: undefined };

type Check = { readonly ms: number; readonly rows: number };
type Ledger = { readonly bills: number; readonly url: string; readonly checks: Check[] };

export const run: Bench = async ({ short }) => {
  const sizes = short ? [1_000, 10_000] : [10_000, 1_000_000];
  const rounds = short ? 2 : 15;
  await using databases = await openDatabases();
  const ledgers: Ledger[] = [];
  for (const bills of sizes) {
    const url = await databases.fresh();
    await query(url, oldLedger(bills));
    await check(url);
    await query(url, "vacuum analyze");
    ledgers.push({ bills, url, checks: [] });
  }
  for (let round = 1; round <= rounds; round++) {
    for (const { url, checks } of ledgers) {
      await query(url, nextHour);
      checks.push(await check(url));
    }
  }
  return resultOf(ledgers, databases.version);
};

/** A ledger that was stored days ago, all of its time covered. */
const oldLedger = (bills: number): string => `
  ${chainedLedger(bills, 25, "now() - interval '3 days'")};
  insert into ledgers (account, product_type, bills, covered, first_unread_at)
  select account, product_type, count(*), '{[2024-12-01Z, 2040-01-01Z)}', '2040-01-01Z'
  from bills
  group by account, product_type`;

const newest =
  "(select * from bills where c_time > (select max(c_time) - interval '1 hour' from bills))";

/** The next bills of the ledger's four chains, as if the last check had been more than minutes ago. */
const nextHour = `
  update reconciled_chains
  set checked_before = checked_before + interval '10 minutes';
  insert into bills (
    account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
    ingested_at
  )
  select
    account,
    product_type,
    (((extract(epoch from c_time + after) * 1000)::bigint - 1435725920677) << 22)::text,
    symbol,
    1,
    0,
    'close_long',
    coin,
    balance + place,
    c_time + after,
    clock_timestamp()
  from (
    select distinct on (product_type)
      account, product_type, symbol, coin, c_time, coalesce(balance, before + amount + fee) as balance
    from (
      select newest.*, lag(balance) over (partition by product_type order by c_time) as before
      from ${newest} as newest
    ) as chained
    order by product_type, c_time desc
  ) as ends
  cross join generate_series(1, ${billsAnHour / 4}) as place
  cross join lateral (select place * interval '143 seconds' as after) as times`;

async function check(url: string): Promise<Check> {
  const before = await rowsRead(url);
  const ms = await timedCheck(url);
  return { ms, rows: (await rowsRead(url)) - before };
}

async function timedCheck(url: string): Promise<number> {
  await using tables = openDatabase(url);
  const startedAt = performance.now();
  const { breaks } = await reconcile(tables.db, scope, { isFull: false });
  const ms = performance.now() - startedAt;
  if (breaks.length > 0) throw new Error("defect: the bench's ledger does not add up");
  return ms;
}

const waitsMax = 1_000;

/** How many rows of bills were ever read. A session reports what it read when it ends. */
async function rowsRead(url: string): Promise<number> {
  for (let waited = 0; waited < waitsMax; waited++) {
    const [[rows, others] = []] = await query(
      url,
      `select
        seq_tup_read + idx_tup_fetch,
        (
          select count(*)
          from pg_stat_activity
          where datname = current_database()
            and backend_type = 'client backend'
            and pid <> pg_backend_pid()
        )
      from pg_stat_user_tables
      where relname = 'bills'`,
    );
    if (Number(others) === 0) return Number(rows);
    await sleep(10);
  }
  throw new Error("defect: a session of the bench does not end");
}

function resultOf(ledgers: readonly Ledger[], version: string): BenchResult {
  const row = (name: string, digits: number, pick: (check: Check) => number) => {
    const figures = ledgers.map(({ checks }) => median(checks.map(pick)));
    const [small = Number.NaN, large = Number.NaN] = figures;
    return [name, ...figures.map((figure) => figure.toFixed(digits)), (large / small).toFixed(2)];
  };
  return {
    name: "changed",
    title: `a check of ${billsAnHour} new bills, median, on ${version}`,
    rows: [
      ["", ...ledgers.map(({ bills }) => `${bills.toLocaleString("en")} bills`), "ratio"],
      row("ms", 1, ({ ms }) => ms),
      row("rows of bills read", 0, ({ rows }) => rows),
    ],
    json: ledgers.map(({ bills, checks }) => ({ bills, checks })),
  };
}
