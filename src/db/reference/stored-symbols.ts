import { sql } from "drizzle-orm";
import { contractFields } from "../../contract/contracts.ts";
import type { ClassicProductType } from "../../contract/product-types.ts";
import { symbolFields } from "../../contract/symbols.ts";
import type { EpochMs } from "../../contract/time.ts";
import type { ContractList, SymbolCounts, SymbolList } from "../../sync/store.ts";
import type { Database, Queryable } from "../connect.ts";
import { recordColumns } from "../schema/record-columns.ts";
import * as schema from "../schema/records-schema.ts";
import { msOf, timeFrom } from "../sql/time-text.ts";
import { commitList } from "./commit-list.ts";

const { symbol: _pair, ...pairFields } = symbolFields;
const { symbol: _contract, ...ownFields } = contractFields;

const pairs = {
  market: "spot",
  what: "pairs",
  today: sql`symbols`,
  versions: sql`symbol_versions`,
  key: sql`symbol`,
  settings: recordColumns(schema.symbols, Object.keys(pairFields)),
  isOwn: () => sql`true`,
};

const contracts = {
  today: sql`contracts`,
  versions: sql`contract_versions`,
  key: sql`product_type, symbol`,
  settings: recordColumns(schema.contracts, ["productType", ...Object.keys(ownFields)]),
};

/** Stores the list of all spot pairs: see commit-list.ts. */
export const commitSymbols = (db: Database, list: SymbolList): Promise<SymbolCounts> =>
  commitList(db, pairs, list);

/** Stores the list of all contracts of a product type. */
export const commitContracts = (
  db: Database,
  { productType, ...list }: ContractList,
): Promise<SymbolCounts> =>
  commitList(
    db,
    {
      ...contracts,
      market: productType,
      what: `contracts of ${productType}`,
      isOwn: (table) => sql`${table}.product_type = ${productType}`,
    },
    { ...list, settings: list.settings.map((settings) => ({ ...settings, productType })) },
  );

/** Settings as they were last served, by their names in the API; null where there is none. */
export type ListedRow = Readonly<Record<string, string | null>>;

export type ListedRows = {
  /** When the list was read, the exchange's time; undefined where it never was. */
  readonly readAt: EpochMs | undefined;
  /** The rows that were listed then, sorted by symbol. The exchange's own order is not kept. */
  readonly rows: readonly ListedRow[];
};

/** The spot pairs, or one of them. */
export async function readPairs(db: Queryable, symbol: string | undefined): Promise<ListedRows> {
  const { rows } = await db.execute<ListedRow>(sql`
    select symbol, ${pairs.settings.asSent}
    from symbols
    where gone_at is null
      and (${symbol ?? null}::text is null or symbol = ${symbol ?? null})
    order by symbol`);
  return { readAt: await readAt(db, pairs.market), rows };
}

/** A product type's contracts, or one of them. */
export async function readContracts(
  db: Queryable,
  productType: ClassicProductType,
  symbol: string | undefined,
): Promise<ListedRows> {
  const { rows } = await db.execute<ListedRow>(sql`
    select symbol, ${contracts.settings.asSent}
    from contracts
    where product_type = ${productType}
      and gone_at is null
      and (${symbol ?? null}::text is null or symbol = ${symbol ?? null})
    order by symbol`);
  return { readAt: await readAt(db, productType), rows };
}

async function readAt(db: Queryable, market: string): Promise<EpochMs | undefined> {
  const { rows } = await db.execute<{ read_at: string }>(sql`
    select ${msOf(sql`read_at`)} as read_at
    from symbol_lists
    where market = ${market}`);
  return rows[0] && timeFrom(rows[0].read_at);
}
