import pg from "pg";
import type { BenchOptions, BenchResult } from "./result.ts";
import { type Serving, startServe } from "./support/mirror-process.ts";
import { type BenchDatabase, type BenchServer, openBenchServer } from "./support/postgres.ts";

/*
 * Pages of 100 bills from the mirror, over HTTP and signed, compared with a bare query of the same
 * page from this process, which reads its rows. The two take turns, so that other work of the
 * machine affects both. On a busy machine the CPU time of a page says more: that of the mirror's
 * process, or of this one for the bare query, each plus Postgres's.
 */

const pageSize = 100;
const rounds = 5;
const spacingSeconds = 30;

const sizesOf = ({ short }: BenchOptions): readonly number[] =>
  short ? [2_000, 10_000] : [10_000, 5_000_000];

/** Rounds for one client, and for 64 clients together. */
const requestsOf = ({ short }: BenchOptions): readonly [number, number] =>
  short ? [40, 200] : [200, 1_000];

// As syncs leave it: a checkpoint for each week. The tables are unlogged and have no autovacuum, so
// that nothing else takes CPU meanwhile.
const ledger = (bills: number): string => `
  alter table bills set unlogged;
  alter table bills set (autovacuum_enabled = off);
  insert into bills (
    account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
    ingested_at
  )
  select
    'main', 'USDT-FUTURES', (1000000000000000000 + n)::text, 'BTCUSDT',
    ((n * 7919) % 2000003 - 1000001) / 100000.0, -((n * 104729) % 100003) / 100000000.0,
    'close_long', 'USDT', 100000 + n / 1000.0,
    date_trunc('milliseconds', now()) - (${bills} - n) * interval '${spacingSeconds} seconds', now()
  from generate_series(1::bigint, ${bills}) as n;
  insert into ledgers (account, product_type, covered, first_unread_at)
  select 'main', 'USDT-FUTURES', tstzmultirange(tstzrange(min(c_time), now())), now()
  from bills`;

const bare = `
  select
    bill_id, symbol, amount::text, fee::text, fee_by_coupon::text, business_type, coin, balance::text,
    (extract(epoch from c_time) * 1000)::bigint::text, position_type, position_amount::text,
    position_balance::text, extra::text
  from bills
  where account = 'main'
    and product_type = 'USDT-FUTURES'
    and (c_time, length(bill_id), bill_id) < ($1, 40, $2 collate "C")
    and c_time <= $1
  order by c_time desc, length(bill_id) desc, bill_id desc
  limit ${pageSize}`;

type Page = { readonly name: string; readonly below: { id: string; at: Date } | undefined };

type Figures = {
  readonly p50: number;
  readonly p99: number;
  readonly perSecond: number;
  /** CPU ms of a page: of the client or the mirror, and of Postgres. */
  readonly cpuMs: { readonly own: number; readonly postgres: number };
};

type Row = {
  readonly bills: number;
  readonly page: string;
  readonly clients: number;
  readonly mirror: Figures;
  readonly query: Figures;
};

export async function run(options: BenchOptions): Promise<BenchResult> {
  await using server = await openBenchServer();
  const rows: Row[] = [];
  const memory: string[] = [];
  for (const bills of sizesOf(options)) {
    await using database = await server.database();
    await database.client.query(ledger(bills));
    await database.client.query("vacuum analyze bills");
    await using serving = await startServe(database);
    const before = await serving.residentMiB();
    for (const page of await pagesOf(database, bills))
      rows.push(...(await measure(options, bills, page, database, serving, server)));
    memory.push(
      `${bills.toLocaleString("en-US")} bills: ${before} MiB before, ${await serving.residentMiB()} MiB after`,
    );
  }
  return resultOf(rows, memory, server.version);
}

/** The newest page, and one in the middle of a walk. */
async function pagesOf({ client }: BenchDatabase, bills: number): Promise<readonly Page[]> {
  const { rows } = await client.query<{ id: string; at: Date }>(
    "select bill_id as id, c_time as at from bills where bill_id = $1",
    [String(10n ** 18n + BigInt(Math.floor(bills / 2)))],
  );
  return [
    { name: "first", below: undefined },
    { name: "deep", below: rows[0] },
  ];
}

