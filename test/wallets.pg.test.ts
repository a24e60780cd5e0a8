import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { billsApiOf } from "../src/core/contract/bills-api.ts";
import { type ProductType, unifiedProductTypes } from "../src/core/contract/product-types.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { epochMs } from "../src/lib/time.ts";
import type { ModeChange } from "./exchange/account-ledger.ts";
import { aBill, billAt } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { simulate } from "./support/simulation.ts";
import { storeBills } from "./support/stored-ledger.ts";

// The wallets beside futures: spot of a classic account, funding of a unified one.

const { db, url } = await fileDatabase();

type Case = readonly [ProductType, readonly ProductType[], readonly ModeChange[]];
const cases: readonly Case[] = [
  ["SPOT", ["USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES"], []],
  ["UTA-FUNDING", unifiedProductTypes, [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }]],
];

test.each(cases)(
  "%s is stored letter for letter, adds up, and has the other leg of each transfer",
  async (wallet, others, modes) => {
    await using run = simulate(url, {
      ...{ name: wallet, seed: `${wallet} 1`, density: 0.6 },
      ...{ productTypes: [...others, wallet], ...(modes.length > 0 && { modes }) },
    });
    expect((await run.sync()).error).toBeUndefined();
    const compared = await run.compare();
    expect(compared.at(-1)?.expected).toBeGreaterThan(20);
    for (const each of compared)
      expect(each).toMatchObject({ missing: [], extra: [], different: [] });
    await reconcile(db, { accounts: [wallet], productTypes: undefined }, { isFull: true });
    const { rows: breaks } = await db.execute(
      sql`select ledger, kind, explanation from ledger_breaks where account = ${wallet}`,
    );
    expect(breaks).toEqual([]);
    const { rows: legs } = await db.execute(sql`
    select distinct state
    from analytics.transfers
    where account = ${wallet}
      and business_type ~ '^(trans_(from|to)_exchange|TRANSFER_(IN|OUT)|transfer/.*)$'
      and c_time > (select min(c_time) + interval '2 minutes' from bills where account = ${wallet})
      -- The other leg of a newer one may be shown later.
      and c_time < (select max(c_time) - interval '15 minutes' from bills where account = ${wallet})`);
    expect(legs).toEqual([{ state: "paired" }]);
    const { rows: unclassified } = await db.execute(sql`
    select distinct business_type
    from analytics.entries
    where account = ${wallet} and product_type = ${wallet} and category = 'unclassified'`);
    expect(unclassified).toEqual([]);
  },
);

type Leg = readonly [
  ...[billId: string, productType: ProductType, amount: number, afterMs: number, type?: string],
];

test.each<readonly [string, readonly Leg[], readonly string[]]>([
  [
    "with a leg alone before them",
    [
      ["1", "SPOT", -50, 0],
      ["2", "SPOT", -50, 5_000],
      ["3", "USDT-FUTURES", 50, 5_040],
    ],
    ["2 3"],
  ],
  [
    "with a leg alone between them, and the leg that was sent last",
    [
      ["1", "SPOT", -50, 0],
      ["2", "USDT-FUTURES", 50, 30],
      ["3", "USDT-FUTURES", 50, 1_000],
      ["4", "USDT-FUTURES", 50, 9_000],
      ["5", "SPOT", -50, 9_050],
    ],
    ["1 2", "5 4"],
  ],
  [
    "closer to each other than their legs",
    [
      ["1", "SPOT", -50, 0],
      ["2", "SPOT", -50, 10],
      ["3", "USDT-FUTURES", 50, 40],
      ["4", "USDT-FUTURES", 50, 50],
    ],
    ["1 4", "2 3"],
  ],
  [
    "through a wallet that is not read, none is made up",
    [
      ["1", "USDT-FUTURES", -50, 0, "trans_to_exchange"],
      ["2", "COIN-FUTURES", 50, 9_000, "trans_from_exchange"],
      ["3", "SPOT", -50, 120_000],
      ["4", "USDT-FUTURES", 50, 129_000, "trans_from_otc"],
    ],
    [],
  ],
])(
  "of equal transfers %s, the legs nearest to each other are a pair",
  async (title, legs, expected) => {
    const account = title.slice(-20).replaceAll(/\W+/g, "-");
    const at = Date.UTC(2026, 1, 1, 12);
    const pages = legs.map(
      ([billId, productType, amount, afterMs, type = "trans_from_exchange"]) => {
        const businessType = productType === "SPOT" ? "transfer/transfer_out" : type;
        const money = { coin: "USDT", amount: String(amount), fee: "0", businessType };
        return {
          ledger: { account, productType },
          bills: [aBill({ ...money, billId, cTime: epochMs(at + afterMs) })],
        };
      },
    );
    await inTransaction(db, (tx) => upsertBills(tx, pages));
    const { rows } = await db.execute(sql`
    select bill_id || ' ' || counter_bill_id as legs
    from analytics.transfers
    where account = ${account} and amount < 0 and state = 'paired'
    order by c_time`);
    expect(rows.map((row) => row["legs"])).toEqual(expected);
  },
);

