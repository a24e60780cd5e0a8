import type { ProductType } from "../../src/contract/product-types.ts";
import { type EpochMs, epochMs, secondMs } from "../../src/contract/time.ts";
import type { WireBill } from "../../src/sandbox/entry.ts";
import type { Ledger } from "../../src/sandbox/ledger.ts";
import type { LedgerBill } from "../../src/sandbox/ledger-bill.ts";
import {
  brokenRows,
  disorderedIds,
  withBrokenRows,
  withDisorderedIds,
  withOddDecimals,
} from "../../src/sandbox/ledger-faults.ts";
import { snowflake } from "../../src/sandbox/snowflake.ts";
import type { Interval } from "../../src/sync/intervals.ts";
import type { LedgerKind, RecentBill } from "./history.ts";

/** What the exchange has: all that a right client must end up with is read from here. */
export type SimulatedLedger = {
  bills(productType: ProductType): readonly LedgerBill[];
  bill(productType: ProductType, billId: string): LedgerBill | undefined;
  /** Whether a verification has begun in this step: what it has read stays as it was. */
  isVerified: boolean;
  /** Gives each product type such bills in the minutes before `now`, but none before `since`. */
  addRecent(since: number, now: number, recent: readonly RecentBill[]): void;
  /**
   * Puts a bill on the first and one on the last millisecond of time that nobody has read yet,
   * as if they had always been there.
   */
  addEdges(productType: ProductType, window: Interval): void;
  /** To be given to the sandbox. */
  readonly alter: (ledger: Ledger) => Ledger;
};

/** What every restated bill says: told apart from any that was served before. */
export const restatedMark = { symbol: "RESTATED", feeByCoupon: "-0.01" } as const;

export function simulatedLedger({
  seed,
  productTypes,
  oddDecimals,
  brokenRows: count,
  idJitterMs: jitterMs,
}: LedgerKind): SimulatedLedger {
  let all: Partial<Record<ProductType, LedgerBill[]>> = {};
  let byId = new Map<string, LedgerBill>();
  const disorderedId = disorderedIds(`${seed}/added`, jitterMs, addedFrom);
  const billsOf = (productType: ProductType) => all[productType] ?? [];

  function add(productType: ProductType, cTime: number, change: (row: WireBill) => Made): void {
    const bills = billsOf(productType);
    const place = bills.findLastIndex((bill) => bill.cTime <= cTime) + 1;
    const before = bills[place - 1];
    const risingId =
      before?.cTime === cTime ? String(BigInt(before.billId) + 1n) : snowflake(cTime, 0);
    const billId = jitterMs === 0 ? risingId : disorderedId(cTime);
    const like = bills.find(({ broken }) => broken === undefined);
    if (like === undefined) throw new Error(`the ledger of ${productType} has no bill`);
    const row = { ...(like.row as WireBill), billId, cTime: String(cTime) };
    const bill: LedgerBill = {
      ...like,
      billId,
      cTime: epochMs(cTime),
      visibleAt: epochMs(cTime),
      ...change(row),
    };
    bills.splice(place, 0, bill);
    byId.set(`${productType} ${billId}`, bill);
  }

  return {
    bills: billsOf,
    isVerified: false,
    bill: (productType, billId) => byId.get(`${productType} ${billId}`),
    addRecent(since, now, recent) {
      for (const productType of productTypes) {
        for (const { agoMs, lateMs, restatedAfterMs, broken } of recent) {
          const cTime = Math.max(Math.floor(now) - agoMs, Math.ceil(since));
          add(productType, cTime, (row) => ({
            visibleAt: epochMs(cTime + lateMs),
            row: broken === undefined ? row : brokenRows[broken](row),
            ...(broken !== undefined && { broken }),
            ...(broken === undefined &&
              restatedAfterMs !== undefined && {
                restated: {
                  at: epochMs(Math.floor(now) + restatedAfterMs),
                  row: { ...row, ...restatedMark },
                },
              }),
          }));
        }
      }
    },
    addEdges(productType, { from, to }) {
      if (this.isVerified) return;
      const bills = billsOf(productType);
      for (const cTime of new Set([from, to - 1])) {
        if (bills.some((bill) => bill.cTime === cTime)) continue;
        add(productType, cTime, (row) => ({ row }));
      }
    },
    alter(ledger) {
      const named = jitterMs === 0 ? ledger : withDisorderedIds(ledger, { seed, jitterMs });
      const broken = withBrokenRows(named, { seed, count });
      const altered = withOddDecimals(broken, { seed, count: oddDecimals });
      all = Object.fromEntries(
        Object.entries(altered.bills).map(([productType, bills]) => [productType, [...bills]]),
      );
      byId = new Map(
        Object.entries(all).flatMap(([productType, bills]) =>
          bills.map((bill) => [`${productType} ${bill.billId}`, bill]),
        ),
      );
      return { ...altered, bills: all as Ledger["bills"] };
    },
  };
}

// Above the ids' counters of all bills that a ledger begins with.
const addedFrom = 2 ** 20;

type Made = Pick<LedgerBill, "row"> & Partial<LedgerBill>;

/** The moments that the sandbox's ledger has three bills each at. */
export const burstMoments = (bursts: LedgerKind["bursts"], start: EpochMs): readonly number[] =>
  bursts.flatMap(({ atMs, bills }) =>
    Array.from({ length: Math.ceil(bills / 3) }, (_, index) => start + atMs + index * secondMs),
  );
