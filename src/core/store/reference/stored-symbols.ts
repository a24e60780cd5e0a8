import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { ReportableError } from "../../../lib/errors.ts";
import { type EpochMs, isoTime } from "../../../lib/time.ts";
import { type ContractSettings, contractFields } from "../../contract/contracts.ts";
import { sortedJson } from "../../contract/json.ts";
import type { ClassicProductType, ContractProductType } from "../../contract/product-types.ts";
import { type SymbolSettings, symbolFields } from "../../contract/symbols.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
} from "../../postgres/connect.ts";
import * as schema from "../../postgres/schema/records-schema.ts";
import { msOf, onlyRow, textArray, timeFrom } from "../../postgres/values.ts";

/** The settings of all pairs, or of all contracts, at the exchange's time `readAt`. */
export type SettingsList<Settings> = {
  readonly readAt: EpochMs;
  /** The settings, at most one for each symbol. */
  readonly settings: readonly Settings[];
  /** The symbols whose rows could not be read. Their stored settings stay as they are. */
  readonly unread: readonly string[];
  /** Whether symbols that are not listed are gone. False if a row's symbol could not be read. */
  readonly isWhole: boolean;
};

export type SymbolList = SettingsList<SymbolSettings>;

/** The list of one product type's contracts. */
export type ContractList = SettingsList<ContractSettings> & {
  readonly productType: ContractProductType;
};

export type SymbolCounts = {
  readonly new: number;
  readonly changed: number;
  /** Symbols that are listed again after they were gone. */
  readonly returned: number;
  readonly gone: number;
  /** False where nothing was stored, since another run has stored a newer list. */
  readonly isStored: boolean;
};

type RecordColumns = ReturnType<typeof recordColumns>;

/**
 * The columns that hold a record's fields, as SQL. The table's properties have the names of the
 * contract's fields, so that no list of fields is written twice.
 */
function recordColumns(table: PgTable, fields: readonly string[]) {
  const known = getTableColumns(table);
  const columns = [...fields, "extra"].map((field) => {
    const column = known[field];
    if (column === undefined) throw new Error(`defect: no column for ${field}`);
    return { field, name: column.name, isTime: column.getSQLType().startsWith("timestamp") };
  });
  const joined = (spell: (name: string) => string) =>
    sql.raw(columns.map(({ name }) => spell(name)).join(", "));
  const asTexts = (spell: (text: SQL, field: string) => SQL, prefix = "") =>
    sql.join(
      columns.map(({ name, isTime, field }) => {
        const column = sql.raw(`${prefix}${name}`);
        return spell(isTime ? msOf(column) : sql`${column}::text`, field);
      }),
      sql`, `,
    );
  const named = (text: SQL, field: string) => sql`${text} as ${sql.identifier(field)}`;
  const rowOf = (record: Settings & Readonly<Record<string, unknown>>) => {
    const values = columns.map(({ field, name, isTime }) => {
      const value = record[field] ?? null;
      return [name, isTime && value !== null ? isoTime(timeFrom(String(value))) : value] as const;
    });
    return { symbol: record.symbol, ...Object.fromEntries(values) };
  };
  return {
    /** `base_coin, quote_coin, …` */
    list: joined((name) => name),
    /** `kept.base_coin, kept.quote_coin, …` */
    listOf: (alias: string) => joined((name) => `${alias}.${name}`),
    /** A row of text: 1.0 that becomes 1.00 is a change. */
    contentOf: (alias: string) => sql`row(${asTexts((text) => text, `${alias}.`)})`,
    /** The records as JSON, from which Postgres reads rows of the table. */
    jsonOf: (records: readonly Settings[]) => sql`${sortedJson(records.map(rowOf))}::json`,
    /** `base_coin::text as "baseCoin", …`, with times in milliseconds, as the exchange sends them. */
    asSent: asTexts(named),
    /** `base_coin = excluded.base_coin, …` */
    assignments: joined((name) => `${name} = excluded.${name}`),
  };
}

