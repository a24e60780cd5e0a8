import { describe, expect, test } from "vitest";
import {
  classicProductTypes,
  type UnifiedProductType,
  unifiedProductTypes,
} from "../src/contract/product-types.ts";
import { dayMs, historyMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { movesBalance, type WireBill } from "../src/sandbox/entry.ts";
import { type LedgerOptions, makeLedger } from "../src/sandbox/ledger.ts";
import type { LedgerBill } from "../src/sandbox/ledger-bill.ts";
import type { ModeChange } from "../src/sandbox/modes.ts";
import { unifiedPlaces, units } from "../src/sandbox/money.ts";

const now = Date.UTC(2026, 3, 30, 23, 59, 58, 765);
const seeds = ["a", "b", 1, 2];
const always = [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }];
const ledgerOf = (options: Partial<LedgerOptions> = {}) =>
  makeLedger({ seed: 1, now, modes: always, ...options });

type Unified = LedgerBill & { readonly productType: UnifiedProductType };
const unifiedBills = ({ bills }: ReturnType<typeof makeLedger>): readonly Unified[] =>
  unifiedProductTypes.flatMap((productType) =>
    bills[productType].map((bill) => ({ ...bill, productType })),
  );
const rowOf = ({ row }: LedgerBill): WireBill => row as WireBill;
const money = (bill: LedgerBill, field: string): bigint =>
  units(String(rowOf(bill)[field]), unifiedPlaces);
const byId = (left: LedgerBill, right: LedgerBill): number =>
  BigInt(left.billId) < BigInt(right.billId) ? -1 : 1;

