import { readStatus } from "../src/check/health/ledger-status.ts";
import { type Database, openDatabase } from "../src/core/postgres/connect.ts";
import { readKnownTime } from "../src/core/store/known-time.ts";
import { openStore } from "../src/core/store/ledger-store.ts";
import { planLedger } from "../src/core/words/plan.ts";
import { dayMs, epochMs, hourMs, isoTime, minuteMs } from "../src/lib/time.ts";
import { type Bench, median } from "./result.ts";
import { openPageExchange } from "./support/exchange.ts";
import { type BenchDatabase, openBenchServer } from "./support/postgres.ts";
import { syncProcess } from "./support/sync.ts";

/*
 * What an hourly sync, status and a plan cost with few and with many stored bills, and what a sync
 * every five minutes leaves behind. The stored bills are seeded; those of the last hour come from
 * an exchange.
 */

const ledger = { account: "bench-0", productType: "USDT-FUTURES" } as const;
const billsAnHour = 100;

type Costs = { readonly sync: number[]; readonly status: number[]; readonly plan: number[] };

export const run: Bench = async ({ short }) => {
  const sizes = short ? [1_000, 20_000] : [10_000, 5_000_000];
  const rounds = short ? 3 : 15;
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await openBenchServer());
  const exchange = stack.use(await openPageExchange(90 * 24 * billsAnHour));
  // The exchange serves bills up to the last full hour.
  const hourStart = (Math.floor(Date.now() / hourMs) - 1) * hourMs;
  const stores: { bills: number; given: BenchDatabase; db: Database; costs: Costs }[] = [];
  for (const bills of sizes) {
    const given = stack.use(await server.database());
    const { db } = stack.use(openDatabase(given.url));
    await seed(given, bills, hourStart);
    stores.push({ bills, given, db, costs: { sync: [], status: [], plan: [] } });
  }
  for (let round = 0; round < rounds; round++) {
    for (const { given, db, costs } of stores) {
      await forgetSince(given, hourStart);
      const job = { databaseUrl: given.url, exchangeUrl: exchange.url };
      const result = await syncProcess({ ...job, accounts: 1, productTypesEach: 1 });
      if (result.new < billsAnHour / 2) throw new Error(`only ${result.new} bills were new`);
      costs.sync.push(result.seconds * 1_000);
      costs.status.push(await timed(() => readStatus(db, [ledger])));
      costs.plan.push(await timed(() => plan(db)));
    }
  }
  const year = await aYear(stack.use(await server.database()), short ? 1 : 14);
  return report(stores, year);
};

async function plan(db: Database): Promise<void> {
  const known = await readKnownTime(db, ledger);
  planLedger(ledger, known, { now: epochMs(Date.now()), settleLagMs: 0 });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Bills of the 90 days before a time, all of it covered. */
async function seed({ client }: BenchDatabase, bills: number, to: number): Promise<void> {
  const { account, productType } = ledger;
  await client.query(
    `insert into bills (
      account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
      ingested_at
    )
    select
      $1, $2, (((time - 1435725920677) << 22) + 1)::text, 'BTCUSDT', -12.34567890, -0.01234567,
      'close_long', 'USDT', 1234.567890123456, to_timestamp(time / 1000.0), now()
    from (
      select ($3::bigint - ceil(place * $4::numeric))::bigint as time
      from generate_series(1, $5) as place
    ) as times`,
    [account, productType, to, (90 * dayMs) / bills, bills],
  );
  await client.query(
    `insert into ledgers (account, product_type, bills, covered, first_unread_at)
    values ($1, $2, $3, tstzmultirange(tstzrange($4::timestamptz, $5::timestamptz)), $5)`,
    [account, productType, bills, isoTime(epochMs(to - 90 * dayMs)), isoTime(epochMs(to))],
  );
  await client.query("vacuum analyze");
}

/** Undoes the sync of the last hour. */
async function forgetSince({ client }: BenchDatabase, time: number): Promise<void> {
  const since = [isoTime(epochMs(time))];
  await client.query("delete from bills where c_time >= $1", since);
  await client.query("delete from windows");
  await client.query(
    `update ledgers
    set covered = covered * tstzmultirange(tstzrange(null, $1)), open = '{}', first_unread_at = $1`,
    since,
  );
  await client.query("delete from leases");
}

/**
 * What syncs every five minutes leave, and how long it takes to read, with a year of runs in the
 * run log.
 */
async function aYear(given: BenchDatabase, days: number) {
  await using opened = openDatabase(given.url);
  const { db } = opened;
  await given.client.query(
    "insert into leases (account, holder, epoch, expires_at) values ($1, 'bench', 1, now())",
    [ledger.account],
  );
  const store = openStore(db, { account: ledger.account, epoch: 1 });
  const start = Date.now() - days * dayMs;
  const stepMs = 5 * minuteMs;
  const syncs = (days * dayMs) / stepMs;
  for (let done = 0; done < syncs; done++) {
    const from = epochMs(start + done * stepMs);
    const window = { from, to: epochMs(from + stepMs) };
    await store.recordPlans([{ ledger, plannedAt: window.to, windows: [{ window }], lost: [] }]);
    const next = { end: { proven: [window], lost: [] } };
    await store.commitPage({
      ledger,
      window,
      startedAt: from,
      cursorBefore: undefined,
      bills: [],
      rejected: [],
      next,
    });
  }
  const runsAYear = (365 * dayMs) / stepMs;
  await given.client.query(
    `insert into runs (run_id, command, started_at, finished_at, outcome, counts)
    select gen_random_uuid(), 'sync', now() - place * interval '5 min',
      now() - place * interval '5 min' + interval '3 s', 'complete', '{"bills": {"new": 12}}'
    from generate_series(1, ${runsAYear}) as place`,
  );
  const readMs: number[] = [];
  for (let read = 0; read < 15; read++) {
    readMs.push(await timed(() => readStatus(db, [ledger])));
  }
  return { days, syncs, readMs: median(readMs) };
}

function report(
  stores: readonly { bills: number; costs: Costs }[],
  year: Awaited<ReturnType<typeof aYear>>,
) {
  const works = ["sync", "status", "plan"] as const;
  const cells = works.map((work) => stores.map(({ costs }) => median(costs[work])));
  const ratios = cells.map(([small, large]) => (large ?? Number.NaN) / (small ?? Number.NaN));
  const names = stores.map(({ bills }) => `${bills.toLocaleString("en")} bills, ms`);
  return {
    name: "growth",
    title: "what an hour's sync, status and plan take",
    rows: [
      ["", ...names, "ratio"],
      ...works.map((work, place) => [
        work,
        ...(cells[place] ?? []).map((ms) => ms.toFixed(1)),
        (ratios[place] ?? Number.NaN).toFixed(2),
      ]),
    ],
    notes: [
      `after ${year.syncs} syncs, one every five minutes of ${year.days} days, and with a year of runs in the ` +
        `log, status reads all in ${year.readMs.toFixed(1)} ms`,
    ],
    json: { stores: stores.map(({ bills, costs }) => ({ bills, costs })), year },
  };
}
