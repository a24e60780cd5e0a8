import { Client } from "pg";
import { openDatabases } from "./backfill/databases.ts";
import { type Bench, median } from "./result.ts";
import { backendOf } from "./support/server-cpu.ts";

/*
 * How long the views take over one ledger of a database with as many bills in another: a day, a month, a year, everything,
 * as a BI tool asks. Beside each time is the server's CPU, which is nearly all of it on an idle machine.
 */

const sizes = [100_000, 1_000_000, 5_000_000];
const days = 500;
const ledger = "account = 'main' and product_type = 'USDT-FUTURES'";

// Ten kinds of bills in 500 days; each balance follows from the one before, and one bill of a hundred shows none.
const seed = (bills: number): string => `
  insert into bills (
    account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
    ingested_at
  )
  select
    'main',
    product_type,
    (((extract(epoch from c_time) * 1000)::bigint - 1435725920677) << 22)::text,
    'C' || n % 20 || 'USDT',
    amount,
    fee,
    kind,
    'USDT',
    case
      when n % 100 > 0 then 1000000 + sum(amount + fee) over (partition by product_type order by n)
    end,
    c_time,
    clock_timestamp()
  from (
    select
      n,
      product_type,
      (array[
        'close_long', 'close_short', 'contract_settle_fee', 'close_long', 'buy', 'sell',
        'force_close_long', 'trans_from_exchange', 'trans_to_exchange', 'bonus_issue'
      ])[1 + case when n % 50 < 4 then 6 + n % 4 else n % 6 end] as kind,
      ((n * 7919) % 2000003 - 1000001) / 100000.0 as amount,
      -((n * 104729) % 100003) / 100000000.0 as fee,
      timestamptz '2026-06-01Z' - (${bills} - n) / ${bills}::float8 * interval '${days} days' as c_time
    from generate_series(1, ${bills}::bigint) as n
    cross join unnest(array['USDT-FUTURES', 'USDC-FUTURES']) as product_type
  ) as drawn
  order by c_time`;

const ledgers = `
  insert into ledgers (account, product_type, bills, covered, first_unread_at)
  select
    account, product_type, count(*), tstzmultirange(tstzrange(min(c_time), '2026-06-01Z')), '2026-06-01Z'
  from bills
  group by account, product_type`;

const ofDays = {
  "a day": "day = '2026-04-10'",
  "a month": "day between '2026-04-01' and '2026-04-30'",
  "a year": "day between '2025-06-01' and '2026-05-31'",
  everything: "true",
};
const ofMonths = {
  "a month": "month = '2026-04-01'",
  "a year": "month between '2025-06-01' and '2026-05-01'",
  everything: "true",
};
const ofBills = { "a day": ofDays["a day"], "a month": ofDays["a month"] };

const views = {
  daily_rollforward: ofDays,
  monthly_rollforward: ofMonths,
  by_symbol_day: ofDays,
  activity: ofBills,
  entries: ofBills,
  liquidations: { everything: "true" },
  transfers: { everything: "true" },
  data_quality: { everything: "true" },
};

type Taken = { readonly ms: number; readonly cpuMs: number };

const questions = Object.entries(views).flatMap(([view, periods]) =>
  Object.entries(periods).map(([period, isOf]) => ({
    what: `${view}, ${period}`,
    query: `select * from analytics.${view} where ${ledger} and ${isOf}`,
  })),
);

export const run: Bench = async ({ short }) => {
  await using databases = await openDatabases();
  const measured: Measured[] = [];
  for (const bills of short ? [10_000] : sizes)
    measured.push(await measure(await databases.fresh(), bills, short ? 1 : 5));
  const columns = measured.map(({ bills }) => bills.toLocaleString("en"));
  return {
    name: "views",
    title: `milliseconds to read a view of one ledger among as many other bills, and the server's CPU (${databases.version})`,
    rows: [
      ["", ...columns],
      ...questions.map(({ what }, place) => [
        what,
        ...measured.map(({ taken }) => textOf(taken[place])),
      ]),
      ["the index bills_chain, MB", ...measured.map(({ indexMb }) => indexMb.toFixed(0))],
    ],
    json: measured,
  };
};

const textOf = (taken: Taken | undefined): string =>
  taken === undefined ? "-" : `${taken.ms.toFixed(0)} (${taken.cpuMs.toFixed(0)})`;

type Measured = {
  readonly bills: number;
  readonly indexMb: number;
  /** In the order of the questions. */
  readonly taken: readonly Taken[];
};

async function measure(url: string, bills: number, rounds: number): Promise<Measured> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(seed(bills));
    await client.query(ledgers);
    await client.query("vacuum analyze");
    const cpuMs = await backendOf(client);
    const taken: Taken[] = [];
    for (const { query } of questions) taken.push(await timeOf(client, cpuMs, query, rounds));
    const { rows } = await client.query<{ mb: number }>(
      "select pg_relation_size('bills_chain') / 1e6::float8 as mb",
    );
    return { bills, indexMb: rows[0]?.mb ?? Number.NaN, taken };
  } finally {
    await client.end();
  }
}

/** The median round. All columns are computed, and no row is sent. */
async function timeOf(
  client: Client,
  cpuMs: () => number,
  query: string,
  rounds: number,
): Promise<Taken> {
  const taken: Taken[] = [];
  for (let round = 0; round < rounds; round++) {
    const [startedAt, cpuBefore] = [performance.now(), cpuMs()];
    await client.query(`select count(v::text) from (${query}) as v`);
    taken.push({ ms: performance.now() - startedAt, cpuMs: cpuMs() - cpuBefore });
  }
  return { ms: median(taken.map(({ ms }) => ms)), cpuMs: median(taken.map((one) => one.cpuMs)) };
}
