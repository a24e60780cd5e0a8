import { sql } from "drizzle-orm";
import type { Bill } from "../../src/core/contract/bill.ts";
import { billsApiOf } from "../../src/core/contract/bills-api.ts";
import type { ProductType } from "../../src/core/contract/product-types.ts";
import { type Database, inTransaction, type Queryable } from "../../src/core/postgres/connect.ts";
import { upsertBills } from "../../src/core/store/store-bills.ts";
import type { Interval } from "../../src/core/words/intervals.ts";
import type { Ledger } from "../../src/core/words/ledger.ts";
import { dayMs, epochMs, isoTime } from "../../src/lib/time.ts";
import type { LedgerBill } from "../../src/wings/sandbox/entry.ts";
import type { AccountBills } from "../../src/wings/sandbox/ledger.ts";

// Ledgers as runs would have left them.

export const ledgerOf = (account: string, productType: ProductType = "USDT-FUTURES"): Ledger => ({
  account,
  productType,
});

export async function storeBills(
  db: Database,
  ledger: Ledger,
  bills: readonly Bill[],
): Promise<void> {
  await inTransaction(db, (tx) => upsertBills(tx, [{ ledger, bills }]));
}

/** The bills of a sandbox's ledger as they are served. */
export const servedBills = (
  { bills }: AccountBills,
  productType: ProductType,
  isWanted: (bill: LedgerBill) => boolean = () => true,
): Bill[] =>
  bills[productType].filter(isWanted).map(({ row }) => {
    const reading = billsApiOf(productType).read(row);
    if ("fault" in reading) throw new Error(`a row with a fault: ${JSON.stringify(reading)}`);
    return reading.bill;
  });

/** Times as `isoTime` writes them, or as Postgres reads them. */
type Span = Interval | { readonly from: string; readonly to: string };

const textOf = (time: Span["from"]) => (typeof time === "string" ? time : isoTime(time));

const rangesOf = (spans: readonly Span[]) =>
  sql`${`{${spans.map(({ from, to }) => `[${textOf(from)},${textOf(to)})`).join(",")}}`}::tstzmultirange`;

/** This time of a ledger was read, lost, or is open, beside what was before. */
export async function storeTime(
  db: Queryable,
  { account, productType }: Ledger,
  {
    covered = [],
    lost = [],
    open = [],
  }: Readonly<Partial<Record<"covered" | "lost" | "open", readonly Span[]>>>,
): Promise<void> {
  await db.execute(sql`
    insert into ledgers (account, product_type)
    values (${account}, ${productType})
    on conflict (account, product_type) do nothing`);
  await db.execute(sql`
    update ledgers
    set
      covered = covered + ${rangesOf(covered)},
      lost = lost + ${rangesOf(lost)},
      open = open - ${rangesOf([...covered, ...lost])} + ${rangesOf(open)}
    where account = ${account}
      and product_type = ${productType}`);
  await settle(db, { account, productType });
}

/** A span of a ledger's time was read, in milliseconds since the Unix epoch. */
export const coverLedger = (db: Queryable, ledger: Ledger, from: number, to: number) =>
  storeTime(db, ledger, { covered: [{ from: epochMs(from), to: epochMs(to) }] });

/** Ninety days of a ledger were read. */
export const coverUpTo = (db: Queryable, ledger: Ledger, to: number) =>
  coverLedger(db, ledger, to - 90 * dayMs, to);

/** A run has seen that the exchange no longer serves a ledger. */
export const storeEnd = (db: Queryable, { account, productType }: Ledger, at: number) =>
  db.execute(sql`
    insert into ledgers (account, product_type, ended_at)
    values (${account}, ${productType}, ${isoTime(epochMs(at))})
    on conflict (account, product_type) do update set ended_at = excluded.ended_at`);

/** A run has planned to read a window of a ledger. */
export async function storeOpen(
  db: Queryable,
  ledger: Ledger,
  span: Span,
  { cursor = null, startedAt = null }: { cursor?: string | null; startedAt?: string | null } = {},
): Promise<void> {
  const { account, productType } = ledger;
  await db.execute(sql`
    insert into windows (account, product_type, window_start, window_end, cursor, started_at)
    values (
      ${account}, ${productType}, ${textOf(span.from)}, ${textOf(span.to)}, ${cursor}, ${startedAt}
    )`);
  await storeTime(db, ledger, { open: [span] });
}

/** Stores where the first gap begins, after a ledger's times were changed. */
async function settle(db: Queryable, { account, productType }: Ledger): Promise<void> {
  await db.execute(sql`
    update ledgers
    set first_unread_at = coalesce(
      (
        select min(upper(span))
        from unnest(covered + lost) as span
        where lower(span) <= lower(covered + lost + open)
      ),
      lower(open)
    )
    where account = ${account}
      and product_type = ${productType}`);
}
