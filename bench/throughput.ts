import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, median } from "./result.ts";
import { openPageExchange } from "./support/exchange.ts";
import { type BenchServer, openBenchServer } from "./support/postgres.ts";
import { syncProcess } from "./support/sync.ts";

/*
 * Rows a second without the exchange's rate limit: many accounts, pages from another process's
 * memory, the real client, walks and tables. Compared with one \copy of the same rows into the same
 * table with its indexes: once sorted by key, and once in the order in which the sync stored them,
 * which writes to all places of the indexes at once. The CPU of Postgres and Node is printed, too:
 * it does not depend on other work of the machine.
 */

const accounts = 8;
const productTypesEach = 2;
const ledgers = accounts * productTypesEach;

const columns =
  "account, product_type, bill_id, symbol, amount, fee, fee_by_coupon, business_type, coin, balance, c_time, extra, ingested_at";

type Sample = {
  readonly rows: number;
  readonly seconds: number;
  readonly serverSeconds: number;
  readonly nodeSeconds: number;
  readonly walBytes: number;
};

export const run: Bench = async ({ short }) => {
  const runs = short ? 1 : 5;
  await using server = await openBenchServer();
  await using exchange = await openPageExchange(short ? 2_500 : 25_000);
  const folder = await mkdtemp(join(tmpdir(), "bill-sync-copy-"));
  const files = { sorted: join(folder, "sorted"), arrival: join(folder, "arrival") };
  const samples: Samples[] = [];
  try {
    for (let done = 0; done < runs; done++) {
      const sync = await sampleSync(server, exchange.url, files);
      samples.push({
        sync,
        sorted: await sampleCopy(server, files.sorted, sync.rows),
        arrival: await sampleCopy(server, files.arrival, sync.rows),
      });
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return report(server.version, samples);
};

type Samples = { readonly sync: Sample; readonly sorted: Sample; readonly arrival: Sample };

async function sampleSync(
  server: BenchServer,
  exchangeUrl: string,
  files: { readonly sorted: string; readonly arrival: string },
) {
  await using database = await server.database();
  const { url } = database;
  const sample = await measured(server, database.client, async () => {
    const job = { databaseUrl: url, exchangeUrl, accounts, productTypesEach };
    const { new: rows, seconds, cpuSeconds: nodeSeconds } = await syncProcess(job);
    return { rows, seconds, nodeSeconds };
  });
  const dump = (order: string, file: string) =>
    psql(url, `\\copy (select ${columns} from bills order by ${order}) to '${file}'`);
  await dump("account, product_type, bill_id", files.sorted);
  await dump("ctid", files.arrival);
  return sample;
}

async function sampleCopy(server: BenchServer, file: string, rows: number) {
  await using database = await server.database();
  return await measured(server, database.client, async () => {
    const startedAt = performance.now();
    await psql(database.url, `\\copy bills (${columns}) from '${file}'`);
    return { rows, seconds: (performance.now() - startedAt) / 1_000, nodeSeconds: 0 };
  });
}

type Queried = { query(text: string): Promise<{ rows: { lsn: string }[] }> };

async function measured(
  server: BenchServer,
  client: Queried,
  work: () => Promise<Pick<Sample, "rows" | "seconds" | "nodeSeconds">>,
): Promise<Sample> {
  const lsn = async () =>
    Number((await client.query("select pg_current_wal_lsn() - '0/0' as lsn")).rows[0]?.lsn);
  const cpu = async () => (await server.cpuSeconds()) ?? Number.NaN;
  const [cpuBefore, walBefore] = [await cpu(), await lsn()];
  const done = await work();
  // Until the server has counted the session that has just ended.
  await sleep(500);
  const serverSeconds = (await cpu()) - cpuBefore;
  return { ...done, serverSeconds, walBytes: (await lsn()) - walBefore };
}

async function psql(url: string, command: string): Promise<void> {
  const child = spawn("psql", [url, "-q", "-v", "ON_ERROR_STOP=1", "-c", command], {
    stdio: "inherit",
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`psql ended with ${code}`);
}

function report(version: string, samples: readonly Samples[]) {
  const figures = (pick: keyof Samples) => {
    const of = (figure: (sample: Sample) => number) => median(samples.map((s) => figure(s[pick])));
    return {
      rowsASecond: of(({ rows, seconds }) => rows / seconds),
      serverUsARow: of(({ rows, serverSeconds }) => (serverSeconds / rows) * 1_000_000),
      nodeUsARow: of(({ rows, nodeSeconds }) => (nodeSeconds / rows) * 1_000_000),
      walBytesARow: of(({ rows, walBytes }) => walBytes / rows),
    };
  };
  const sync = figures("sync");
  const sorted = figures("sorted");
  const arrival = figures("arrival");
  const ratioTo = (pick: keyof Samples) =>
    median(samples.map((s) => s[pick].seconds / s.sync.seconds));
  const ratios = { sorted: ratioTo("sorted"), arrival: ratioTo("arrival") };
  const row = (
    name: string,
    { rowsASecond, serverUsARow, nodeUsARow, walBytesARow }: typeof sync,
  ) =>
    [
      name,
      Math.round(rowsASecond).toLocaleString("en"),
      serverUsARow.toFixed(1),
      nodeUsARow.toFixed(1),
      walBytesARow.toFixed(0),
    ] as const;
  return {
    name: "throughput",
    title: `rows a second without the exchange's limit (PostgreSQL ${version}, ${ledgers} ledgers)`,
    rows: [
      ["", "rows/s", "Postgres, CPU µs a row", "Node, CPU µs a row", "WAL, bytes a row"],
      row("bill-sync", sync),
      row("\\copy, sorted", sorted),
      row("\\copy, as they came", arrival),
    ],
    notes: [
      `ratio ${ratios.sorted.toFixed(2)} to the sorted \\copy, ${ratios.arrival.toFixed(2)} to the ` +
        `other one; medians of ${samples.length}`,
    ],
    json: { sync, sorted, arrival, ratios, samples },
  };
}
