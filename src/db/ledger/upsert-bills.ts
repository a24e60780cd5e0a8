import { sql } from "drizzle-orm";
import type { Bill } from "../../contract/bill.ts";
import { sortedJson } from "../../contract/json.ts";
import { walletOf } from "../../contract/product-types.ts";
import { isoTime } from "../../contract/time.ts";
import { listedBusinessTypes } from "../../contract/unified-business-types.ts";
import { OutdatedPageError } from "../../errors.ts";
import type { PageCommit, PageCounts, Stream } from "../../sync/store.ts";
import type { Transaction } from "../connect.ts";
import { dayOfColumn, daysOfPages } from "../days/mark-days.ts";
import { textArray } from "../sql/array-literal.ts";
import { addToCounts } from "./bill-counts.ts";
import { freshPages, loadBills } from "./load-bills.ts";
import type { PlacedBill } from "./placed-bill.ts";

type Counts = Omit<PageCounts, "rejected">;

/**
 * Stores bills by their key, page after page. A bill that is there unchanged is not rewritten;
 * one that is there with other content is overwritten, and its old content goes to
 * `bill_revisions`. Decimals are compared as text: 1.0 that becomes 1.00 is a change. A business
 * type that no list names gets a row, so that every bill can be joined to one.
 *
 * The caller holds the account, of which all pages are: what is stored is counted, and two writers
 * could count alike.
 *
 * @returns a page's counts in that page's place.
 * @throws OutdatedPageError where other content of a bill was stored after its page was asked for.
 */
export async function upsertBills(
  tx: Transaction,
  pages: readonly Pick<PageCommit, "stream" | "bills" | "askedAfter">[],
): Promise<readonly Counts[]> {
  const counts = pages.map(({ bills }) => ({ new: bills.length, unchanged: 0, restated: 0 }));
  const [fresh] = await Promise.all([freshPages(tx, pages), meetTypes(tx, pages)]);
  const [first = [], ...repeated] = batchesWithoutRepeats(pages);
  await loadBills(
    tx,
    first.filter(({ page }) => fresh.pages.has(page)),
    fresh.now,
  );
  const known = first.filter(({ page }) => !fresh.pages.has(page));
  // Sent together, done one after the other: a later layer finds what an earlier one has stored.
  const askedAfter = pages.flatMap((page) => page.askedAfter ?? []);
  const merged = await Promise.all(
    // What a later layer replaces, this transaction has stored.
    [known, ...repeated].flatMap((layer, depth) =>
      [...Map.groupBy(layer, ({ stream }) => stream.productType).values()].map((rows) =>
        mergeBills(tx, rows, depth === 0 ? askedAfter : []),
      ),
    ),
  );
  for (const { page, unchanged, restated } of merged.flat()) {
    const counted = counts[page];
    if (counted === undefined) continue;
    counted.new -= unchanged + restated;
    counted.unchanged += unchanged;
    counted.restated += restated;
  }
  // Of the other pages' bills those that were written have marked their days.
  const marked = daysOfPages(pages.filter((_, page) => fresh.pages.has(page)));
  await addToCounts(tx, pages, counts, marked);
  return counts;
}

/** One statement cannot write a row twice: where a bill comes again, it takes another one. */
function batchesWithoutRepeats(
  pages: readonly Pick<PageCommit, "stream" | "bills">[],
): readonly PlacedBill[][] {
  const batches: PlacedBill[][] = [];
  const met = new Map<string, number>();
  for (const [page, { stream, bills }] of pages.entries()) {
    for (const bill of bills) {
      const key = `${stream.productType} ${bill.billId}`;
      const depth = met.get(key) ?? 0;
      met.set(key, depth + 1);
      batches[depth] ??= [];
      batches[depth].push({ page, stream, bill });
    }
  }
  return batches.map((layer) => layer.sort(byKey));
}

const byKey = (a: PlacedBill, b: PlacedBill): number =>
  compare(a.stream.productType, b.stream.productType) || compare(a.bill.billId, b.bill.billId);

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

const listedTypes = new Set(listedBusinessTypes.map(({ code }) => code));

