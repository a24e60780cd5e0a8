import { sql } from "drizzle-orm";
import type { Bill, BillReading } from "../contract/bill.ts";
import { billsApiOf } from "../contract/bills-api.ts";
import { parseExactJson, type RowFault } from "../contract/json.ts";
import { taxApiOf } from "../contract/tax-records.ts";
import { type Database, inTransaction, type Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { checkLease, type LeaseInUse } from "../db/lease/lease.ts";
import { textArray, timeText } from "../db/values.ts";
import type { Ledger } from "../sync/store.ts";
import { readBillsByKey } from "./bill-rows.ts";
import { addMissing } from "./recovery.ts";
import { upsertBills } from "./upsert-bills.ts";

/** A row that still breaks the contract. */
export type StillRejected = RowFault & { readonly digest: string };

/** How a ledger's rejected rows were replayed, counted. */
export type Replayed = {
  /** Bills that were not stored before. */
  readonly new: number;
  /** Rows with the same content as the stored bill. */
  readonly unchanged: number;
  /** Bills whose stored content was older than the row, and was replaced. */
  readonly restated: number;
  /** Rows that are older than the bill stored under their id, which stays as it is. */
  readonly outdated: number;
  readonly left: readonly StillRejected[];
};

/** The last of a ledger's rejected rows that was tried, in the order of trying them. */
export type ReplayCursor = { readonly rejectedAt: string; readonly digest: string };

// Rows are small, and a failure loses the work on one batch.
const batchRows = 500;

/** How many of an account's rejected rows could be read this time, and how many could not. */
export type Replay = { readonly stored: number; readonly left: number };

/**
 * Tries all open rejected rows of an account again, as this version reads rows.
 * @param stopIfAsked called between batches; may throw.
 */
export async function replayRejected(
  db: Database,
  lease: LeaseInUse,
  account: string,
  stopIfAsked: () => void,
): Promise<Replay> {
  const { rows: ledgers } = await withDatabaseErrors(() =>
    db.execute<Pick<Ledger, "productType">>(sql`
      select distinct product_type as "productType"
      from rejected_bills
      where account = ${account}
        and closed_at is null`),
  );
  let stored = 0;
  let left = 0;
  for (const { productType } of ledgers) {
    let cursor: ReplayCursor | undefined;
    do {
      stopIfAsked();
      const batch = await replayBatch(db, lease, { account, productType }, cursor);
      stored += batch.new + batch.unchanged + batch.restated + batch.outdated;
      left += batch.left.length;
      cursor = batch.next;
    } while (cursor !== undefined);
  }
  return { stored, left };
}

/**
 * Tries a ledger's next open rejected rows, oldest first, in one transaction that commits only
 * while this run holds the account.
 * @returns where to go on; undefined at the end.
 */
export function replayBatch(
  db: Database,
  lease: LeaseInUse,
  ledger: Ledger,
  after: ReplayCursor | undefined,
): Promise<Replayed & { readonly next: ReplayCursor | undefined }> {
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      await checkLease(tx, lease);
      const rows = await openRows(tx, ledger, after);
      const readings = rows.map((row) => ({ ...row, ...readAgain(ledger, row) }));
      const readable = readings.flatMap((row) => ("bill" in row ? [row] : []));
      const left = readings.flatMap((row) =>
        "fault" in row ? [{ digest: row.digest, ...row.fault }] : [],
      );
      const counts = await storeReadable(tx, ledger, readable);
      await updateFaults(tx, ledger, left);
      const next = rows.length < batchRows ? undefined : rows.at(-1);
      return { ...counts, left, next };
    }),
  );
}

/** Parses and reads a kept row exactly as a sync does with a row of an answer. */
function readAgain(
  { productType }: Ledger,
  { received, isTax }: Pick<OpenRow, "received" | "isTax">,
): BillReading {
  const api = isTax ? taxApiOf(productType) : billsApiOf(productType);
  try {
    return (api ?? billsApiOf(productType)).read(parseExactJson(received));
  } catch (error) {
    if (error instanceof SyntaxError) return { fault: { path: "", reason: "is not JSON" } };
    throw error;
  }
}

type OpenRow = ReplayCursor & {
  readonly received: string;
  readonly billId: string | null;
  readonly isSuperseded: boolean;
  readonly isTax: boolean;
};

