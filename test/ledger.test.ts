import { describe, expect, test } from "vitest";
import { businessTypes } from "../src/contract/business-types.ts";
import { classicProductTypes } from "../src/contract/product-types.ts";
import { historyMs, intervalMaxMs, minuteMs } from "../src/contract/time.ts";
import { movesBalance, type WireBill } from "../src/sandbox/entry.ts";
import { type LedgerOptions, makeLedger } from "../src/sandbox/ledger.ts";
import type { LedgerBill } from "../src/sandbox/ledger-bill.ts";
import { decimalText, ratioText, units } from "../src/sandbox/money.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { makeLoanToValue, makeSymbols } from "../src/sandbox/records.ts";
import { unheardOfTypes } from "../src/sandbox/schedule.ts";

const now = Date.UTC(2025, 5, 1, 10, 11, 12, 345);
const seeds = ["a", "b", 1, 2];
const ledgerOf = (options: Partial<LedgerOptions> = {}) => makeLedger({ seed: 1, now, ...options });
const everyBill = (ledger: ReturnType<typeof makeLedger>): readonly LedgerBill[] =>
  Object.values(ledger.bills).flat();

const rowOf = ({ row }: LedgerBill): WireBill => row as WireBill;
const textOf = (bill: LedgerBill, field: string): string => String(rowOf(bill)[field] ?? "");
const moneyOf = (bill: LedgerBill, field: string): bigint => units(textOf(bill, field) || "0");

describe("a ledger", () => {
  test.each(seeds)("adds up to the last digit in every coin (seed %s)", (seed) => {
    const ledger = ledgerOf({ seed });
    for (const productType of classicProductTypes) {
      const balances = new Map<string, bigint>();
      for (const bill of ledger.bills[productType]) {
        const moved = movesBalance(bill.businessType)
          ? moneyOf(bill, "amount") + moneyOf(bill, "fee")
          : 0n;
        const balance = (balances.get(bill.coin) ?? 0n) + moved;
        balances.set(bill.coin, balance);
        if (textOf(bill, "balance") !== "") expect(moneyOf(bill, "balance")).toBe(balance);
        expect(balance).toBeGreaterThanOrEqual(0n);
      }
    }
  });

  test.each(seeds)("is the same, letter for letter, from the same options (seed %s)", (seed) => {
    expect(JSON.stringify(ledgerOf({ seed }))).toBe(JSON.stringify(ledgerOf({ seed })));
  });

  test("of one product type does not depend on which others are wanted", () => {
    const alone = ledgerOf({ productTypes: ["USDT-FUTURES"] });
    expect(JSON.stringify(alone.bills["USDT-FUTURES"])).toBe(
      JSON.stringify(ledgerOf().bills["USDT-FUTURES"]),
    );
    expect(alone.bills["COIN-FUTURES"]).toEqual([]);
  });

  test.each(seeds)("has ids that rise with time and never repeat in a stream (seed %s)", (seed) => {
    for (const bills of Object.values(ledgerOf({ seed }).bills)) {
      const unordered = bills.filter((bill, index) => {
        const before = bills[index - 1];
        return (
          before !== undefined &&
          (BigInt(bill.billId) <= BigInt(before.billId) || bill.cTime < before.cTime)
        );
      });
      expect(unordered).toEqual([]);
    }
  });

  test("has ids that hold their time, as the exchange's do", () => {
    const wrong = everyBill(ledgerOf()).filter(
      ({ billId, cTime }) => (BigInt(billId) >> 22n) + 1_435_725_920_677n !== BigInt(cTime),
    );
    expect(wrong).toEqual([]);
  });

  test("shares some ids between product types, so that an id alone is no key", () => {
    const ids = everyBill(ledgerOf()).map(({ billId }) => billId);
    expect(new Set(ids).size).toBeLessThan(ids.length);
  });

  test("shares no id with another account's, though both have funding in one millisecond", () => {
    const [one, other] = [0, 1023].map((account) =>
      everyBill(ledgerOf({ seed: account, account })),
    );
    const times = new Set(one?.map(({ cTime }) => cTime));
    expect(other?.filter(({ cTime }) => times.has(cTime)).length).toBeGreaterThan(10);
    const ids = new Set(one?.map(({ billId }) => billId));
    expect(other?.filter(({ billId }) => ids.has(billId))).toEqual([]);
  });

  test.each(seeds)("has every known kind of bill and some unheard of (seed %s)", (seed) => {
    const [horizon, end] = [now - historyMs, now];
    const kinds = new Set(
      ledgerOf({ seed })
        .bills["USDT-FUTURES"].filter(({ cTime }) => cTime > horizon && cTime < end)
        .map(({ businessType }) => businessType),
    );
    const wanted = [...businessTypes.map(({ code }) => code), ...unheardOfTypes];
    expect(wanted.filter((code) => !kinds.has(code))).toEqual([]);
  });

  test("has bills on both sides of each window edge and of the horizon", () => {
    for (const bills of classicProductTypes.map((type) => ledgerOf().bills[type])) {
      const times = new Set<number>(bills.map(({ cTime }) => cTime));
      const edges = Array.from({ length: 13 }, (_, week) => now - historyMs + week * intervalMaxMs);
      const missing = edges
        .flatMap((edge) => [edge - 1, edge, edge + 1])
        .filter((time) => !times.has(time));
      expect(missing).toEqual([]);
    }
  });

  test("has more than a hundred bills in one millisecond", () => {
    const counts = new Map<number, number>();
    for (const { cTime } of ledgerOf().bills["USDT-FUTURES"])
      counts.set(cTime, (counts.get(cTime) ?? 0) + 1);
    expect(Math.max(...counts.values())).toBeGreaterThan(100);
  });

  test("serves a few bills late, none more than 10 minutes", () => {
    const lateness = everyBill(ledgerOf()).map(({ cTime, visibleAt }) => visibleAt - cTime);
    expect(Math.min(...lateness)).toBe(0);
    expect(Math.max(...lateness)).toBeLessThanOrEqual(10 * minuteMs);
    const late = lateness.filter((lateMs) => lateMs > 0).length;
    expect(late).toBeGreaterThan(6);
    expect(late).toBeLessThan(lateness.length / 20);
  });

  test("goes on after its opening, so that a second sync finds more", () => {
    const soon = ledgerOf().bills["USDT-FUTURES"].filter(
      ({ visibleAt }) => visibleAt > now && visibleAt < now + 10 * minuteMs,
    );
    expect(soon.length).toBeGreaterThan(3);
  });

  test("shows the oddities of real answers", () => {
    const rows = everyBill(ledgerOf()).map(rowOf);
    const counts = {
      noBalance: rows.filter((row) => !("balance" in row)).length,
      emptyBalance: rows.filter((row) => row["balance"] === "").length,
      emptySymbol: rows.filter((row) => row["symbol"] === "").length,
      couponFee: rows.filter((row) => String(row["feeByCoupon"]).startsWith("-")).length,
      rawNumber: rows.filter((row) => JSON.isRawJSON(row["execPrice"])).length,
      nested: rows.filter((row) => typeof row["detail"] === "object").length,
    };
    expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
  });
});

