import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { snowflake } from "../src/sandbox/entry.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { smallLedgerStart } from "./support/small-ledger.ts";
import { storeTime } from "./support/stored-time.ts";

const { tables } = await fileDatabase();
const { db } = tables;

const breaksOf = async (account: string, productTypes?: readonly ProductType[]) => {
  const scope = { accounts: [account], productTypes };
  const { breaks } = await reconcile(db, scope, { isFull: true });
  return breaks.map(({ kind, expected, observed, difference }) => ({
    kind,
    expected: expected === null ? null : Number(expected),
    observed: observed === null ? null : Number(observed),
    difference: difference === null ? null : Number(difference),
  }));
};

type Record = {
  readonly ltv: string;
  readonly assets: string;
  readonly debt: string;
  readonly parts: readonly (readonly [price: string, amount: string, converted: string])[];
};

const takenAt = isoTime(epochMs(smallLedgerStart));

async function storeRecord(account: string, { ltv, assets, debt, parts }: Record): Promise<void> {
  await db.execute(sql`
    insert into ltv_snapshots (
      account, risk_unit_id, taken_at, held_until, ltv, usdt_balance, unpaid_usdt_amount
    )
    values (${account}, '', ${takenAt}, ${takenAt}, ${ltv}, ${assets}, ${debt})`);
  for (const [index, [price, amount, converted]] of parts.entries()) {
    await db.execute(sql`
      insert into ltv_collateral (
        account, risk_unit_id, taken_at, coin, price, amount, converted_usdt_amount
      )
      values (${account}, '', ${takenAt}, ${`C${index}`}, ${price}, ${amount}, ${converted})`);
  }
}

const sound: Record = {
  ltv: "0.3333",
  assets: "1500",
  debt: "500",
  parts: [
    ["60000", "0.02", "1140"],
    ["1", "400", "360"],
  ],
};

test.each<[string, Partial<Record>, readonly object[]]>([
  ["that adds up", {}, []],
  ["rounded to half a unit of its last place", { ltv: "0.33" }, []],
  ["whose ratio is a unit off", { ltv: "0.3335" }, [{ kind: "ltv-ratio", observed: 0.3335 }]],
  [
    "whose collateral is not its assets",
    { assets: "1500.5", ltv: "0.3332" },
    [{ kind: "ltv-assets", expected: 1500, observed: 1500.5, difference: 0.5 }],
  ],
  [
    "with collateral that counts for more than it is worth",
    {
      assets: "1641",
      ltv: "0.3047",
      parts: [
        ["60000", "0.02", "1201"],
        ["1", "440", "440"],
      ],
    },
    [{ kind: "ltv-haircut", expected: 1200, observed: 1201, difference: 1 }],
  ],
  [
    "with collateral that counts for less than nothing",
    {
      assets: "1139",
      ltv: "0.4390",
      parts: [
        ["60000", "0.02", "1140"],
        ["1", "1", "-1"],
      ],
    },
    [{ kind: "ltv-haircut", observed: -1 }],
  ],
  ["without assets or debt", { assets: "0", debt: "0", ltv: "0", parts: [] }, []],
])(
  "a loan-to-value record %s is told by what it breaks, and marks no day",
  async (name, but, expected) => {
    await storeRecord(name, { ...sound, ...but });
    expect(await breaksOf(name)).toMatchObject(expected);
  },
);

const noon = smallLedgerStart + dayMs / 2;

type Leg = { readonly type: string; readonly amount: number; readonly afterMs: number };

/** Legs of transfers after an opening balance of 1,000. */
async function storeLegs(
  account: string,
  productType: ProductType,
  legs: readonly Leg[],
): Promise<void> {
  let balance = 0;
  const entry = (time: number, businessType: string, amount: number) => {
    balance += amount;
    return aBill({
      billId: snowflake(time, 0),
      cTime: epochMs(time),
      businessType,
      coin: "BTC",
      amount: String(amount),
      fee: "0",
      balance: String(balance),
    });
  };
  const bills = [
    entry(noon - 3_600_000, "trans_from_exchange", 1_000),
    ...legs.map(({ type, amount, afterMs }) => entry(noon + afterMs, type, amount)),
  ];
  await inTransaction(db, (tx) => upsertBills(tx, [{ ledger: { account, productType }, bills }]));
  const span = { from: epochMs(noon - dayMs), to: epochMs(noon + dayMs) };
  await storeTime(db, { account, productType }, { covered: [span] });
}

const sent = (amount: number, afterMs: number): Leg => ({
  type: "trans_to_contract",
  amount: -amount,
  afterMs,
});
const received = (amount: number, afterMs: number): Leg => ({
  type: "trans_from_contract",
  amount,
  afterMs,
});

test.each<[string, number, number, readonly object[], string]>([
  ["of one amount are a pair", 7, 1_500, [], "paired"],
  [
    "of two amounts are a break",
    6,
    1_500,
    [{ kind: "transfer", expected: 7, observed: 6, difference: -1 }],
    "one_sided",
  ],
  ["that are an hour apart are two transfers", 6, 3_600_000, [], "one_sided"],
])(
  "the legs of a transfer between product types %s",
  async (name, amount, afterMs, breaks, state) => {
    await storeLegs(name, "COIN-FUTURES", [sent(7, 0)]);
    await storeLegs(name, "USDC-FUTURES", [received(amount, afterMs)]);
    expect(await breaksOf(name)).toMatchObject(breaks);
    expect(await breaksOf(name)).toHaveLength(breaks.length);
    const { rows } = await db.execute<{ state: string }>(sql`
    select state
    from analytics.transfers
    where account = ${name}
      and business_type like '%contract'
    group by state`);
    expect(rows).toEqual([{ state }]);
  },
);

test("legs of no amount are no pair", async () => {
  const account = "nothing";
  await storeLegs(account, "COIN-FUTURES", [sent(0, 0)]);
  await storeLegs(account, "USDC-FUTURES", [received(0, 1_500)]);
  const { rows } = await db.execute<{ state: string; counter: string | null }>(sql`
    select state, counter_bill_id as counter
    from analytics.transfers
    where account = ${account}
      and amount = 0`);
  expect(rows).toEqual(Array(2).fill({ state: "one_sided", counter: null }));
});

test("a transfer's break stays open, and is listed where its product type is asked for", async () => {
  const account = "narrow";
  await storeLegs(account, "COIN-FUTURES", [sent(7, 0)]);
  await storeLegs(account, "USDC-FUTURES", [received(6, 1_500)]);
  const found = await breaksOf(account);
  expect(found).toMatchObject([{ kind: "transfer", difference: -1 }]);
  expect(await breaksOf(account, ["COIN-FUTURES"])).toEqual(found);
  expect(await breaksOf(account, ["USDC-FUTURES"])).toEqual([]);
  expect(await breaksOf(account)).toEqual(found);
});
