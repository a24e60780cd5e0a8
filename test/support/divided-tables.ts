import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { escapeIdentifier } from "pg";
import { tables } from "../../src/core/postgres/schema/tables.ts";
import { migrateAt } from "./migrate-at.ts";
import { query } from "./query.ts";
import { byMessage, typeOf } from "./tcp-proxy.ts";

const configs = Object.values(tables).map((table: PgTable) => getTableConfig(table));

/** The tables with rows of an account. */
export const accountTables: readonly string[] = configs
  .filter(({ columns }) => columns.some(({ name }) => name === "account"))
  .map(({ name }) => name);

/** The tables that can be distributed by account: it is a part of their key. */
export const dividedTables: readonly string[] = configs
  .filter(({ primaryKeys }) =>
    primaryKeys.some(({ columns }) => columns.some(({ name }) => name === "account")),
  )
  .map(({ name }) => name);

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
  await migrateAt(url);
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
  for (const [setting, value] of Object.entries(settings))
    await query(url, `alter database ${name} set ${setting} = '${value}'`);
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
export type SeenStatement = ReturnType<typeof seenStatement>;

type Plan = {
  readonly "Relation Name"?: string;
  readonly "Actual Loops"?: number;
  readonly Plans?: readonly Plan[];
};

/** @param told the notices of one statement. */
export function seenStatement(told: readonly string[]) {
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
    /** The texts of what was sent with it in one message, itself included. */
    texts: plans.map((plan) => plan["Query Text"]),
    /** The accounts whose rows it wrote. */
    written: new Set(writes.map(({ account }) => account)),
    /** The tables of these rows. */
    tables: new Set(writes.map(({ table }) => table)),
    /** The partitions that it read. */
    parts: new Set(plans.flatMap(({ Plan }) => partsOf(Plan))),
  };
}

function partsOf(plan: Plan): readonly string[] {
  const [, part] = /_part_(\d+)$/.exec(plan["Relation Name"] ?? "") ?? [];
  return [...(part === undefined ? [] : [part]), ...(plan.Plans ?? []).flatMap(partsOf)];
}

const touched = new RegExp(
  `\\b(?:from|join|using|into|update)\\s+(?:public\\.)?"?(?:${dividedTables.join("|")})\\b`,
  "i",
);

/** What Citus 13.2 refuses of rows that it divides by account. */
const rules: readonly (readonly [rule: string, isBroken: (text: string) => boolean])[] = [
  [
    "a step of a `with` writes",
    (text) => /\bas\s+(?:materialized\s+)?\(\s*(?:insert|update|delete)\b/i.test(text),
  ],
  ["a temporary table", (text) => /\b(?:temp|temporary)\s+table|\bpg_temp\b/i.test(text)],
  [
    "a condition of UPDATE or DELETE that adds to a time",
    (text) =>
      /^\s*(?:update|delete)\b/i.test(text) &&
      /\bwhere\b[^;]*[-+]\s*(?:\$\d+\s*\*\s*)?interval\b/i.test(text),
  ],
  [
    "a parameter in ON CONFLICT of INSERT … SELECT",
    (text) =>
      /\binsert\s+into\b[^;]*\bselect\b/i.test(text) && /\bon\s+conflict\b[^;]*\$\d/i.test(text),
  ],
  [
    "a write to business_types, which all nodes must answer",
    (text) =>
      // A page that brings a type which nobody knew adds it.
      /^\s*(?:insert into|update|delete from)\s+"?business_types\b/i.test(text) &&
      !/\bon conflict \(code\) do nothing\b/.test(text),
  ],
];

/** The rules that a statement breaks. */
export const brokenRules = (text: string): readonly string[] =>
  touched.test(text) || /business_types/.test(text)
    ? rules.filter(([, isBroken]) => isBroken(text)).map(([rule]) => rule)
    : [];

/**
 * Reads the server's side of the protocol, connection by connection, in chunks as they come.
 * @param onStatement called with the notices of each statement: its plan comes after its result, when it is closed.
 */
export function statementNotices(onStatement: (told: readonly string[]) => void) {
  const connections = new WeakMap<object, (chunk: Buffer) => void>();
  return (connection: object, chunk: Buffer): void => {
    const reader = connections.get(connection) ?? noticeReader(onStatement);
    connections.set(connection, reader);
    reader(chunk);
  };
}

function noticeReader(onStatement: (told: readonly string[]) => void) {
  let told: string[] = [];
  return byMessage((message) => {
    if (typeOf(message) === "N") told.push(messageOf(message.subarray(5)));
    if (typeOf(message) !== "Z") return;
    if (told.length > 0) onStatement(told);
    told = [];
  });
}

/** The field M of a notice; each field ends with a zero. */
function messageOf(fields: Buffer): string {
  const message = fields
    .toString("utf8")
    .split("\0")
    .find((field) => field.startsWith("M"));
  return message?.slice(1) ?? "";
}
