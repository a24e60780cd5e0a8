import { sql } from "drizzle-orm";
import PQueue from "p-queue";
import { systemClock } from "../clock.ts";
import type { Bill } from "../contract/bill.ts";
import { type EpochMs, isoTime } from "../contract/time.ts";
import { type Database, inTransaction, type Queryable, type Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { type LeaseInUse, leaseTiming } from "../db/lease/lease-kind.ts";
import type { LockWaits } from "../db/lease/lock-waits.ts";
import { checkVerifyLease } from "../db/lease/verify-lease.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { pastStalledCopies, type StalledOptions } from "../db/sql/stalled-copies.ts";
import { msOf, timeFrom, timeText } from "../db/sql/time-text.ts";
import type { Interval } from "../sync/intervals.ts";
import type { Stream } from "../sync/store.ts";
import type { DifferingBill, Repair, StoredBill, VerifyStore } from "../sync/verify-store.ts";
import { content, contentColumns, incomingRows, isKept, keptBill } from "./bill-rows.ts";
import { areResolved, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { upsertBills } from "./upsert-bills.ts";

const stalledCopies: StalledOptions = {
  clock: systemClock,
  stalledAfterMs: leaseTiming.leaseMs,
  everyMs: leaseTiming.renewMs,
};

export type VerifyStoreOptions = {
  /** The whole run's limits. Default a limit for each statement and transaction. */
  readonly lockWaits?: LockWaits;
  readonly stalled?: StalledOptions;
};

/** Runs work that only reads. */
type Read = <T>(work: (db: Queryable) => Promise<T>) => Promise<T>;

/** The tables of one account, as a verify compares them with the exchange's answers and repairs them. */
export function openVerifyStore(
  db: Database,
  lease: LeaseInUse,
  runId: string,
  { lockWaits, stalled = stalledCopies }: VerifyStoreOptions = {},
): VerifyStore {
  const read: Read = (work) =>
    withDatabaseErrors(() => (lockWaits === undefined ? work(db) : lockWaits.transact(work)));
  const transact = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    withDatabaseErrors(() =>
      lockWaits === undefined ? inTransaction(db, work) : lockWaits.transact(work),
    );
  // Writers wait here without a connection, since the verify lease's renewal needs one too.
  const turns = new PQueue({ concurrency: 1 });
  return {
    now: () => withDatabaseErrors(() => databaseNow(db)),
    compare: (stream, bills, since) => read((from) => compareBills(from, stream, bills, since)),
    stored: (stream, window, since) => storedBills(read, stream, window, since),
    accepted: (stream, rows) => read((from) => areResolved(from, stream, rows)),
    heal: (repair) =>
      turns.add(() =>
        transact(async (tx) => {
          await pastStalledCopies(db, stalled, checkVerifyLease(tx, lease));
          const healed = await heal(tx, repair, runId);
          lease.assertHeld?.();
          return healed;
        }),
      ),
  };
}

async function databaseNow(db: Database): Promise<string> {
  // To the millisecond, like the column that it is compared with.
  const { rows } = await db.execute<{ now: string }>(
    sql`select ${timeText(sql`clock_timestamp()::timestamptz(3)`)} as now`,
  );
  return rows[0]?.now ?? "";
}

/** Each column of a bill's content as text. */
const texts = (table: string) => {
  const columns = contentColumns.map((name) => ({ name, column: sql.raw(`${table}.${name}`) }));
  const asText = columns.map(({ name, column }) =>
    name === "c_time" ? timeText(column) : sql`${column}::text`,
  );
  return sql`array[${sql.join(asText, sql`, `)}]`;
};

async function compareBills(
  db: Queryable,
  stream: Stream,
  bills: readonly Bill[],
  since: string,
): Promise<readonly DifferingBill[]> {
  if (bills.length === 0) return [];
  const { rows } = await db.execute<{
    billId: string;
    ingestedAt: string | null;
    isLate: boolean | null;
    stored: readonly (string | null)[];
    served: readonly (string | null)[];
  }>(sql`
    with incoming as (${incomingRows(bills.map((bill) => ({ page: 0, stream, bill })))})
    select
      incoming.bill_id as "billId",
      ${timeText(sql`kept.ingested_at`)} as "ingestedAt",
      kept.ingested_at >= ${since}::timestamptz as "isLate",
      ${texts("kept")} as stored,
      ${texts("incoming")} as served
    from incoming
    left join ${keptBill(stream)}
      on ${isKept(stream)}
    where kept.bill_id is null
      or ${content("kept")} is distinct from ${content("incoming")}`);
  const differing = new Map(rows.map((row) => [row.billId, row]));
  return bills.flatMap((bill): DifferingBill[] => {
    const row = differing.get(bill.billId);
    if (row === undefined) return [];
    const { ingestedAt, isLate, stored, served } = row;
    if (ingestedAt === null) return [{ bill, stored: undefined }];
    const fields = contentColumns.flatMap((field, index) => {
      const change = { field, stored: stored[index] ?? null, served: served[index] ?? null };
      return change.stored === change.served ? [] : [change];
    });
    return [{ bill, stored: { ingestedAt, isLate: isLate === true, fields } }];
  });
}

// A row has some 100 bytes.
const batchRows = 10_000;

async function* storedBills(
  read: Read,
  { account, productType }: Stream,
  { from, to }: Interval,
  since: string,
): AsyncGenerator<readonly StoredBill[]> {
  let after: { readonly cTime: EpochMs; readonly billId: string } = { cTime: from, billId: "" };
  for (;;) {
    const { rows } = await read((db) =>
      db.execute<{ billId: string; cTimeMs: string; isLate: boolean }>(sql`
        select
          bill_id as "billId",
          ${msOf(sql`c_time`)} as "cTimeMs",
          ingested_at >= ${since}::timestamptz as "isLate"
        from bills
        where account = ${account}
          and product_type = ${productType}
          and c_time >= ${isoTime(after.cTime)}
          and c_time < ${isoTime(to)}
          and (c_time, bill_id) > (${isoTime(after.cTime)}::timestamptz, ${after.billId})
        order by c_time, bill_id
        limit ${batchRows}`),
    );
    const batch = rows.map(({ cTimeMs, ...bill }) => ({
      ...bill,
      cTime: timeFrom(cTimeMs),
    }));
    yield batch;
    const last = batch.at(-1);
    if (last === undefined || batch.length < batchRows) return;
    after = last;
  }
}

async function heal(
  tx: Transaction,
  { stream, differing, rejected }: Repair,
  runId: string,
): Promise<ReadonlySet<string>> {
  const same = await stillAsCompared(tx, stream, differing);
  const bills = differing.map(({ bill }) => bill).filter(({ billId }) => same.has(billId));
  await upsertBills(tx, [{ stream, bills }]);
  await supersedeRows(tx, [{ stream, bills, rejected }]);
  await rejectRows(tx, stream, runId, rejected);
  return same;
}

/**
 * The bills that are stored as they were when they were compared, or still not stored. A bill that a
 * sync has stored meanwhile may be newer than the content read here, and stays.
 */
async function stillAsCompared(
  tx: Transaction,
  stream: Stream,
  differing: readonly DifferingBill[],
): Promise<ReadonlySet<string>> {
  const { rows } = await tx.execute<{ bill_id: string }>(sql`
    select incoming.bill_id
    from unnest(
      ${textArray(differing.map(({ bill }) => bill.billId))}::text[],
      ${textArray(differing.map(({ stored }) => stored?.ingestedAt ?? null))}::timestamptz[]
    ) as incoming (bill_id, ingested_at)
    left join ${keptBill(stream)}
      on ${isKept(stream)}
    where kept.ingested_at is not distinct from incoming.ingested_at`);
  return new Set(rows.map(({ bill_id }) => bill_id));
}
