import type pg from "pg";
import type { BillText } from "../../src/core/contract/bill.ts";
import { type ProductType, productTypes } from "../../src/core/contract/product-types.ts";
import { type EpochMs, epochMs } from "../../src/lib/time.ts";
import { accountTables } from "../support/divided-tables.ts";
import type { WrittenBill } from "./committed.ts";

/** A stored row and its physical place in the table, which changes when the row is rewritten. */
type StoredRow = BillText & { readonly version: string };

export type Span = {
  readonly state: "open" | "covered" | "lost" | "recovered";
  readonly from: EpochMs;
  readonly to: EpochMs;
  readonly cursor: string | null;
  readonly startedAt: EpochMs | undefined;
};

/** What the tables have of a ledger, read without any of the program's own statements. */
export type LedgerTables = {
  readonly bills: readonly StoredRow[];
  /** The stored count of bills. */
  readonly counted: number;
  readonly revisions: readonly BillText[];
  readonly rejected: readonly string[];
  readonly spans: readonly Span[];
  /** Whether it is known that the account is of the other mode. */
  readonly isEnded: boolean;
};

export type Tables = Readonly<Record<ProductType, LedgerTables>>;

const content = `
  bill_id as "billId",
  symbol,
  amount::text,
  fee::text,
  fee_by_coupon::text as "feeByCoupon",
  business_type as "businessType",
  coin,
  balance::text,
  (extract(epoch from c_time) * 1000)::bigint::text as "cTimeMs",
  position_type as "positionType",
  position_amount::text as "positionAmount",
  position_balance::text as "positionBalance",
  extra::text,
  source`;

type Of<Row> = Row & { readonly productType: ProductType };

/** Reads all tables as of one moment: a killed process's last transaction may end meanwhile. */
export async function readTables(pool: pg.Pool, account: string): Promise<Tables> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    return await readAll(client, account);
  } finally {
    await client.query("rollback");
    client.release();
  }
}

async function readAll(client: pg.PoolClient, account: string): Promise<Tables> {
  const rowsOf = async <Row extends object>(text: string): Promise<readonly Of<Row>[]> =>
    (await client.query<Of<Row>>(text, [account])).rows;
  const bills = await rowsOf<StoredRow>(`
    select product_type as "productType", xmin::text || ' ' || ctid::text as version, ${content}
    from bills
    where account = $1
    order by product_type, bill_id`);
  const revisions = await rowsOf<BillText>(`
    select product_type as "productType", ${content}
    from bill_revisions
    where account = $1
    order by product_type, bill_id, revision`);
  const rejected = await rowsOf<{ received: string }>(`
    select product_type as "productType", received
    from rejected_bills
    where account = $1
    order by product_type, digest`);
  const ledgers = await rowsOf<{ bills: string; isEnded: boolean }>(`
    select product_type as "productType", bills, ended_at is not null as "isEnded"
    from ledgers
    where account = $1`);
  const spans = await readSpans(client, account);
  const all = productTypes.map((productType): [ProductType, LedgerTables] => {
    const own = <Row>(rows: readonly Of<Row>[]) =>
      rows.filter((row) => row.productType === productType);
    const [ledger] = own(ledgers);
    return [
      productType,
      {
        bills: own(bills),
        counted: Number(ledger?.bills ?? 0),
        revisions: own(revisions),
        rejected: own(rejected).map(({ received }) => received),
        spans: own(spans),
        isEnded: ledger?.isEnded ?? false,
      },
    ];
  });
  return Object.fromEntries(all) as Tables;
}

const untold = ["productType", "version"];

/** The bills that a transaction wrote, as the database reports them. */
export async function readWritten(
  client: pg.PoolClient,
  account: string,
): Promise<readonly WrittenBill[]> {
  const { rows } = await client.query<WrittenBill>(
    `
    select
      product_type as "productType",
      bill_id as "billId",
      symbol
    from bills
    where account = $1
      and xmin = pg_current_xact_id()::xid
    order by product_type, bill_id`,
    [account],
  );
  return rows;
}

/** The contents of the tables, one line for each row, without physical places. */
export const linesOf = (tables: Tables): readonly string[] =>
  Object.entries(tables).flatMap(([productType, ledger]) =>
    Object.entries(ledger).flatMap(([name, content]) =>
      [content].flat().map((row) => {
        const text = JSON.stringify(row, (key, value) =>
          untold.includes(key) ? undefined : value,
        );
        return `${productType} ${name}: ${text}`;
      }),
    ),
  );

export async function readSpans(
  database: pg.Pool | pg.PoolClient,
  account: string,
): Promise<readonly Of<Span>[]> {
  const { rows } = await database.query<
    Of<Record<"state" | "from" | "to" | "cursor" | "started", string>>
  >(
    `
    select
      product_type as "productType",
      state,
      (extract(epoch from lower(span)) * 1000)::bigint::text as "from",
      (extract(epoch from upper(span)) * 1000)::bigint::text as "to",
      cursor,
      (extract(epoch from started_at) * 1000)::bigint::text as started
    from (
      select product_type, 'covered' as state, unnest(covered) as span, null as cursor, null::timestamptz as started_at
      from ledgers
      where account = $1
      union all
      select product_type, 'lost', unnest(lost), null, null
      from ledgers
      where account = $1
      union all
      select product_type, 'recovered', unnest(recovered), null, null
      from ledgers
      where account = $1
      union all
      select product_type, 'open', tstzrange(window_start, window_end), cursor, started_at
      from windows
      where account = $1
    ) as known
    order by product_type, span`,
    [account],
  );
  return rows.map(({ productType, state, from, to, cursor, started }) => ({
    productType,
    state: state as Span["state"],
    from: epochMs(Number(from)),
    to: epochMs(Number(to)),
    cursor,
    startedAt: started === null ? undefined : epochMs(Number(started)),
  }));
}

/**
 * Empties all tables that a history writes. Uses delete, since a truncate of so few rows takes
 * eight times as long.
 */
export async function emptyTables(pool: pg.Pool): Promise<void> {
  await pool.query(accountTables.map((table) => `delete from ${table};`).join(" "));
}
