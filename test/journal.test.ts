// Each journal balances, asserts true balances and declares its names; hledger and bean-check accept it
// (damaged ledgers, any names).

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toBeancount } from "../src/books/export/beancount.ts";
import {
  type BillPages,
  balanceChange,
  type ExportedBill,
} from "../src/books/export/exported-bill.ts";
import { toHledger } from "../src/books/export/hledger.ts";
import { add, decimalOf, decimalText } from "../src/lib/decimal.ts";
import { epochMs, hourMs } from "../src/lib/time.ts";
import { anExportedBill } from "./support/bills.ts";
import { exactUnits, refusalOf, type Sums, verifiedSums } from "./support/journal.ts";

const formats = { hledger: toHledger, beancount: toBeancount };
const tools = ["hledger", "beancount"] as const;

async function journal(
  tool: keyof typeof formats,
  bills: readonly ExportedBill[],
  pageBills = 3,
): Promise<string> {
  const pages = async function* (): BillPages {
    for (let at = 0; at < bills.length; at += pageBills) yield bills.slice(at, at + pageBills);
  };
  return (await Array.fromAsync(formats[tool](pages()))).join("");
}

/** A ledger that adds up, starting at a balance of 100, with a bill every five hours. */
function ledger(changes: readonly Partial<ExportedBill>[]): ExportedBill[] {
  let balance = decimalOf("100");
  return changes.map((but, index) => {
    const bill = anExportedBill({ billId: String(10_000 + index), ...but });
    balance = add(balance, balanceChange(bill));
    const cTime = epochMs(anExportedBill().cTime + index * 5 * hourMs);
    return { ...bill, cTime, balance: decimalText(balance) };
  });
}

const sumOf = (sums: Sums, account: string): bigint => sums.get(account) ?? 0n;

describe.each(tools)("a journal for %s", (tool) => {
  const name = tool === "hledger" ? "main" : "Main";
  const account = (root: string, leaf: string) =>
    `${root}:Exchange:${name}:USDT-FUTURES:${leaf} USDT`;

  test("books a step that is off by one unit in the last place as rounding, any other as a discrepancy", async () => {
    // Off by +1e-8 at the second bill, +3 at the third, -1e-8 at the fourth and +2e-8 at the fifth.
    const off = ["0", "0.00000001", "3.00000001", "3", "3.00000002"];
    const damaged = ledger([{}, {}, {}, {}, {}]).map((bill, index) => ({
      ...bill,
      balance: decimalText(add(decimalOf(bill.balance ?? ""), decimalOf(off[index] ?? ""))),
    }));
    const sums = verifiedSums(tool, await journal(tool, damaged));
    expect(sumOf(sums, account("Equity", "Rounding"))).toBe(0n);
    expect(sumOf(sums, account("Equity", "Discrepancy"))).toBe(exactUnits("-3.00000002"));
  });

  test("takes any name of an account and a coin, and keeps those apart that differ", async () => {
    const coins = [
      ...["USDT", "1INCH", "S", "stETH", "STETH", "TRUE", "COIN.S", "1000SATS", 'a"b;c', "x:y"],
      ...["币安人生", "MOON MOON", "A-VERY-LONG-NAME-OF-A-COIN", "x\ny", "*", "|", "\\|", "\n"],
      ...["\u2028", "(a) b", "StETH-0F8699", "x_y_AB12CD", "=1+1"],
    ];
    const accounts = ["main", "sub_1.a", "exchange", "assets", "2nd", "funding"];
    const bills = accounts.toSorted().flatMap((account) =>
      coins.flatMap((coin) => {
        const names = { account, coin, symbol: `${coin}"\\|USDT`, businessType: `of; ${coin}` };
        return ledger([{}, { fee: "0.5" }]).map((bill) => ({ ...bill, ...names }));
      }),
    );
    const text = await journal(tool, bills);
    const assets = [...verifiedSums(tool, text).keys()].filter((key) => key.startsWith("Assets:"));
    expect(assets).toHaveLength(coins.length * accounts.length);
    const spelled = tool === "hledger" ? ['"1INCH"', "stETH"] : ["COIN.1INCH", "COIN.STETH.0F8699"];
    for (const commodity of spelled) expect(text).toContain(` 12.4877 ${commodity}\n`);
    // A semicolon begins a comment, so it would end the description.
    if (tool === "hledger") expect(text).not.toMatch(/^\d.*;/m);
    expect(refusalOf(tool, text)).toBe("");
  });

  test("balances and checks, whatever is missing, doubled, changed or out of order", async () => {
    const money = fc
      .integer({ min: -5_000_000, max: 5_000_000 })
      .map((units) => (units / 1000).toFixed(3));
    const categories = [
      "trade",
      "funding",
      "margin",
      "transfer",
      "unclassified",
      "interest",
      "copy",
    ] as const;
    const kinds = ["removed", "doubled", "silent", "changed", "by a unit", "same time", "swapped"];
    const change = fc.record({
      ...{ amount: money, fee: money, category: fc.constantFrom(...categories) },
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 30 }),
        fc.array(fc.record({ at: fc.nat(), kind: fc.constantFrom(...kinds) }), { maxLength: 6 }),
        fc.integer({ min: 1, max: 8 }),
        async (changes, damages, pageBills) => {
          const bills = damages.reduce(damaged, ledger(changes));
          const sums = verifiedSums(tool, await journal(tool, bills, pageBills));
          const fees = bills
            .filter(({ category }) => category !== "margin")
            .reduce((sum, { fee }) => sum - exactUnits(fee), 0n);
          const booked =
            sumOf(sums, account("Income", "FeeRebates")) +
            sumOf(sums, account("Expenses", "FeesPaid"));
          expect(booked).toBe(fees);
          const isWhole = damages.every(({ kind }) => kind === "silent" || kind === "same time");
          if (isWhole) expect([...sums.keys()].join()).not.toContain("Discrepancy");
        },
      ),
      { numRuns: 300 },
    );
  });
});

