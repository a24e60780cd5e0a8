import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openDatabases, query } from "./backfill/databases.ts";
import { type ExchangeOptions, startExchange } from "./backfill/exchange.ts";
import { runProgram } from "./backfill/run-program.ts";
import { backfill, billsOf } from "./backfill.ts";
import type { BenchOptions, BenchResult } from "./result.ts";

/*
 * The backfill, compared with what a user would write instead: loops over windows and pages with
 * two clients of the exchange, into the same Postgres. They stop at a short page, so they prove
 * nothing and need one request less for each window. The packages are dependencies of bench/ alone.
 */

const bench = fileURLToPath(new URL(".", import.meta.url));
const peers = { "ccxt fetchLedger": "ccxt", "bitget-api SDK": "bitget-api" };

type Figure = {
  readonly name: string;
  readonly seconds: number;
  /** The seconds from the first request to the last answer. */
  readonly askingSeconds: number;
  readonly requests: number;
  readonly refused: number;
  readonly stored: number;
};

export async function run(options: BenchOptions): Promise<BenchResult> {
  installPeers();
  await using databases = await openDatabases();
  const bills = billsOf(options);
  const world: ExchangeOptions = {
    kind: "classic",
    shape: "uneven",
    bills,
    meanMs: 300,
    spreadMs: 30,
  };
  const own = await backfill(world, databases);
  const { seconds, askingSeconds, sent, refused } = own;
  const figures: Figure[] = [
    { name: "bill-sync", seconds, askingSeconds, requests: sent, refused, stored: bills },
  ];
  for (const [name, script] of Object.entries(peers)) {
    figures.push({ name, ...(await byHand(script, world, await databases.fresh())) });
  }
  return {
    name: "peers",
    title: `${bills} bills at a round trip of 300 ± 30 ms, into ${databases.version}`,
    rows: [
      [
        "",
        "seconds",
        "× bill-sync",
        "asking",
        "× bill-sync",
        "requests",
        "refused",
        "bills stored",
      ],
      ...figures.map((figure) => [
        figure.name,
        figure.seconds.toFixed(1),
        (figure.seconds / seconds).toFixed(2),
        figure.askingSeconds.toFixed(1),
        (figure.askingSeconds / askingSeconds).toFixed(2),
        String(figure.requests),
        String(figure.refused),
        String(figure.stored),
      ]),
    ],
    notes: ["", "asking: the seconds from the first request to the last answer"],
    json: { world, necessary: own.necessary, utilisation: own.utilisation, figures },
  };
}

/** By the lockfile, without install scripts. */
function installPeers(): void {
  if (Object.values(peers).every((name) => existsSync(`${bench}node_modules/${name}`))) return;
  execFileSync("npm", ["ci", "--prefix", bench, "--ignore-scripts", "--no-audit", "--no-fund"], {
    stdio: "inherit",
  });
}

async function byHand(script: string, world: ExchangeOptions, databaseUrl: string) {
  await using exchange = await startExchange(world);
  const { url, apiKey, apiSecret, apiPassphrase } = exchange;
  const { seconds } = await runProgram([`${bench}peers/${script}.ts`], {
    EXCHANGE_BASE_URL: url,
    EXCHANGE_API_KEY: apiKey,
    EXCHANGE_API_SECRET: apiSecret,
    EXCHANGE_API_PASSPHRASE: apiPassphrase,
    DATABASE_URL: databaseUrl,
  });
  const stored = Number((await query(databaseUrl, "select count(*) from by_hand"))[0]?.[0]);
  const { arrivals, refusals, seconds: askingSeconds } = await exchange.statistics();
  const requests = arrivals["account bills"] ?? 0;
  return { seconds, askingSeconds, requests, refused: refusals["429"] ?? 0, stored };
}
