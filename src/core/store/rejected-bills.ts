import { createHash } from "node:crypto";
import { type SQL, sql } from "drizzle-orm";
import { billsApiOf } from "../contract/bills-api.ts";
import { unstorable } from "../contract/json.ts";
import { taxIdOf } from "../contract/tax-records.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../postgres/connect.ts";
import { isOneOf, textArray, timeText } from "../postgres/values.ts";
import type { Ledger } from "../words/ledger.ts";
import type { PageCommit, RejectedRow } from "../words/page.ts";

/**
 * Of rejected rows, those whose bill is neither accepted, stored by a replay, nor served since. The index
 * rejected_bills_current has them.
 */
export const isOpenRejection = sql`closed_at is null and superseded_at is null`;

/** How many open rejected rows each ledger has, in parentheses. */
export const openRejections = (accounts: readonly string[] | undefined): SQL => sql`(
      select account, product_type, count(*)::int as rejected
      from rejected_bills
      where ${isOpenRejection}
        and ${isOneOf(accounts)}
      group by account, product_type
    )`;

/**
 * Keeps rows that broke the contract as they were received, once each. Of a bill's rows only the one that
 * was served last is not marked as superseded, so that a replay does not let an older one win.
 * @param source "tax-records" where they are tax records.
 * @returns how many open rows were served, including those that were known.
 */
export async function rejectRows(
  tx: Transaction,
  ledger: Ledger,
  rows: readonly RejectedRow[],
  source: Source = null,
): Promise<number> {
  if (rows.length === 0) return 0;
  const served = new Map(
    rows.map((row) => [digestOf(row), { ...row, billId: idOf(ledger, row, source) }]),
  );
  const lastOf = new Map([...served].map(([digest, { billId }]) => [billId, digest]));
  // Sent together; the server executes them in this order.
  const [, , closed] = await Promise.all([
    supersede(tx, ledger, { billIds: [...lastOf.keys()], but: [...served.keys()] }),
    keep(tx, ledger, source, served, lastOf),
    areClosed(tx, ledger, rows),
  ]);
  return closed.filter((isClosed) => !isClosed).length;
}

type Source = "tax-records" | null;

type Served = RejectedRow & { readonly billId: string | null };

