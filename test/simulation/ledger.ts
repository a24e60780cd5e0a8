import type { ProductType } from "../../src/core/contract/product-types.ts";
import type { Interval } from "../../src/core/words/intervals.ts";
import { type EpochMs, epochMs, secondMs } from "../../src/lib/time.ts";
import { type LedgerBill, snowflake, type WireBill } from "../../src/wings/sandbox/entry.ts";
import type { AccountBills } from "../../src/wings/sandbox/ledger.ts";
import {
  brokenRows,
  disorderedIds,
  withBrokenRows,
  withDisorderedIds,
  withId,
  withOddDecimals,
} from "../exchange/ledger.ts";
import type { simulatedAccount } from "./account.ts";
import type { History, LedgerKind, RecentBill } from "./history.ts";

/** The exchange's ledger: everything with which a correct client must end up. */
export type SimulatedLedger = ReturnType<typeof simulatedLedger>;

/** What every restated bill says, so that it differs from every bill that was served before. */
export const restatedMark = { symbol: "RESTATED", feeByCoupon: "-0.01" } as const;

export function simulatedLedger(
  {
    ledger: { seed, oddDecimals, brokenRows: count, idJitterMs: jitterMs },
    records,
  }: Pick<History, "ledger" | "records">,
  account: ReturnType<typeof simulatedAccount>,
) {
  let all: Partial<Record<ProductType, LedgerBill[]>> = {};
  let byId = new Map<string, LedgerBill>();
  const disorderedId = disorderedIds(`${seed}/added`, jitterMs, addedFrom);
  const billsOf = (productType: ProductType) => all[productType] ?? [];
  let isHidden = false;

  function add(productType: ProductType, cTime: number, change: (row: WireBill) => Made): void {
    const bills = billsOf(productType);
    const place = bills.findLastIndex((bill) => bill.cTime <= cTime) + 1;
    const before = bills[place - 1];
    const risingId =
      before?.cTime === cTime ? String(BigInt(before.billId) + 1n) : snowflake(cTime, 0);
    const wantedId = jitterMs === 0 ? risingId : disorderedId(cTime);
    const billId = freeId(wantedId, (id) => byId.has(`${productType} ${id}`));
    const like = bills.find(({ broken }) => broken === undefined);
    // An account that was not unified for long enough.
    if (like === undefined) return;
    const row = withTime(withId(like.row as WireBill, billId), cTime);
    const { restated: _, ...unchanged } = like;
    const bill: LedgerBill = {
      ...unchanged,
      billId,
      cTime: epochMs(cTime),
      visibleAt: epochMs(cTime),
      ...change(row),
    };
    bills.splice(place, 0, bill);
    byId.set(`${productType} ${billId}`, bill);
  }

  return {
    bills: (productType: ProductType): readonly LedgerBill[] =>
      isHidden ? [] : billsOf(productType),
    /** While another user's key reads the account, none of these bills is to be stored. */
    set isHidden(is: boolean) {
      isHidden = is;
    },
    /** Whether a verification has begun in this step: what it has read must not change. */
    isVerified: false,
    bill: (productType: ProductType, billId: string) => byId.get(`${productType} ${billId}`),
    /** Adds such bills to each product type in the minutes before `now`, but none before `since`. */
    addRecent(since: number, now: number, recent: readonly RecentBill[]) {
      for (const productType of account.productTypes) {
        for (const { agoMs, lateMs, restatedAfterMs, broken } of recent) {
          const cTime = Math.max(Math.floor(now) - agoMs, Math.ceil(since));
          if (!account.has(productType, cTime)) continue;
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
    /**
     * Adds a bill on the first and one on the last millisecond of time that nobody has read yet, as
     * if they had always been there.
     */
    addEdges(productType: ProductType, { from, to }: Interval) {
      if (this.isVerified) return;
      const bills = billsOf(productType);
      for (const cTime of new Set([from, to - 1])) {
        if (!account.has(productType, cTime)) continue;
        if (bills.some((bill) => bill.cTime === cTime)) continue;
        add(productType, cTime, (row) => ({ row }));
      }
    },
    /** The ledger, for the sandbox. */
    alter(ledger: AccountBills): AccountBills {
      const named = jitterMs === 0 ? ledger : withDisorderedIds(ledger, { seed, jitterMs });
      const broken = withBrokenRows(named, { seed, count });
      const altered = withOddDecimals(broken, { seed, count: oddDecimals });
      all = Object.fromEntries(
        Object.entries(altered.bills).map(([productType, bills]) => [
          productType,
          crowded(bills, ledger.now - (records?.wantedMs ?? 0), records?.crowd ?? 0),
        ]),
      );
      byId = new Map(
        Object.entries(all).flatMap(([productType, bills]) =>
          bills.map((bill) => [`${productType} ${bill.billId}`, bill]),
        ),
      );
      return { ...altered, bills: all as AccountBills["bills"] };
    },
  };
}

/** The bills with so many more in the millisecond of the first one since a time. */
function crowded(bills: readonly LedgerBill[], since: number, count: number): LedgerBill[] {
  const at = bills.findIndex(({ cTime }) => cTime >= since);
  const like = bills[at];
  if (like === undefined || count === 0) return [...bills];
  const taken = new Set(bills.map(({ billId }) => billId));
  const more = Array.from({ length: count }, () => {
    const billId = freeId(like.billId, (id) => taken.has(id));
    taken.add(billId);
    return { ...like, billId, row: withId(like.row as WireBill, billId) };
  });
  return bills.toSpliced(at + 1, 0, ...more);
}

const withTime = (row: WireBill, time: number): WireBill => ({
  ...row,
  ["ts" in row ? "ts" : "cTime"]: String(time),
});

/** The next id that no bill has: rows of one time may have ids of a later time. */
function freeId(wanted: string, isTaken: (id: string) => boolean): string {
  let id = wanted;
  while (isTaken(id)) id = String(BigInt(id) + 1n);
  return id;
}

// Higher than the counters in the ids of a ledger's first bills.
const addedFrom = 2 ** 20;

type Made = Pick<LedgerBill, "row"> & Partial<LedgerBill>;

/** The milliseconds at which the sandbox's ledger has three bills each. */
export const burstMoments = (bursts: LedgerKind["bursts"], start: EpochMs): readonly number[] =>
  bursts.flatMap(({ atMs, bills }) =>
    Array.from({ length: Math.ceil(bills / 3) }, (_, index) => start + atMs + index * secondMs),
  );
