import { getTableName, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import type { Transaction } from "../../core/postgres/connect.ts";
import { tables } from "../../core/postgres/schema/tables.ts";

/** A table of this version, with the names of its columns and of its indexes. */
const own = Object.values(tables).map((table: PgTable) => {
  const { columns, indexes, primaryKeys, uniqueConstraints } = getTableConfig(table);
  const name = getTableName(table);
  return {
    name,
    columns: columns.map((column) => column.name),
    indexes: [
      `${name}_pkey`,
      ...indexes.map(({ config }) => config.name),
      ...primaryKeys.map((key) => key.getName()),
      ...uniqueConstraints.map((unique) => unique.getName()),
    ],
  };
});

/** Whether the program has a column of this name in the table. */
export const isOwnColumn = (table: string, column: string): boolean =>
  own.some(({ name, columns }) => name === table && columns.includes(column));

/** What others added to schema public, and a backup leaves out: "column bills.reviewed", "table shop_orders". */
export async function readLeftOut(tx: Transaction): Promise<readonly string[]> {
  const { rows } = await tx.execute<{ kind: string; table: string; name: string }>(sql`
    select 'table' as kind, relname::text as table, relname::text as name
    from pg_class
    where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p', 'f', 'm')
      and not relispartition
      and not exists (
        select
        from pg_depend
        where classid = 'pg_class'::regclass
          and objid = pg_class.oid
          and deptype = 'e'
      )
    union all
    select 'column', relname, attname
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p')
      and attnum > 0
      and not attisdropped
    union all
    select 'index', pg_class.relname, found.relname
    from pg_index
    join pg_class on pg_class.oid = indrelid
    join pg_class as found on found.oid = indexrelid
    where pg_class.relnamespace = 'public'::regnamespace
      and pg_class.relkind in ('r', 'p')
    order by 1, 2, 3`);
  return rows.flatMap(({ kind, table, name }) => {
    const owned = own.find((one) => one.name === table);
    if (kind === "table") return owned === undefined ? [`table ${name}`] : [];
    if (owned === undefined) return [];
    if (kind === "index") return owned.indexes.includes(name) ? [] : [`index ${name} of ${table}`];
    return owned.columns.includes(name) ? [] : [`column ${table}.${name}`];
  });
}
