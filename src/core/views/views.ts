import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type SQL, sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import {
  billSums,
  dayOf,
  frequentTypesArray,
  nearestCertain,
  withAnyBalance,
  withBalance,
  withoutBalance,
} from "./bill-sums.ts";
import { bookedMaxOf, chainOrder, isIdOddText } from "./chain-order.ts";
import { movementPlaceholders } from "./movements.ts";
import {
  apart,
  joinRules,
  mayContainFeeText,
  productTypesArray,
  unifiedArray,
  walletColumn,
  walletMoves,
  walletSums,
} from "./wallet-moves.ts";

const folder = new URL("./", import.meta.url);
const dialect = new PgDialect();

/** What a file's placeholders stand for, by their names. None has a parameter. */
type Words = Readonly<Record<string, SQL>>;

/**
 * The text of a file of core/views, with its placeholders replaced: a dollar sign and the name of one of the
 * words. Others are left as they are.
 * @param name of the file in that folder, without its ending.
 */
function readSqlFile(name: string, words: Words): string {
  const text = readFileSync(new URL(`${name}.sql`, folder), "utf8");
  return text.replaceAll(/\$([a-z_]+)/g, (placeholder, word) => {
    const replacement = words[word];
    return replacement === undefined ? placeholder : dialect.sqlToQuery(replacement).sql;
  });
}

/** The views of schema `analytics`, each after those that it reads. */
const viewNames = [
  "entries",
  "activity",
  "time_states",
  "daily_rollforward",
  "monthly_rollforward",
  "by_symbol_day",
  "liquidations",
  "transfers",
  "transfers_between_accounts",
  "bonuses",
  "ltv_history",
  "bill_contracts",
  "data_quality",
  "breaks",
  "break_history",
] as const;

/** A view's definition and comments, and their SHA-256 in hexadecimal. */
export type View = {
  readonly schema: "analytics" | "public";
  readonly name: string;
  readonly text: string;
  readonly hash: string;
};

const viewOf = (schema: View["schema"], name: string, text: string): View => ({
  schema,
  name,
  text,
  hash: createHash("sha256").update(text).digest("hex"),
});

const moves = walletMoves("bills");
const sums = walletSums("days");

/** What the difference of a break counts: its coin; null where figures of a record differ. */
export const differenceUnit = sql.raw(
  "case kind when 'lost' then 'ms' when 'restated' then 'bills' else nullif(coin, '') end",
);

/** What the files of views leave open: each stands in one place of core/views. */
const words: Words = {
  amount_apart: apart("amount", "entries.product_type"),
  bill_sums: billSums("bills"),
  bills_any_balance: withAnyBalance("bills"),
  bills_day: dayOf("bills"),
  bills_wallet: walletColumn("bills.product_type"),
  chain_order: chainOrder(),
  chained_product_types: productTypesArray("chained.wallet"),
  chain_days_booked_max: bookedMaxOf("chain_days.wallet"),
  entries_any_balance: withAnyBalance("entries"),
  entries_place: chainOrder("entries"),
  entries_with_balance: withBalance("entries"),
  entries_without_balance: withoutBalance("entries"),
  fee_apart: apart("fee", "entries.product_type"),
  frequent_types: frequentTypesArray,
  may_contain_fee: sql.raw(mayContainFeeText("days.product_type")),
  is_id_odd: sql.raw(isIdOddText("bills")),
  join_day_rules: joinRules("days"),
  ...movementPlaceholders,
  join_rules: joinRules("bills"),
  difference_unit: differenceUnit,
  // Breaks whose difference is how far a bill's balance is off the bills before it.
  is_of_bill: sql`kind in ('balance', 'unread') and first_bad_bill is not null`,
  shown_place: chainOrder("shown"),
  sum_amount_in: sums.amountIn,
  sum_amount_out: sums.amountOut,
  sum_fee_in: sums.feeIn,
  sum_fee_out: sums.feeOut,
  unified_types: unifiedArray,
  wallet: walletColumn("product_type"),
  wallet_amount: moves.amount,
  wallet_fee: moves.fee,
};

