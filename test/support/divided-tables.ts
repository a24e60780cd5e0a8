import { getTableName } from "drizzle-orm";
import { escapeIdentifier } from "pg";
import { placements } from "../../src/db/citus.ts";
import { migrate } from "../../src/db/migrate.ts";
import { tables } from "../../src/db/schema/tables.ts";
import { query } from "./query.ts";

/** The tables that are distributed by account. */
export const dividedTables: readonly string[] = Object.entries(placements)
  .filter(([, placement]) => placement === "account")
  .map(([name]) => getTableName(tables[name as keyof typeof tables]));

const parts = 8;

/**
 * Divides those tables by account into partitions, like the nodes of a distributed database. The
 * server tells each client by notices which plan a statement had, and whose rows it wrote.
 */
export async function divideTables(url: string): Promise<void> {
  const name = escapeIdentifier(new URL(url).pathname.slice(1));
  await query(
    url,
    [
      ...dividedTables.map((table) => dividedText(table)),
      // Recreates what was dropped with the tables.
      "update analytics_views set hash = ''",
    ].join(";\n"),
  );
  await migrate(url);
  await query(url, noteText);
  await query(url, dividedTables.flatMap((table) => triggersText(table)).join(";\n"));
  const settings = {
    session_preload_libraries: "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
  };
  for (const [setting, value] of Object.entries(settings)) {
    await query(url, `alter database ${name} set ${setting} = '${value}'`);
  }
}

const dividedText = (table: string): string => `
  alter table ${table} rename to whole_${table};
  create table ${table} (like whole_${table} including all) partition by hash (account);
  ${Array.from(
    { length: parts },
    (_, part) => `
    create table ${table}_part_${part} partition of ${table}
    for values with (modulus ${parts}, remainder ${part});`,
  ).join("")}
  drop table whole_${table} cascade`;

const noteText = `
  create function note_accounts() returns trigger language plpgsql as $$
  declare
    named text;
  begin
    for named in select distinct account from touched loop
      raise notice 'writes % of %', tg_table_name, named;
    end loop;
    return null;
  end
  $$`;

const triggersText = (table: string): readonly string[] =>
  [
    ["insert", "new"],
    ["update", "new"],
    ["delete", "old"],
  ].map(
    ([event, rows]) => `
  create trigger note_${event} after ${event} on ${table}
  referencing ${rows} table as touched
  for each statement execute function note_accounts()`,
  );

/** A statement on one of these tables: its text, and the accounts whose rows it wrote or read. */
export type SeenStatement = {
  readonly text: string;
  /** The texts of what was sent with it in one message, itself included. */
  readonly texts: readonly string[];
  /** The accounts whose rows it wrote. */
  readonly written: ReadonlySet<string>;
  /** The tables of these rows. */
  readonly tables: ReadonlySet<string>;
  /** The partitions that it read. */
  readonly parts: ReadonlySet<string>;
};

type Plan = {
  readonly "Relation Name"?: string;
  readonly "Actual Loops"?: number;
  readonly Plans?: readonly Plan[];
};

/** @param told the notices of one statement. */
export function seenStatement(told: readonly string[]): SeenStatement {
  const writes = told.flatMap((message) => {
    const [, table, account] = /^writes (\w+) of (.*)/.exec(message) ?? [];
    return table === undefined || account === undefined ? [] : [{ table, account }];
  });
  const plans = told.flatMap((message) => {
    const [, json] = /^duration: .*plan:\n(.*)/s.exec(message) ?? [];
    return json === undefined ? [] : [JSON.parse(json)];
  });
  return {
    text: plans.map((plan) => plan["Query Text"]).join("; ") || "copy",
    texts: plans.map((plan) => plan["Query Text"]),
    written: new Set(writes.map(({ account }) => account)),
    tables: new Set(writes.map(({ table }) => table)),
    parts: new Set(plans.flatMap(({ Plan }) => partsOf(Plan))),
  };
}

function partsOf(plan: Plan): readonly string[] {
  const [, part] = /_part_(\d+)$/.exec(plan["Relation Name"] ?? "") ?? [];
  return [...(part === undefined ? [] : [part]), ...(plan.Plans ?? []).flatMap(partsOf)];
}
