import { sql } from "drizzle-orm";
import type { Bill, BillReading } from "../contract/bill.ts";
import { billsApiOf } from "../contract/bills-api.ts";
import { parseExactJson, type RowFault } from "../contract/json.ts";
import { taxApiOf } from "../contract/tax-records.ts";
import { type Database, inTransaction, type Transaction } from "../postgres/connect.ts";
import { textArray, timeText } from "../postgres/values.ts";
import type { Ledger } from "../words/ledger.ts";
import { readBillsByKey } from "./bill-rows.ts";
import { checkLease, type LeaseInUse } from "./lease.ts";
import { addMissing, upsertBills } from "./store-bills.ts";

// Rows are small, and a failure loses the work on one batch.
const batchRows = 500;

/**
 * Tries all open rejected rows of an account again, as this version reads rows.
 * @param stopIfAsked called between batches; may throw.
 * @returns how many could be read this time.
 */
export async function replayRejected(
  db: Database,
  lease: LeaseInUse,
  account: string,
  stopIfAsked: () => void,
): Promise<number> {
  const { rows: ledgers } = await db.execute<Pick<Ledger, "productType">>(sql`
    select distinct product_type as "productType"
    from rejected_bills
    where account = ${account}
      and closed_at is null`);
  let stored = 0;
  for (const { productType } of ledgers) {
    let last: OpenRow | undefined;
    do {
      stopIfAsked();
      const batch = await replayBatch(db, lease, { account, productType }, last);
      stored += batch.stored;
      last = batch.last;
    } while (last !== undefined);
  }
  return stored;
}

/**
 * Tries a ledger's next open rejected rows, oldest first, in one transaction that commits only
 * while this run holds the account.
 * @returns the last of them; undefined at the end.
 */
function replayBatch(
  db: Database,
  lease: LeaseInUse,
  ledger: Ledger,
  after: OpenRow | undefined,
): Promise<{ readonly stored: number; readonly last: OpenRow | undefined }> {
  return inTransaction(db, async (tx) => {
    await checkLease(tx, lease);
    const rows = await openRows(tx, ledger, after);
    const readings = rows.map((row) => ({ ...row, ...readAgain(ledger, row) }));
    const readable = readings.flatMap((row) => ("bill" in row ? [row] : []));
    if (readable.length > 0) await storeReadable(tx, ledger, readable);
    await updateFaults(
      tx,
      ledger,
      readings.flatMap((row) => ("fault" in row ? [{ digest: row.digest, ...row.fault }] : [])),
    );
    return {
      stored: readable.length,
      last: rows.length < batchRows ? undefined : rows.at(-1),
    };
  });
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

type OpenRow = {
  readonly digest: string;
  readonly rejectedAt: string;
  readonly received: string;
  readonly billId: string | null;
  readonly isSuperseded: boolean;
  readonly isTax: boolean;
};

async function openRows(
  tx: Transaction,
  { account, productType }: Ledger,
  after: OpenRow | undefined,
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
): Promise<void> {
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
  await upsertBills(tx, [{ ledger, bills: billsOf(false) }]);
  await addMissing(tx, ledger, billsOf(true));
  await resolve(tx, ledger, rows);
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
  rows: readonly (RowFault & { readonly digest: string })[],
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
