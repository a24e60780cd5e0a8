import { sql } from "drizzle-orm";
import { DatabaseError } from "../../lib/errors.ts";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { Transaction } from "../postgres/connect.ts";
import { msOf, onlyRow, textArray, timeFrom } from "../postgres/values.ts";
import type { PageCommit, PageCounts } from "../words/page.ts";
import { countStored } from "./bill-counts.ts";
import {
  type BillRow,
  billArrays,
  billText,
  contentList,
  excludedList,
  isSame,
  readBillsByKey,
  type StoredRow,
  withKnownFee,
} from "./bill-rows.ts";
import { insertMissingTypes, readMissingTypes } from "./reference/stored-business-types.ts";

/*
 * Bills are written in three steps: a look-up says which are stored and with what content, `changesOf` decides
 * here what is written, and `writeBills` sends it all at once. Nothing is sent twice: on a line of 24 kB/s
 * the bills themselves take most of the time.
 */

export type BillsOfPage = Pick<PageCommit, "ledger" | "bills">;
export type BillCounts = Omit<PageCounts, "rejected">;

/** What is read before bills are written. */
export type LookedUpBills = {
  /** The database's time, with which the bills are stored. */
  readonly now: EpochMs;
  readonly stored: readonly StoredRow[];
  /** The business types that have no row yet. */
  readonly missingTypes: readonly string[];
  /** Whether a trigger or rule of somebody else may drop rows of `bills`. */
  readonly mayDropRows: boolean;
};

/** Content that is replaced, with the time since when it was stored. */
type Replaced = StoredRow & {
  /** How many contents of the same bill are replaced together with it, and before it. */
  readonly index: number;
};

/** What pages change. All of them are one account's. */
type BillChanges = {
  readonly account: string;
  /** The counts of each page, in the order of the pages. */
  readonly counts: readonly BillCounts[];
  /** The bills that are new, or differ from what is stored, in the order of their keys. */
  readonly written: readonly BillRow[];
  readonly replaced: readonly Replaced[];
};

/** Reads it in one round trip. */
export async function lookUpBills(
  tx: Transaction,
  pages: readonly BillsOfPage[],
): Promise<LookedUpBills> {
  const ledgers = Map.groupBy(pages, ({ ledger }) => ledger.productType);
  const keys = [...ledgers].flatMap(([productType, ofLedger]) =>
    [...new Set(ofLedger.flatMap(({ bills }) => bills.map(({ billId }) => billId)))].map(
      (billId) => ({ productType, billId }),
    ),
  );
  const [server, stored, missingTypes] = await Promise.all([
    askServer(tx),
    readBillsByKey(tx, accountOf(pages), keys),
    readMissingTypes(tx, pages),
  ]);
  return { ...server, stored, missingTypes };
}

/**
 * The database's time, rounded to the millisecond as the column `ingested_at` rounds it. A replay finds
 * the bills that it stored by comparing their time with that of its start, so theirs must not be earlier.
 * The statement reads no table: one that does may run on another node of a distributed database, and
 * read that node's clock.
 */
export async function askServer(
  tx: Transaction,
): Promise<Pick<LookedUpBills, "now" | "mayDropRows">> {
  const { rows } = await tx.execute<{ now: string; mayDropRows: boolean }>(sql`
    select
      ${msOf(sql`clock_timestamp()::timestamptz(3)`)} as now,
      exists (select 1 from pg_trigger where tgrelid = 'bills'::regclass and not tgisinternal)
        or exists (select 1 from pg_rewrite where ev_class = 'bills'::regclass) as "mayDropRows"`);
  const { now, mayDropRows } = onlyRow(rows, "the database's time");
  return { now: timeFrom(now), mayDropRows };
}

const accountOf = ([first]: readonly BillsOfPage[]): string => first?.ledger.account ?? "";

const keyOf = (productType: ProductType, billId: string) => `${productType} ${billId}`;

