import { readFileSync } from "node:fs";
import { getTableColumns } from "drizzle-orm";
import { getTableConfig } from "drizzle-orm/pg-core";
import { beforeAll, expect, test } from "vitest";
import { breakKinds } from "../src/audit/breaks.ts";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { tables as schema } from "../src/db/schema/tables.ts";
import { kindNames } from "../src/health/kinds.ts";
import * as library from "../src/index.ts";
import { variableNames } from "../src/roster/settings.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { withBrokenRows, withRestatements } from "./faults/ledger.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { commandsByName } from "./support/command-tree.ts";
import { fileDatabase } from "./support/database.ts";
import { query } from "./support/query.ts";

// docs/names.md lists the names that other programs may rely on. `npm run docs` adds new ones. One that disappears
// turns the test red also then: nobody's program may break unnoticed. A name is taken back by hand, in both.

const { database } = await fileDatabase();
const page = "docs/names.md";
const listed = linesOf(readFileSync(page, "utf8"));
let names: ReadonlyMap<string, readonly string[]>;

beforeAll(async () => {
  names = new Map([
    ...commandNames(),
    ["settings", variableNames],
    ["exit codes", ["0", "1", "2", "3"]],
    ["findings", kindNames],
    ["breaks", Object.keys(breakKinds)],
    ["library", Object.keys(library)],
    ...tableNames(),
    ...(await viewNames()),
    ...(await jsonNames()),
  ]);
}, 300_000);

test("no public name has disappeared", () => {
  expect(listed.size).toBeGreaterThan(60);
  const gone = [...listed].flatMap(([title, words]) =>
    words.filter((word) => !names.get(title)?.includes(word)).map((word) => `${title}: ${word}`),
  );
  expect(gone).toEqual([]);
});

test("docs/names.md has every public name (else: npm run docs)", async () => {
  const lines = [...names].map(
    ([title, words]) => `- ${title}: ${words.map((word) => `\`${word}\``).join(", ")}`,
  );
  const [head] = readFileSync(page, "utf8").split("\n- ");
  await expect(`${head}\n${lines.join("\n")}\n`).toMatchFileSnapshot(`../${page}`);
});

/** `- TITLE: \`name\`, \`name\`` */
function linesOf(text: string): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...text.matchAll(/^- ([^`]+): (`.*`)$/gm)].map(([, title = "", words = ""]) => [
      title,
      words.split(", ").map((word) => word.slice(1, -1)),
    ]),
  );
}

const commandNames = () =>
  [...commandsByName].map(
    ([name, { options }]) =>
      [`command ${name}`, ["--help", ...options.flatMap(({ long }) => long ?? [])]] as const,
  );

const tableNames = () =>
  Object.values(schema).map(
    (table) =>
      [
        `table ${getTableConfig(table).name}`,
        Object.values(getTableColumns(table)).map(({ name }) => name),
      ] as const,
  );

async function viewNames() {
  const rows = await query<{ name: string; columns: string[] }>(
    database.url,
    `select table_name as name, array_agg(column_name::text order by ordinal_position) as columns
     from information_schema.columns
     where table_schema = 'analytics'
     group by 1
     order by 1`,
  );
  return rows.map(({ name, columns }) => [`view analytics.${name}`, columns] as const);
}

/** The keys of each command's JSON, of a ledger in which something is wrong of every kind that a sandbox has. */
async function jsonNames() {
  await using sandbox = await openSandbox({
    seed: "names",
    density: 0.1,
    alterLedger: (ledger) =>
      withBrokenRows(withRestatements(ledger, { seed: "names", count: 2, at: Date.now() }), {
        seed: "names",
        count: 2,
      }),
  });
  const env = environmentFor(sandbox, database);
  const commands = [
    "sync",
    "status",
    "reconcile",
    "breaks list",
    `verify --from ${daysAgo(3)} --to ${daysAgo(1)}`,
    "accounts list",
    "doctor",
    "types",
  ];
  const keys: (readonly [string, readonly string[]])[] = [];
  for (const command of commands) {
    const { stdout } = await runCli([...command.split(" "), "--json"], { env });
    keys.push([`JSON of ${command.split(" --")[0]}`, [...new Set(keysOf(JSON.parse(stdout)))]]);
  }
  const { stdout } = await runCli(["status", "--format", "prometheus"], { env });
  const metrics = [...stdout.matchAll(/^# HELP (\w+)/gm)].map(([, name = ""]) => name);
  return [...keys, ["metrics", metrics] as const];
}

const daysAgo = (days: number): string => isoTime(epochMs(Date.now() - days * dayMs)).slice(0, 10);

function keysOf(value: unknown, within = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => keysOf(one, `${within}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const path = within === "" ? key : `${within}.${key}`;
    return [path, ...keysOf(one, path)];
  });
}
