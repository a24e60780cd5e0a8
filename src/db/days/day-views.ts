import { getTableName, type SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { checkDays, ledgerDays, symbolDays } from "../schema/days-schema.ts";
import { chainOrderText } from "../sql/chain-order.ts";
import { readSqlFile } from "../sql/sql-file.ts";
import { apartText, productTypesText, unifiedArrayText } from "../sql/wallet.ts";

/** Whether `stored` is a day that is not marked as dirty. */
const isStoredDayClean = `not exists (
    select 1
    from dirty_days
    where dirty_days.account = stored.account
      and dirty_days.wallet = stored.wallet
      and dirty_days.day = stored.day
  )`;

/** Whether `entries` is a bill of the wallet's day `dirty`. The account replaces $account later. */
const isOfDirtyDay = `entries.account = $account
        and entries.product_type = any(${productTypesText("dirty.wallet")})
        and entries.c_time >= dirty.day::timestamp at time zone 'UTC'
        and entries.c_time < (dirty.day + 1)::timestamp at time zone 'UTC'`;

/** Expressions that several files share. */
const common: Readonly<Record<string, string>> = {
  amount_apart: apartText("amount", "entries.product_type"),
  chain_order: chainOrderText(),
  fee_apart: apartText("fee", "entries.product_type"),
  is_of_dirty_day: isOfDirtyDay,
  is_stored_day_clean: isStoredDayClean,
};

const readText = (name: string, words: Readonly<Record<string, string>> = {}): string =>
  readSqlFile(`days/${name}`, { ...words, ...common });

/** A table of days, and the query that computes its rows for the days in `dirty_days`. */
export type DayTable = {
  readonly name: string;
  readonly columns: readonly string[];
  /** The query for all accounts. */
  readonly computed: string;
  /** The query for one account, where `dirty_days` holds days of that account only. */
  readonly computedOf: (account: string) => SQL;
  /** Whether the table's key begins with a product type instead of a wallet. */
  readonly isByProductType: boolean;
};

export const dayTables: readonly DayTable[] = [ledgerDays, symbolDays, checkDays].map(
  (table: PgTable): DayTable => {
    const name = getTableName(table);
    const columns = getTableConfig(table).columns.map((column) => `"${column.name}"`);
    const isByProductType = columns.includes('"product_type"');
    const text = readText(`dirty_${name}`);
    return {
      name,
      columns,
      computed: text.replaceAll("$account", "dirty.account"),
      computedOf: (account) => withAccount(text, account),
      isByProductType,
    };
  },
);

/** The stored rows of clean days and the computed rows of dirty ones: exact at every moment. */
const currentView = ({ name, columns, computed }: DayTable): string => `
  create or replace view public.current_${name} as
  select ${columns.join(", ")}
  from ${name} as stored
  where ${isStoredDayClean}
  union all
  select ${columns.join(", ")}
  from (${computed}) as computed;`;

/**
 * The views through which the views of `analytics` read days. They are not part of that schema:
 * each is of use only together with the others.
 */
export const dayViews = (): readonly { readonly name: string; readonly text: string }[] => [
  ...dayTables.map((table) => ({ name: `current_${table.name}`, text: currentView(table) })),
  ...["known_days", "sought_spans", "chained_days"].map((name) => ({ name, text: readText(name) })),
  ...["activity", "entries"].flatMap((what) => [
    { name: `classic_${what}`, text: ofKnown(readText(`wallet_${what}`, classic(what))) },
    { name: `unified_${what}`, text: ofKnown(readText(`wallet_${what}`, unified(what))) },
  ]),
  { name: "known_entries", text: readText("known_entries") },
];

/** A view reads the bills of each row's account. */
const ofKnown = (text: string): string => text.replaceAll("$account", "known.account");

/**
 * The rows of the view `known_entries` of one account. The account is a constant in each part of it, which
 * tells a distributed database the node.
 */
export function entriesOf(account: string): SQL {
  const own = [classic, unified].map((wallet) => {
    const [, query = ""] = readText("wallet_entries", wallet("entries")).split(/ view \S+ as\n|;/);
    return sql`select own.* from (${withAccount(query, account)}) as own where own.account = ${account}`;
  });
  return sql.join(own, sql` union all `);
}

const withAccount = (text: string, account: string): SQL =>
  sql.join(
    text.split("$account").map((part) => sql.raw(part)),
    sql`${account}`,
  );

const classic = (what: string) => ({
  name: `classic_${what}`,
  product_type: "known.wallet",
  product_types: "known.wallet",
  of_wallet: "known.wallet <> 'UTA'",
});

const unified = (what: string) => ({
  name: `unified_${what}`,
  product_type: "bills.product_type",
  product_types: `any(${unifiedArrayText})`,
  of_wallet: "known.wallet = 'UTA'",
});
