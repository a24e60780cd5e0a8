import { sql } from "drizzle-orm";
import PQueue from "p-queue";
import type { Bill, BillText } from "../contract/bill.ts";
import { isoTime } from "../contract/time.ts";
import {
  type Database,
  inTransaction,
  type Transaction,
  type TransactionOptions,
} from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { checkLease, type LeaseInUse } from "../db/lease/lease.ts";
import { msOf, timeFrom } from "../db/values.ts";
import type { DifferingBill, VerifyStore } from "../sync/store.ts";
import { contents, isSame, type StoredRow, textOf } from "./bill-rows.ts";
import { areResolved, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { changesOf, lookUpBills, writeBills } from "./upsert-bills.ts";

/** The tables of one account, as a verify compares them with the exchange's answers and repairs them. */
export function openVerifyStore(
  db: Database,
  lease: LeaseInUse,
  limits: TransactionOptions = {},
): VerifyStore {
  // One transaction at a time. Waiting here, and not in the database, keeps no connection busy.
  const turns = new PQueue({ concurrency: 1 });
  const inTurn = <T>(act: (tx: Transaction) => Promise<T>): Promise<T> =>
    turns.add(() => withDatabaseErrors(() => inTransaction(db, act, limits)));
  return {
    compare: (stream, rows, isRepaired) =>
      inTurn(async (tx) => {
        const { bills, rejected } = rows;
        if (isRepaired) await checkLease(tx, lease);
        const { stored } = await lookUpBills(tx, [{ stream, bills }]);
        const differing = differingOf(bills, stored);
        if (isRepaired) {
          const others = new Set(differing.map(({ bill }) => bill));
          const equal = bills.filter((bill) => !others.has(bill));
          await supersedeRows(tx, [{ stream, bills: equal, rejected }]);
          lease.assertHeld?.();
        }
        return { differing, areAccepted: await areResolved(tx, stream, rejected) };
      }),
    repair: (stream, rows) =>
      inTurn(async (tx) => {
        const pages = [{ stream, ...rows }];
        await checkLease(tx, lease);
        const before = await lookUpBills(tx, pages);
        await writeBills(tx, pages, changesOf(pages, before), before);
        await supersedeRows(tx, pages);
        await rejectRows(tx, stream, rows.rejected);
        lease.assertHeld?.();
      }),
    async stored({ account, productType }, { from, to }) {
      const { rows } = await withDatabaseErrors(() =>
        db.execute<{ billId: string; cTimeMs: string }>(sql`
          select
            bill_id as "billId",
            ${msOf(sql`c_time`)} as "cTimeMs"
          from bills
          where account = ${account}
            and product_type = ${productType}
            and c_time >= ${isoTime(from)}
            and c_time < ${isoTime(to)}
          order by c_time, bill_id`),
      );
      return rows.map(({ billId, cTimeMs }) => ({ billId, cTime: timeFrom(cTimeMs) }));
    },
  };
}

/** The bills that are not stored exactly as they are. */
function differingOf(bills: readonly Bill[], rows: readonly StoredRow[]): readonly DifferingBill[] {
  const stored = new Map(rows.map(({ bill }) => [bill.billId, bill]));
  return bills.flatMap((bill): DifferingBill[] => {
    const before = stored.get(bill.billId);
    const served = textOf(bill);
    if (before === undefined) return [{ bill, changes: undefined }];
    if (isSame(before, served)) return [];
    const changes = contents
      .filter(({ field }) => before[field] !== served[field])
      .map(({ name, field }) => ({
        field: name,
        stored: shown(before, field),
        served: shown(served, field),
      }));
    return [{ bill, changes }];
  });
}

const shown = (bill: BillText, field: keyof BillText): string | null =>
  field === "cTimeMs" ? isoTime(timeFrom(bill.cTimeMs)) : bill[field];
