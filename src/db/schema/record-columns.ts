import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { sortedJson } from "../../contract/json.ts";
import { isoTime } from "../../contract/time.ts";
import { msOf, textArray, timeFrom, timeText } from "../values.ts";

export type RecordColumns = ReturnType<typeof recordColumns>;

/**
 * The columns that hold a record's fields, as SQL. The table's properties have the names of the
 * contract's fields, so that no list of fields is written twice.
 */
export function recordColumns(table: PgTable, fields: readonly string[]) {
  const known = getTableColumns(table);
  const columns = [...fields, "extra"].map((field) => {
    const column = known[field];
    if (column === undefined) throw new Error(`defect: no column for ${field}`);
    return { field, name: column.name, type: column.getSQLType() };
  });
  const joined = (spell: (name: string) => string) =>
    sql.raw(columns.map(({ name }) => spell(name)).join(", "));
  const asTexts = (spell: (text: SQL, field: string) => SQL, prefix = "", spellTime = timeText) =>
    sql.join(
      columns.map(({ name, type, field }) => {
        const column = sql.raw(`${prefix}${name}`);
        return spell(isTime(type) ? spellTime(column) : sql`${column}::text`, field);
      }),
      sql`, `,
    );
  const named = (text: SQL, field: string) => sql`${text} as ${sql.identifier(field)}`;
  const arrayOf = (records: readonly object[], field: string, type: string) =>
    sql`${textArray(records.map((record) => columnText(record, field, type)))}::${sql.raw(elementOf(type))}[]`;
  return {
    /** `base_coin, quote_coin, …` */
    list: joined((name) => name),
    /** `kept.base_coin, kept.quote_coin, …` */
    listOf: (alias: string) => joined((name) => `${alias}.${name}`),
    /** A row of text: 1.0 that becomes 1.00 is a change. */
    contentOf: (alias: string) => sql`row(${asTexts((text) => text, `${alias}.`)})`,
    /** The arrays of these records for `unnest`, in the order of the list. */
    arraysOf: (records: readonly object[]) =>
      sql.join(
        columns.map(({ field, type }) => arrayOf(records, field, type)),
        sql`, `,
      ),
    /** `base_coin::text as "baseCoin", …`, with times in milliseconds, as the exchange sends them. */
    asSent: asTexts(named, "", msOf),
    /** `base_coin = excluded.base_coin, …` */
    assignments: joined((name) => `${name} = excluded.${name}`),
  };
}

/** A field's value as the text that its column is cast from. */
function columnText(record: object, field: string, type: string): string | null {
  const value = (record as Readonly<Record<string, unknown>>)[field];
  if (value === null || value === undefined) return null;
  if (type === "json" || type === "jsonb") return sortedJson(value);
  if (typeof value !== "string") throw new Error(`defect: ${field} is neither text nor null`);
  return isTime(type) ? isoTime(timeFrom(value)) : value;
}

const isTime = (type: string): boolean => type.startsWith("timestamp");

/** An array takes its order from its column, not from its type. */
const elementOf = (type: string): string => type.replace(/ COLLATE .*$/, "");
