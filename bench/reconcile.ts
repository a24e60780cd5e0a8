import { Client } from "pg";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { openDatabases } from "./backfill/databases.ts";
import { type BenchOptions, type BenchResult, median } from "./result.ts";
import { chainedLedger } from "./support/chained-ledger.ts";

/*
 * A whole check of a ledger, compared with the least that any such check has to do: sort the bills
 * into their chains, and compare each balance with the one before. The two take turns, so that
 * other work of the machine affects both. It also checks ledgers with more and more breaks: a check
 * depends on the number of bills, and each break should cost the same.
 */

const rounds = 7;
const billsOf = ({ short }: BenchOptions): number => (short ? 20_000 : 1_000_000);

// Bills, some of which are removed; each removal leaves a break.
const brokenBillsOf = ({ short }: BenchOptions): number => (short ? 4_000 : 120_000);
const breaksWanted = ({ short }: BenchOptions) => (short ? [10, 40] : [1, 330, 1_320, 5_280]);
const wholeAccount = { accounts: ["main"], productTypes: undefined };

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
      const { breaks, chains } = await reconcile(tables.db, wholeAccount, { isFull: true });
      if (chains.length === 0) throw new Error("defect: nothing was checked");
      if (breaks.length > 0) throw new Error("defect: the bench's ledger does not add up");
    };
    const scan = async () => {
      await client.query(bareScan);
    };
    const measured = await inTurns(scan, check);
    const broken: Broken[] = [];
    for (const wanted of breaksWanted(options)) {
      broken.push(await checkBroken(await databases.fresh(), brokenBillsOf(options), wanted));
    }
    return resultOf(bills, databases.version, measured, broken);
  } finally {
    await client.end();
  }
}

type Broken = { readonly bills: number; readonly breaks: number; readonly ms: number };

/** A whole check of a ledger that lacks this many bills. */
async function checkBroken(url: string, bills: number, wanted: number): Promise<Broken> {
  await using tables = openDatabase(url);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(chainedLedger(bills));
    // The four ledgers alternate, so the removed bills are evenly spread over each.
    await client.query(`
      delete from bills
      using (
        select product_type, bill_id, row_number() over (order by c_time) as place
        from bills
      ) as placed
      where bills.product_type = placed.product_type
        and bills.bill_id = placed.bill_id
        and place % ${Math.floor(bills / wanted)} = 7`);
    await client.query("vacuum analyze bills");
    const start = performance.now();
    const { breaks } = await reconcile(tables.db, wholeAccount, { isFull: true });
    const ms = performance.now() - start;
    if (breaks.length < 0.9 * wanted) throw new Error("defect: breaks were not found");
    return { bills, breaks: breaks.length, ms };
  } finally {
    await client.end();
  }
}

type Measured = { readonly scanMs: readonly number[]; readonly checkMs: readonly number[] };

async function inTurns(scan: () => Promise<void>, check: () => Promise<void>): Promise<Measured> {
  // The first round reads from the disk.
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

function resultOf(
  bills: number,
  version: string,
  { scanMs, checkMs }: Measured,
  broken: readonly Broken[],
): BenchResult {
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
    notes: [
      `${rounds} rounds, the two in turns.`,
      ...broken.map(
        ({ bills, breaks, ms }) =>
          `${breaks.toLocaleString("en-US")} breaks among ${bills.toLocaleString("en-US")} bills, checked once: ${(ms / 1_000).toFixed(1)} s`,
      ),
    ],
    json: { bills, scanMs, checkMs, ratio: median(ratios), broken },
  };
}