describe("a unified account's ledger", () => {
  test.each(seeds.flatMap((seed) => [true, false].map((inside) => [seed, inside] as const)))(
    "has one balance a coin over all categories (seed %s, futures fee inside: %s)",
    (seed, isFuturesFeeInside) => {
      const ledger = ledgerOf({ seed, unified: { isFuturesFeeInside } });
      const balances = new Map<string, bigint>();
      for (const bill of unifiedBills(ledger).toSorted(byId)) {
        const feeBeside = bill.productType.endsWith("-FUTURES") && !isFuturesFeeInside;
        const moved = money(bill, "amount") + (feeBeside ? money(bill, "fee") : 0n);
        const balance =
          (balances.get(bill.coin) ?? 0n) + (movesBalance(bill.businessType) ? moved : 0n);
        balances.set(bill.coin, balance);
        if (rowOf(bill)["balance"] !== "") expect(money(bill, "balance")).toBe(balance);
        expect(balance).toBeGreaterThanOrEqual(0n);
      }
    },
  );

  test.each(seeds)("is the same, letter for letter, from the same options (seed %s)", (seed) => {
    expect(JSON.stringify(ledgerOf({ seed }))).toBe(JSON.stringify(ledgerOf({ seed })));
  });

  test("has transfers in OTHER only", () => {
    const elsewhere = unifiedBills(ledgerOf()).filter(
      ({ businessType, productType }) =>
        businessType.includes("TRANSFER") && productType !== "UTA-OTHER",
    );
    expect(elsewhere.filter(({ businessType }) => businessType !== "LIQ_TRANSFER_IN")).toEqual([]);
  });

  test("has spot fills in pairs, whose amount contains the fee that is told beside it", () => {
    const fills = ledgerOf()
      .bills["UTA-SPOT"].filter(({ businessType }) => businessType.startsWith("ORDER_DEALT"))
      .toSorted(byId);
    const [ins, outs] = ["ORDER_DEALT_IN", "ORDER_DEALT_FROZEN_OUT"].map(
      (type) => fills.filter(({ businessType }) => businessType === type).length,
    );
    expect(Math.abs((ins ?? 0) - (outs ?? 0))).toBeLessThanOrEqual(1);
    expect(fills.filter((bill) => money(bill, "fee") < 0n).length).toBeGreaterThan(100);
    expect(fills.filter((bill) => money(bill, "fee") > 0n)).toEqual([]);
  });

  test("has fees in a coin of their own as rows of their own", () => {
    const fees = unifiedBills(ledgerOf()).filter(
      ({ businessType, coin }) => businessType === "ORDER_PLF_FEE_OUT" && coin === "BGB",
    );
    expect(fees.length).toBeGreaterThan(20);
    expect(fees.every((bill) => money(bill, "fee") === 0n && money(bill, "amount") < 0n)).toBe(
      true,
    );
  });

  test("has funding on the hour, whose ids are of 1 to 2 s later, when it begins to be served", () => {
    const funding = unifiedBills(ledgerOf()).filter(
      ({ businessType, cTime }) =>
        businessType.startsWith("CONTRACT_MAIN_SETTLE_FEE") && cTime % (8 * 3_600_000) === 0,
    );
    expect(funding.length).toBeGreaterThan(300);
    for (const { billId, cTime, visibleAt } of funding) {
      const bookedMs = Number((BigInt(billId) >> 22n) + 1_435_725_920_677n) - cTime;
      expect(bookedMs).toBeGreaterThanOrEqual(secondMs);
      expect(bookedMs).toBeLessThanOrEqual(2 * secondMs);
      expect(visibleAt).toBeGreaterThanOrEqual(cTime + bookedMs);
    }
  });

  test("has more than a hundred rows, and several coins, in one millisecond", () => {
    const counts = new Map<number, Set<string>>();
    const rows = new Map<number, number>();
    for (const { cTime, coin } of unifiedBills(ledgerOf())) {
      counts.set(cTime, (counts.get(cTime) ?? new Set()).add(coin));
      rows.set(cTime, (rows.get(cTime) ?? 0) + 1);
    }
    expect(Math.max(...rows.values())).toBeGreaterThan(100);
    expect(Math.max(...[...counts.values()].map(({ size }) => size))).toBeGreaterThan(3);
  });

  test("has up to 16 decimals, and rows that come seconds late", () => {
    const bills = unifiedBills(ledgerOf());
    expect(bills.some((bill) => /\.\d{16}$/.test(String(rowOf(bill)["balance"])))).toBe(true);
    const late = bills.filter(({ cTime, visibleAt }) => visibleAt - cTime >= secondMs);
    expect(late.length).toBeGreaterThan(50);
  });

  test("has ids that never repeat, or only where another category may have them", () => {
    const unique = unifiedBills(ledgerOf()).map(({ billId }) => billId);
    expect(new Set(unique).size).toBe(unique.length);
    const reused = unifiedBills(ledgerOf({ unified: { areIdsReused: true } }));
    expect(new Set(reused.map(({ billId }) => billId)).size).toBeLessThan(reused.length);
    const keys = reused.map(({ billId, productType }) => `${productType} ${billId}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("has no position fields before the exchange sent any", () => {
    const positionsSince = now - 40 * dayMs;
    const wrong = unifiedBills(ledgerOf({ unified: { positionsSince } })).filter((bill) =>
      ["positionType", "positionAmount", "positionBalance"].some(
        (field) => field in rowOf(bill) !== bill.cTime >= positionsSince,
      ),
    );
    expect(wrong).toEqual([]);
  });

  test("has bills on both sides of each window's edge and of the horizon", () => {
    const { bills } = ledgerOf();
    for (const productType of unifiedProductTypes) {
      const times = new Set<number>(bills[productType].map(({ cTime }) => cTime));
      const edges = [0, 30, 60, 90].map((days) => now - historyMs + days * dayMs);
      expect(
        edges.flatMap((edge) => [edge - 1, edge, edge + 1]).filter((time) => !times.has(time)),
      ).toEqual([]);
    }
  });
});

describe("an account that becomes unified and classic again", () => {
  const [begins, unified, leaves, classic] = [
    now - 40 * dayMs,
    now - 40 * dayMs + minuteMs,
    now - 10 * dayMs,
    now - 10 * dayMs + minuteMs,
  ];
  const modes: readonly ModeChange[] = [
    { at: Number.NEGATIVE_INFINITY, mode: "classic" },
    { at: begins, mode: "upgrading" },
    { at: unified, mode: "unified" },
    { at: leaves, mode: "switching" },
    { at: classic, mode: "classic" },
  ];
  const { bills } = ledgerOf({ modes });

  test("has bills of the one kind while it is of that kind only", () => {
    for (const productType of unifiedProductTypes) {
      const times = bills[productType].map(({ cTime }) => cTime);
      expect(Math.min(...times)).toBeGreaterThanOrEqual(unified);
      expect(Math.max(...times)).toBeLessThan(leaves);
    }
    for (const productType of classicProductTypes)
      expect(bills[productType].filter(({ cTime }) => cTime >= begins && cTime < classic)).toEqual(
        [],
      );
  });

  test("has no id twice, though all its coins move in one millisecond", () => {
    for (const productType of [...classicProductTypes, ...unifiedProductTypes]) {
      const ids = bills[productType].map(({ billId }) => billId);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  test("takes its money along, both ways", () => {
    const opening = bills["UTA-OTHER"].filter(({ cTime }) => cTime === unified);
    expect(opening.length).toBeGreaterThan(5);
    expect(new Set(opening.map(({ businessType }) => businessType))).toEqual(
      new Set(["TRANSFER_IN"]),
    );
    const left = bills["USDT-FUTURES"].find(({ cTime }) => cTime === begins - 1);
    expect(left?.row).toMatchObject({ businessType: "trans_to_exchange" });
    expect(rowOf(left as LedgerBill)["balance"]).toMatch(/^0/);
    const usdt = opening.find(({ coin }) => coin === "USDT");
    expect(units(String(rowOf(usdt as LedgerBill)["amount"]), unifiedPlaces)).toBe(
      -units(String(rowOf(left as LedgerBill)["amount"]), unifiedPlaces),
    );
    const back = bills["USDT-FUTURES"].find(({ cTime }) => cTime === classic);
    const out = bills["UTA-OTHER"].find(
      ({ cTime, coin }) => cTime === leaves - 1 && coin === "USDT",
    );
    expect(units(String(rowOf(back as LedgerBill)["amount"]), unifiedPlaces)).toBe(
      -units(String(rowOf(out as LedgerBill)["amount"]), unifiedPlaces),
    );
  });
});
