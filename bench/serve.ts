import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { Agent, request } from "undici";
import { accountBills } from "../src/contract/account-bills.ts";
import { signature } from "../src/contract/signature.ts";
import { type MirrorKey, newKey, writeKeys } from "../src/serve/keys/key-file.ts";
import type { BenchOptions, BenchResult } from "./result.ts";
import { nodeFlags } from "./support/node-flags.ts";
import { type BenchDatabase, openBenchServer } from "./support/postgres.ts";

/*
 * Pages of 100 bills from the mirror, over HTTP and signed, beside a bare query of the same page from this
 * process. The two take turns, so that what else the machine does falls on both.
 */

const pageSize = 100;
const rounds = 5;
// A key has 100 requests a second: the requests go round.
const keyCount = 200;
const spacingSeconds = 30;

const sizesOf = ({ short }: BenchOptions): readonly number[] =>
  short ? [2_000, 10_000] : [10_000, 1_000_000];

/** For one client a round, and for 64 together. */
const requestsOf = ({ short }: BenchOptions): readonly [number, number] =>
  short ? [40, 200] : [200, 1_000];

const ledger = (bills: number): string => `
  insert into bills (
    account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
    ingested_at
  )
  select
    'main', 'USDT-FUTURES', (1000000000000000000 + n)::text, 'BTCUSDT',
    ((n * 7919) % 2000003 - 1000001) / 100000.0, -((n * 104729) % 100003) / 100000000.0,
    'close_long', 'USDT', 100000 + n / 1000.0,
    date_trunc('milliseconds', clock_timestamp()) - (${bills} - n) * interval '${spacingSeconds} seconds',
    clock_timestamp()
  from generate_series(1::bigint, ${bills}) as n;
  insert into checkpoints (
    account, product_type, window_start, window_end, state, run_id, updated_at
  )
  select
    'main', 'USDT-FUTURES', date_trunc('milliseconds', min(c_time)), clock_timestamp(), 'complete',
    gen_random_uuid(), clock_timestamp()
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

type Figures = { readonly p50: number; readonly p99: number; readonly perSecond: number };

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
      rows.push(...(await measure(options, bills, page, database, serving)));
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
): Promise<readonly Row[]> {
  const [alone, together] = requestsOf(options);
  await using stack = new AsyncDisposableStack();
  const agent = stack.use(new AgentScope());
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
  const mirror = () => serving.askPage(agent.agent, below?.id);
  const found: Row[] = [];
  for (const [clients, requests] of [
    [1, alone],
    [64, together],
  ] as const) {
    await drive(mirror, clients, Math.min(requests, 100));
    await drive(query, clients, Math.min(requests, 100));
    const [ours, theirs]: [Driven[], Driven[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      ours.push(await drive(mirror, clients, requests));
      theirs.push(await drive(query, clients, requests));
    }
    found.push({ bills, page: name, clients, mirror: figuresOf(ours), query: figuresOf(theirs) });
  }
  return found;
}

type Driven = { readonly ms: readonly number[]; readonly tookMs: number };

/** So many requests, by so many clients that each wait for their answer. */
async function drive(act: () => Promise<void>, clients: number, requests: number): Promise<Driven> {
  const ms: number[] = [];
  let left = requests;
  const start = performance.now();
  const client = async () => {
    while (left-- > 0) {
      const begun = performance.now();
      await act();
      ms.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { ms, tookMs: performance.now() - start };
}

function figuresOf(driven: readonly Driven[]): Figures {
  const all = driven.flatMap(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (share: number) =>
    all[Math.min(all.length - 1, Math.floor(all.length * share))] ?? Number.NaN;
  const tookMs = driven.reduce((sum, one) => sum + one.tookMs, 0);
  return { p50: at(0.5), p99: at(0.99), perSecond: (all.length / tookMs) * 1_000 };
}

class AgentScope {
  readonly agent = new Agent({ connections: 64 });
  [Symbol.asyncDispose](): Promise<void> {
    return this.agent.close();
  }
}

type Serving = AsyncDisposable & {
  askPage(agent: Agent, idLessThan: string | undefined): Promise<void>;
  residentMiB(): Promise<number>;
};

/** The real program, in a process of its own. */
async function startServe({ url }: BenchDatabase): Promise<Serving> {
  const folder = await mkdtemp(join(tmpdir(), "bill-sync-bench-serve-"));
  const keys = Array.from({ length: keyCount }, (_, index) =>
    newKey(
      { name: String(index), account: "main", productTypes: undefined, gaps: "refuse" },
      new Date(),
    ),
  );
  await writeKeys(join(folder, "mirror-keys.json"), keys);
  const program = new URL("../src/bin.js", import.meta.url).pathname;
  const child = spawn(process.execPath, [...nodeFlags, program, "serve", "--port", "0"], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: url, LOG_LEVEL: "info" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const base = line.toString().trim();
  let asked = 0;
  return {
    async askPage(agent, idLessThan) {
      const key = keys[asked++ % keyCount];
      if (key !== undefined) await askPage(agent, base, key, idLessThan);
    },
    async residentMiB() {
      const status = await readFile(`/proc/${child.pid}/status`, "utf8");
      return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024);
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await once(child, "exit");
      await rm(folder, { recursive: true });
    },
  };
}

async function askPage(agent: Agent, base: string, key: MirrorKey, idLessThan: string | undefined) {
  const { path } = accountBills;
  const timestamp = String(Date.now());
  const query = {
    ...(idLessThan !== undefined && { idLessThan }),
    limit: String(pageSize),
    productType: "USDT-FUTURES",
  };
  const { statusCode, body } = await request(`${base}${path}?${new URLSearchParams(query)}`, {
    dispatcher: agent,
    headers: {
      "access-key": key.apiKey,
      "access-sign": signature(key.apiSecret, { timestamp, method: "GET", path, query }),
      "access-passphrase": key.apiPassphrase,
      "access-timestamp": timestamp,
    },
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`defect: the mirror answered ${statusCode} ${text}`);
}

function resultOf(rows: readonly Row[], memory: readonly string[], version: string): BenchResult {
  const cells = ({ bills, page, clients, mirror, query }: Row) => [
    `${bills.toLocaleString("en-US")} bills, ${page} page, ${clients} ${clients === 1 ? "client" : "clients"}`,
    ...[mirror.perSecond, query.perSecond].map((figure) => figure.toFixed(0)),
    (mirror.perSecond / query.perSecond).toFixed(2),
    ...[mirror.p50, mirror.p99, query.p50, query.p99].map((figure) => figure.toFixed(1)),
  ];
  return {
    name: "serve",
    title: `pages of ${pageSize} bills from the mirror, and by a bare query, on ${version}`,
    rows: [
      ["", "pages/s", "bare", "ratio", "p50 ms", "p99", "bare p50", "p99"],
      ...rows.map(cells),
    ],
    notes: [`${rounds} rounds, the two in turns.`, `The server's memory: ${memory.join("; ")}.`],
    json: { rows },
  };
}
