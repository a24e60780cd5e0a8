import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getTableColumns } from "drizzle-orm";
import { getTableConfig } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AccountsFile, NamedEntry } from "../src/accounts/accounts-file.ts";
import { type Config, readConfig } from "../src/accounts/config.ts";
import { everyLedger, ledgerStates, readRoster } from "../src/accounts/roster.ts";
import { type Environment, variableNames } from "../src/accounts/settings.ts";
import { columns as exportColumns } from "../src/books/export/columns.ts";
import { readCloseReport } from "../src/books/report/read-close.ts";
import { sectionsOf } from "../src/books/report/sections.ts";
import { findingKinds, kindNames } from "../src/check/health/finding-kinds.ts";
import { breakKinds } from "../src/check/reconcile/breaks.ts";
import type { UnsettledBalance } from "../src/check/reconcile/reconcile.ts";
import { readUnexplained } from "../src/check/reconcile/unexplained.ts";
import { status } from "../src/commands/status.ts";
import { targetNames } from "../src/commands/sync-targets.ts";
import { differenceKinds } from "../src/commands/verify.ts";
import { categories } from "../src/core/contract/business-types.ts";
import { productTypes } from "../src/core/contract/product-types.ts";
import { inSnapshot } from "../src/core/postgres/connect.ts";
import { tables as schema } from "../src/core/postgres/schema/tables.ts";
import { Refusal } from "../src/core/server/answer.ts";
import * as library from "../src/index.ts";
import { errorKinds } from "../src/lib/errors.ts";
import { dayMs, epochMs, isoTime } from "../src/lib/time.ts";
import { asJson, type Result, type Table } from "../src/output/result.ts";
import { jsonInterval } from "../src/output/text.ts";
import { wings } from "../src/program.ts";
import { makeSymbols } from "../src/wings/sandbox/records.ts";
import { incompleteAnswers } from "../src/wings/serve/mirror/key-file.ts";
import { routes } from "../src/wings/serve/mirror/mirror.ts";
import { downloadFormats } from "../src/wings/serve/page/downloads.ts";
import { parameters, views } from "../src/wings/serve/page/selection.ts";
import { createHttpMetrics, gauges, registryOf } from "../src/wings/serve/registry.ts";
import { withBrokenRows } from "./exchange/ledger.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { environmentFor } from "./support/cli.ts";
import { commandsByName, resultOf } from "./support/command-tree.ts";
import { fileDatabase, testDatabase } from "./support/database.ts";
import { query } from "./support/query.ts";
import { scratch } from "./support/scratch.ts";

// docs/names.md lists the names that other programs may rely on. `npm run docs` adds new ones. One that disappears
// turns the test red also then: nobody's program may break unnoticed. A name is taken back by hand, in both.
// Names are read where they are declared. Only keys within a value of JSON are seen in an example, of which no list may be
// empty.

