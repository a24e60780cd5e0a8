import { spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { Client } from "pg";
import { openDatabases } from "./backfill/databases.ts";
import { type Bench, median } from "./result.ts";
import { nodeFlags } from "./support/node-flags.ts";

/*
 * How long the page takes with a million bills in one ledger, from the real program over HTTP: to
 * its first bytes, and as a whole. The same for the pages of bills behind its figures. Each figure
 * is the median of the rounds after the first. The smallest answer that needs the database is
 * measured, too: it shows how busy the machine was.
 */

/** Below which the first view is whole. */
const goalMs = 300;

// Ten kinds of bills in the year up to a quarter of an hour ago; each balance follows from the one
// before.
const seed = `
  insert into bills (
    account, product_type, bill_id, symbol, amount, fee, business_type, coin, balance, c_time,
    ingested_at
  )
  select
    'main',
    'USDT-FUTURES',
    (((extract(epoch from c_time) * 1000)::bigint - 1435725920677) << 22)::text,
    'C' || n % 20 || 'USDT',
    amount,
    fee,
    kind,
    'USDT',
    case when n % 100 > 0 then 1000000 + sum(amount + fee) over (order by n) end,
    c_time,
    clock_timestamp()
  from (
    select
      n,
      (array[
        'close_long', 'close_short', 'contract_settle_fee', 'close_long', 'buy', 'sell',
        'force_close_long', 'trans_from_exchange', 'trans_to_exchange', 'bonus_issue'
      ])[1 + case when n % 50 < 4 then 6 + n % 4 else n % 6 end] as kind,
      ((n * 7919) % 2000003 - 1000001) / 100000.0 as amount,
      -((n * 104729) % 100003) / 100000000.0 as fee,
      date_trunc('minute', now()) - interval '15 minutes'
        - ($1::bigint - n) * interval '365 days' / $1::bigint as c_time
    from generate_series(1, $1::bigint) as n
  ) as drawn`;

const covered = `
  insert into ledgers (account, product_type, covered, first_unread_at)
  values (
    'main', 'USDT-FUTURES',
    tstzmultirange(tstzrange(now() - interval '367 days', now() - interval '14 minutes')),
    now() - interval '14 minutes'
  )
  on conflict (account, product_type) do update
  set covered = excluded.covered, first_unread_at = excluded.first_unread_at`;

// As `reconcile` leaves it. Running it would take minutes with so many bills.
const reconciled = `
  insert into reconciled_chains (
    account, wallet, coin, checked_before, tested, rounded, reconciled_at, reconciled_through
  )
  select 'main', 'USDT-FUTURES', 'USDT', now(), count(*), 0, now(), now()
  from bills`;

export const run: Bench = async ({ short }) => {
  const bills = short ? 5_000 : 1_000_000;
  const rounds = short ? 2 : 21;
  await using databases = await openDatabases();
  const url = await databases.fresh();
  await fill(url, bills);
  await using server = await startServer(url);
  const measured: Measured[] = [];
  const measure = async (what: string, path: string) =>
    void measured.push(await measureOne(server.url + path, what, rounds));
  await measure("the smallest answer: /readyz", "/readyz");
  await measure("the page, 90 days", "/");
  await measure("the page, 90 days by day", "/?view=days");
  await measure("the page, 90 days by contract", "/?view=contracts");
  await measure("the page, all of the year", `/?from=${daysAgo(366)}`);
  await measure("the newest bills", "/bills");
  await measure(
    "the bills of a line of one day",
    `/bills?of=liquidations&from=${daysAgo(5)}&to=${daysAgo(5)}`,
  );
  await measure("the bills of a line of 90 days", "/bills?of=liquidations");
  return {
    name: "page",
    title: `milliseconds for the page at ${bills.toLocaleString("en")} bills in one ledger (${databases.version})`,
    rows: [
      ["", "first bytes", "whole", "kB", "kB sent"],
      ...measured.map(({ what, firstMs, wholeMs, bytes, sentBytes }) => [
        what,
        firstMs.toFixed(0),
        wholeMs.toFixed(0),
        (bytes / 1e3).toFixed(0),
        (sentBytes / 1e3).toFixed(0),
      ]),
    ],
    notes: [`the goal of the page, 90 days: ${goalMs} ms`],
    json: { bills, measured },
  };
};

const daysAgo = (days: number): string =>
  new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

async function execute(
  url: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement, [...values]).finally(() => client.end());
}

async function fill(url: string, bills: number): Promise<void> {
  await execute(url, seed, [bills]);
  await execute(url, covered);
  await execute(url, reconciled);
  await execute(
    url,
    "insert into ledgers (account, product_type, bills) select account, product_type, count(*) from bills group by account, product_type on conflict (account, product_type) do update set bills = excluded.bills",
  );
  await execute(url, "vacuum analyze");
}

/** The real program, in a process of its own. */
async function startServer(
  databaseUrl: string,
): Promise<AsyncDisposable & { readonly url: string }> {
  const program = fileURLToPath(new URL("../src/bin.js", import.meta.url));
  const child = spawn(process.execPath, [...nodeFlags, program, "serve", "--port", "0"], {
    env: { PATH: process.env["PATH"], DATABASE_URL: databaseUrl, LOG_LEVEL: "error" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  return {
    url: String(line).trim(),
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

type Times = { readonly firstMs: number; readonly wholeMs: number };
type Answer = Times & { readonly body: Buffer; readonly isCompressed: boolean };
type Measured = Times & {
  readonly what: string;
  readonly bytes: number;
  readonly sentBytes: number;
};

async function measureOne(url: string, what: string, rounds: number): Promise<Measured> {
  const { body, isCompressed } = await ask(url);
  const answers: Answer[] = [];
  for (let round = 0; round < rounds; round++) answers.push(await ask(url));
  return {
    what,
    firstMs: median(answers.map(({ firstMs }) => firstMs)),
    wholeMs: median(answers.map(({ wholeMs }) => wholeMs)),
    bytes: isCompressed ? brotliDecompressSync(body).length : body.length,
    sentBytes: body.length,
  };
}

function ask(url: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const startedAt = performance.now();
  // The headers of a browser on this machine.
  get(url, { headers: { "accept-encoding": "br" } }, (answer) => {
    const chunks: Buffer[] = [];
    let firstMs = Number.NaN;
    answer.on("data", (chunk: Buffer) => {
      if (chunks.length === 0) firstMs = performance.now() - startedAt;
      chunks.push(chunk);
    });
    answer.on("error", reject);
    answer.on("end", () => {
      if (answer.statusCode !== 200) reject(new Error(`${url} answered ${answer.statusCode}`));
      resolve({
        firstMs,
        wholeMs: performance.now() - startedAt,
        body: Buffer.concat(chunks),
        isCompressed: answer.headers["content-encoding"] === "gzip",
      });
    });
  }).on("error", reject);
  return promise;
}