async function measure(
  options: BenchOptions,
  bills: number,
  { name, below }: Page,
  { url }: BenchDatabase,
  serving: Serving,
  server: BenchServer,
): Promise<readonly Row[]> {
  const postgresMs = async () => ((await server.cpuSeconds()) ?? Number.NaN) * 1_000;
  const mirrorCpu = async () => ({ own: serving.cpuMs(), postgres: await postgresMs() });
  const queryCpu = async () => ({ own: ownCpuMs(), postgres: await postgresMs() });
  const [alone, together] = requestsOf(options);
  await using stack = new AsyncDisposableStack();
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  stack.defer(() => pool.end());
  const newest = [new Date(Date.now() + 60_000), "9"];
  const query = async () => {
    const { rows } = await pool.query({
      text: bare,
      values: below ? [below.at, below.id] : newest,
      rowMode: "array",
    });
    if (rows.length !== pageSize) throw new Error("defect: the bare query found no page");
  };
  const mirror = () => serving.askPage({ limit: pageSize, idLessThan: below?.id });
  const found: Row[] = [];
  for (const [clients, requests] of [
    [1, alone],
    [64, together],
  ] as const) {
    await drive(mirror, clients, Math.min(requests, 100), mirrorCpu);
    await drive(query, clients, Math.min(requests, 100), queryCpu);
    const [ours, theirs]: [Driven[], Driven[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      ours.push(await drive(mirror, clients, requests, mirrorCpu));
      theirs.push(await drive(query, clients, requests, queryCpu));
    }
    found.push({ bills, page: name, clients, mirror: figuresOf(ours), query: figuresOf(theirs) });
  }
  return found;
}

type Cpu = Figures["cpuMs"];
type Driven = { readonly ms: readonly number[]; readonly tookMs: number; readonly cpu: Cpu };

/** Sends this many requests by so many clients, each of which waits for its answer. */
async function drive(
  act: () => Promise<void>,
  clients: number,
  requests: number,
  readCpu: () => Promise<Cpu>,
): Promise<Driven> {
  const ms: number[] = [];
  let left = requests;
  const before = await readCpu();
  const start = performance.now();
  const client = async () => {
    while (left-- > 0) {
      const begun = performance.now();
      await act();
      ms.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const tookMs = performance.now() - start;
  const after = await readCpu();
  const cpu = { own: after.own - before.own, postgres: after.postgres - before.postgres };
  return { ms, tookMs, cpu };
}

function figuresOf(driven: readonly Driven[]): Figures {
  const all = driven.flatMap(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (share: number) =>
    all[Math.min(all.length - 1, Math.floor(all.length * share))] ?? Number.NaN;
  const sum = (read: (one: Driven) => number) =>
    driven.reduce((whole, one) => whole + read(one), 0);
  const aPage = (read: (one: Driven) => number) => sum(read) / all.length;
  return {
    p50: at(0.5),
    p99: at(0.99),
    perSecond: 1_000 / aPage(({ tookMs }) => tookMs),
    cpuMs: { own: aPage(({ cpu }) => cpu.own), postgres: aPage(({ cpu }) => cpu.postgres) },
  };
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function resultOf(rows: readonly Row[], memory: readonly string[], version: string): BenchResult {
  const cells = ({ bills, page, clients, mirror, query }: Row) => [
    `${bills.toLocaleString("en-US")} bills, ${page} page, ${clients} ${clients === 1 ? "client" : "clients"}`,
    ...[mirror.perSecond, query.perSecond].map((figure) => figure.toFixed(0)),
    (mirror.perSecond / query.perSecond).toFixed(2),
    ...[mirror.p50, mirror.p99, query.p50, query.p99].map((figure) => figure.toFixed(1)),
    ...[mirror, query].map(({ cpuMs }) => `${cpuMs.own.toFixed(2)} + ${cpuMs.postgres.toFixed(2)}`),
  ];
  return {
    name: "serve",
    title: `pages of ${pageSize} bills from the mirror, and by a bare query, on ${version}`,
    rows: [
      ["", "pages/s", "bare", "ratio", "p50 ms", "p99", "bare p50", "p99", "CPU ms", "bare"],
      ...rows.map(cells),
    ],
    notes: [
      `${rounds} rounds, the two in turns. CPU is a page's, of the mirror or the bare query's client + Postgres.`,
      growthText(rows),
      `The server's memory: ${memory.join("; ")}.`,
    ],
    json: { rows },
  };
}

/**
 * The ratio of a page's CPU with the most bills to that with the fewest, and the same for the bare
 * query.
 */
function growthText(rows: readonly Row[]): string {
  const [least, most] = [rows[0]?.bills, rows.at(-1)?.bills];
  const wholeMs = ({ cpuMs }: Figures) => cpuMs.own + cpuMs.postgres;
  const growths = rows
    .filter(({ bills }) => bills === most)
    .flatMap(({ page, clients, mirror, query }) => {
      const small = rows.find(
        (row) => row.bills === least && row.page === page && row.clients === clients,
      );
      if (small === undefined) return [];
      const [ours, theirs] = [
        wholeMs(mirror) / wholeMs(small.mirror),
        wholeMs(query) / wholeMs(small.query),
      ];
      return [`${page} page, ${clients}: ${ours.toFixed(2)} (bare ${theirs.toFixed(2)})`];
    });
  return `A page's CPU with the most bills, as a multiple of that with the fewest: ${growths.join("; ")}.`;
}
