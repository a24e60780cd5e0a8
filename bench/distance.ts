import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { entryOf, writeAccounts } from "../test/support/accounts-file.ts";
import { distantServer, type Link } from "../test/support/distant-server.ts";
import { openDatabases, query } from "./backfill/databases.ts";
import { runProgram } from "./backfill/run-program.ts";
import type { BenchOptions, BenchResult } from "./result.ts";

/*
 * First syncs into a database that is far away: every one must end complete, under one lease an
 * account. The line delays each byte by half a round trip and, where it is narrow, is shared by all
 * connections packet by packet.
 */

const program = fileURLToPath(new URL("../src/bin.js", import.meta.url));
const productType = "USDT-FUTURES";
const narrow: Link = { roundTripMs: 20, bytesPerSecond: 24_000 };

const whole = [1, 20, 60].flatMap((accounts) =>
  [...[1, 20, 100, 300].map((roundTripMs): Link => ({ roundTripMs })), narrow].map((link) => ({
    accounts,
    link,
  })),
);
const few: typeof whole = [
  { accounts: 1, link: { roundTripMs: 100 } },
  { accounts: 1, link: { roundTripMs: 300 } },
  { accounts: 1, link: narrow },
  { accounts: 20, link: { roundTripMs: 100 } },
];

export async function run({ short }: BenchOptions): Promise<BenchResult> {
  await using databases = await openDatabases();
  const figures = [];
  for (const each of short ? few : whole) {
    const database = await databases.fresh();
    figures.push({ ...each, ...(await firstSync(each, database)) });
  }
  return {
    name: "distance",
    title: `first syncs into a database far away, on ${databases.version}`,
    rows: [
      ["accounts, round trip", "seconds", "bills", "leases taken", "connections"],
      ...figures.map(({ accounts, link, seconds, bills, leases, connections }) => [
        `${accounts}, ${link.roundTripMs} ms${link.bytesPerSecond === undefined ? "" : ", 24 kB/s"}`,
        seconds.toFixed(1),
        String(bills),
        String(leases),
        String(connections),
      ]),
    ],
    notes: ["a sync that is not complete ends the benchmark with what it said"],
    json: figures,
  };
}

async function firstSync(
  { accounts, link }: (typeof whole)[number],
  database: string,
): Promise<{ seconds: number; bills: number; leases: number; connections: number }> {
  await using sandbox = await openSandbox({
    seed: "distance",
    accountNames: Array.from({ length: accounts }, (_, index) => `desk-${index + 1}`),
    productTypes: [productType],
    density: 0.02,
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
    });
    const counted = "(select count(*) from bills), (select sum(epoch) from account_leases)";
    const [row = []] = await query(database, `select ${counted}`);
    const [bills, leases] = row.map(Number);
    return { seconds, bills: bills ?? 0, leases: leases ?? 0, connections: far.connections().most };
  } finally {
    await rm(folder, { recursive: true });
  }
}
