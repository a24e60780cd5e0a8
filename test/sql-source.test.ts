import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

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
    "src/db/record-columns.ts": 3,
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
