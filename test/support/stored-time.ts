import { sql } from "drizzle-orm";
import { epochMs, isoTime } from "../../src/contract/time.ts";
import type { Queryable } from "../../src/db/connect.ts";
import type { Interval } from "../../src/sync/intervals.ts";

/** Times as `isoTime` writes them, or as Postgres reads them. */
type Span = Interval | { readonly from: string; readonly to: string };

type Ledger = { readonly account: string; readonly productType: string };

const rangesOf = (spans: readonly Span[]) =>
  `{${spans.map(({ from, to }) => `[${textOf(from)},${textOf(to)})`).join(",")}}`;

const textOf = (time: Span["from"]) => (typeof time === "string" ? time : isoTime(time));

/** As if runs had read and lost this time of a ledger, beside what they had before. */
export async function storeTime(
  db: Queryable,
  { account, productType }: Ledger,
  {
    covered = [],
    lost = [],
  }: { readonly covered?: readonly Span[]; readonly lost?: readonly Span[] },
): Promise<void> {
  await db.execute(sql`
    insert into ledgers (account, product_type)
    values (${account}, ${productType})
    on conflict (account, product_type) do nothing`);
  await db.execute(sql`
    update ledgers
    set
      covered = covered + ${rangesOf(covered)}::tstzmultirange,
      lost = lost + ${rangesOf(lost)}::tstzmultirange,
      open = open - ${rangesOf([...covered, ...lost])}::tstzmultirange
    where account = ${account}
      and product_type = ${productType}`);
  await settle(db, { account, productType });
}

/** As if a run had seen that the exchange no longer serves a ledger. */
export const storeClosing = (db: Queryable, { account, productType }: Ledger, at: number) =>
  db.execute(sql`
    insert into ledgers (account, product_type, closed_at)
    values (${account}, ${productType}, ${isoTime(epochMs(at))})
    on conflict (account, product_type) do update set closed_at = excluded.closed_at`);

/** As if a run had planned to read a window of a ledger. */
export async function storeOpen(
  db: Queryable,
  { account, productType }: Ledger,
  span: Span,
  { cursor = null, startedAt = null }: { cursor?: string | null; startedAt?: string | null } = {},
): Promise<void> {
  await db.execute(sql`
    insert into windows (account, product_type, window_start, window_end, cursor, started_at)
    values (
      ${account}, ${productType}, ${textOf(span.from)}, ${textOf(span.to)}, ${cursor}, ${startedAt}
    )`);
  await db.execute(sql`
    insert into ledgers (account, product_type)
    values (${account}, ${productType})
    on conflict (account, product_type) do nothing`);
  await db.execute(sql`
    update ledgers
    set open = open + ${rangesOf([span])}::tstzmultirange
    where account = ${account}
      and product_type = ${productType}`);
  await settle(db, { account, productType });
}

/** Stores where the first gap begins, after a ledger's times were changed. */
export async function settle(db: Queryable, { account, productType }: Ledger): Promise<void> {
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
