import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { type Bill, noPosition } from "../src/contract/bill.ts";
import { epochMs } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { snowflake } from "../src/sandbox/snowflake.ts";
import { fileDatabase } from "./support/database.ts";

const { tables } = await fileDatabase();
const { db } = tables;

const start = Date.UTC(2026, 2, 28, 12);

type Entry = readonly [
  second: number,
  kind: "close" | "sweep",
  symbol: string | null,
  amount: string,
];

const billsOf = (entries: readonly Entry[]): Bill[] => {
  let balance = 100;
  return entries.map(([second, kind, symbol, amount], index) => {
    const cTime = epochMs(start + second * 1_000);
    balance += Number(amount) - 0.25;
    return {
      billId: snowflake(cTime, index),
      symbol,
      amount,
      fee: "-0.25",
      feeByCoupon: null,
      businessType: kind === "close" ? "burst_long_loss_query" : "risk_captital_user_transfer",
      coin: "USDT",
      balance: String(balance),
      cTime,
      ...noPosition,
      extra: null,
    };
  });
};

/**
 * A row: the contract, the closes with their amounts and fees, the sweeps with theirs, and the balance that
 * is left.
 */
type Row = readonly [
  symbol: string,
  bills: number,
  amount: string,
  fee: string,
  sweeps: number,
  swept: string | null,
  sweepFee: string | null,
  left: string,
];

const cases: readonly (readonly [
  title: string,
  entries: readonly Entry[],
  rows: readonly Row[],
])[] = [
  [
    "a liquidation without a sweep",
    [[0, "close", "BTC", "-5"]],
    [["BTC", 1, "-5", "-0.25", 0, null, null, "94.75"]],
  ],
  [
    "several sweeps behind one liquidation, of its contract and of none",
    [
      [0, "close", "BTC", "-5"],
      [1, "sweep", "BTC", "-3"],
      [2, "sweep", null, "-2"],
      [10, "sweep", "BTC", "-1"],
    ],
    [["BTC", 1, "-5", "-0.25", 3, "-6", "-0.75", "88.00"]],
  ],
  [
    "a sweep that follows nothing within ten seconds, and one behind it",
    [
      [0, "close", "BTC", "-5"],
      [11, "sweep", "BTC", "-3"],
      [12, "sweep", "BTC", "-2"],
      [40, "sweep", null, "-1"],
    ],
    [
      ["BTC", 1, "-5", "-0.25", 0, null, null, "94.75"],
      ["BTC", 0, "0", "0", 2, "-5", "-0.50", "89.25"],
      ["", 0, "0", "0", 1, "-1", "-0.25", "88.00"],
    ],
  ],
  [
    "two contracts at once: a sweep that names none belongs to the last close before it",
    [
      [0, "close", "BTC", "-5"],
      [1, "close", "ETH", "-4"],
      [2, "sweep", null, "-2"],
      [3, "sweep", "BTC", "-1"],
      [4, "sweep", "XRP", "-1"],
    ],
    [
      ["BTC", 1, "-5", "-0.25", 1, "-1", "-0.25", "87.00"],
      ["ETH", 1, "-4", "-0.25", 1, "-2", "-0.25", "88.25"],
      ["XRP", 0, "0", "0", 1, "-1", "-0.25", "85.75"],
    ],
  ],
  [
    "closes ten seconds apart each, swept in between",
    [
      [0, "close", "BTC", "-5"],
      [5, "sweep", "BTC", "-1"],
      [10, "close", "BTC", "-5"],
      [20, "close", "BTC", "-5"],
      [31, "close", "BTC", "-5"],
    ],
    [
      ["BTC", 3, "-15", "-0.75", 1, "-1", "-0.25", "83.00"],
      ["BTC", 1, "-5", "-0.25", 0, null, null, "77.75"],
    ],
  ],
];

test.each(cases)("%s", async (account, entries, rows) => {
  await inTransaction(db, (tx) =>
    upsertBills(tx, [
      { stream: { account, productType: "USDT-FUTURES" }, bills: billsOf(entries) },
    ]),
  );
  const { rows: shown } = await db.execute<Record<string, string | null>>(sql`
    select
      symbol,
      bills::int,
      amount::text,
      fee::text,
      sweeps::int,
      swept::text,
      sweep_fee::text,
      balance_left::numeric(10, 2)::text
    from analytics.liquidations
    where account = ${account}
    order by started_at, symbol`);
  expect(shown.map((row) => Object.values(row))).toEqual(rows);
});