describe("money of the sandbox", () => {
  test.each([
    ["0", "0"],
    ["-0.00000001", "-0.00000001"],
    ["1330.41753171", "1330.41753171"],
    ["-2.50000000", "-2.5"],
  ])("%s is written as %s", (text, written) => {
    expect(decimalText(units(text))).toBe(written);
  });

  test.each(seeds)("a loan-to-value record agrees with itself (seed %s)", (seed) => {
    const record = makeLoanToValue(seededRandom(seed), ["1"]) as {
      ltv: string;
      usdtBalance: string;
      unpaidUsdtAmount: string;
      balanceInfo: { price: string; amount: string; convertedUsdtAmount: string }[];
    };
    const converted = record.balanceInfo.map((asset) => units(asset.convertedUsdtAmount));
    const total = converted.reduce((sum, part) => sum + part, 0n);
    expect(decimalText(total)).toBe(record.usdtBalance);
    expect(ratioText(units(record.unpaidUsdtAmount), total, 4)).toBe(record.ltv);
    for (const { price, amount, convertedUsdtAmount } of record.balanceInfo)
      expect(units(convertedUsdtAmount) * 10n ** 8n).toBeLessThanOrEqual(
        units(price) * units(amount),
      );
  });

  test("symbols are 60 pairs of text with no name twice", () => {
    const pairs = makeSymbols(seededRandom(1), now);
    expect(new Set(pairs.map(({ symbol }) => symbol)).size).toBe(60);
    expect(
      pairs.flatMap((pair) => Object.values(pair)).filter((value) => typeof value !== "string"),
    ).toEqual([]);
  });
});