test("a transfer between two accounts is found by its equal amounts, one to one", async () => {
  const at = epochMs(Date.UTC(2026, 2, 1, 12));
  const transfer = (billId: string, amount: string, afterMs: number) =>
    aBill({
      ...{ billId, amount, fee: "0", coin: "USDT", cTime: epochMs(at + afterMs) },
      businessType: amount.startsWith("-") ? "transfer/transfer_out" : "transfer/transfer_in",
    });
  const legsOf = {
    head: [transfer("1", "-50", 0), transfer("2", "-50", 5_000), transfer("3", "-7", 0)],
    sub: [transfer("4", "50", 30), transfer("5", "50", 5_040), transfer("6", "8", 0)],
  };
  await inTransaction(db, async (tx) => {
    for (const [account, bills] of Object.entries(legsOf))
      await upsertBills(tx, [{ ledger: { account, productType: "SPOT" }, bills }]);
  });
  const { rows } = await db.execute(sql`
    select from_account || from_bill_id || ' ' || to_account || to_bill_id || ' ' || amount::float8 as legs
    from analytics.transfers_between_accounts
    where coin = 'USDT' and from_account = 'head'
    order by sent_at`);
  expect(rows.map(({ legs }) => legs)).toEqual(["head1 sub4 50", "head2 sub5 50"]);
  const { rows: sided } = await db.execute(sql`
    select distinct meaning from analytics.transfers where account = 'head'`);
  expect(sided).toEqual([{ meaning: "transfer out to another wallet" }]);
});

test("a time in seconds and a coin in lower case are read as what they are, and kept as they came", () => {
  const { read } = billsApiOf("SPOT");
  const row = {
    ...{ billId: "1", coin: "usdt", groupType: "deposit", businessType: "DEDUCTION_HANDLING_FEE" },
    ...{ size: "-1.50", fees: "0", balance: "2", cTime: "1700729673" },
  };
  expect(read(row)).toMatchObject({
    bill: {
      coin: "USDT",
      cTime: 1_700_729_673_000,
      businessType: "deposit/DEDUCTION_HANDLING_FEE",
      extra: { coin: "usdt", cTime: "1700729673" },
    },
  });
  expect(read({ ...row, coin: "rTOWN" })).toMatchObject({ bill: { coin: "rTOWN" } });
});

test("a liquidation is a row with the sweeps within ten seconds behind it, of its contract and of none; of two contracts at once, one", async () => {
  const account = "liquidated";
  let balance = 100;
  const entries = [
    ...([
      [0, "BTC", -5],
      [1, "BTC", -3, "sweep"],
      [2, null, -2, "sweep"],
    ] as const),
    ...([
      [10, "BTC", -1, "sweep"],
      [100, "BTC", -5],
      [111, null, -3, "sweep"],
    ] as const),
    ...([
      [112, null, -2, "sweep"],
      [123, "ETH", -4],
      [133, "BTC", -1],
    ] as const),
  ];
  const bills = entries.map(([second, symbol, amount, kind], index) => {
    balance += amount - 0.25;
    return billAt(Date.UTC(2026, 2, 28, 12) + second * 1_000, index, {
      ...{ symbol, amount: String(amount), fee: "-0.25", balance: String(balance) },
      businessType: kind ? "risk_captital_user_transfer" : "burst_long_loss_query",
    });
  });
  await storeBills(db, { account, productType: "USDT-FUTURES" } as const, bills);
  const { rows } = await db.execute(sql`
    select
      symbols, bills::int, amount::text, fee::text, sweeps::int, swept::text, sweep_fee::text,
      balance_left::float8
    from analytics.liquidations
    where account = ${account}
    order by started_at`);
  expect(rows.map((row) => Object.values(row))).toEqual([
    [["BTC"], 1, "-5", "-0.25", 3, "-6", "-0.75", 88],
    [["BTC"], 1, "-5", "-0.25", 0, null, null, 82.75],
    [null, 0, "0", "0", 2, "-5", "-0.50", 77.25],
    [["BTC", "ETH"], 2, "-5", "-0.50", 0, null, null, 71.75],
  ]);
});
