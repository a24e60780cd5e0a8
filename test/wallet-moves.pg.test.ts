// Holds: One definition
// What a bill does to its wallet is the same in the views, in reconcile and in the exports, by any rule.

import { sql } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { candidates } from "../src/audit/rules.ts";
import { businessTypes } from "../src/contract/business-types.ts";
import { decimalText } from "../src/sandbox/money.ts";
import { pick, seededRandom } from "../src/sandbox/random.ts";
import { expectedRule, joinRules, type WalletRule, walletMoves } from "../src/sql/wallet-moves.ts";
import { fileDatabase } from "./support/database.ts";
import { exactUnits } from "./support/journal.ts";
import { type Habits, smallLedger, storeLedgers } from "./support/small-ledger.ts";

// What a bill does to its wallet stands in the view analytics.entries and in the statements of reconcile
// and the exports. Both are compared with arithmetic here.

const { tables } = await fileDatabase();
const { db } = tables;

const habits: readonly Habits[] = [
  {},
  { marginMoves: true },
  { couponMoves: true },
  { rounds: true },
];
const ledgers = new Map(
  habits.flatMap((kind, number) =>
    ["learned", "drawn", "unlearned"].map((rules) => {
      const account = `${rules}/${number}`;
      return [account, smallLedger(seededRandom(account), kind)] as const;
    }),
  ),
);
const codes = new Map(businessTypes.map(({ code, category }) => [code, category]));
const categoryOf = (businessType: string) => codes.get(businessType) ?? "unclassified";
const categories = [...new Set([...codes.values(), "unclassified" as const])];

/** Rules drawn at random, by account and category. One of four categories has none. */
const drawn = new Map<string, WalletRule>();

beforeAll(async () => {
  await storeLedgers(db, ledgers);
  const learned = [...ledgers.keys()].filter((account) => account.startsWith("learned"));
  await reconcile(db, { accounts: learned, productTypes: undefined }, { isFull: true });
  const random = seededRandom("rules");
  for (const account of [...ledgers.keys()].filter((name) => name.startsWith("drawn"))) {
    for (const category of categories.filter(() => random() < 0.75)) {
      const rule = pick(random, candidates);
      drawn.set(`${account} ${category}`, rule);
      await db.execute(sql`
        insert into wallet_rules (
          account, product_type, category, counts_amount, counts_fee, counts_coupon, is_testable,
          tested, fitting
        )
        values (
          ${account}, 'USDT-FUTURES', ${category}, ${rule.countsAmount}, ${rule.countsFee},
          ${rule.countsCoupon}, true, 1, 1
        )`);
    }
  }
});

type Moved = { account: string; bill_id: string; amount: string; fee: string };

const shown = async () => {
  const { rows } = await db.execute<Moved>(sql`
    select account, bill_id, wallet_amount::text as amount, wallet_fee::text as fee
    from analytics.entries
    order by account collate "C", bill_id collate "C"`);
  return rows;
};

test("the view and the statements' parts move each wallet by the same, whatever the rules", async () => {
  const { rows } = await db.execute<Moved>(sql`
    select
      bills.account,
      bill_id,
      ${walletMoves("bills").amount}::text as amount,
      ${walletMoves("bills").fee}::text as fee
    from bills
    ${joinRules("bills")}
    order by bills.account collate "C", bill_id collate "C"`);
  expect(rows.length).toBeGreaterThan(1_000);
  expect(await shown()).toEqual(rows);
});

test("what is moved is what the rule says of a bill's numbers, and what the exchange did where it was learned", async () => {
  const byBill = new Map((await shown()).map((row) => [`${row.account} ${row.bill_id}`, row]));
  const wrong = [...ledgers].flatMap(([account, bills]) =>
    bills.flatMap((bill) => {
      const { amount, fee } = byBill.get(`${account} ${bill.billId}`) ?? { amount: "", fee: "" };
      const category = categoryOf(bill.businessType);
      const rule = drawn.get(`${account} ${category}`) ?? expectedRule(category);
      const byRule =
        (rule.countsAmount ? exactUnits(bill.amount) : 0n) +
        (rule.countsFee ? exactUnits(bill.fee) : 0n) +
        (rule.countsCoupon ? exactUnits(bill.feeByCoupon ?? "0") : 0n);
      const moved = exactUnits(amount) + exactUnits(fee);
      const expected = account.startsWith("learned") ? exactUnits(decimalText(bill.moved)) : byRule;
      return moved === expected ? [] : [{ account, bill, moved, expected }];
    }),
  );
  expect(wrong).toEqual([]);
});
