import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../postgres/connect.ts";
import { isIdOddText } from "../views/chain-order.ts";
import { type BillRow, contents, keyArrays, unnested } from "./bill-rows.ts";

/*
 * The only definition of the rows of type_days, symbol_days and day_ends, as queries over bills.
 * A page's transaction runs them over the bills that it replaces and writes, a comparison over all.
 */

/** A column, and its expression over rows of `bills`. */
type Column = readonly [name: string, text: string];

/** A table of sums of bills. */
export type SumTable = {
  readonly name: string;
  /** The key after the account. */
  readonly keys: readonly Column[];
  readonly sums: readonly Column[];
};

export const dayText = "(bills.c_time at time zone 'UTC')::date";
const above = (text: string) => `coalesce(sum(${text}) filter (where ${text} > 0), 0)`;
const below = (text: string) => `coalesce(sum(${text}) filter (where ${text} < 0), 0)`;
const count = (condition: string) => `count(*) filter (where ${condition})`;

const sums: readonly Column[] = [
  ["bills", "count(*)"],
  ["amount_in", above("bills.amount")],
  ["amount_out", below("bills.amount")],
  ["gross_in", above("(bills.amount - bills.fee)")],
  ["gross_out", below("(bills.amount - bills.fee)")],
  ["fee_in", above("bills.fee")],
  ["fee_out", below("bills.fee")],
  ["coupon", "coalesce(sum(bills.fee_by_coupon), 0)"],
];

export const typeDaySums: SumTable = {
  name: "type_days",
  keys: [
    ["product_type", "bills.product_type"],
    ["coin", "bills.coin"],
    ["day", dayText],
    ["business_type", "bills.business_type"],
  ],
  sums: [
    ...sums,
    ["without_balance", count("bills.balance is null")],
    ["with_extra", count("bills.extra is not null")],
    ["odd_ids", count(isIdOddText("bills"))],
  ],
};

const symbolDaySums: SumTable = {
  name: "symbol_days",
  keys: [
    ["product_type", "bills.product_type"],
    ["day", dayText],
    ["coin", "bills.coin"],
    ["symbol", "coalesce(bills.symbol, '')"],
    ["business_type", "bills.business_type"],
  ],
  sums,
};

export const sumTables: readonly SumTable[] = [typeDaySums, symbolDaySums];

const names = (columns: readonly Column[]) => columns.map(([name]) => name);

/** The columns of a table's key. */
export const keyOf = ({ keys }: SumTable): SQL => sql.raw(["account", ...names(keys)].join(", "));

/** Which bills: what follows `from`, with the table under its own name, and the condition. */
export type Bills = { readonly from: SQL; readonly where: SQL };

/** The rows of a table of sums. `sign` is empty or a minus. */
function sumsOf({ keys, sums }: SumTable, { from, where }: Bills, sign: "" | "-" = ""): SQL {
  const columns = [
    "bills.account",
    ...keys.map(([name, text]) => `${text} as ${name}`),
    ...sums.map(([name, text]) => `${sign}${text} as ${name}`),
  ];
  const places = ["bills.account", ...keys.map((_, index) => `${index + 2}`)].join(", ");
  return sql`
      select ${sql.raw(columns.join(", "))}
      from ${from}
      where ${where}
      group by ${sql.raw(places)}`;
}

/**
 * The stored rows of a table of sums, and those of the bills with a minus. Added up by key, nothing is left where nobody
 * changed either by hand.
 * @param stored which stored rows: those of the same bills.
 */
export function storedLess(table: SumTable, stored: SQL, bills: Bills): SQL {
  const { name, sums } = table;
  return sql`(
        select ${keyOf(table)}, ${sql.raw(names(sums).join(", "))}
        from ${sql.identifier(name)}
        where ${stored}
        union all
        ${sumsOf(table, bills, "-")}
      ) as compared`;
}

/** Adds bills to their rows, or subtracts them. */
export async function addSums(
  tx: Transaction,
  table: SumTable,
  bills: Bills,
  sign: "" | "-" = "",
): Promise<void> {
  const { name, keys, sums } = table;
  const key = keyOf(table);
  const changes = names(sums).map((column) => `${column} = ${name}.${column} + excluded.${column}`);
  await tx.execute(sql`
      insert into ${sql.identifier(name)} (${key}, ${sql.raw(names(sums).join(", "))})
      ${sumsOf(table, bills, sign)}
      order by ${sql.raw(keys.map((_, index) => `${index + 2}`).join(", "))}
      on conflict (${key}) do update
      set ${sql.raw(changes.join(", "))}`);
}

/** What days need of a bill: not its position, and of its other fields only whether there are any. */
const dayContents = contents.filter(({ name }) => !name.startsWith("position_"));
const dayNames = dayContents.map(({ name }) => name).join(", ");

/** Bills that the program has, as rows. Reading them back took a plan that depends on statistics. */
export function rowsOf(account: string, rows: readonly BillRow[]): Bills {
  const given = rows.map(({ productType, bill }) => ({
    productType,
    billId: bill.billId,
    bill: { ...bill, extra: bill.extra === null ? null : "{}" },
  }));
  const collated = dayContents.map(({ name, type }) =>
    type === "text" ? `${name} collate "C" as ${name}` : name,
  );
  return {
    from: sql`(
        select
          ${account}::text collate "C" as account,
          product_type collate "C" as product_type,
          bill_id collate "C" as bill_id,
          ${sql.raw(collated.join(", "))}
        from unnest(${keyArrays(given)}, ${unnested(given, dayContents)})
          as given (product_type, bill_id, ${sql.raw(dayNames)})
      ) as bills`,
    where: sql`true`,
  };
}

/** All bills of an account. */
export const allBillsOf = (account: string): Bills => ({
  from: sql`bills`,
  where: sql`bills.account = ${account}`,
});
