import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import PQueue from "p-queue";
import { billsApiOf } from "../src/core/contract/bills-api.ts";
import { classicProductTypes, unifiedProductTypes } from "../src/core/contract/product-types.ts";
import { type Databases, openDatabases, query } from "./backfill/databases.ts";
import { type ExchangeFacts, type ExchangeOptions, startExchange } from "./backfill/exchange.ts";
import { type Kind, laterDays } from "./backfill/ledger.ts";
import { runProgram } from "./backfill/run-program.ts";
import type { BenchOptions, BenchResult } from "./result.ts";

/*
 * First syncs, and later ones, at the exchange's rate limit: 10 requests a second for a classic account, 20 for a
 * unified one, at several round trips. Each runs the real program, from start to end, on a real
 * Postgres. Utilisation is the shortest time that the necessary requests can take, as a share of
 * the measured time.
 */

const program = fileURLToPath(new URL("../src/bin.js", import.meta.url));

const cases: readonly Omit<ExchangeOptions, "bills">[] = [
  { kind: "classic", shape: "spread", meanMs: 50, spreadMs: 5 },
  { kind: "classic", shape: "spread", meanMs: 300, spreadMs: 30 },
  { kind: "classic", shape: "spread", meanMs: 800, spreadMs: 80 },
  { kind: "classic", shape: "dense", meanMs: 300, spreadMs: 30 },
  { kind: "classic", shape: "later", meanMs: 300, spreadMs: 30 },
  { kind: "unified", shape: "spread", meanMs: 50, spreadMs: 5 },
  { kind: "unified", shape: "spread", meanMs: 300, spreadMs: 30 },
  { kind: "unified", shape: "dense", meanMs: 300, spreadMs: 30 },
  { kind: "unified", shape: "later", meanMs: 300, spreadMs: 30 },
];

// Each waits for its limit: the program, Postgres and the exchange together take a seventh of a core, so cases beside each
// other take no time from each other.
const casesAtOnce = 3;

const operationOf = (kind: Kind) =>
  billsApiOf(kind === "classic" ? "USDT-FUTURES" : "UTA-SPOT").operation;

/** The shortest time in which this many requests can be sent. */
const leastSeconds = (kind: Kind, requests: number): number => {
  const { limit } = operationOf(kind);
  return requests / limit.requests;
};

/** What one backfill took, and what the exchange counted. */
export type Backfill = {
  readonly necessary: number;
  readonly sent: number;
  readonly refused: number;
  /** The most arrivals in any rolling second. */
  readonly peak: number;
  /** The time of the whole process, from its start to its end. */
  readonly seconds: number;
  /** The shortest time of the necessary requests, as a share of the seconds. */
  readonly utilisation: number;
  /** From sending the first request to the last answer. */
  readonly askingSeconds: number;
  /** The shortest time of the sent requests, as a share of that. */
  readonly ofLimit: number;
  /** How many requests for bills arrived in each second. */
  readonly perSecond: readonly number[];
  readonly load: number | undefined;
};

export const billsOf = ({ short }: BenchOptions, kind: Kind = "classic"): number =>
  (short ? 3_000 : 60_000) * (kind === "classic" ? 1 : 2);

const nameOf = ({ kind, shape, meanMs, spreadMs }: Omit<ExchangeOptions, "bills">): string =>
  `${kind}, ${shape}, ${meanMs} ± ${spreadMs} ms`;

