import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { discrepancyText } from "../src/check/reconcile/breaks.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/lib/time.ts";
import { billAt } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { smallLedgerStart } from "./support/small-ledger.ts";
import { storeBills, storeTime } from "./support/stored-ledger.ts";

const { db } = await fileDatabase();

const breaksOf = async (account: string, productTypes?: readonly ProductType[]) => {
  const { breaks } = await reconcile(db, { accounts: [account], productTypes }, { isFull: true });
  const figure = (text: string | null) => (text === null ? null : Number(text));
  return breaks.map(({ kind, expected, observed, difference }) => ({
    ...{ kind, expected: figure(expected), observed: figure(observed) },
    difference: figure(difference),
  }));
};

type Record = {
  readonly ltv: string;
  readonly assets: string;
  readonly debt: string;
  readonly parts: readonly (readonly [price: string, amount: string, converted: string])[];
};

const firstSeenAt = isoTime(epochMs(smallLedgerStart));

async function storeRecord(account: string, { ltv, assets, debt, parts }: Record): Promise<void> {
  await db.execute(sql`
    insert into ltv_snapshots (
      account, risk_unit_id, first_seen_at, last_seen_at, ltv, usdt_balance, unpaid_usdt_amount
    )
    values (${account}, '', ${firstSeenAt}, ${firstSeenAt}, ${ltv}, ${assets}, ${debt})`);
  for (const [index, [price, amount, converted]] of parts.entries()) {
    await db.execute(sql`
      insert into ltv_collateral (
        account, risk_unit_id, first_seen_at, coin, price, amount, converted_usdt_amount
      )
      values (${account}, '', ${firstSeenAt}, ${`C${index}`}, ${price}, ${amount}, ${converted})`);
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
  ["whose ratio is a unit off", { ltv: "0.3335" }, [{ kind: "ltv", observed: 0.3335 }]],
  [
    "whose collateral is not its assets",
    { assets: "1500.5", ltv: "0.3332" },
    [{ kind: "ltv", expected: 1500, observed: 1500.5, difference: 0.5 }],
  ],
  [
    "with collateral that counts for more than it is worth, and for less than nothing",
    {
      ...{ assets: "1200", ltv: "0.4167" },
      parts: [
        ["60000", "0.02", "1201"],
        ["1", "1", "-1"],
      ],
    },
    [
      { kind: "ltv", expected: 1200, observed: 1201, difference: 1 },
      { kind: "ltv", observed: -1 },
    ],
  ],
  [
    "with a coin that is owed, which lowers the assets by what it is worth or more",
    {
      ...{ assets: "1089", ltv: "0.4591" },
      parts: [
        ["60000", "0.02", "1200"],
        ["1", "-100", "-100"],
        ["1", "-10", "-11"],
      ],
    },
    [],
  ],
  [
    "with a coin that is owed and raises the assets",
    { assets: "1501", ltv: "0.3331", parts: [...sound.parts, ["1", "-100", "1"]] },
    [{ kind: "ltv", expected: -100, observed: 1, difference: 101 }],
  ],
  ["without assets or debt", { assets: "0", debt: "0", ltv: "0", parts: [] }, []],
])("a loan-to-value record %s is told by what it breaks", async (name, but, expected) => {
  await storeRecord(name, { ...sound, ...but });
  expect(await breaksOf(name)).toMatchObject(expected);
});

test("each figure of a record is a break of its own, whose difference has no unit", async () => {
  await storeRecord("units", {
    ...sound,
    assets: "1200",
    ltv: "0.3335",
    parts: [["60000", "0.02", "1201"]],
  });
  const { breaks } = await reconcile(
    db,
    { accounts: ["units"], productTypes: undefined },
    { isFull: true },
  );
  const { rows } = await db.execute(sql`
    select kind, unit
    from analytics.breaks
    where account = 'units'
    order by break_id`);
  expect(rows).toEqual(breaks.map((one) => ({ kind: one.kind, unit: one.unit })));
  expect(breaks.map((one) => [one.anchor.replace(/^\S+ /, ""), discrepancyText(one)])).toEqual([
    ["assets", "the record is 1 lower than its parts explain"],
    ["ratio", expect.stringMatching(/^the record is -?0\.\d+ (higher|lower) than/)],
    ["C0", "the record is 1.00 higher than its parts explain"],
  ]);
});

const noon = smallLedgerStart + dayMs / 2;

/** A leg of a transfer after an opening balance of 1,000. */
async function storeLeg(
  account: string,
  productType: ProductType,
  amount: number,
  afterMs = 0,
): Promise<void> {
  const money = { coin: "BTC", fee: "0" };
  const businessType = amount < 0 ? "trans_to_contract" : "trans_from_contract";
  const leg = { amount: String(amount), balance: String(1_000 + amount), businessType };
  const opening = { amount: "1000", balance: "1000", businessType: "trans_from_exchange" };
  await storeBills(db, { account, productType }, [
    billAt(noon - hourMs, 0, { ...money, ...opening }),
    billAt(noon + afterMs, 0, { ...money, ...leg }),
  ]);
  const span = { from: epochMs(noon - dayMs), to: epochMs(noon + dayMs) };
  await storeTime(db, { account, productType }, { covered: [span] });
}

test.each<[string, number, number, readonly object[], string]>([
  ["of one amount are a pair", 7, 1_500, [], "paired"],
  ["of two amounts are a break", 6, 1_500, [{ expected: 7, observed: 6 }], "unpaired"],
  ["that are an hour apart are two transfers", 6, hourMs, [], "unpaired"],
])(
  "the legs of a transfer between product types %s",
  async (account, amount, afterMs, breaks, state) => {
    await storeLeg(account, "COIN-FUTURES", -7);
    await storeLeg(account, "USDC-FUTURES", amount, afterMs);
    const found = await breaksOf(account);
    expect(found).toMatchObject(
      breaks.map((one) => ({ kind: "transfer", difference: -1, ...one })),
    );
    // It is listed where its product type is asked for, and stays open.
    expect(await breaksOf(account, ["COIN-FUTURES"])).toEqual(found);
    expect(await breaksOf(account, ["USDC-FUTURES"])).toEqual([]);
    expect(await breaksOf(account)).toEqual(found);
    const { rows } = await db.execute<{ state: string }>(sql`
      select distinct state
      from analytics.transfers
      where account = ${account} and business_type like '%contract'`);
    expect(rows).toEqual([{ state }]);
  },
);

test("legs of no amount are no pair", async () => {
  await storeLeg("nothing", "COIN-FUTURES", 0);
  await storeLeg("nothing", "USDC-FUTURES", 0, 1_500);
  const { rows } = await db.execute(sql`
    select state, counter_bill_id as counter
    from analytics.transfers
    where account = 'nothing' and amount = 0`);
  expect(rows).toEqual(Array(2).fill({ state: "unpaired", counter: null }));
});