/** The views of `analytics`. After the first, which they read, come the views of chains' days. */
export function readViews(): readonly View[] {
  const [entries, ...others] = viewNames.map((name) => {
    const shared = readSqlFile("shared-columns", { view: sql.raw(name) });
    const text = readSqlFile(name, words);
    return viewOf(
      "analytics",
      name,
      text.replace(/(?=^comment on view)/m, () => shared),
    );
  });
  const days = dayViews().map(({ name, text }) => viewOf("public", name, text));
  return [...(entries === undefined ? [] : [entries]), ...days, ...others];
}

/**
 * The views through which the views of `analytics` read the days of chains. They are not part of that schema:
 * each is of use only together with the others.
 */
const dayViews = (): readonly { readonly name: string; readonly text: string }[] => {
  const part = (name: string, more: Words) =>
    sql.raw(readSqlFile(`days/${name}`, { ...words, ...more }).trimEnd());
  const day = dayOf("bills");
  const late = bookedMaxOf("chains.wallet");
  const isBeside = sql`bills.c_time between near.c_time - ${late} and near.c_time + ${late}`;
  /** Both, since the index begins with the day. */
  const isNearer = (than: SQL) =>
    sql`${day} ${than} certain.day and bills.c_time ${than} certain.c_time`;
  const first = part("edge_balance", {
    nearest: nearestCertain(sql`asc`, sql`true`, { isBeside, isNearer: isNearer(sql`<=`) }),
    outward: sql`asc`,
    inward: sql`desc`,
    edge_times: sql`edge_time and edge_time + ${late}`,
    step: sql`edge.balance - edge.moved - entries.balance`,
  });
  /** @param isWanted whether the balance is looked up at all. */
  const balance = (end_day: SQL, isWanted: SQL) =>
    part("last_balance", {
      end_day,
      last: part("edge_balance", {
        nearest: nearestCertain(sql`desc`, sql`${day} < ${end_day} and ${isWanted}`, {
          isBeside,
          isNearer: isNearer(sql`>=`),
        }),
        outward: sql`desc`,
        inward: sql`asc`,
        edge_times: sql`edge_time - ${late} and edge_time`,
        step: sql`entries.balance - entries.wallet_amount - entries.wallet_fee - edge.balance`,
      }),
    });
  const daysWords: Words = {
    ...words,
    first,
    balance_before_day: balance(sql`dated.day`, sql`dated.opening is null`),
    balance_after_day: balance(
      sql`dated.day + 1`,
      sql`day_sums.bills > 0 and (dated.opening is null or dated.is_first)`,
    ),
  };
  const view = (name: string, file = name, more: Words = {}) => ({
    name,
    text: readSqlFile(`days/${file}`, { ...daysWords, ...more }),
  });
  return [
    ...["ledger_coins", "chains", "chain_days", "rare_entries", "unclassified_bills"].map((name) =>
      view(name),
    ),
    view("classic_activity", "wallet_activity", classic),
    view("unified_activity", "wallet_activity", unified),
  ];
};

const classic: Words = {
  name: sql`classic_activity`,
  product_type: sql`chain_days.wallet`,
  product_types: sql`chain_days.wallet`,
  of_wallet: sql`chain_days.wallet <> 'UTA'`,
};

const unified: Words = {
  name: sql`unified_activity`,
  product_type: sql`bills.product_type`,
  product_types: sql`any(chain_days.product_types)`,
  of_wallet: sql`chain_days.wallet = 'UTA'`,
};

/**
 * The rows of the view `analytics.transfers` of one account: its query, with the entries of that account
 * under the name of those of all.
 */
export function transfersOf(account: string): SQL {
  const [, query = ""] = readSqlFile("transfers", words).split(/ view \S+ as\nwith |;/);
  return sql`
      with rare_entries as (select * from public.rare_entries where account = ${account}),
      ${sql.raw(query)}`;
}