/** Where a list of settings is kept. */
type ListPlace = {
  /** Its name in `instrument_lists`. */
  readonly market: string;
  /** How error messages name its rows: "pairs". */
  readonly what: string;
  /** The table of today's settings, and that of their versions. */
  readonly today: SQL;
  readonly versions: SQL;
  /** The key of the table of today's settings. */
  readonly key: SQL;
  /** All columns but the symbol. */
  readonly settings: RecordColumns;
  /** Whether a row of one of the tables is of this list. */
  readonly isOwn: (table: SQL) => SQL;
};

const { symbol: _pair, ...pairFields } = symbolFields;
const { symbol: _contract, ...ownFields } = contractFields;
const contractColumns = recordColumns(schema.contracts, ["productType", ...Object.keys(ownFields)]);

const pairs: ListPlace = {
  market: "spot",
  what: "pairs",
  today: sql`spot_pairs`,
  versions: sql`spot_pair_versions`,
  key: sql`symbol`,
  settings: recordColumns(schema.spotPairs, Object.keys(pairFields)),
  isOwn: () => sql`true`,
};

const contractsOf = (productType: ClassicProductType): ListPlace => ({
  market: productType,
  what: `contracts of ${productType}`,
  today: sql`contracts`,
  versions: sql`contract_versions`,
  key: sql`product_type, symbol`,
  settings: contractColumns,
  isOwn: (table) => sql`${table}.product_type = ${productType}`,
});

/** Stores the list of all spot pairs: see commitList. */
export const commitSymbols = (db: Database, list: SymbolList): Promise<SymbolCounts> =>
  commitList(db, pairs, list);

/** Stores the list of all contracts of a product type. */
export const commitContracts = (
  db: Database,
  { productType, ...list }: ContractList,
): Promise<SymbolCounts> =>
  commitList(db, contractsOf(productType), {
    ...list,
    settings: list.settings.map((settings) => ({ ...settings, productType })),
  });

/** Settings as they were last served, by their names in the API; null where there is none. */
export type ListedRow = Readonly<Record<string, string | null>>;

export type ListedRows = {
  /** When the list was read, the exchange's time; undefined where it never was. */
  readonly readAt: EpochMs | undefined;
  /** The rows that were listed then, sorted by symbol. The exchange's own order is not kept. */
  readonly rows: readonly ListedRow[];
};

/** The spot pairs, or one of them. */
export const readPairs = (db: Queryable, symbol: string | undefined): Promise<ListedRows> =>
  readListed(db, pairs, symbol);

/** A product type's contracts, or one of them. */
export const readContracts = (
  db: Queryable,
  productType: ClassicProductType,
  symbol: string | undefined,
): Promise<ListedRows> => readListed(db, contractsOf(productType), symbol);

async function readListed(
  db: Queryable,
  { market, today, settings, isOwn }: ListPlace,
  symbol: string | undefined,
): Promise<ListedRows> {
  const { rows } = await db.execute<ListedRow>(sql`
    select symbol, ${settings.asSent}
    from ${today}
    where gone_at is null
      and ${isOwn(today)}
      and (${symbol ?? null}::text is null or symbol = ${symbol ?? null})
    order by symbol`);
  const { rows: lists } = await db.execute<{ read_at: string }>(sql`
    select ${msOf(sql`read_at`)} as read_at
    from instrument_lists
    where market = ${market}`);
  return { readAt: lists[0] && timeFrom(lists[0].read_at), rows };
}

type Settings = { readonly symbol: string };
type List = SettingsList<Settings>;

/**
 * Stores a whole list in one transaction: writes only what changed, and keeps what it replaced. A list
 * belongs to no account, so that no lease guards it. Runs that store one at the same time take turns,
 * and an older list changes nothing.
 *
 * @throws ReportableError where the list is too short to be one.
 */
function commitList(db: Database, place: ListPlace, list: List): Promise<SymbolCounts> {
  return inTransaction(db, async (tx) => {
    if (!(await isNewest(tx, place, list))) return { ...nothing, isStored: false };
    const { today, isOwn, what } = place;
    const { rows } = await tx.execute<{ known: number }>(sql`
      select count(*)::int as known
      from ${today}
      where gone_at is null
        and ${isOwn(today)}`);
    refuseShortList(list, onlyRow(rows, "the number of symbols").known, what);
    const written = await writeSettings(tx, place, list);
    const gone = list.isWhole ? await markGone(tx, place, list) : 0;
    const changes = written.new + written.changed + written.returned + gone;
    if (changes > 0) await writeVersions(tx, place, list);
    return { ...written, gone, isStored: true };
  });
}

