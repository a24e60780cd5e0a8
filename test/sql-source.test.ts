import { globSync, readFileSync } from "node:fs";
import { getTableColumns, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { tables } from "../src/core/postgres/schema/tables.ts";
import { dividedTables } from "./support/divided-tables.ts";

const sources = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));

/** The texts of a file's templates, up to their ends. Placeholders stay as they are written. */
const templates = sources.flatMap(({ path, text }) =>
  [...text.matchAll(/sql(?:<[^`]*>)?`([^`]*)`/g)].map(([, found = ""]) => ({ path, text: found })),
);

/** How many matches of the pattern each file has. */
const counted = (pattern: RegExp): Readonly<Record<string, number>> =>
  Object.fromEntries(
    sources
      .map(({ path, text }) => [path, [...text.matchAll(pattern)].length] as const)
      .filter(([, count]) => count > 0),
  );

/** How many matches the files of each room have. */
function countedByRoom(pattern: RegExp): Readonly<Record<string, number>> {
  const rooms: Record<string, number> = {};
  for (const [path, count] of Object.entries(counted(pattern))) {
    const room = path.split("/")[1] ?? "";
    rooms[room] = (rooms[room] ?? 0) + count;
  }
  return rooms;
}

test("a text is put into a statement as it stands only where it is this program's own", () => {
  // Each use was reviewed: columns, constants, migrations and views. A new one is reviewed, and then
  // counted.
  expect(countedByRoom(/\bsql\s*\.\s*(?:raw|identifier)\(/g)).toEqual({
    ...{ accounts: 1, books: 4, check: 5, commands: 1, core: 44, output: 1, wings: 3 },
  });
});

test("values are never put into the text of a statement beside Drizzle's", () => {
  const queries = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/\.query(?:<[^(]*>)?\((`[^`]*`)/g)].map(([, query]) => ({ path, query })),
  );
  expect(queries.filter(({ query = "" }) => query.includes("${"))).toEqual([
    {
      path: "src/wings/embedded/embedded.ts",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source
      query: "`create database ${escapeIdentifier(databaseName)}`",
    },
  ]);
});

test("no time is cast to text, which only a session of the same kind reads back: see values.ts", () => {
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
  const cast = new RegExp(`(?<!\\w)(?:${[...names, ...others].join("|")})\\)?::text`, "g");
  expect(counted(cast)).toEqual({});
});

const volatile =
  /\b(?:clock_timestamp|timeofday|gen_random_uuid|nextval|setval|currval|txid_current|pg_current_xact_id)\(/g;

test("no UPDATE, RETURNING or ON CONFLICT uses a volatile function, which distributed Postgres refuses", () => {
  const writing = /\b(?:update\s+[\w${}(). ]+?(?:\s+as\s+\w+)?\s+set|do update|returning)\b/i;
  const writers = templates.filter(({ text }) => writing.test(text) && text.match(volatile));
  // The leases' tables stay on the coordinator: see ops/citus.
  expect([...new Set(writers.map(({ path }) => path))].toSorted()).toEqual([
    "src/core/store/lease.ts",
  ]);
  // The others read, or ask only for the time. A new use is reviewed, and then counted.
  expect(countedByRoom(volatile)).toEqual({ check: 3, core: 11, wings: 3 });
});

test("what ON CONFLICT and RETURNING compute depends on no clock and no setting of the session", () => {
  const mutable =
    /\b(?:now|statement_timestamp|transaction_timestamp|extract|date_trunc|to_char|to_timestamp)\(|at time zone|::timestamptz/;
  const tails = templates.flatMap(({ path, text }) =>
    [...text.matchAll(/\bon conflict \([^;]*|\breturning\b[^;)]*/gi)].map(([tail]) => ({
      path,
      tail,
    })),
  );
  expect(tails.length).toBeGreaterThan(15);
  expect(tails.filter(({ tail }) => mutable.test(tail))).toEqual([]);
});

/** The texts in the parentheses after each match. */
const inParentheses = (text: string, opening: RegExp): readonly string[] =>
  [...text.matchAll(opening)].map(({ index, 0: { length } }) => {
    let [end, depth] = [index + length, 1];
    for (; depth > 0 && end < text.length; end++) {
      if (text[end] === "(") depth++;
      if (text[end] === ")") depth--;
    }
    return text.slice(index, end);
  });

test("distributed tables are asked for nothing that distributed Postgres refuses, as far as the text tells", () => {
  const reading = new RegExp(`\\b(?:from|join) (?:${dividedTables.join("|")})\\b`);
  // A lateral subquery names the account as a constant.
  const laterals = sources.flatMap(({ path, text }) =>
    inParentheses(text, /\blateral \(/g)
      .filter((subquery) => reading.test(subquery) && !subquery.includes("account = ${"))
      .map(() => path),
  );
  expect(laterals).toEqual([]);
  // Of API keys, which are on the coordinator.
  expect(counted(/\bset account =/g)).toEqual({ "src/accounts/account-changes.ts": 1 });
  // The run log is on the coordinator.
  expect(counted(/\bwith recursive\b/g)).toEqual({
    "src/wings/serve/registry.ts": 1,
  });
  expect(
    counted(/\b(?:grouping sets|rollup \(|cube \(|tablesample|full (?:outer )?join)\b/gi),
  ).toEqual({});
  // A row's lock is of one account, on its node, or of a lease or the fleet's queue, on the coordinator.
  expect(Object.keys(counted(/\bfor (?:no key )?(?:key )?(?:update|share)\b/g)).toSorted()).toEqual(
    ["src/check/reconcile/reconcile.ts", "src/core/store/lease.ts", "src/wings/fleet/queue.ts"],
  );
});

test("no sync waits for an advisory lock, which users of the database may hold", () => {
  expect(counted(/\bpg_(?:try_)?advisory_\w*lock/g)).toEqual({
    // Who uses the embedded server, which no other user reaches.
    "src/wings/embedded/embedded.ts": 3,
    // A migration that is due, and nothing where none is.
    "src/core/store/migrate.ts": 1,
  });
});
