// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are source
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const sources = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));

/**
 * Every use of sql.raw and sql.identifier, which put a text into a statement as it stands: each is
 * made of names that this program's own source holds, columns, constants and migrations.
 */
const asTheyStand: readonly (readonly [path: string, text: string])[] = [
  ["src/export/read-bills.ts", "sql.raw(`fetch ${pageBills} from exported`)"],
  ["src/db/migrate.ts", 'sql.identifier("drizzle")'],
  ["src/db/migrate.ts", 'sql.identifier("__drizzle_migrations")'],
  ["src/db/migrate.ts", "sql.raw(`set local statement_timeout = ${statementMaxMs}`)"],
  ["src/db/migrate.ts", "sql.raw(statement)"],
  ["src/db/record-columns.ts", 'sql.raw(columns.map(({ name }) => spell(name)).join(", "))'],
  ["src/db/record-columns.ts", "sql.raw(elementOf(type))"],
  [
    "src/db/record-columns.ts",
    'sql.raw(columns.map(({ field, name }) => `${name}::text as "${field}"`).join(", "))',
  ],
  ["src/db/upsert-bills.ts", 'sql.raw(columns.map((name) => `${prefix}${name}`).join(", "))'],
  [
    "src/db/upsert-bills.ts",
    'sql.raw( `(${columns.map((name) => `${table}.${name}${asText.includes(name) ? "::text" : ""}`).join(", ")})`, )',
  ],
  [
    "src/db/upsert-bills.ts",
    'sql.raw(columns.map((name) => `${name} = excluded.${name}`).join(", "))',
  ],
];

/** A call's source from its name to the bracket that ends it, on one line. */
function callAt(text: string, from: number): string {
  let depth = 0;
  for (let at = text.indexOf("(", from); at < text.length; at++) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")" && --depth === 0) return text.slice(from, at + 1).replaceAll(/\s+/g, " ");
  }
  return text.slice(from);
}

const callsOf = (pattern: RegExp) =>
  sources.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(({ index }) => `${path}: ${callAt(text, index)}`),
  );

test("nothing but this program's own names is put into a statement as it stands", () => {
  expect(callsOf(/\bsql\s*\.\s*(?:raw|identifier)\b/g)).toEqual(
    asTheyStand.map(([path, text]) => `${path}: ${text}`),
  );
});

test("statements beside Drizzle's are constants of their files", () => {
  const queries = callsOf(/\.query(?:<[^(]*>)?\(/g);
  expect(queries.length).toBeGreaterThan(5);
  const withValues = queries.filter((call) => call.includes("${"));
  expect(withValues).toEqual([
    "src/db/embedded.ts: .query(`create database ${escapeIdentifier(databaseName)}`)",
  ]);
  const texts = callsOf(/\.execute(?:<[^(`]*>)?\(/g);
  const others = texts.filter(
    (call) => !/^[^(]*\( ?(?:sql`|sql\.raw\(|"[^"]*"\)|begin\))/.test(call),
  );
  // Built elsewhere, of such texts only.
  expect(others).toEqual([
    "src/export/read-bills.ts: .execute(declareCursor(selection))",
    "src/export/read-bills.ts: .execute<Row>(fetch)",
  ]);
});
