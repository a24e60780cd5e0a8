import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setInterval } from "node:timers";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { formatNames } from "../src/books/export/formats.ts";
import { migrateAt } from "../test/support/migrate-at.ts";
import { openTestServer } from "../test/support/postgres-server.ts";
import { nodeFlags } from "./support/node-flags.ts";

/*
 * What an export costs. The real program, in a process of its own, writes a seeded ledger to a pipe
 * that is read at once. Memory is read from /proc, so it is measured on Linux only.
 */

const sizes = { long: [100_000, 1_000_000], short: [2_000] };
const databaseName = "bill_sync_bench_export";
const pollMs = 20;

type Figures = {
  readonly format: string;
  readonly bills: number;
  readonly seconds: number;
  readonly outputBytes: number;
  /** The largest sample after the first byte, in MiB. */
  readonly writingRssMiB: number;
  /** The peak of the whole process, including loading its packages. */
  readonly peakRssMiB: number;
};

/** Runs as `npm run bench -- export`. */
export async function run({ short }: { readonly short: boolean }) {
  await using server = await openTestServer();
  const figures: Figures[] = [];
  for (const bills of sizes[short ? "short" : "long"]) {
    await using database = await seededDatabase(server.url, bills);
    for (const format of formatNames) figures.push(await measure(database.url, format, bills));
  }
  return {
    name: "export",
    title: "export to a pipe: time, and the peak memory of the process",
    rows: [
      ["format", "bills", "s", "bills/s", "output MB", "RSS MiB while writing", "peak RSS MiB"],
      ...figures.map(({ format, bills, seconds, outputBytes, ...rss }) => [
        format,
        bills.toLocaleString("en-US"),
        seconds.toFixed(1),
        Math.round(bills / seconds).toLocaleString("en-US"),
        (outputBytes / 1e6).toFixed(1),
        rss.writingRssMiB.toFixed(0),
        rss.peakRssMiB.toFixed(0),
      ]),
    ],
    json: figures,
  };
}

async function seededDatabase(serverUrl: string, bills: number) {
  const url = new URL(serverUrl);
  const atServer = async (act: (client: Client) => Promise<unknown>, at: string) => {
    const client = new Client({ connectionString: at });
    await client.connect();
    await act(client).finally(() => client.end());
  };
  const drop = () =>
    atServer((client) => client.query(`drop database if exists ${databaseName}`), serverUrl);
  await drop();
  await atServer((client) => client.query(`create database ${databaseName}`), serverUrl);
  url.pathname = `/${databaseName}`;
  await migrateAt(url.href);
  await atServer(async (client) => {
    await client.query(seed, [bills]);
    await client.query("vacuum analyze bills");
  }, url.href);
  return { url: url.href, [Symbol.asyncDispose]: drop };
}

// Trades with a fee, in two coins; each balance is the one before plus amount and fee. One bill
// every 25 s makes 1.3 million a year; every 10th bill shares its millisecond with the one before.
const seed = `
  with drawn as (
    select
      n,
      case when n % 4 = 0 then 'BTC' else 'USDT' end as coin,
      case when n % 3 = 0 then 0 else ((n * 7919) % 200001 - 100000) / 1000.0 end as amount,
      -((n * 104729) % 1000003) / 100000000.0 as fee
    from generate_series(1, $1::bigint) as n
  )
  insert into bills (
    account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
    ingested_at
  )
  select
    'main',
    'USDT-FUTURES',
    (1098396773329305606 + n)::text,
    coin || 'USDT',
    amount,
    fee,
    case when n % 3 = 0 then 'open_long' else 'close_long' end,
    coin,
    1000000 + sum(amount + fee) over (partition by coin order by n),
    timestamptz '2025-01-01Z' + (n - (n % 10 = 0)::int) * interval '25 s',
    now()
  from drawn`;

async function measure(url: string, format: string, bills: number): Promise<Figures> {
  const program = fileURLToPath(new URL("../src/bin.js", import.meta.url));
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...nodeFlags, program, "export", "--format", format], {
    env: { PATH: process.env["PATH"], DATABASE_URL: url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let outputBytes = 0;
  let told = "";
  let peakRssMiB = 0;
  let writingRssMiB = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    outputBytes += chunk.length;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    told += chunk;
  });
  const poll = setInterval(() => {
    const now = memoryOf(child.pid);
    peakRssMiB = Math.max(peakRssMiB, now.peakMiB);
    if (outputBytes > 0) writingRssMiB = Math.max(writingRssMiB, now.rssMiB);
  }, pollMs);
  const code = await new Promise((resolve) => child.on("close", resolve));
  clearInterval(poll);
  if (code !== 0) throw new Error(`export --format ${format} ended with ${code}: ${told}`);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { format, bills, seconds, outputBytes, writingRssMiB, peakRssMiB };
}

/** A process's memory now, and its peak; 0 if it has ended. */
function memoryOf(pid: number | undefined): { readonly rssMiB: number; readonly peakMiB: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const mebibytes = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) / 1_024;
    return { rssMiB: mebibytes("VmRSS"), peakMiB: mebibytes("VmHWM") };
  } catch {
    return { rssMiB: 0, peakMiB: 0 };
  }
}
