import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { Bill } from "../src/contract/bill.ts";
import { inTransaction } from "../src/db/connect.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { billAt } from "./support/bills.ts";
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
    balance += Number(amount) - 0.25;
    return billAt(start + second * 1_000, index, {
      ...{ symbol, amount, fee: "-0.25", balance: String(balance) },
      businessType: kind === "close" ? "burst_long_loss_query" : "risk_captital_user_transfer",
    });
  });
};

/** A row: the contracts, the closes with their amounts and fees, the sweeps with theirs, and the balance that is left. */
type Row = readonly [
  symbols: readonly string[] | null,
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
    [[["BTC"], 1, "-5", "-0.25", 0, null, null, "94.75"]],
  ],
  [
    "several sweeps behind one liquidation, of its contract and of none",
    [
      [0, "close", "BTC", "-5"],
      [1, "sweep", "BTC", "-3"],
      [2, "sweep", null, "-2"],
      [10, "sweep", "BTC", "-1"],
    ],
    [[["BTC"], 1, "-5", "-0.25", 3, "-6", "-0.75", "88.00"]],
  ],
  [
    "sweeps that follow nothing within ten seconds, and two contracts at once",
    [
      [0, "close", "BTC", "-5"],
      [11, "sweep", null, "-3"],
      [12, "sweep", null, "-2"],
      [23, "close", "ETH", "-4"],
      [33, "close", "BTC", "-1"],
    ],
    [
      [["BTC"], 1, "-5", "-0.25", 0, null, null, "94.75"],
      [null, 0, "0", "0", 2, "-5", "-0.50", "89.25"],
      [["BTC", "ETH"], 2, "-5", "-0.50", 0, null, null, "83.75"],
    ],
  ],
];

test.each(cases)("%s", async (account, entries, rows) => {
  await inTransaction(db, (tx) =>
    upsertBills(tx, [
      { ledger: { account, productType: "USDT-FUTURES" }, bills: billsOf(entries) },
    ]),
  );
  const { rows: shown } = await db.execute<Record<string, unknown>>(sql`
    select
      symbols,
      bills::int,
      amount::text,
      fee::text,
      sweeps::int,
      swept::text,
      sweep_fee::text,
      balance_left::numeric(10, 2)::text
    from analytics.liquidations
    where account = ${account}
    order by started_at`);
  expect(shown.map((row) => Object.values(row))).toEqual(rows);
});