export async function run(options: BenchOptions): Promise<BenchResult> {
  await using databases = await openDatabases();
  const measure = async (each: Omit<ExchangeOptions, "bills">): Promise<Measured> => {
    const whole = billsOf(options, each.kind);
    const bills = each.shape === "later" ? whole / 2 : whole;
    const row = { name: nameOf(each), ...(await backfill({ ...each, bills }, databases)) };
    console.log(cellsOf(row).join("  "));
    return row;
  };
  const queue = new PQueue({ concurrency: casesAtOnce });
  const chosen = cases.filter((one) => options.only.every((word) => nameOf(one).includes(word)));
  if (chosen.length === 0)
    throw new RangeError(`no case has ${options.only.join(" and ")} in its name`);
  const measured = await Promise.all(chosen.map((one) => queue.add(() => measure(one))));
  return {
    name: "backfill",
    title:
      `a first sync of ${billsOf(options)} bills, of six product types and 13 windows each, and of ` +
      `${billsOf(options, "unified")} of a unified account's, a later sync of half as many in one window of ` +
      `${laterDays} days, on ${databases.version}`,
    rows: [
      [
        "bills, round trip",
        "necessary",
        "sent",
        "refused",
        "peak/s",
        "seconds",
        "utilisation",
        "asking",
        "of the limit",
        "load",
      ],
      ...measured.map(cellsOf),
    ],
    notes: [
      "",
      "necessary: the pages with bills, and for each window the two answers that prove its end",
      "utilisation: the necessary requests' shortest time, as a share of the process's time from start to end",
      "asking: the seconds from the first request to the last answer, without starting and ending",
      "of the limit: the sent requests' shortest time, as a share of those",
      `load: of the machine's ${availableParallelism()} processors, at the end; above 1 others were at work`,
    ],
    json: measured,
  };
}

type Measured = Backfill & { readonly name: string };

const cellsOf = ({ name, ...figure }: Measured): readonly string[] => [
  name,
  String(figure.necessary),
  String(figure.sent),
  String(figure.refused),
  String(figure.peak),
  figure.seconds.toFixed(1),
  figure.utilisation.toFixed(3),
  figure.askingSeconds.toFixed(1),
  figure.ofLimit.toFixed(3),
  figure.load?.toFixed(1) ?? "",
];

/** One sync of everything, by the program as it is installed. */
export async function backfill(options: ExchangeOptions, databases: Databases): Promise<Backfill> {
  const databaseUrl = await databases.fresh();
  if (options.shape === "later") await syncBefore(options, databaseUrl);
  await using exchange = await startExchange(options);
  const { necessary } = exchange;
  const seconds = await sync(options, exchange, databaseUrl);
  const stored = Number((await query(databaseUrl, "select count(*) from bills"))[0]?.[0]);
  if (stored !== options.bills) throw new Error(`${stored} of ${options.bills} bills are stored`);
  const { arrivals, refusals, peaks, perSecond, ...asked } = await exchange.statistics();
  const { name } = operationOf(options.kind);
  const sent = arrivals[name] ?? 0;
  return {
    necessary,
    sent,
    refused: refusals["429"] ?? 0,
    peak: peaks.find(({ operation }) => operation === name)?.requests ?? 0,
    seconds,
    utilisation: leastSeconds(options.kind, necessary) / seconds,
    askingSeconds: asked.seconds,
    ofLimit: leastSeconds(options.kind, sent) / asked.seconds,
    perSecond,
    load: loadavg()[0],
  };
}

/** Leaves the tables as a sync did some days ago: the newest days are unread, and all before them were empty. */
async function syncBefore(options: ExchangeOptions, databaseUrl: string): Promise<void> {
  await using exchange = await startExchange({ ...options, bills: 0, meanMs: 10, spreadMs: 1 });
  await sync(options, exchange, databaseUrl);
  await query(
    databaseUrl,
    `update ledgers set covered = covered * tstzmultirange(tstzrange(null, now() - interval '${laterDays} days'))`,
  );
}

/** @returns the seconds of the process, from its start to its end. */
async function sync(
  { kind }: ExchangeOptions,
  { url, apiKey, apiSecret, apiPassphrase }: ExchangeFacts,
  databaseUrl: string,
): Promise<number> {
  const { seconds } = await runProgram([program, "sync", "--json", "--no-reconcile"], {
    EXCHANGE_BASE_URL: url,
    EXCHANGE_API_KEY: apiKey,
    EXCHANGE_API_SECRET: apiSecret,
    EXCHANGE_API_PASSPHRASE: apiPassphrase,
    DATABASE_URL: databaseUrl,
    PRODUCT_TYPES: (kind === "classic" ? classicProductTypes : unifiedProductTypes).join(","),
    // One request a second would hide how the bills' own limit is used.
    RECOVER_FROM: "none",
    LOG_LEVEL: "silent",
  });
  return seconds;
}