const nothing = { new: 0, changed: 0, returned: 0, gone: 0 };

/**
 * Records when this list was read. Returns false where this list, or a newer one, was stored before.
 * The row is the lock: a second run waits here until the first has committed.
 */
async function isNewest(
  tx: Transaction,
  { market }: ListPlace,
  { readAt }: List,
): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    insert into instrument_lists (market, read_at)
    values (${market}, ${isoTime(readAt)})
    on conflict (market) do update
    set read_at = excluded.read_at
    where instrument_lists.read_at < excluded.read_at`);
  return rowCount === 1;
}

async function writeSettings(
  tx: Transaction,
  { today, key, settings, isOwn }: ListPlace,
  list: List,
) {
  const { rows } = await tx.execute<Omit<SymbolCounts, "gone" | "isStored">>(sql`
    with differing as (
      select listed.symbol, ${settings.listOf("listed")}, known.symbol is null as is_new, known.gone_at
      from json_populate_recordset(null::${today}, ${settings.jsonOf(list.settings)}) as listed
      left join ${today} as known
        on known.symbol = listed.symbol
        and ${isOwn(sql`known`)}
      where known.symbol is null
        or known.gone_at is not null
        or ${settings.contentOf("known")} is distinct from ${settings.contentOf("listed")}
    ),
    written as (
      insert into ${today} (symbol, ${settings.list}, first_seen_at, valid_from)
      select symbol, ${settings.list}, ${isoTime(list.readAt)}, ${isoTime(list.readAt)}
      from differing
      on conflict (${key}) do update
      set ${settings.assignments}, valid_from = excluded.valid_from, gone_at = null
    )
    select
      (count(*) filter (where is_new))::int as new,
      (count(*) filter (where not is_new and gone_at is null))::int as changed,
      (count(*) filter (where gone_at is not null))::int as returned
    from differing`);
  return rows[0] ?? nothing;
}

/** @returns how many symbols are no longer listed. */
async function markGone(tx: Transaction, { today, isOwn }: ListPlace, list: List): Promise<number> {
  const listed = [...list.settings.map(({ symbol }) => symbol), ...list.unread];
  const { rowCount } = await tx.execute(sql`
    update ${today}
    set gone_at = ${isoTime(list.readAt)}
    where gone_at is null
      and ${isOwn(today)}
      and symbol not in (select unnest(${textArray(listed)}::text[]))`);
  return rowCount ?? 0;
}

/** Ends the versions of symbols that have changed or gone, and begins new ones for those that changed. */
async function writeVersions(
  tx: Transaction,
  { today, versions, settings, isOwn }: ListPlace,
  { readAt }: List,
): Promise<void> {
  await tx.execute(sql`
    update ${versions} as version
    set valid_to = ${isoTime(readAt)}
    from ${today} as today
    where today.symbol = version.symbol
      and ${isOwn(sql`today`)}
      and ${isOwn(sql`version`)}
      and version.valid_to is null
      and ${isoTime(readAt)} in (today.valid_from, today.gone_at)`);
  await tx.execute(sql`
    insert into ${versions} (symbol, valid_from, ${settings.list})
    select symbol, valid_from, ${settings.list}
    from ${today}
    where valid_from = ${isoTime(readAt)}
      and ${isOwn(today)}`);
}

/**
 * Refuses a list that is too short to be complete. Storing it would mark the symbols that it lacks as gone.
 * @param known how many symbols are stored and not gone.
 * @param what the plural name of the list's items, such as "pairs".
 * @throws ReportableError where the list has no symbol, or less than half as many as are known.
 */
function refuseShortList(
  { settings, unread }: Pick<SettingsList<{ readonly symbol: string }>, "settings" | "unread">,
  known: number,
  what: string,
): void {
  const listed = settings.length + unread.length;
  if (listed > 0 && listed >= known / 2) return;
  throw new ReportableError(
    `the exchange listed ${listed} ${what}, where ${known} are known: nothing was changed; sync ` +
      "again, and if the list stays so short, see the exchange's announcements",
  );
}