async function openRows(
  tx: Transaction,
  { account, productType }: Ledger,
  after: ReplayCursor | undefined,
): Promise<readonly OpenRow[]> {
  const { rejectedAt, digest } = after ?? { rejectedAt: "-infinity", digest: "" };
  const { rows } = await tx.execute<OpenRow>(sql`
    select
      digest,
      received,
      ${timeText(sql`rejected_at`)} as "rejectedAt",
      bill_id as "billId",
      superseded_at is not null as "isSuperseded",
      source is not null as "isTax"
    from rejected_bills
    where account = ${account}
      and product_type = ${productType}
      and closed_at is null
      and (rejected_at, digest) > (${rejectedAt}::timestamptz, ${digest})
    order by rejected_at, digest
    limit ${batchRows}`);
  return rows;
}

type ReadableRow = OpenRow & { readonly bill: Bill };

async function storeReadable(
  tx: Transaction,
  ledger: Ledger,
  rows: readonly ReadableRow[],
): Promise<Omit<Replayed, "left">> {
  if (rows.length === 0) return { new: 0, unchanged: 0, restated: 0, outdated: 0 };
  const isKnown = ({ billId, bill }: ReadableRow) => billId === bill.billId;
  // A row whose id could not be read when it arrived was never marked; its time decides.
  const outdated = new Set([
    ...rows.filter((row) => isKnown(row) && row.isSuperseded).map(({ digest }) => digest),
    ...(await outdatedOf(
      tx,
      ledger,
      rows.filter((row) => !isKnown(row)),
    )),
  ]);
  const current = rows.filter(({ digest }) => !outdated.has(digest));
  // Oldest first: of two rows of one bill the later one wins.
  const billsOf = (isTax: boolean) =>
    current.filter((row) => row.isTax === isTax).map(({ bill }) => bill);
  const [counts = { new: 0, unchanged: 0, restated: 0 }] = await upsertBills(tx, [
    { ledger, bills: billsOf(false) },
  ]);
  const taxed = await addMissing(tx, ledger, billsOf(true));
  await resolve(tx, ledger, rows);
  return {
    new: counts.new + taxed.new,
    unchanged: counts.unchanged + taxed.unchanged,
    restated: counts.restated,
    outdated: outdated.size,
  };
}

/** Those of these rows that were served before the bill that is stored under their id. */
async function outdatedOf(
  tx: Transaction,
  { account, productType }: Ledger,
  rows: readonly ReadableRow[],
): Promise<readonly string[]> {
  const keys = rows.map(({ bill: { billId } }) => ({ productType, billId }));
  const stored = await readBillsByKey(tx, account, keys);
  const storedAt = new Map(stored.map(({ bill, ingestedAt }) => [bill.billId, ingestedAt]));
  return rows.flatMap(({ digest, rejectedAt, bill: { billId } }) =>
    (storedAt.get(billId) ?? "") > rejectedAt ? [digest] : [],
  );
}

/** Resolves the rows under the ids that they have. */
async function resolve(
  tx: Transaction,
  { account, productType }: Ledger,
  rows: readonly ReadableRow[],
): Promise<void> {
  await tx.execute(sql`
    update rejected_bills
    set
      bill_id = tried.bill_id,
      closed_at = statement_timestamp()
    from unnest(
      ${textArray(rows.map(({ digest }) => digest))}::text[],
      ${textArray(rows.map(({ bill }) => bill.billId))}::text[]
    ) as tried (digest, bill_id)
    where account = ${account}
      and product_type = ${productType}
      and rejected_bills.digest = tried.digest`);
}

/** Stores why rows are still rejected, which this version may see differently. */
async function updateFaults(
  tx: Transaction,
  { account, productType }: Ledger,
  rows: readonly StillRejected[],
): Promise<void> {
  await tx.execute(sql`
    update rejected_bills
    set path = told.path, reason = told.reason
    from unnest(
      ${textArray(rows.map(({ digest }) => digest))}::text[],
      ${textArray(rows.map(({ path }) => path))}::text[],
      ${textArray(rows.map(({ reason }) => reason))}::text[]
    ) as told (digest, path, reason)
    where account = ${account}
      and product_type = ${productType}
      and rejected_bills.digest = told.digest
      and (rejected_bills.path, rejected_bills.reason) is distinct from (told.path, told.reason)`);
}
