// Holds: Stored days

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { Bill } from "../src/contract/bill.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { mapType } from "../src/db/reference/stored-business-types.ts";
import { findDifferingDays } from "../src/ledger/differing-days.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { decimalText, units } from "../src/sandbox/money.ts";
import { integer, pick, type Random, seededRandom } from "../src/sandbox/random.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";

// Random pages, with bills that are new, repeated, restated and moved to another day, coin or type. After
// each transaction the stored days are those of the bills.

const { tables } = await fileDatabase();
const { db } = tables;

const start = Date.UTC(2026, 5, 1);
const ledgers = {
  classic: ["USDT-FUTURES", "COIN-FUTURES"],
  unified: ["UTA-SPOT", "UTA-USDT-FUTURES"],
} as const satisfies Record<string, readonly ProductType[]>;

const money = (random: Random, most: number) =>
  decimalText(BigInt(integer(random, -most, most)) * 10n ** BigInt(integer(random, 0, 8)));

function drawBill(random: Random, billId: string): Bill {
  // Few times, so that many bills share one.
  const cTime = epochMs(start + integer(random, 0, 4) * dayMs + integer(random, 0, 9) * 8_640_000);
  return aBill({
    billId,
    cTime,
    symbol: pick(random, [null, "BTCUSDT", "ETHUSDT"]),
    amount: money(random, 900),
    fee: pick(random, ["0", money(random, 90)]),
    feeByCoupon: pick(random, [null, null, "0.1"]),
    businessType: pick(random, [
      "close_long",
      "contract_settle_fee",
      "trans_from_exchange",
      "new_type",
    ]),
    coin: pick(random, ["USDT", "BTC"]),
    balance: pick(random, [null, money(random, 900_000)]),
    extra: pick(random, [null, null, { more: "1" }]),
  });
}

const restatements: readonly ((random: Random, bill: Bill) => Partial<Bill>)[] = [
  // The same number in another spelling.
  (_, { amount }) => ({
    amount: amount.endsWith(".0")
      ? amount.slice(0, -2)
      : amount.includes(".")
        ? amount
        : `${amount}.0`,
  }),
  (random) => ({ amount: money(random, 900) }),
  (random, bill) => ({ cTime: epochMs(bill.cTime + pick(random, [-1, 1]) * dayMs) }),
  () => ({ coin: "ETH" }),
  () => ({ businessType: "settle_interest" }),
  () => ({ symbol: "XRPUSDT" }),
  (random) => ({ balance: pick(random, [null, money(random, 900)]) }),
];

type Stored = { readonly productType: ProductType; readonly bill: Bill };

/** A page of bills: new, stored before, and restated; some twice. */
function drawPage(
  random: Random,
  productType: ProductType,
  stored: Map<string, Stored>,
  names: () => string,
): readonly Bill[] {
  const bills: Bill[] = [];
  const ofType = [...stored.values()].filter((one) => one.productType === productType);
  for (let index = 0; index < 12; index++) {
    const draw = random();
    const { bill } = ofType.length === 0 ? { bill: undefined } : pick(random, ofType);
    if (bill === undefined || draw < 0.5) bills.push(drawBill(random, names()));
    else if (draw < 0.7) bills.push(bill);
    else bills.push({ ...bill, ...pick(random, restatements)(random, bill) });
    if (random() < 0.05) bills.push({ ...pick(random, bills), amount: money(random, 900) });
  }
  return bills;
}

test.each(Object.keys(ledgers) as (keyof typeof ledgers)[])(
  "after each transaction the days of a %s account are those of its bills",
  async (account) => {
    const random = seededRandom(`days of ${account}`);
    const stored = new Map<string, Stored>();
    let made = 0;
    const names = () => String(random() < 0.5 ? 1_000_000 + made++ : 9_000_000 - made++);
    for (let round = 0; round < 40; round++) {
      const pages = Array.from({ length: integer(random, 1, 4) }, () => {
        const productType = pick(random, ledgers[account]);
        const bills = drawPage(random, productType, stored, names);
        for (const bill of bills)
          stored.set(`${productType} ${bill.billId}`, { productType, bill });
        return { ledger: { account, productType }, bills };
      });
      await inTransaction(db, (tx) => upsertBills(tx, pages));
      expect(await findDifferingDays(db, account)).toEqual([]);
    }
  },
);

const everything = { accounts: undefined, productTypes: undefined };

test("a learned order within a millisecond moves the ends of days", async () => {
  const ledger = { account: "ordered", productType: "USDT-FUTURES" } as const;
  const at = epochMs(start + dayMs);
  // Of the three last bills of the day, the one with the lowest id came last.
  const amounts = { "103": "1", "102": "10", "101": "100" };
  let balance = units("1000");
  const before = aBill({
    billId: "100",
    cTime: epochMs(start),
    amount: "0",
    fee: "0",
    balance: "1000",
  });
  const bills = Object.entries(amounts)
    .toReversed()
    .map(([billId, amount]) => {
      balance += units(amount);
      return aBill({ billId, cTime: at, amount, fee: "0", balance: decimalText(balance) });
    });
  await inTransaction(db, (tx) => upsertBills(tx, [{ ledger, bills: [before, ...bills] }]));
  const last = async () =>
    (
      await db.execute<{ bill_id: string }>(sql`
        select bill_id from day_ends
        where account = 'ordered' and is_last
        order by day desc limit 1`)
    ).rows[0]?.bill_id;
  const shown = bills.at(-1)?.billId;
  await reconcile(db, everything, { isFull: true });
  expect(await last()).toBe(shown);
  expect(await findDifferingDays(db, "ordered")).toEqual([]);
});

test("a transfer is found whatever its type is, also if somebody mapped a type that most bills have", async () => {
  const ledger = { account: "mapped", productType: "USDT-FUTURES" } as const;
  const bills = ["trans_from_exchange", "buy", "sell"].map((businessType, index) =>
    aBill({ billId: `${index}`, businessType, amount: "5", cTime: epochMs(start + index) }),
  );
  await inTransaction(db, (tx) => upsertBills(tx, [{ ledger, bills }]));
  const found = async () =>
    (
      await db.execute<{ type: string }>(sql`
        select business_type as type from analytics.transfers
        where account = 'mapped'
        order by 1`)
    ).rows.map(({ type }) => type);
  expect(await found()).toEqual(["trans_from_exchange"]);
  await mapType(db, "buy", "transfer");
  expect(await found()).toEqual(["buy", "trans_from_exchange"]);
  await mapType(db, "buy", undefined);
  expect(await found()).toEqual(["trans_from_exchange"]);
});
