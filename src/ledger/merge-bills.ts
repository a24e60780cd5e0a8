import { sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import type { DayBill } from "../db/days/day-sums.ts";
import { dayBill, putIntoDays, takeOutOfDays } from "../db/days/written-bills.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { OutdatedPageError } from "../errors.ts";
import type { Stream } from "../sync/store.ts";
import { assignments, content, incomingRows, isKept, keptBill, list } from "./bill-rows.ts";
import type { PlacedBill } from "./placed-bill.ts";

/** What is known of an incoming bill that is stored already. */
type StoredBill = {
  readonly page: number;
  readonly billId: string;
  readonly isRestated: boolean;
  readonly isOutdated: boolean | null;
  /** The bill's stored time. */
  readonly cTimeMs: string;
} & Omit<DayBill, "productType" | "cTime">;

/** When the pages were asked for, by the database's clock, and what that clock shows now. */
type Asked = { readonly after: readonly string[]; readonly now: EpochMs };

/**
 * Stores distinct bills of one stream, each table by a statement of its own.
 * @param asked given where another writer may have stored other content since the pages were asked for.
 * @returns the bills that were stored already.
 */
export async function mergeBills(
  tx: Transaction,
  given: readonly PlacedBill[],
  asked: Asked | undefined,
): Promise<readonly StoredBill[]> {
  const stream = given[0]?.stream;
  if (stream === undefined) return [];
  const stored = await readStored(tx, stream, given, asked);
  if (stored.some(({ isOutdated }) => isOutdated)) {
    throw new OutdatedPageError(`${stream.account}/${stream.productType}`);
  }
  const restated = stored.filter(({ isRestated }) => isRestated);
  const unchanged = new Set(
    stored.filter(({ isRestated }) => !isRestated).map(({ billId }) => billId),
  );
  // Unchanged bills are left out: the upsert would lock their rows, 56 to 197 bytes of WAL each.
  const written = given.filter(({ bill }) => !unchanged.has(bill.billId));
  if (written.length === 0) return stored;
  const { account, productType } = stream;
  const replaced = restated.map((bill) => ({
    ...bill,
    productType,
    cTime: timeFrom(bill.cTimeMs),
  }));
  // The promises are equally deep, so that of several errors Promise.all throws the first, the cause.
  await Promise.all([
    ...(restated.length === 0
      ? []
      : [keepReplaced(tx, stream, restated), takeOutOfDays(tx, account, replaced)]),
    writeBills(tx, stream, written),
    putIntoDays(
      tx,
      account,
      written.map(({ bill }) => dayBill(productType, bill)),
      replaced,
    ),
  ]);
  return stored;
}

async function readStored(
  tx: Transaction,
  stream: Stream,
  given: readonly PlacedBill[],
  asked: Asked | undefined,
): Promise<readonly StoredBill[]> {
  // A stored time in the future says nothing: the server's clock was ahead for a while.
  const isRepaired =
    asked === undefined
      ? sql`false`
      : sql`(
        ingested_at >= (
          select min(time)
          from unnest(${textArray(asked.after)}::timestamptz[]) as asked (time)
        )
        and ingested_at <= ${isoTime(asked.now)}
      )`;
  const { rows } = await tx.execute<StoredBill>(sql`
    with incoming as (${incomingRows(given)}),
    stored as (
      select
        incoming.page,
        incoming.bill_id,
        kept.ingested_at,
        ${list("kept.")},
        ${content("kept")} is distinct from ${content("incoming")} as is_restated
      from incoming
      join ${keptBill(stream)}
        on ${isKept(stream)}
    )
    select
      page,
      bill_id as "billId",
      is_restated as "isRestated",
      is_restated and ${isRepaired} as "isOutdated",
      symbol,
      amount,
      fee,
      fee_by_coupon as "feeByCoupon",
      business_type as "businessType",
      coin,
      balance,
      ${msOf(sql`c_time`)} as "cTimeMs",
      extra is not null as "hasExtra"
    from stored`);
  return rows;
}

/** Copies the stored content, which is about to be replaced, to `bill_revisions`. */
async function keepReplaced(
  tx: Transaction,
  { account, productType }: Stream,
  restated: readonly StoredBill[],
): Promise<void> {
  await tx.execute(sql`
    insert into bill_revisions (
      account, product_type, bill_id, revision, ${list("")}, ingested_at, replaced_at
    )
    select
      bills.account,
      product_type,
      bill_id,
      (
        select count(*) + 1
        from bill_revisions as earlier
        where earlier.account = ${account}
          and earlier.product_type = ${productType}
          and earlier.bill_id = bills.bill_id
      ),
      ${list("")},
      ingested_at,
      statement_timestamp()
    from bills
    where bills.account = ${account}
      and product_type = ${productType}
      and bill_id = any(${textArray(restated.map(({ billId }) => billId))}::text[])`);
}

async function writeBills(
  tx: Transaction,
  { account, productType }: Stream,
  written: readonly PlacedBill[],
): Promise<void> {
  await tx.execute(sql`
    insert into bills (account, product_type, bill_id, ${list("")}, ingested_at)
    select ${account}, ${productType}, bill_id, ${list("")}, statement_timestamp()
    from (${incomingRows(written)}) as incoming
    on conflict (account, product_type, bill_id) do update
    set ${assignments}, ingested_at = excluded.ingested_at
    where ${content("bills")} is distinct from ${content("excluded")}`);
}
