import { and, or, type SQL, sql } from "drizzle-orm";
import type { BillText } from "../../core/contract/bill.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import { msOf, textArray, timeFrom } from "../../core/postgres/values.ts";
import { billTextColumns, contentList } from "../../core/store/bill-rows.ts";
import { readRemapped, readRenamed } from "../../core/store/reference/renamings.ts";
import { chainOrder } from "../../core/views/chain-order.ts";
import { joinRules, walletColumn, walletMoves } from "../../core/views/wallet-moves.ts";
import type { Ledger } from "../../core/words/ledger.ts";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import { type BillPages, type ExportedBill, knownCategory } from "./exported-bill.ts";

/** Which bills to read. An undefined field does not narrow the selection. */
export type BillSelection = {
  readonly accounts?: readonly string[] | undefined;
  readonly productTypes?: readonly ProductType[] | undefined;
  readonly coins?: readonly string[] | undefined;
  readonly from?: EpochMs | undefined;
  /** Exclusive. */
  readonly to?: EpochMs | undefined;
  /** Ends of single ledgers: a ledger that ends at 0 has no bills, and one that is not listed has all. */
  readonly ends?: readonly (Ledger & { readonly to: EpochMs })[] | undefined;
  /** Only bills whose content was stored at or after this time of the database's clock. */
  readonly changedSince?: EpochMs | undefined;
  /** The bills as they were stored at this time of the database's clock. */
  readonly asOf?: EpochMs | undefined;
};

// So many bills are 2 MB of text.
const pageBills = 5_000;

type Row = BillText & {
  readonly account: string;
  readonly productType: string;
  readonly ingestedAtMs: string;
  readonly category: string | null;
  readonly walletAmount: string;
  readonly walletFee: string;
};

/**
 * The selected bills, a page at a time, through a cursor: never all in memory. The transaction must not be
 * used for anything else until the iteration has ended.
 */
export async function* readBills(tx: Transaction, selection: BillSelection): BillPages {
  const changed = await readChanged(tx, selection);
  await tx.execute(declareCursor(selection, changed));
  const fetch = sql.raw(`fetch ${pageBills} from exported`);
  for (;;) {
    const { rows } = await tx.execute<Row>(fetch);
    if (rows.length > 0) yield rows.map(billOf);
    if (rows.length < pageBills) break;
  }
  await tx.execute(sql`close exported`);
}

function billOf({ cTimeMs, ingestedAtMs, category, ...row }: Row): ExportedBill {
  return {
    ...row,
    cTime: timeFrom(cTimeMs),
    ingestedAt: timeFrom(ingestedAtMs),
    category: knownCategory(category),
  };
}

const moves = walletMoves("bills");

const declareCursor = (selection: BillSelection, changed: Changed): SQL => sql`
  declare exported no scroll cursor for
  select
    bills.account,
    bills.product_type as "productType",
    ${billTextColumns},
    ${msOf(sql`bills.ingested_at`)} as "ingestedAtMs",
    business_types.category,
    ${moves.amount}::text as "walletAmount",
    ${moves.fee}::text as "walletFee"
  from ${selection.asOf === undefined ? sql`bills` : storedAt(selection.asOf)}
  ${joinRules("bills")}
  where ${isSelected(selection, changed)}
  order by bills.account, ${walletColumn("bills.product_type")}, ${chainOrder("bills")}`;

function storedAt(time: EpochMs): SQL {
  const columns = sql`account, product_type, bill_id, ${contentList}, ingested_at`;
  const at = sql`${isoTime(time)}::timestamptz`;
  return sql`(
    select ${columns} from bills where ingested_at <= ${at}
    union all
    select ${columns} from bill_revisions where ingested_at <= ${at} and replaced_at > ${at}
  ) as bills`;
}

/** What changed bills whose content did not: their account's name, or the category of their type. */
type Changed = { readonly accounts: readonly string[]; readonly types: readonly string[] };

async function readChanged(
  tx: Transaction,
  { changedSince, accounts }: BillSelection,
): Promise<Changed> {
  if (changedSince === undefined) return { accounts: [], types: [] };
  const renamed = await readRenamed(tx, accounts, changedSince);
  return {
    accounts: renamed.map(({ account }) => account),
    types: await readRemapped(tx, changedSince),
  };
}

/** The condition on rows of `bills`. */
function isSelected(selection: BillSelection, changed: Changed): SQL {
  const { accounts, productTypes, coins, from, to, ends = [], changedSince } = selection;
  const among = (column: SQL, values: readonly string[]) =>
    sql`${column} = any (${textArray(values)}::text[])`;
  const isChanged = (since: EpochMs) =>
    or(
      sql`bills.ingested_at >= ${isoTime(since)}::timestamptz`,
      changed.accounts.length > 0 ? among(sql`bills.account`, changed.accounts) : undefined,
      changed.types.length > 0 ? among(sql`bills.business_type`, changed.types) : undefined,
    );
  const conditions = and(
    accounts && among(sql`bills.account`, accounts),
    productTypes && among(sql`bills.product_type`, productTypes),
    coins && among(sql`bills.coin`, coins),
    from === undefined ? undefined : sql`bills.c_time >= ${isoTime(from)}::timestamptz`,
    to === undefined ? undefined : sql`bills.c_time < ${isoTime(to)}::timestamptz`,
    changedSince === undefined ? undefined : isChanged(changedSince),
    ends.length === 0 ? undefined : isInTime(ends),
  );
  return conditions ?? sql`true`;
}

const isInTime = (ends: NonNullable<BillSelection["ends"]>): SQL => sql`not exists (
      select 1
      from unnest(
        ${textArray(ends.map(({ account }) => account))}::text[],
        ${textArray(ends.map(({ productType }) => productType))}::text[],
        ${textArray(ends.map(({ to }) => isoTime(to)))}::timestamptz[]
      ) as ends (name, type, until)
      where name = bills.account
        and type = bills.product_type
        and bills.c_time >= until
    )`;
