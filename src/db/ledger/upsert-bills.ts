import { sql } from "drizzle-orm";
import { listedBusinessTypes } from "../../contract/unified-business-types.ts";
import type { PageCommit, PageCounts } from "../../sync/store.ts";
import type { Transaction } from "../connect.ts";
import { daysOfPages } from "../days/mark-days.ts";
import { textArray } from "../sql/array-literal.ts";
import { addToCounts } from "./bill-counts.ts";
import { freshPages, loadBills, readNow } from "./load-bills.ts";
import { mergeBills } from "./merge-bills.ts";
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
  const account = pages[0]?.stream.account ?? "";
  const [now, fresh] = await Promise.all([
    readNow(tx),
    freshPages(tx, account, pages),
    meetTypes(tx, pages),
  ]);
  const [first = [], ...repeated] = batchesWithoutRepeats(pages);
  await loadBills(
    tx,
    first.filter(({ page }) => fresh.has(page)),
    now,
  );
  const known = first.filter(({ page }) => !fresh.has(page));
  // What a later layer replaces, this transaction has stored.
  const asked = { now, after: pages.flatMap((page) => page.askedAfter ?? []) };
  for (const [depth, layer] of [known, ...repeated].entries()) {
    const streams = Map.groupBy(layer, ({ stream }) => stream.productType).values();
    const merged = await Promise.all(
      [...streams].map((rows) => mergeBills(tx, rows, depth === 0 ? asked : undefined)),
    );
    for (const { page, isRestated } of merged.flat()) {
      const counted = counts[page];
      if (counted === undefined) continue;
      counted.new -= 1;
      counted[isRestated ? "restated" : "unchanged"] += 1;
    }
  }
  // Of the other pages' bills those that were written have marked their days.
  const marked = daysOfPages(pages.filter((_, page) => fresh.has(page)));
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

/**
 * Those that no list names get a row; those that one names have it since the migration. One that was
 * met before is only looked up: where the table is on many machines, writing it takes all of them.
 */
async function meetTypes(tx: Transaction, pages: readonly Pick<PageCommit, "bills">[]) {
  const unlisted = new Set<string>();
  for (const { bills } of pages) {
    for (const { businessType } of bills) {
      if (!listedTypes.has(businessType)) unlisted.add(businessType);
    }
  }
  if (unlisted.size === 0) return;
  const codes = [...unlisted].sort();
  const { rows } = await tx.execute<{ code: string }>(sql`
    select code
    from business_types
    where code = any(${textArray(codes)}::text[])`);
  const known = new Set(rows.map(({ code }) => code));
  const met = codes.filter((code) => !known.has(code));
  if (met.length === 0) return;
  await tx.execute(sql`
    insert into business_types (code, category, meaning, documented)
    select code, 'unknown', 'met in the ledger, not known to this program', false
    from unnest(${textArray(met)}::text[]) as met (code)
    on conflict (code) do nothing`);
}
