import { sql } from "drizzle-orm";
import PQueue from "p-queue";
import { isoTime } from "../../lib/time.ts";
import type { Bill, BillText } from "../contract/bill.ts";
import {
  type Database,
  inTransaction,
  type Transaction,
  type TransactionOptions,
} from "../postgres/connect.ts";
import { msOf, timeFrom } from "../postgres/values.ts";
import type { Interval } from "../words/intervals.ts";
import type { Ledger } from "../words/ledger.ts";
import type { ReadRows } from "../words/page.ts";
import { billText, contents, isSame, type StoredRow, withKnownFee } from "./bill-rows.ts";
import { checkLease, type LeaseInUse } from "./lease.ts";
import { areClosed, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { changesOf, lookUpBills, writeBills } from "./upsert-bills.ts";

/** A field of a bill whose stored value differs from the served one; both as text. */
export type FieldChange = {
  readonly field: string;
  readonly stored: string | null;
  readonly served: string | null;
};

/** A served bill that is not stored, or is stored with different content. */
export type DifferingBill = {
  readonly bill: Bill;
  /** Undefined where it is not stored. */
  readonly changes: readonly FieldChange[] | undefined;
};

/** How served rows differ from what was stored. */
type Comparison = {
  readonly differing: readonly DifferingBill[];
  /** For each rejected row, whether somebody accepted it. */
  readonly areAccepted: readonly boolean[];
};

export type VerifyStore = ReturnType<typeof openVerifyStore>;

/** The tables of one account, as a verify compares them with the exchange's answers and repairs them. */
export function openVerifyStore(db: Database, lease: LeaseInUse, limits: TransactionOptions = {}) {
  // One transaction at a time. Waiting here, and not in the database, keeps no connection busy.
  const turns = new PQueue({ concurrency: 1 });
  const inTurn = <T>(act: (tx: Transaction) => Promise<T>): Promise<T> =>
    turns.add(() => inTransaction(db, act, limits));
  return {
    /**
     * Compares rows with what is stored.
     * @param isRepaired whether rejected rows of bills that are stored as they are served are marked as superseded.
     * @param rows none twice.
     */
    compare: (ledger: Ledger, rows: ReadRows, isRepaired: boolean): Promise<Comparison> =>
      inTurn(async (tx) => {
        const { bills, rejected } = rows;
        if (isRepaired) await checkLease(tx, lease);
        const { stored } = await lookUpBills(tx, [{ ledger, bills }]);
        const differing = differingOf(bills, stored);
        if (isRepaired) {
          const others = new Set(differing.map(({ bill }) => bill));
          const equal = bills.filter((bill) => !others.has(bill));
          await supersedeRows(tx, [{ ledger, bills: equal, rejected }]);
          lease.assertHeld?.();
        }
        return { differing, areAccepted: await areClosed(tx, ledger, rejected) };
      }),
    /** Stores bills that differ and keeps rejected rows. Fails once another run has taken the account. */
    repair: (ledger: Ledger, rows: ReadRows): Promise<void> =>
      inTurn(async (tx) => {
        const pages = [{ ledger, ...rows }];
        await checkLease(tx, lease);
        const before = await lookUpBills(tx, pages);
        await writeBills(tx, pages, changesOf(pages, before), before);
        await supersedeRows(tx, pages);
        await rejectRows(tx, ledger, rows.rejected);
        lease.assertHeld?.();
      }),
    /** The stored bills of a time. */
    async stored({ account, productType }: Ledger, { from, to }: Interval) {
      const { rows } = await db.execute<{ billId: string; cTimeMs: string }>(sql`
        select
          bill_id as "billId",
          ${msOf(sql`c_time`)} as "cTimeMs"
        from bills
        where account = ${account}
          and product_type = ${productType}
          and c_time >= ${isoTime(from)}
          and c_time < ${isoTime(to)}
        order by c_time, bill_id`);
      return rows.map(({ billId, cTimeMs }) => ({ billId, cTime: timeFrom(cTimeMs) }));
    },
  };
}

/** The bills that are not stored exactly as they are. */
function differingOf(bills: readonly Bill[], rows: readonly StoredRow[]): readonly DifferingBill[] {
  const stored = new Map(rows.map((row) => [row.bill.billId, row]));
  return bills.flatMap((bill): DifferingBill[] => {
    const row = stored.get(bill.billId);
    if (row === undefined) return [{ bill, changes: undefined }];
    const { productType, bill: before } = row;
    const served = withKnownFee(productType, before, billText(bill));
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