async function keep(
  tx: Transaction,
  ledger: Ledger,
  source: Source,
  served: ReadonlyMap<string, Served>,
  lastOf: ReadonlyMap<string | null, string>,
): Promise<void> {
  const column = (pick: (row: Served) => string | null) =>
    textArray([...served.values()].map(pick));
  const isLast = [...served].map(
    ([digest, { billId }]) => billId === null || lastOf.get(billId) === digest,
  );
  await tx.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, bill_id, received, path, reason, rejected_at, superseded_at,
      source
    )
    select
      ${ledger.account}, ${ledger.productType}, digest, bill_id, received, path, reason,
      statement_timestamp(), case when not is_last then statement_timestamp() end,
      ${source}
    from unnest(
      ${textArray([...served.keys()])}::text[],
      ${column(({ billId }) => billId)}::text[],
      ${column(({ text }) => text)}::text[],
      ${column(({ fault }) => fault.path)}::text[],
      ${column(({ fault }) => fault.reason)}::text[],
      ${textArray(isLast.map(String))}::boolean[]
    ) as page (digest, bill_id, received, path, reason, is_last)
    on conflict (account, product_type, digest) do update
    set bill_id = excluded.bill_id, superseded_at = excluded.superseded_at
    where rejected_bills.closed_at is null
      and (
        rejected_bills.bill_id is distinct from excluded.bill_id
        or (rejected_bills.superseded_at is null) <> (excluded.superseded_at is null)
      )`);
}

/**
 * Marks the open rows of these bills as superseded by what is served now.
 * @param pages of one account. Within a page, rejected rows count as later than its bills.
 */
export async function supersedeRows(tx: Transaction, pages: readonly RowsOfPage[]): Promise<void> {
  const ledgers = [...Map.groupBy(pages, ({ ledger }) => ledger.productType).values()];
  const superseded = ledgers.map(async (ofLedger) => {
    const [{ ledger } = {}] = ofLedger;
    const billIds = new Set(ofLedger.flatMap(({ bills }) => bills.map(({ billId }) => billId)));
    if (ledger === undefined || billIds.size === 0) return;
    for (const row of ofLedger.flatMap(({ rejected }) => rejected)) {
      billIds.delete(idOf(ledger, row) ?? "");
    }
    await supersede(tx, ledger, { billIds: [...billIds], but: [] });
  });
  await Promise.all(superseded);
}

type RowsOfPage = Pick<PageCommit, "ledger" | "bills" | "rejected">;

/**
 * Whether {@link supersedeRows} may have anything to mark. It nearly never has, and finding that out takes
 * one look into an empty index for all pages.
 */
export async function hasOpenRejections(
  tx: Transaction,
  pages: readonly RowsOfPage[],
): Promise<boolean> {
  const account = pages.find(({ bills }) => bills.length > 0)?.ledger.account;
  if (account === undefined) return false;
  const { rows } = await tx.execute(sql`
    select 1
    from rejected_bills
    where account = ${account}
      and bill_id is not null
      and ${isOpenRejection}
    limit 1`);
  return rows.length > 0;
}

type Superseded = {
  readonly billIds: readonly (string | null)[];
  /** The digests of rows that are not marked. */
  readonly but: readonly string[];
};

async function supersede(
  tx: Transaction,
  { account, productType }: Ledger,
  { billIds, but }: Superseded,
): Promise<void> {
  await tx.execute(sql`
    update rejected_bills
    set superseded_at = statement_timestamp()
    where account = ${account}
      and product_type = ${productType}
      and bill_id = any (${textArray(billIds)}::text[])
      and digest <> all (${textArray(but)}::text[])
      and ${isOpenRejection}`);
}

/** For each of the rows, whether it is kept and closed: signed off, or stored by a replay. */
export async function areClosed(
  db: Queryable,
  ledger: Ledger,
  rows: readonly RejectedRow[],
): Promise<readonly boolean[]> {
  const closed = await keptDigests(db, ledger, rows, sql`closed_at is not null`);
  return rows.map((row) => closed.has(digestOf(row)));
}

/** The rows among these that are not kept. */
export async function readUnstoredRejected(
  db: Queryable,
  ledger: Ledger,
  rows: readonly RejectedRow[],
): Promise<readonly RejectedRow[]> {
  const kept = await keptDigests(db, ledger, rows, sql`true`);
  return rows.filter((row) => !kept.has(digestOf(row)));
}

async function keptDigests(
  db: Queryable,
  { account, productType }: Ledger,
  rows: readonly RejectedRow[],
  condition: SQL,
): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set();
  const { rows: kept } = await db.execute<{ digest: string }>(sql`
    select digest
    from rejected_bills
    where account = ${account}
      and product_type = ${productType}
      and digest = any (${textArray(rows.map(digestOf))}::text[])
      and ${condition}`);
  return new Set(kept.map(({ digest }) => digest));
}

// The digest of the row's content, whose spelling may differ from one answer to the next.
const digestOf = ({ received }: RejectedRow): string =>
  createHash("sha256").update(JSON.stringify(received)).digest("hex");

/** The row's bill id; null where it has none that Postgres could store. */
function idOf(
  { productType }: Ledger,
  { received }: RejectedRow,
  source: Source = null,
): string | null {
  const billId =
    source === "tax-records" ? taxIdOf(received) : billsApiOf(productType).idOf(received);
  return billId === undefined || unstorable(billId) !== undefined ? null : billId;
}

/** The ledgers whose rows are looked at. Undefined for all. */
export type Among = {
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly string[] | undefined;
};

/** A row that broke the contract. */
export type RejectedBill = Ledger & {
  readonly digest: string;
  readonly billId: string | null;
  readonly path: string;
  readonly reason: string;
  readonly rejectedAt: string;
  /** Why it was accepted, by whom and when; null where it was not. */
  readonly note: string | null;
  readonly acceptedBy: string | null;
  readonly acceptedAt: string | null;
};

const isListed = {
  open: isOpenRejection,
  accepted: sql`note is not null`,
  all: sql`(${isOpenRejection} or note is not null)`,
};

/** Rows, oldest first. @param limit how many at most. Default all. */
export async function listRejected(
  db: Queryable,
  { accounts, productTypes }: Among,
  which: keyof typeof isListed,
  limit?: number,
): Promise<readonly RejectedBill[]> {
  const { rows } = await db.execute<RejectedBill>(sql`
    select
      account,
      product_type as "productType",
      digest,
      bill_id as "billId",
      path,
      reason,
      ${timeText(sql`rejected_at`)} as "rejectedAt",
      note,
      accepted_by as "acceptedBy",
      ${timeText(sql`closed_at`)} as "acceptedAt"
    from rejected_bills
    where ${isListed[which]}
      and ${isOneOf(accounts)}
      and ${isOneOf(productTypes, "product_type")}
    order by account, product_type, rejected_at, digest
    limit ${limit ?? null}`);
  return rows;
}

/**
 * Accepts all of these rows with a note, or reopens those that were accepted, or changes none. Rows of several
 * ledgers may have one digest.
 * @param note why they are accepted; undefined reopens them.
 * @param by who accepts them.
 * @returns the digests that no such row has; empty where all were changed.
 */
export async function decideOnRejected(
  db: Database,
  {
    digests,
    note,
    by,
  }: {
    readonly digests: readonly string[];
    readonly note: string | undefined;
    readonly by: string | undefined;
  },
): Promise<readonly string[]> {
  const areNamed = sql`
          digest = any (${textArray(digests)}::text[])
          and ${note === undefined ? sql`note is not null` : isOpenRejection}`;
  const changes =
    note === undefined
      ? sql`closed_at = null, note = null, accepted_by = null`
      : sql`closed_at = statement_timestamp(), note = ${note}, accepted_by = ${by ?? null}`;
  return inTransaction(db, async (tx) => {
    const { rows } = await tx.execute<{ account: string; digest: string }>(sql`
      select account, digest
      from rejected_bills
      where ${areNamed}`);
    const missing = digests.filter((digest) => !rows.some((row) => row.digest === digest));
    if (missing.length > 0) return missing;
    for (const account of new Set(rows.map((row) => row.account))) {
      await tx.execute(sql`
        update rejected_bills
        set ${changes}
        where account = ${account}
          and ${areNamed}`);
    }
    return [];
  });
}
