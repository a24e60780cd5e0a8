import { readFileSync } from "node:fs";
import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../../src/db/connect.ts";

// The views as they were when they read only bills: in test/fixtures/views.
const kept = [
  "activity",
  "daily_rollforward",
  "monthly_rollforward",
  "data_quality",
  "fees_by_symbol_day",
  "funding_by_symbol_day",
  "realised_pnl_by_symbol_day",
  "liquidations",
  "bonuses",
  "transfers",
];
// Their own text has not changed; they read one of the others.
const derived = ["month_end_balances"];

/** The views whose rows are compared with those from bills alone. */
export const comparedViews: readonly string[] = [...kept, ...derived];

/** Creates the views of schema `reference`: from bills alone, without stored days. */
export async function makeReferenceViews(db: Database): Promise<void> {
  const texts = [
    ...kept.map((name) => readFileSync(`test/fixtures/views/${name}.sql`, "utf8")),
    ...derived.map((name) =>
      readFileSync(`src/sql/views/${name}.sql`, "utf8")
        .replace(/\ncomment on[\s\S]*$/, "")
        .replaceAll("analytics.", "reference."),
    ),
  ];
  await db.execute(sql`create schema reference`);
  await db.execute(sql.raw(texts.join("\n")));
}

/** Rows that a view has and its reference does not have, or the reverse, by account. */
export async function differingRows(db: Database, name: string): Promise<readonly object[]> {
  const { rows: columns } = await db.execute<{ name: string }>(sql`
    select column_name as name
    from information_schema.columns
    where table_schema = 'reference'
      and table_name = ${name}
    order by ordinal_position`);
  const list = columns.map((column): SQL => sql.identifier(column.name) as unknown as SQL);
  const rowsOf = (schema: string): SQL => sql`
      select ${sql.join(list, sql`, `)}
      from ${sql.identifier(schema)}.${sql.identifier(name)}`;
  const { rows } = await db.execute<{ side: string; row: object }>(sql`
    with shown as materialized (${rowsOf("analytics")}),
    expected as materialized (${rowsOf("reference")}),
    differing as (
      select 'only in analytics' as side, lone
      from (select * from shown except all select * from expected) as lone
      union all
      select 'only by the bills', lone
      from (select * from expected except all select * from shown) as lone
    )
    select side, to_jsonb(lone) as row
    from differing
    limit 6`);
  return rows;
}
