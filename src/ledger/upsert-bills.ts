import { sql } from "drizzle-orm";
import type { EpochMs } from "../contract/time.ts";
import { listedBusinessTypes } from "../contract/unified-business-types.ts";
import type { Transaction } from "../db/connect.ts";
import { dayBill, putIntoDays } from "../db/days/written-bills.ts";
import { textArray } from "../db/sql/array-literal.ts";
import type { PageCommit, PageCounts } from "../sync/store.ts";
import { addToCounts } from "./bill-counts.ts";
import { freshPages, loadBills, readNow } from "./load-bills.ts";
import { mergeBills } from "./merge-bills.ts";
import type { PlacedBill } from "./placed-bill.ts";

/**
 * Stores bills by their key, in the order of the pages. A bill that is stored unchanged is not
 * rewritten. One that is stored with other content is overwritten, and its old content goes to
 * `bill_revisions`. Decimals are compared as text: 1.0 that becomes 1.00 is a change. A business
 * type that is not in the program's list gets a row, so that every bill can be joined to one.
 *
 * All pages belong to one account, which the caller holds: two writers at once would both count the
 * bills that both store.
 *
 * @returns the counts of each page, in the order of the pages.
 * @throws OutdatedPageError where other content of a bill was stored after its page was asked for.
 */
export async function upsertBills(
  tx: Transaction,
  pages: readonly BillsOfPage[],
): Promise<readonly BillCounts[]> {
  const before = await lookUpBills(tx, pages);
  const stored = await storeBills(tx, pages, before);
  await recordBills(tx, pages, before, stored);
  return stored.counts;
}

export type BillsOfPage = Pick<PageCommit, "stream" | "bills" | "askedAfter">;
export type BillCounts = Omit<PageCounts, "rejected">;

/** What {@link upsertBills} reads before it stores bills. */
export type BeforeBills = {
  readonly now: EpochMs;
  /** The indexes of pages of which nothing is stored. */
  readonly fresh: ReadonlySet<number>;
  /** The business types that have no row yet. */
  readonly unmetTypes: readonly string[];
};

/** The first of the three steps of {@link upsertBills}: reads, in one round trip. */
export async function lookUpBills(
  tx: Transaction,
  pages: readonly BillsOfPage[],
): Promise<BeforeBills> {
  const account = pages[0]?.stream.account ?? "";
  const [now, fresh, unmetTypes] = await Promise.all([
    readNow(tx),
    freshPages(tx, account, pages),
    readUnmetTypes(tx, pages),
  ]);
  return { now, fresh, unmetTypes };
}

export type StoredPages = {
  /** The counts of each page, in the order of the pages. */
  readonly counts: readonly BillCounts[];
  /** Stored bills that their days do not have yet. */
  readonly loaded: readonly PlacedBill[];
};

/** The second step: stores the bills. */
export async function storeBills(
  tx: Transaction,
  pages: readonly BillsOfPage[],
  { now, fresh }: BeforeBills,
): Promise<StoredPages> {
  const counts = pages.map(({ bills }) => ({ new: bills.length, unchanged: 0, restated: 0 }));
  const [first = [], ...repeated] = batchesWithoutRepeats(pages);
  const loaded = first.filter(({ page }) => fresh.has(page));
  await loadBills(tx, loaded, now);
  const known = first.filter(({ page }) => !fresh.has(page));
  // Otherwise their days have them together with what else follows from the bills, in one round trip.
  const isFollowed = known.length > 0 || repeated.length > 0;
  if (isFollowed) await putLoaded(tx, pages, loaded);
  // Checked for the first batch only: what a later batch replaces was stored by this transaction.
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
  return { counts, loaded: isFollowed ? [] : loaded };
}

const putLoaded = (
  tx: Transaction,
  pages: readonly BillsOfPage[],
  loaded: readonly PlacedBill[],
): Promise<void> =>
  putIntoDays(
    tx,
    pages[0]?.stream.account ?? "",
    loaded.map(({ stream, bill }) => dayBill(stream.productType, bill)),
    [],
  );

/** The third step: stores what follows from the bills, in one round trip. */
export async function recordBills(
  tx: Transaction,
  pages: readonly BillsOfPage[],
  { unmetTypes }: BeforeBills,
  { counts, loaded }: StoredPages,
): Promise<void> {
  await Promise.all([
    putLoaded(tx, pages, loaded),
    addToCounts(tx, pages, counts),
    meetTypes(tx, unmetTypes),
  ]);
}

/** Splits bills into batches without repeats, since one statement cannot write a row twice. */
function batchesWithoutRepeats(pages: readonly BillsOfPage[]): readonly PlacedBill[][] {
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

/** The business types that have no row yet. Those of the program's list have one since the migration. */
async function readUnmetTypes(
  tx: Transaction,
  pages: readonly Pick<PageCommit, "bills">[],
): Promise<readonly string[]> {
  const unlisted = new Set<string>();
  for (const { bills } of pages) {
    for (const { businessType } of bills) {
      if (!listedTypes.has(businessType)) unlisted.add(businessType);
    }
  }
  if (unlisted.size === 0) return [];
  const codes = [...unlisted].sort();
  const { rows } = await tx.execute<{ code: string }>(sql`
    select code
    from business_types
    where code = any(${textArray(codes)}::text[])`);
  const known = new Set(rows.map(({ code }) => code));
  return codes.filter((code) => !known.has(code));
}

/** Adds rows for these types. In a distributed database, writing to this table takes every node. */
async function meetTypes(tx: Transaction, codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  await tx.execute(sql`
    insert into business_types (code, category, meaning, documented)
    select code, 'unknown', 'met in the ledger, not known to this program', false
    from unnest(${textArray(codes)}::text[]) as met (code)
    on conflict (code) do nothing`);
}