const { db, url } = await fileDatabase();
const folder = mkdtempSync(join(scratch, "bill-sync-names-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const page = "docs/names.md";
const listed = linesOf(readFileSync(page, "utf8"));
let names: ReadonlyMap<string, readonly string[]>;
/** Paths of lists in JSON that were empty, or not. */
const lists = { empty: new Set<string>(), filled: new Set<string>() };

beforeAll(async () => {
  const all: readonly (readonly [string, readonly string[]])[] = [
    ...commandNames(),
    ["settings", variableNames],
    [
      "keys of ACCOUNTS_FILE",
      [
        ...Object.keys(AccountsFile.shape),
        ...Object.keys(NamedEntry.shape).map((key) => `accounts[].${key}`),
      ],
    ],
    ["exit codes", ["0", "1", "2", "3"]],
    ["findings", kindNames],
    ["severities", [...new Set(Object.values(findingKinds).map(({ severity }) => severity))]],
    ["breaks", Object.keys(breakKinds)],
    ["categories", categories],
    ["product types", productTypes],
    ["states of ledgers", ledgerStates],
    ["differences of verify", differenceKinds],
    ["incomplete of mirror keys", incompleteAnswers],
    ["kinds of errors", errorKinds],
    ["library", Object.keys(library)],
    ["targets of sync", targetNames],
    ...tableNamesOfSchema(),
    ...(await viewNames()),
    ["export columns", exportColumns.map(({ name }) => name)],
    ...(await jsonNames()),
    ["a span in JSON", Object.keys(jsonInterval({ from: epochMs(0), to: epochMs(1) }))],
    ["metrics", metricNames()],
    ["alerts", matches("ops/alerts.yaml", /alert: (\w+)/g)],
    ["addresses of serve", addresses()],
    [
      "parameters of the page",
      [
        ...parameters,
        ...views.map((view) => `view=${view}`),
        ...Object.keys(downloadFormats).map((format) => `format=${format}`),
      ],
    ],
    ["JSON of /readyz", matches("src/wings/serve/health.ts", /^ {2}readonly (\w+)\??: /gm)],
    [
      "headers of serve",
      globSync("src/wings/serve/**/*.ts").flatMap((path) =>
        matches(path, /"(x-(?!content)[a-z-]+)"/g),
      ),
    ],
  ];
  names = new Map(
    all
      .filter(([, words]) => words.length > 0)
      .map(([title, words]) => [title, [...new Set(words)]]),
  );
}, 300_000);

test("no public name has disappeared", () => {
  expect(listed.size).toBeGreaterThan(60);
  const gone = [...listed].flatMap(([title, words]) =>
    words.filter((word) => !names.get(title)?.includes(word)).map((word) => `${title}: ${word}`),
  );
  expect(gone).toEqual([]);
});

test("every list in JSON has an element in the example", () => {
  expect(lists.filled.size).toBeGreaterThan(10);
  // A list of texts.
  lists.filled.add("sync: notSynced");
  expect([...lists.empty].filter((path) => !lists.filled.has(path))).toEqual([]);
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

const matches = (path: string, pattern: RegExp): readonly string[] =>
  [...readFileSync(path, "utf8").matchAll(pattern)].map(([, word = ""]) => word);

/** Options, with the values that may stand after them. */
const commandNames = () =>
  [...commandsByName].map(
    ([name, { options }]) =>
      [
        `command ${name}`,
        [
          "--help",
          ...options.flatMap(({ long, argChoices = [] }) =>
            long === undefined ? [] : [long, ...argChoices.map((choice) => `${long} ${choice}`)],
          ),
        ],
      ] as const,
  );

/** Columns, with their values where they are listed. */
const tableNamesOfSchema = () =>
  Object.values(schema).map(
    (table) =>
      [
        `table ${getTableConfig(table).name}`,
        Object.values(getTableColumns(table)).flatMap(({ name, enumValues }) => [
          name,
          ...(enumValues ?? []).map((value: string) => `${name}=${value}`),
        ]),
      ] as const,
  );

/** Columns, and the words that the statement writes into them. */
async function viewNames() {
  const rows = await query<{ name: string; columns: string[] }>(
    url,
    `select table_name as name, array_agg(column_name::text order by ordinal_position) as columns
     from information_schema.columns
     where table_schema = 'analytics'
     group by 1
     order by 1`,
  );
  const values = /(?:select account, \w+,|then|else|^ +\() ?'([a-z-]+)'(?!.* as wallet)/gm;
  return rows.flatMap(({ name, columns }) => [
    [`view analytics.${name}`, columns] as const,
    [`values in analytics.${name}`, matches(`src/core/views/${name}.sql`, values)] as const,
  ]);
}

const withLabels = (name: string, labels: readonly string[]): string =>
  labels.length === 0 ? name : `${name}{${labels.join()}}`;

const metricNames = (): readonly string[] => [
  ...Object.entries(gauges).map(([name, { labels }]) => withLabels(name, labels)),
  ...[registryOf(), createHttpMetrics().registry].flatMap((registry) =>
    registry
      .getMetricsAsArray()
      .map((metric) => withLabels(metric.name, Reflect.get(metric, "labelNames"))),
  ),
];

const addresses = (): readonly string[] => [
  ...matches("src/wings/serve/page/page-routes.ts", /^ {6}"(\/\w*)": /gm),
  ...routes.map(({ path }) => path),
  ...globSync("src/wings/serve/**/*.ts").flatMap((path) => matches(path, /app\.get\("(\/[^"]+)"/g)),
];

/** The sandbox of an account in which something is wrong of every kind that a sandbox has. */
const sandboxIn = (mode: "classic" | "unified") =>
  openSandbox({
    ...{ seed: "names", density: 0.1, modes: [{ at: 0, mode }] },
    alterLedger: (ledger) => withBrokenRows(ledger, { seed: "names", count: 20 }),
    alterCredential: (credential) => ({
      ...credential,
      refused: refused,
    }),
    wrapSource: (source) => ({
      ...source,
      symbols: async () => [...pairs, { ...pairs[0], symbol: "" }],
    }),
  });

const pairs = makeSymbols(() => 0.5, Date.now());
/** All other product types: what the fewest requests read. */
const refused = new Map(
  productTypes
    .filter((type) => !["USDT-FUTURES", "UTA-USDT-FUTURES"].includes(type))
    .map((type) => [type, new Refusal(400, "40099", "exchange environment is incorrect")]),
);
const daysAgo = (days: number): string => isoTime(epochMs(Date.now() - days * dayMs)).slice(0, 10);

/** What changes the stored ledger by hand: each number of bills, and some bills. */
const damage = `
  update ledgers set bills = bills + 1 where product_type <> '';
  delete from bills where bill_id in (select max(bill_id) from bills where coin = 'USDT');
  update bills set amount = amount + 1 where bill_id in (select max(bill_id) from bills where coin = 'USDT')`;

/** What a check keeps of a type that no rule fits, of which the sandbox has none. */
const unexplained = `
  update reconciled_chains
  set unexplained = '[{"at": "2020-01-01T00:00:00Z", "difference": "-1.5", "types": ["settle_interest"]}]'`;

/** The keys of the result of each command that prints JSON, and of a report. */
async function jsonNames() {
  const names = new Map<string, Set<string>>();
  const keep = (name: string, result: Pick<Result, "data" | "parts">, within?: string) => {
    const keys = keysOfResult(name, result, within);
    keepOddTimes(name, asJson(result));
    names.set(name, new Set([...(names.get(name) ?? []), ...keys]));
  };
  const run = async (env: Environment, ...commands: readonly (readonly string[])[]) => {
    for (const [name = "", ...args] of commands)
      keep(name, await resultOf([...name.split(" "), ...args], env));
  };
  const accounts = join(folder, "accounts.json");
  const key = { apiKey: "k", apiSecret: "s", apiPassphrase: "p" };
  writeFileSync(accounts, JSON.stringify({ accounts: [{ name: "main", ...key }] }));
  await run({ ACCOUNTS_FILE: accounts }, ["mirror-keys add", "reader"], ["mirror-keys list"]);
  await using classic = await sandboxIn("classic");
  const env = environmentFor(classic, { url }, { HISTORY_FROM: "none" });
  // A sandbox's newest bill is late for twenty seconds, so a sync may find no such balance.
  const ofWallet = { account: "main", wallet: "USDT-FUTURES", coin: "USDT" };
  const unsettled: UnsettledBalance = { ...ofWallet, balance: "2", expected: "1" };
  keep("sync", { data: { unsettled: [unsettled] }, parts: [] });
  await run(env, ["sync", "--dry-run"], ["sync"]);
  await query(url, damage);
  await run(env, ["reconcile", "--full"]);
  await run(env, ["breaks accept", "1", "--note", "known"], ["breaks reopen", "1"]);
  await query(url, damage);
  await query(url, "create index of_others on bills (symbol)");
  const backup = join(folder, "backup");
  await run(
    env,
    ["verify", "--from", daysAgo(30), "--to", daysAgo(1)],
    ...[
      ["reconcile"],
      ["breaks list", "--all"],
      ["accounts list"],
      ["types"],
      ["doctor"],
      ["db backup", backup],
    ],
  );
  await query(url, unexplained);
  keep("reconcile", { data: { unexplained: await readUnexplained(db, "main") }, parts: [] });
  await using empty = await testDatabase({ isEmpty: true });
  await run(environmentFor(classic, empty), ["db restore", backup]);
  await using unified = await sandboxIn("unified");
  await run(environmentFor(unified, { url }, { HISTORY_FROM: "none" }), ["sync"]);
  const config = readConfig(env, { credentials: false });
  const options = { selection: everyLedger, isJson: true, ledgersMax: 1, wings };
  keep("status", await status(db, config, options));
  const [head, ...ledgers] = sectionsOf(await reportOfAll(config));
  if (head !== undefined) keep("report", head);
  for (const ledger of ledgers) keep("report", ledger, "ledgers[].");
  const withJson = [...commandsByName].filter(([, command]) =>
    command.options.some(({ long }) => long === "--json"),
  );
  expect([...names.keys()]).toEqual(expect.arrayContaining(withJson.map(([name]) => name)));
  return [...names, ["an error", ["error.message", "error.kind", "error.exitCode"]] as const].map(
    ([name, keys]) => [`JSON of ${name}`, [...keys].toSorted()] as const,
  );
}

async function reportOfAll(config: Config) {
  const span = { from: epochMs(0), to: epochMs(Date.now()) };
  const options = { period: "all", span, zone: "UTC", signedAt: span.from };
  const selected = { ...options, selection: everyLedger, limits: config.healthLimits };
  const roster = await readRoster(db, config, everyLedger);
  return inSnapshot(db, (tx) => readCloseReport(tx, roster.ledgers, selected));
}

/**
 * Values that break the rule of JSON's times: ISO 8601 in whole seconds, as jq's fromdate reads them, or milliseconds
 * under a name that ends in Ms. A report's own time is exact, since it is typed again.
 */
const oddTimes: string[] = [];

function keepOddTimes(name: string, json: object): void {
  const isTime = (value: unknown) =>
    typeof value === "number"
      ? value > Date.UTC(2001) && value < Date.UTC(2200)
      : /^(\d{13}|\d{4}-\d\d-\d\d[T ].*)$/.test(String(value));
  JSON.stringify(json, (key, value) => {
    const isRight =
      typeof value === "number"
        ? key.endsWith("Ms")
        : /T\d\d:\d\d:\d\dZ$/.test(String(value)) || `${name} ${key}` === "report asOf";
    if (typeof value !== "object" && isTime(value) && !isRight)
      oddTimes.push(`${name}: ${key} ${value}`);
    return value;
  });
}

test("every time in JSON is in whole seconds, or in milliseconds under a name that says so", () => {
  expect([...new Set(oddTimes)]).toEqual([]);
});

/** The declared keys of tables, and the keys of values. */
function keysOfResult(
  name: string,
  { data, parts }: Pick<Result, "data" | "parts">,
  within = "",
): readonly string[] {
  const keysOf = (value: unknown, path: string): readonly string[] => {
    if (Array.isArray(value)) {
      lists[value.length === 0 ? "empty" : "filled"].add(`${name}: ${path}`);
      return value.flatMap((one) => keysOf(one, `${path}[]`));
    }
    if (typeof value !== "object" || value === null) return [];
    return keysIn(Object.entries(value), `${path}.`);
  };
  const keysIn = (entries: readonly (readonly [string, unknown])[], path: string) =>
    entries.flatMap(([key, value]) => [`${path}${key}`, ...keysOf(value, `${path}${key}`)]);
  const keysOfTable = (part: Table): readonly string[] => {
    const path = `${within}${part.name}${part.isRecord ? "." : "[]."}`;
    const values = part.json.flatMap((row) =>
      Object.entries(row).filter(([key]) => part.kinds[key] === "value"),
    );
    return [
      `${within}${part.name}`,
      ...Object.keys(part.kinds).map((key) => `${path}${key}`),
      ...keysIn(values, path),
    ];
  };
  return [
    ...keysIn(Object.entries(data), within),
    ...parts.flatMap((part) =>
      typeof part !== "object" || part.name === "" ? [] : keysOfTable(part),
    ),
  ];
}
