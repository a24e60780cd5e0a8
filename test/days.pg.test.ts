// Holds: Stored days

import { expect, test } from "vitest";
import type { Bill } from "../src/core/contract/bill.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { findDifferingDays } from "../src/core/store/differing-days.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { dayMs, epochMs } from "../src/lib/time.ts";
import { decimalText } from "../src/wings/sandbox/money.ts";
import { integer, pick, type Random, seededRandom } from "../src/wings/sandbox/random.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";

// Random pages, with bills that are new, repeated, restated and moved to another day, coin or type. After
// each transaction the stored days are those of the bills.

const { db } = await fileDatabase();

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
  const types = ["close_long", "contract_settle_fee", "trans_from_exchange", "new_type"];
  return aBill({
    ...{ billId, cTime, symbol: pick(random, [null, "BTCUSDT", "ETHUSDT"]) },
    amount: money(random, 900),
    fee: pick(random, ["0", money(random, 90)]),
    feeByCoupon: pick(random, [null, null, "0.1"]),
    ...{ businessType: pick(random, types), coin: pick(random, ["USDT", "BTC"]) },
    balance: pick(random, [null, money(random, 900_000)]),
    extra: pick(random, [null, null, { more: "1" }]),
  });
}

const restatements: readonly ((random: Random, bill: Bill) => Partial<Bill>)[] = [
  // The same number in another spelling.
  (_, { amount }) => ({ amount: amount.includes(".") ? `${amount}0` : `${amount}.0` }),
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
