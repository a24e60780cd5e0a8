import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { readContract } from "../src/contract/contracts.ts";
import { readLoanToValue } from "../src/contract/loan-to-value.ts";
import { contractProductTypes } from "../src/contract/product-types.ts";
import { readSymbol } from "../src/contract/symbols.ts";
import { dayMs, epochMs } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { commitLoanToValue } from "../src/db/reference/stored-loan-to-value.ts";
import { commitContracts, commitSymbols } from "../src/db/reference/stored-symbols.ts";
import { makeContracts } from "../src/sandbox/contracts.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { makeLoanToValue, makeSymbols } from "../src/sandbox/records.ts";
import { readList } from "../src/sync/settings-lists.ts";
import { withBrokenRows, withRestatements } from "./faults/ledger.ts";
import { fileDatabase } from "./support/database.ts";
import { simulate, simulationStart } from "./support/simulation.ts";

// docs/analytics.md is generated from the database: from the comments of its views, and from the answers of
// the cookbook's queries on the sandbox's ledger. To generate it again: npx vitest run test/analytics-
// docs.pg.test.ts --update

const docs = (name: string) => fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
const { database, tables } = await fileDatabase();
const { db } = tables;

beforeAll(async () => {
  await using run = simulate(database.url, {
    name: "main",
    seed: "cookbook",
    alterLedger: (ledger) =>
      withBrokenRows(
        withRestatements(ledger, { seed: "cookbook", count: 2, at: simulationStart + dayMs / 2 }),
        { seed: "cookbook", count: 1 },
      ),
  });
  await run.sync();
  await run.pass(dayMs);
  await run.sync();
  await storeRecords();
  await reconcile(db, { accounts: undefined, productTypes: undefined }, { isFull: true });
});

/** A loan's record on two days, and two lists of pairs and of contracts that differ in some entries. */
async function storeRecords(): Promise<void> {
  const random = seededRandom("cookbook/records");
  const pairs = makeSymbols(random, simulationStart);
  const later = pairs.map((pair, index) =>
    index % 20 === 0 ? { ...pair, takerFeeRate: "0.0018", status: "halt" } : pair,
  );
  for (const [day, rows] of [pairs, later].entries()) {
    const readAt = epochMs(simulationStart + day * dayMs);
    await commitSymbols(db, { readAt, ...readList(rows, readSymbol).list });
    for (const productType of contractProductTypes) {
      const listed = makeContracts(productType, simulationStart);
      const { list } = readList(
        day === 0 ? listed : listed.map((row) => ({ ...row, makerFeeRate: "0.00018" })),
        readContract,
      );
      await commitContracts(db, { productType, readAt, ...list });
    }
    const reading = readLoanToValue(makeLoanToValue(random, []));
    if ("fault" in reading) throw new Error(reading.fault.reason);
    const commit = {
      account: "main",
      riskUnitId: undefined,
      takenAt: readAt,
      record: reading.record,
    };
    await inTransaction(db, (tx) => commitLoanToValue(tx, commit));
  }
}

type Answer = { readonly columns: readonly string[]; readonly rows: readonly string[][] };

/** A query's answer, each value as the text that Postgres prints. */
async function ask(query: string): Promise<Answer> {
  const client = new Client({
    connectionString: database.url,
    types: { getTypeParser: () => (text: string) => text },
  });
  try {
    await client.connect();
    await client.query("set timezone = 'UTC'");
    const { fields, rows } = await client.query<(string | null)[]>({
      text: query,
      rowMode: "array",
    });
    return {
      columns: fields.map(({ name }) => name),
      rows: rows.map((row) => row.map((value) => value ?? "")),
    };
  } finally {
    await client.end();
  }
}

function textTable({ columns, rows }: Answer): string {
  const lines = [columns, ...rows];
  const isNumber = columns.map((_, at) => rows.every((row) => /^-?[\d.]*$/.test(row[at] ?? "")));
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const print = (line: readonly string[]) =>
    line
      .map((text, at) =>
        isNumber[at] ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0),
      )
      .join(" | ")
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join("-+-");
  return [print(columns), rule, ...rows.map(print)].join("\n");
}

type Question = { readonly title: string; readonly query: string };

const questions: readonly Question[] = (await readFile(docs("cookbook.sql"), "utf8"))
  .split(/^-- # /m)
  .slice(1)
  .map((part) => {
    const end = part.indexOf("\n");
    return { title: part.slice(0, end), query: part.slice(end + 1).trim() };
  });

const viewColumns = `
  select
    relname,
    obj_description(pg_class.oid, 'pg_class'),
    attname,
    format_type(atttypid, atttypmod),
    col_description(pg_class.oid, attnum)
  from pg_class
  join pg_attribute on attrelid = pg_class.oid and attnum > 0
  where relnamespace = 'analytics'::regnamespace
  order by pg_class.oid, attnum`;

async function viewsText(): Promise<string> {
  const { rows } = await ask(viewColumns);
  const views = Map.groupBy(rows, ([view = ""]) => view);
  return [...views]
    .map(([view, columns]) =>
      [
        `### ${view}`,
        "",
        columns[0]?.[1],
        "",
        "| column | type | |",
        "|---|---|---|",
        ...columns.map(([, , name, type, meaning]) => `| \`${name}\` | ${type} | ${meaning} |`),
        "",
      ].join("\n"),
    )
    .join("\n");
}

test("there are at least fifteen questions", () => {
  expect(questions.length).toBeGreaterThanOrEqual(15);
});

describe("the cookbook answers", () => {
  test.each(questions)("$title", async ({ query }) => {
    const { rows } = await ask(query);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.flat().some((value) => /[1-9]/.test(value))).toBe(true);
  });
});

test("docs/analytics.md says what the database says (else: run it with --update)", async () => {
  const answers: string[] = [];
  for (const { title, query } of questions) {
    answers.push(
      `### ${title}\n\n\`\`\`sql\n${query}\n\`\`\`\n\n\`\`\`\n${textTable(await ask(query))}\n\`\`\`\n`,
    );
  }
  const intro = await readFile(docs("analytics-intro.md"), "utf8");
  const text = [
    intro.trim(),
    "",
    "## Views",
    "",
    await viewsText(),
    "## Cookbook",
    "",
    "The answers are those of the sandbox's ledger, as the sync stored it.",
    "",
    answers.join("\n"),
  ].join("\n");
  await expect(text).toMatchFileSnapshot(docs("analytics.md"));
});
