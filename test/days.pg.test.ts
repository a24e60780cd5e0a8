import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { Bill } from "../src/contract/bill.ts";
import { type ProductType, walletOf } from "../src/contract/product-types.ts";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { mapType } from "../src/db/reference/stored-business-types.ts";
import { findDifferingDays, rebuildDays } from "../src/ledger/differing-days.ts";
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

/** What the days must be, added up without a database. */
function daysOf(bills: readonly Stored[]): readonly string[] {
  const sums = new Map<string, bigint[]>();
  for (const { productType, bill } of bills) {
    const { coin, cTime, businessType, symbol } = bill;
    const amount = units(bill.amount);
    const fee = units(bill.fee);
    const figures = [
      units("1"),
      amount,
      amount > 0n ? amount : 0n,
      amount > fee ? amount - fee : 0n,
      fee,
    ];
    const day = isoTime(cTime).slice(0, 10);
    for (const key of [
      `type ${productType} ${coin} ${day} ${businessType}`,
      `symbol ${productType} ${coin} ${day} ${businessType} ${symbol ?? ""}`,
    ]) {
      const sum = sums.get(key) ?? figures.map(() => 0n);
      sums.set(
        key,
        sum.map((one, index) => one + (figures[index] ?? 0n)),
      );
    }
  }
  const wallets = Map.groupBy(
    bills.filter(({ bill }) => bill.balance !== null),
    ({ productType, bill }) =>
      `${walletOf(productType)} ${bill.coin} ${isoTime(bill.cTime).slice(0, 10)}`,
  );
  const ends = [...wallets].map(([key, ofDay]) => {
    const [first, last] = [ofDay.toSorted(byOrder)[0], ofDay.toSorted(byOrder).at(-1)];
    return `ends ${key}: ${[first, last].map((end) => `${end?.productType} ${end?.bill.billId} ${end?.bill.balance}`).join(", ")}`;
  });
  return [
    ...[...sums].map(([key, sum]) => `${key}: ${sum.map((one) => decimalText(one)).join(" ")}`),
    ...ends,
  ].toSorted();
}

const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);
const byOrder = (a: Stored, b: Stored): number =>
  a.bill.cTime - b.bill.cTime ||
  a.bill.billId.length - b.bill.billId.length ||
  compare(a.bill.billId, b.bill.billId) ||
  compare(a.productType, b.productType);

/** The stored days, as text. */
async function storedDays(account: string): Promise<readonly string[]> {
  const { rows } = await db.execute<{ row: string; figures: readonly string[] }>(sql`
    select
      concat_ws(' ', 'type', product_type, coin, to_char(day, 'YYYY-MM-DD'), business_type) as row,
      array[bills, amount_in + amount_out, amount_in, apart_in, fee_in + fee_out]::text[] as figures
    from type_days
    where account = ${account} and bills <> 0
    union all
    select
      concat_ws(' ', 'symbol', product_type, coin, to_char(day, 'YYYY-MM-DD'), business_type, symbol),
      array[bills, amount_in + amount_out, amount_in, apart_in, fee_in + fee_out]::text[]
    from symbol_days
    where account = ${account} and bills <> 0`);
  const { rows: ends } = await db.execute<{ row: string }>(sql`
    select
      concat_ws(' ', 'ends', wallet, coin, to_char(day, 'YYYY-MM-DD')) || ': ' || string_agg(
        concat_ws(' ', product_type, bill_id, balance), ', ' order by is_last
      ) as row
    from day_ends
    where account = ${account}
    group by wallet, coin, day`);
  return [
    ...rows.map(
      ({ row, figures }) => `${row}: ${figures.map((sum) => decimalText(units(sum))).join(" ")}`,
    ),
    ...ends.map(({ row }) => row),
  ].toSorted();
}

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
        return { stream: { account, productType }, bills };
      });
      await inTransaction(db, (tx) => upsertBills(tx, pages));
      expect(await storedDays(account)).toEqual(daysOf([...stored.values()]));
      expect(await findDifferingDays(db, account)).toEqual([]);
    }
  },
);

const everything = { accounts: undefined, productTypes: undefined };

test("a learned order within a millisecond moves the ends of days", async () => {
  const stream = { account: "ordered", productType: "USDT-FUTURES" } as const;
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
  await inTransaction(db, (tx) => upsertBills(tx, [{ stream, bills: [before, ...bills] }]));
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
  const stream = { account: "mapped", productType: "USDT-FUTURES" } as const;
  const bills = ["trans_from_exchange", "buy", "sell"].map((businessType, index) =>
    aBill({ billId: `${index}`, businessType, amount: "5", cTime: epochMs(start + index) }),
  );
  await inTransaction(db, (tx) => upsertBills(tx, [{ stream, bills }]));
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

test("changes by hand are found, and adding the days up anew ends them", async () => {
  await db.execute(sql`delete from bills where account = 'ordered' and bill_id = '102'`);
  await db.execute(sql`update bills set amount = 5 where account = 'ordered' and bill_id = '100'`);
  expect(await findDifferingDays(db, "ordered")).toEqual([
    { account: "ordered", wallet: "USDT-FUTURES", coin: "USDT", day: "2026-06-01" },
    { account: "ordered", wallet: "USDT-FUTURES", coin: "USDT", day: "2026-06-02" },
  ]);
  await rebuildDays(db, "ordered");
  expect(await findDifferingDays(db, "ordered")).toEqual([]);
});
