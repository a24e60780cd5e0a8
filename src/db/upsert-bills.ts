import { sql } from "drizzle-orm";
import type { Bill } from "../contract/bill.ts";
import { sortedJson } from "../contract/json.ts";
import { isoTime } from "../contract/time.ts";
import type { PageCounts, Stream } from "../sync/store.ts";
import { textArray } from "./array-literal.ts";
import type { Transaction } from "./connect.ts";

/**
 * Stores bills by their key. A bill that is there unchanged is not rewritten; one that is there
 * with other content is overwritten, and its old content goes to `bill_revisions`. Decimals are
 * compared as text: 1.0 that becomes 1.00 is a change. A business type that no list names gets a
 * row, so that every bill can be joined to one.
 *
 * The caller holds the account: revisions are counted, and two writers could count alike.
 */
export async function upsertBills(
  tx: Transaction,
  stream: Stream,
  bills: readonly Bill[],
): Promise<Omit<PageCounts, "rejected">> {
  let counts = { new: 0, unchanged: 0, restated: 0 };
  for (const batch of batchesOfDistinctIds(bills)) {
    const { inserted, updated } = await upsertBatch(tx, stream, batch);
    counts = {
      new: counts.new + inserted,
      restated: counts.restated + updated,
      unchanged: counts.unchanged + batch.length - inserted - updated,
    };
  }
  return counts;
}

/** One statement cannot write a row twice: a page that names a bill twice takes two. */
function batchesOfDistinctIds(bills: readonly Bill[]): readonly Bill[][] {
  const batches: Map<string, Bill>[] = [];
  for (const bill of bills) {
    const batch = batches.find((candidate) => !candidate.has(bill.billId));
    if (batch === undefined) batches.push(new Map([[bill.billId, bill]]));
    else batch.set(bill.billId, bill);
  }
  // In one order everywhere: writers that lock rows in different orders deadlock.
  return batches.map((batch) => [...batch.values()].sort(byId));
}

const byId = (a: Bill, b: Bill): number => (a.billId < b.billId ? -1 : 1);

/** A bill's content, beside its key. */
export const contentColumns = [
  "symbol",
  "amount",
  "fee",
  "fee_by_coupon",
  "business_type",
  "coin",
  "balance",
  "c_time",
  "extra",
] as const;
const columns = contentColumns;
const asText = ["amount", "fee", "fee_by_coupon", "balance", "extra"];

const list = (prefix: string) => sql.raw(columns.map((name) => `${prefix}${name}`).join(", "));
export const content = (table: string) =>
  sql.raw(
    `(${columns.map((name) => `${table}.${name}${asText.includes(name) ? "::text" : ""}`).join(", ")})`,
  );
const assignments = sql.raw(columns.map((name) => `${name} = excluded.${name}`).join(", "));

/** The page's bills as rows. */
export function incomingRows(bills: readonly Bill[]) {
  const column = (pick: (bill: Bill) => string | null) => textArray(bills.map(pick));
  return sql`
      select bill_id, ${list("")}
      from unnest(
        ${column(({ billId }) => billId)}::text[],
        ${column(({ symbol }) => symbol)}::text[],
        ${column(({ amount }) => amount)}::numeric[],
        ${column(({ fee }) => fee)}::numeric[],
        ${column(({ feeByCoupon }) => feeByCoupon)}::numeric[],
        ${column(({ businessType }) => businessType)}::text[],
        ${column(({ coin }) => coin)}::text[],
        ${column(({ balance }) => balance)}::numeric[],
        ${column(({ cTime }) => isoTime(cTime))}::timestamptz[],
        ${column(({ extra }) => (extra === null ? null : sortedJson(extra)))}::json[]
      ) as page (bill_id, ${list("")})`;
}

/**
 * What is stored of a row `incoming`, as `kept`, to be joined on {@link isKept}. It is looked up
 * in the order of the key, which only the primary key serves: a join, planned while the table has
 * no statistics, reads the whole stream for every page (1,000 bills took 15 ms in an empty stream
 * and 37 ms after 90,000).
 */
export const keptBill = ({ account, productType }: Stream) => sql`
      lateral (
        select bills.account, bills.product_type, bills.bill_id, ingested_at, ${list("bills.")}
        from bills
        where (bills.account, bills.product_type, bills.bill_id)
          >= (${account}, ${productType}, incoming.bill_id)
        order by bills.account, bills.product_type, bills.bill_id
        limit 1
      ) as kept`;

export const isKept = ({ account, productType }: Stream) => sql`
      kept.account = ${account}
        and kept.product_type = ${productType}
        and kept.bill_id = incoming.bill_id`;

/** Those of them that are stored, as they are stored. */
const storedRows = (stream: Stream) => sql`
      select
        incoming.bill_id,
        kept.ingested_at,
        ${list("kept.")},
        ${content("kept")} is distinct from ${content("incoming")} as is_restated
      from incoming
      join ${keptBill(stream)}
        on ${isKept(stream)}`;

async function upsertBatch(tx: Transaction, stream: Stream, bills: readonly Bill[]) {
  const { account, productType } = stream;
  // Unchanged rows are kept from the upsert, which would lock them: 56 to 197 bytes of WAL each.
  const { rows } = await tx.execute<{ inserted: number; updated: number }>(sql`
    with incoming as (${incomingRows(bills)}),
    stored as (${storedRows(stream)}),
    replaced as (
      insert into bill_revisions (
        account, product_type, bill_id, revision, ${list("")}, ingested_at, replaced_at
      )
      select
        ${account},
        ${productType},
        bill_id,
        (
          select count(*) + 1
          from bill_revisions as earlier
          where earlier.account = ${account}
            and earlier.product_type = ${productType}
            and earlier.bill_id = stored.bill_id
        ),
        ${list("")},
        ingested_at,
        clock_timestamp()
      from stored
      where is_restated
    ),
    written as (
      insert into bills (account, product_type, bill_id, ${list("")}, ingested_at)
      select ${account}, ${productType}, bill_id, ${list("")}, clock_timestamp()
      from incoming
      where bill_id not in (select bill_id from stored where not is_restated)
      on conflict (account, product_type, bill_id) do update
      set ${assignments}, ingested_at = excluded.ingested_at
      where ${content("bills")} is distinct from ${content("excluded")}
      returning xmax = 0 as inserted
    ),
    met as (
      insert into business_types (code, category, meaning, documented)
      select distinct business_type, 'unknown', 'met in the ledger, not known to this program', false
      from incoming
      order by business_type
      on conflict (code) do nothing
    )
    select
      (count(*) filter (where inserted))::int as inserted,
      (count(*) filter (where not inserted))::int as updated
    from written`);
  return rows[0] ?? { inserted: 0, updated: 0 };
}