/** Decides what is written. A bill that comes twice is compared with what came before it. */
export function changesOf(pages: readonly BillsOfPage[], before: LookedUpBills): BillChanges {
  const latest = new Map<string, StoredRow>();
  for (const row of before.stored) latest.set(keyOf(row.productType, row.bill.billId), row);
  const changed = new Map<string, BillRow>();
  const replaced: Replaced[] = [];
  const replacedOf = new Map<string, number>();
  const ingestedAt = isoTime(before.now);
  const counts = pages.map(({ ledger, bills }) => {
    const counted = { new: 0, unchanged: 0, restated: 0 };
    const { productType } = ledger;
    for (const source of bills) {
      const key = keyOf(productType, source.billId);
      const last = latest.get(key);
      const bill = withKnownFee(productType, last?.bill, billText(source));
      if (last !== undefined && isSame(last.bill, bill)) {
        counted.unchanged += 1;
        continue;
      }
      if (last === undefined) counted.new += 1;
      else {
        counted.restated += 1;
        const index = replacedOf.get(key) ?? 0;
        replacedOf.set(key, index + 1);
        replaced.push({ ...last, index });
      }
      latest.set(key, { productType, bill, ingestedAt });
      changed.set(key, { productType, bill });
    }
    return counted;
  });
  const written = [...changed].sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    ...{ account: accountOf(pages), counts, replaced },
    written: written.map(([, change]) => change),
  };
}

/** Sends all statements at once. @throws DatabaseError where the database stored less than was sent. */
export async function writeBills(
  tx: Transaction,
  pages: readonly BillsOfPage[],
  changes: BillChanges,
  { now, missingTypes }: LookedUpBills,
): Promise<void> {
  const { counts, written, replaced } = changes;
  if (written.length === 0) return;
  await Promise.all([
    ...(replaced.length === 0 ? [] : [keepReplaced(tx, changes, now)]),
    upsert(tx, changes, now),
    countStored(tx, pages, counts, now),
    insertMissingTypes(tx, missingTypes),
  ]);
}

async function upsert(
  tx: Transaction,
  { account, counts, written }: BillChanges,
  now: EpochMs,
): Promise<void> {
  // To look for a conflict takes the server a fifth longer. The account's holder alone writes its bills: he knows of each.
  const onConflict = sql`on conflict (account, product_type, bill_id) do update
    set (${contentList}, ingested_at) = (${excludedList}, excluded.ingested_at)`;
  const { rowCount } = await tx.execute(sql`
    insert into bills (account, product_type, bill_id, ${contentList}, ingested_at)
    select ${account}, product_type, bill_id, ${contentList}, ${isoTime(now)}::timestamptz
    from unnest(${billArrays(written)}) as written (product_type, bill_id, ${contentList})
    ${counts.every(({ restated }) => restated === 0) ? sql`` : onConflict}`);
  if (rowCount !== written.length) {
    throw new DatabaseError(
      `the database stored ${rowCount} of ${written.length} bills of account ${account}: ` +
        "a trigger or rule on table bills drops rows; remove it, and run again",
    );
  }
}

/** Adds the content that is about to be replaced to `bill_revisions`. */
async function keepReplaced(
  tx: Transaction,
  { account, replaced }: BillChanges,
  now: EpochMs,
): Promise<void> {
  await tx.execute(sql`
    insert into bill_revisions (
      account, product_type, bill_id, revision, ${contentList}, ingested_at, replaced_at
    )
    select
      ${account},
      product_type,
      bill_id,
      (
        select count(*) + 1
        from bill_revisions as earlier
        where earlier.account = ${account}
          and earlier.product_type = replaced.product_type
          and earlier.bill_id = replaced.bill_id
      ) + replaced.index,
      ${contentList},
      ingested_at,
      ${isoTime(now)}::timestamptz
    from unnest(
      ${billArrays(replaced)},
      ${textArray(replaced.map(({ ingestedAt }) => ingestedAt))}::timestamptz[],
      ${textArray(replaced.map(({ index }) => String(index)))}::int[]
    ) as replaced (product_type, bill_id, ${contentList}, ingested_at, index)`);
}