const two: readonly Partial<ExportedBill>[] = [
  { amount: "12.50", fee: "-0.0123", feeByCoupon: "-0.5" },
  { amount: "-7", fee: "0", businessType: "append_margin", category: "margin" },
];

test("hledger reads the day and the id, and finds time, category and pair as tags", async () => {
  const text = await journal("hledger", ledger(two));
  expect(text).toContain(`2023-11-14 * (10000) close_long BTCUSDT
    ; time:22:13:20.000Z, category:trade, symbol:BTCUSDT, fee_by_coupon:-0.5
    Assets:Exchange:main:USDT-FUTURES:USDT  12.4877 USDT
`);
  expect(text).toContain("category:margin, symbol:BTCUSDT, margin_moved:-7\n");
  expect(text.match(/end of the day\n.* 0 USDT = 112\.4877 USDT\n/g)).toHaveLength(2);
});

test("beancount reads the same, the end of a day as the next one's beginning", async () => {
  const text = await journal("beancount", ledger(two));
  expect(text).toContain(`2023-11-14 * "close_long" "BTCUSDT"
  bill_id: "10000"
  time: "22:13:20.000Z"
  category: "trade"
  symbol: "BTCUSDT"
  fee_by_coupon: "-0.5"
  Assets:Exchange:Main:USDT-FUTURES:USDT  12.4877 USDT
`);
  for (const day of [15, 16])
    expect(text).toMatch(
      new RegExp(`^2023-11-${day} balance \\S+:USDT {2}112\\.4877 ~ 0 USDT$`, "m"),
    );
});

test("a number that a tool would round or cannot read is refused with its bill, the rest is exact", async () => {
  const digits = "1234567890".repeat(15);
  const wide = ledger([{ amount: digits, fee: "0" }]);
  await expect(journal("beancount", wide)).rejects.toThrow(
    /^bill main\/USDT-FUTURES 10000 leads to 123456.* computes with 28 digits; use another format/,
  );
  const taken = await journal("hledger", wide);
  expect(refusalOf("hledger", taken)).toBe("");
  expect(
    verifiedSums("hledger", taken).get("Income:Exchange:main:USDT-FUTURES:RealisedPnl USDT"),
  ).toBe(-exactUnits(digits));
  // Neither number is too long, but their sum is.
  const sum = ledger([{ amount: "12345678901234567890.12", fee: "-0.0000000001" }]);
  await expect(journal("beancount", sum)).rejects.toThrow(/28 digits/);
  const fits = ledger([{ amount: "1234567890123456789012345678", fee: "0" }]).map((bill) => ({
    ...bill,
    balance: bill.walletAmount,
  }));
  expect(refusalOf("beancount", await journal("beancount", fits))).toBe("");
  const fine = ledger([{ amount: `0.${"0".repeat(255)}1`, fee: "0" }]);
  await expect(journal("hledger", fine)).rejects.toThrow(
    /256 decimal places, and hledger reads 255/,
  );
});

test("a journal's names that beancount cannot tell apart are refused, with the way out", async () => {
  const bills = ["Main", "main"].flatMap((account) =>
    ledger([{}]).map((bill) => ({ ...bill, account })),
  );
  await expect(journal("beancount", bills)).rejects.toThrow(
    /"Assets:Exchange:Main.* and .*main.*--account/,
  );
  expect(refusalOf("hledger", await journal("hledger", bills))).toBe("");
});

function damaged(
  bills: ExportedBill[],
  { at, kind }: { readonly at: number; readonly kind: string },
): ExportedBill[] {
  const index = bills.length === 0 ? 0 : at % bills.length;
  const bill = bills[index];
  if (bill === undefined) return bills;
  const off = (by: string) => decimalText(add(decimalOf(bill.balance ?? "0"), decimalOf(by)));
  switch (kind) {
    case "removed":
      return bills.toSpliced(index, 1);
    case "doubled":
      return bills.toSpliced(index, 0, { ...bill, billId: `${bill.billId}0` });
    case "silent":
      return bills.with(index, { ...bill, balance: null });
    case "by a unit":
      return bills.with(index, { ...bill, balance: off("0.00000001") });
    case "changed":
      return bills.with(index, { ...bill, balance: off("17.5") });
    case "swapped":
      return bills
        .toSpliced(index, 2, ...bills.slice(index, index + 2).reverse())
        .map((other) => ({ ...other, cTime: bill.cTime }));
    default:
      return bills.map((other) => ({ ...other, cTime: bill.cTime }));
  }
}
