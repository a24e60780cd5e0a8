import { sql } from "drizzle-orm";
import { contractFields } from "../../contract/contracts.ts";
import { symbolFields } from "../../contract/symbols.ts";
import type { ContractList, SymbolCounts, SymbolList } from "../../sync/store.ts";
import type { Database } from "../connect.ts";
import { recordColumns } from "../schema/record-columns.ts";
import * as schema from "../schema/records-schema.ts";
import { commitList } from "./settings-lists.ts";

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

/** Takes in the list of all spot pairs: see settings-lists.ts. */
export const commitSymbols = (db: Database, list: SymbolList): Promise<SymbolCounts> =>
  commitList(db, pairs, list);

/** Takes in the list of all contracts of a product type. */
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
