import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "../src/lib/errors.ts";
import { openSandbox } from "../test/exchange/sandbox.ts";
import { entryOf, writeAccounts } from "../test/support/accounts-file.ts";
import { distantServer, type Link } from "../test/support/tcp-proxy.ts";
import { openDatabases, query } from "./backfill/databases.ts";
import { runProgram } from "./backfill/run-program.ts";
import type { BenchOptions, BenchResult } from "./result.ts";

/*
 * First syncs into a database that is far away. Each must end complete, with one lease for each
 * account. The line delays each byte by half a round trip. If its bandwidth is limited, all
 * connections share it packet by packet.
 */

const program = fileURLToPath(new URL("../src/bin.js", import.meta.url));
const productType = "USDT-FUTURES";
const narrow: Link = { roundTripMs: 20, bytesPerSecond: 24_000 };

type Case = {
  readonly accounts: number;
  readonly link: Link;
  /** Of the sandbox's bills: 0.02 makes 439 bills an account, and 12 makes 23,160. */
  readonly density?: number;
};

type FirstSync = {
  readonly seconds: number;
  readonly bills: number;
  readonly leases: number;
  readonly connections: number;
};

const distances = [0, 20, 100, 300].map((roundTripMs): Link => ({ roundTripMs }));
const whole: readonly Case[] = [
  ...[1, 20, 60].flatMap((accounts) => [...distances, narrow].map((link) => ({ accounts, link }))),
  ...distances.map((link) => ({ accounts: 1, link, density: 12 })),
];
const few: readonly Case[] = [
  { accounts: 1, link: { roundTripMs: 100 } },
  { accounts: 1, link: { roundTripMs: 300 } },
  { accounts: 1, link: narrow },
  { accounts: 20, link: { roundTripMs: 100 } },
];

export async function run({ short }: BenchOptions): Promise<BenchResult> {
  await using databases = await openDatabases();
  const figures = [];
  const failures: string[] = [];
  for (const each of short ? few : whole) {
    const database = await databases.fresh();
    try {
      const figure = { ...each, ...(await firstSync(each, database)) };
      figures.push(figure);
      console.log(rowOf(figure).join("  "));
    } catch (error) {
      failures.push(`${caseOf(each)}: ${messageOf(error)}`);
      console.error(failures.at(-1));
    }
  }
  return {
    name: "distance",
    title: `first syncs into a database far away, on ${databases.version}`,
    rows: [
      ["accounts, round trip", "seconds", "bills", "leases taken", "connections"],
      ...figures.map(rowOf),
    ],
    notes: ["each row was printed when it was measured; a sync that is not complete has no row"],
    failures: failures.map((failure) => failure.split("\n", 1).join()),
    json: figures,
  };
}

const caseOf = ({ accounts, link, density }: Case): string =>
  `${accounts}, ${link.roundTripMs} ms${link.bytesPerSecond === undefined ? "" : ", 24 kB/s"}` +
  (density === undefined ? "" : `, density ${density}`);

const rowOf = (figure: Case & FirstSync): readonly string[] => [
  caseOf(figure),
  figure.seconds.toFixed(1),
  String(figure.bills),
  String(figure.leases),
  String(figure.connections),
];

async function firstSync(
  { accounts, link, density = 0.02 }: Case,
  database: string,
): Promise<FirstSync> {
  await using sandbox = await openSandbox({
    seed: "distance",
    accountNames: Array.from({ length: accounts }, (_, index) => `desk-${index + 1}`),
    productTypes: [productType],
    density,
  });
  await using far = await distantServer(database, link);
  const folder = await mkdtemp(join(tmpdir(), "bill-sync-bench-"));
  const file = await writeAccounts(folder, sandbox.accounts.map(entryOf));
  try {
    const { seconds } = await runProgram([program, "sync"], {
      DATABASE_URL: far.url,
      EXCHANGE_BASE_URL: sandbox.url,
      ACCOUNTS_FILE: file,
      PRODUCT_TYPES: productType,
      RECOVER_FROM: "none",
    });
    const counted = "(select count(*) from bills), (select sum(epoch) from leases)";
    const [row = []] = await query(database, `select ${counted}`);
    const [bills, leases] = row.map(Number);
    return { seconds, bills: bills ?? 0, leases: leases ?? 0, connections: far.connections().most };
  } finally {
    await rm(folder, { recursive: true });
  }
}
