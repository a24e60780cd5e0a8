import { Client } from "pg";
import { openDatabase } from "../src/db/connect.ts";
import { reconcile } from "../src/reconciliation/reconcile.ts";
import { openDatabases } from "./backfill/databases.ts";
import { type BenchOptions, type BenchResult, median } from "./result.ts";
import { chainedLedger } from "./support/chained-ledger.ts";

/*
 * A whole check of a ledger, against the least that any such check has to do: to sort the bills
 * into their chains and to hold each balance against the one before. The two take turns, so that
 * what else the machine does falls on both.
 */

const rounds = 7;
const billsOf = ({ short }: BenchOptions): number => (short ? 20_000 : 1_000_000);

const bareScan = `
  select count(*) as off
  from (
    select balance - lag(balance) over chain <> amount + fee as is_off
    from bills
    window chain as (
      partition by account, product_type, coin
      order by c_time, length(bill_id), bill_id
    )
  ) as chained
  where is_off`;

export async function run(options: BenchOptions): Promise<BenchResult> {
  const bills = billsOf(options);
  await using databases = await openDatabases();
  const url = await databases.fresh();
  await using tables = openDatabase(url);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(chainedLedger(bills));
    await client.query("vacuum analyze");
    const check = async () => {
      const scope = { accounts: undefined, productTypes: undefined };
      const { breaks } = await reconcile(tables.db, scope, { isFull: true });
      if (breaks.length > 0) throw new Error("defect: the bench's ledger does not add up");
    };
    const scan = async () => {
      await client.query(bareScan);
    };
    const measured = await inTurns(scan, check);
    return resultOf(bills, databases.version, measured);
  } finally {
    await client.end();
  }
}

type Measured = { readonly scanMs: readonly number[]; readonly checkMs: readonly number[] };

async function inTurns(scan: () => Promise<void>, check: () => Promise<void>): Promise<Measured> {
  // The first ones read from the disk.
  await scan();
  await check();
  const scanMs: number[] = [];
  const checkMs: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    scanMs.push(await timed(scan));
    checkMs.push(await timed(check));
  }
  return { scanMs, checkMs };
}

async function timed(act: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

function resultOf(bills: number, version: string, { scanMs, checkMs }: Measured): BenchResult {
  const ratios = checkMs.map((ms, round) => ms / (scanMs[round] ?? Number.NaN));
  const row = (name: string, figures: readonly number[], digits: number) => [
    name,
    ...[median(figures), Math.min(...figures), Math.max(...figures)].map((f) => f.toFixed(digits)),
  ];
  return {
    name: "reconcile",
    title: `a whole check of ${bills.toLocaleString("en-US")} bills, in seconds, on ${version}`,
    rows: [
      ["", "median", "least", "most"],
      row(
        "bare window-function scan",
        scanMs.map((ms) => ms / 1_000),
        2,
      ),
      row(
        "reconcile --full",
        checkMs.map((ms) => ms / 1_000),
        2,
      ),
      row("reconcile ÷ scan, round by round", ratios, 2),
    ],
    notes: [`${rounds} rounds, the two in turns.`],
    json: { bills, scanMs, checkMs, ratio: median(ratios) },
  };
}