/** Those that no list names get a row; those that one names have it since the migration. */
async function meetTypes(tx: Transaction, pages: readonly Pick<PageCommit, "bills">[]) {
  const unlisted = new Set<string>();
  for (const { bills } of pages) {
    for (const { businessType } of bills) {
      if (!listedTypes.has(businessType)) unlisted.add(businessType);
    }
  }
  if (unlisted.size === 0) return;
  await tx.execute(sql`
    insert into business_types (code, category, meaning, documented)
    select code, 'unknown', 'met in the ledger, not known to this program', false
    from unnest(${textArray([...unlisted].sort())}::text[]) as met (code)
    on conflict (code) do nothing`);
}

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
  "position_type",
  "position_amount",
  "position_balance",
  "extra",
] as const;
const columns = contentColumns;
const asText = [
  ...["amount", "fee", "fee_by_coupon", "balance", "position_amount", "position_balance", "extra"],
];

const list = (prefix: string) => sql.raw(columns.map((name) => `${prefix}${name}`).join(", "));
export const content = (table: string) =>
  sql.raw(
    `(${columns.map((name) => `${table}.${name}${asText.includes(name) ? "::text" : ""}`).join(", ")})`,
  );
const assignments = sql.raw(columns.map((name) => `${name} = excluded.${name}`).join(", "));

/** The bills as rows. */
export function incomingRows(rows: readonly PlacedBill[]) {
  const column = (pick: (bill: Bill) => string | null) =>
    textArray(rows.map(({ bill }) => pick(bill)));
  return sql`
      select page, bill_id, ${list("")}
      from unnest(
        ${`{${rows.map(({ page }) => page).join(",")}}`}::int[],
        ${column(({ billId }) => billId)}::text[],
        ${column(({ symbol }) => symbol)}::text[],
        ${column(({ amount }) => amount)}::numeric[],
        ${column(({ fee }) => fee)}::numeric[],
        ${column(({ feeByCoupon }) => feeByCoupon)}::numeric[],
        ${column(({ businessType }) => businessType)}::text[],
        ${column(({ coin }) => coin)}::text[],
        ${column(({ balance }) => balance)}::numeric[],
        ${column(({ cTime }) => isoTime(cTime))}::timestamptz[],
        ${column(({ positionType }) => positionType)}::text[],
        ${column(({ positionAmount }) => positionAmount)}::numeric[],
        ${column(({ positionBalance }) => positionBalance)}::numeric[],
        ${column(({ extra }) => (extra === null ? null : sortedJson(extra)))}::json[]
      ) as given (page, bill_id, ${list("")})`;
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
        incoming.page,
        incoming.bill_id,
        kept.ingested_at,
        ${list("kept.")},
        ${content("kept")} is distinct from ${content("incoming")} as is_restated
      from incoming
      join ${keptBill(stream)}
        on ${isKept(stream)}`;

/**
 * Stores distinct bills of one stream. @returns how many of a page's bills were there.
 * @param askedAfter times since which no other content of them may have been stored.
 */
async function mergeBills(
  tx: Transaction,
  given: readonly PlacedBill[],
  askedAfter: readonly string[],
) {
  const stream = given[0]?.stream;
  if (stream === undefined) return [];
  const { account, productType } = stream;
  // Unchanged rows are kept from the upsert, which would lock them: 56 to 197 bytes of WAL each.
  // What is dated ahead is no repair of just now: a server's clock was ahead for a while.
  const { rows } = await tx.execute<Merged>(sql`
    with incoming as (${incomingRows(given)}),
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
    ),
    -- A bill that was restated may come from another day.
    moved as (
      select c_time
      from incoming
      where bill_id not in (select bill_id from stored where not is_restated)
      union all
      select c_time
      from stored
      where is_restated
    ),
    marked as (
      insert into dirty_days (account, wallet, day, cause)
      select distinct ${account}, ${walletOf(productType)}, ${dayOfColumn(sql`c_time`)}, 'bills'
      from moved
      on conflict (account, wallet, day, cause) do nothing
    )
    select
      page,
      (count(*) filter (where not is_restated))::int as unchanged,
      (count(*) filter (where is_restated))::int as restated,
      bool_or(
        is_restated
        and ingested_at >= (
          select min(time)
          from unnest(${textArray(askedAfter)}::timestamptz[]) as asked (time)
        )
        and ingested_at <= clock_timestamp()::timestamptz(3)
      ) as "isOutdated"
    from stored
    group by page`);
  if (rows.some(({ isOutdated }) => isOutdated)) {
    throw new OutdatedPageError(`${account}/${productType}`);
  }
  return rows;
}

type Merged = {
  readonly page: number;
  readonly unchanged: number;
  readonly restated: number;
  readonly isOutdated: boolean | null;
};
