import { productTypes } from "../../src/core/contract/product-types.ts";
import { dayMs, epochMs, retentionMs } from "../../src/lib/time.ts";
import { type LedgerBill, snowflake, type WireBill } from "../../src/wings/sandbox/entry.ts";
import type { AccountBills } from "../../src/wings/sandbox/ledger.ts";
import { integer, type Random, seededRandom } from "../../src/wings/sandbox/random.ts";
import { shuffled } from "../support/shuffled.ts";

/**
 * The ways in which a row can break the contract. A client must set each aside without stopping its
 * page.
 */
export const brokenRows = {
  "amount-not-decimal": (row: WireBill) => ({ ...row, amount: "abc" }),
  "no-id": ({ billId: _, id: __, ...row }: WireBill) => row,
  "nul-in-symbol": (row: WireBill) => ({ ...row, symbol: "BTC\0USDT" }),
  "time-not-a-time": (row: WireBill) => ({
    ...row,
    ["ts" in row ? "ts" : "cTime"]: "yesterday",
  }),
  "amount-nan": (row: WireBill) => ({ ...row, amount: "NaN" }),
  "half-surrogate": (row: WireBill) => ({ ...row, note: "\ud800" }),
  "not-an-object": () => "a row that is text",
  null: () => null,
} as const satisfies Record<string, (row: WireBill) => unknown>;

export type BrokenRow = keyof typeof brokenRows;

const isWireBill = (row: unknown): row is WireBill => typeof row === "object" && row !== null;

/** The ledger with `count` rows of each product type broken, in each of the ways in turn. */
export function withBrokenRows(
  ledger: AccountBills,
  {
    seed,
    count,
    kinds = Object.keys(brokenRows) as BrokenRow[],
  }: {
    readonly seed: string | number;
    readonly count: number;
    readonly kinds?: readonly BrokenRow[];
  },
): AccountBills {
  return changed(ledger, seededRandom(`${seed}/broken`), count, (bill, row, index) => {
    const kind = kinds[index % kinds.length] ?? "null";
    return { ...bill, row: brokenRows[kind](row), broken: kind };
  });
}

/**
 * The ledger with `count` bills of each product type served with other content from a time on: the
 * same id, with another symbol and coupon fee.
 *
 * @param at milliseconds since the Unix epoch.
 */
export function withRestatements(
  ledger: AccountBills,
  {
    seed,
    count,
    at,
  }: { readonly seed: string | number; readonly count: number; readonly at: number },
): AccountBills {
  return changed(ledger, seededRandom(`${seed}/restated`), count, (bill, row) => ({
    ...bill,
    restated: { at: epochMs(at), row: { ...row, symbol: "RESTATED", feeByCoupon: "-0.01" } },
  }));
}

/**
 * The ledger with `count` bills of each product type whose decimals are spelled unusually. A
 * database stores their value, but prints it with another spelling.
 */
export function withOddDecimals(
  ledger: AccountBills,
  { seed, count }: { readonly seed: string | number; readonly count: number },
): AccountBills {
  const random = seededRandom(`${seed}/odd-decimals`);
  return changed(ledger, random, count, (bill, row) => ({
    ...bill,
    row: { ...row, amount: `+${row["amount"]}`.replace("+-", "-0"), fee: `${row["fee"]}E-0` },
  }));
}

/**
 * The ledger with each bill's id up to `jitterMs` off its time, so that ids do not rise with times.
 */
export function withDisorderedIds(
  ledger: AccountBills,
  { seed, jitterMs }: { readonly seed: string | number; readonly jitterMs: number },
): AccountBills {
  const bills = Object.fromEntries(
    productTypes.map((productType): [string, readonly LedgerBill[]] => {
      const nextId = disorderedIds(`${seed}/${productType}`, jitterMs);
      return [productType, ledger.bills[productType].map((bill) => renamed(bill, nextId))];
    }),
  ) as AccountBills["bills"];
  return { ...ledger, bills };
}

/**
 * Ids up to `jitterMs` off a bill's time, all different: each contains a number, counted from
 * `first`.
 */
export function disorderedIds(
  seed: string,
  jitterMs: number,
  first = 0,
): (cTime: number) => string {
  const random = seededRandom(`${seed}/ids`);
  let count = first;
  return (cTime) => snowflake(cTime + integer(random, -jitterMs, jitterMs), count++);
}

function renamed(bill: LedgerBill, nextId: (cTime: number) => string): LedgerBill {
  const billId = nextId(bill.cTime);
  const row = isWireBill(bill.row) ? withId(bill.row, billId) : bill.row;
  const { restated } = bill;
  return {
    ...bill,
    billId,
    row,
    ...(restated && { restated: { ...restated, row: withId(restated.row, billId) } }),
  };
}

/**
 * The row with another id, if it has one. A unified account's rows have another name for the field.
 */
export const withId = (row: WireBill, id: string): WireBill => {
  if ("billId" in row) return { ...row, billId: id };
  return "id" in row ? { ...row, id } : row;
};

/**
 * Changes `count` bills of each product type, of those that stay within the 90 days for another
 * day.
 */
function changed(
  ledger: AccountBills,
  random: Random,
  count: number,
  change: (bill: LedgerBill, row: WireBill, index: number) => LedgerBill,
): AccountBills {
  const isCandidate = ({ cTime, broken }: LedgerBill): boolean =>
    cTime > ledger.now - retentionMs + dayMs && cTime < ledger.now && broken === undefined;
  const bills = Object.fromEntries(
    productTypes.map((productType): [string, readonly LedgerBill[]] => {
      const all = ledger.bills[productType];
      const chosen = new Map(
        shuffled(random, all.filter(isCandidate))
          .slice(0, count)
          .map(({ billId }, index) => [billId, index]),
      );
      return [
        productType,
        all.map((bill) => {
          const index = chosen.get(bill.billId);
          return index !== undefined && isWireBill(bill.row) ? change(bill, bill.row, index) : bill;
        }),
      ];
    }),
  ) as AccountBills["bills"];
  return { ...ledger, bills };
}
