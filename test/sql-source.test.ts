import { globSync, readFileSync } from "node:fs";
import { getTableColumns, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { tables } from "../src/db/tables.ts";

const sources = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));

/** How often each file has what the pattern finds. */
const counted = (pattern: RegExp): Readonly<Record<string, number>> =>
  Object.fromEntries(
    sources
      .map(({ path, text }) => [path, [...text.matchAll(pattern)].length] as const)
      .filter(([, count]) => count > 0),
  );

test("a text is put into a statement as it stands only where it is this program's own", () => {
  // Each use was looked at: columns, constants and migrations. A new one is looked at, then counted.
  expect(counted(/\bsql\s*\.\s*(?:raw|identifier)\(/g)).toEqual({
    "src/db/claim.ts": 3,
    "src/db/migrate.ts": 3,
    "src/db/record-columns.ts": 4,
    "src/db/upsert-bills.ts": 3,
    "src/db/verify-store.ts": 1,
    "src/export/read-bills.ts": 1,
    "src/reports/reconciliation/breaks.ts": 1,
    "src/reports/reconciliation/chain-scan.ts": 1,
    "src/reports/reconciliation/checks.ts": 3,
    "src/reports/reconciliation/entries.ts": 1,
    "src/reports/reconciliation/learn.ts": 1,
    "src/reports/reconciliation/order.ts": 3,
    "src/reports/reconciliation/summary.ts": 1,
  });
});

test("values are never put into the text of a statement beside Drizzle's", () => {
  const queries = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/\.query(?:<[^(]*>)?\((`[^`]*`)/g)].map(([, query]) => ({ path, query })),
  );
  expect(queries.filter(({ query = "" }) => query.includes("${"))).toEqual([
    {
      path: "src/db/embedded.ts",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source
      query: "`create database ${escapeIdentifier(databaseName)}`",
    },
  ]);
});

test("no time is cast to text, which only a session of the same kind reads back: see time-text.ts", () => {
  const times = Object.values(tables)
    .filter((table) => is(table, PgTable))
    .flatMap((table) => Object.values(getTableColumns(table)))
    .filter((column) => column.getSQLType().startsWith("timestamp"));
  const names = new Set(times.map(({ name }) => name));
  expect(names).toContain("c_time");
  const others = [
    "day",
    "time",
    "date",
    String.raw`timestamptz(?:\(3\))?`,
    String.raw`timestamp\(\)`,
  ];
  expect(
    counted(new RegExp(`(?<!\\w)(?:${[...names, ...others].join("|")})\\)?::text`, "g")),
  ).toEqual({});
});
