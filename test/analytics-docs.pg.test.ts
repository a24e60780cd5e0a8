// Docs/analytics.md agrees with the comments and answers of the database.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { readContract } from "../src/core/contract/contracts.ts";
import { readLoanToValue } from "../src/core/contract/loan-to-value.ts";
import { contractProductTypes } from "../src/core/contract/product-types.ts";
import { readSymbol } from "../src/core/contract/symbols.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { commitLoanToValue } from "../src/core/store/reference/stored-loan-to-value.ts";
import { commitContracts, commitSymbols } from "../src/core/store/reference/stored-symbols.ts";
import { readList } from "../src/core/sync/settings-lists.ts";
import { dayMs, epochMs } from "../src/lib/time.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { makeContracts, makeLoanToValue, makeSymbols } from "../src/wings/sandbox/records.ts";
import { withBrokenRows, withRestatements } from "./exchange/ledger.ts";
import { fileDatabase } from "./support/database.ts";
import { withParts } from "./support/docs-parts.ts";
import { simulate, simulationStart } from "./support/simulation.ts";

// The views and the cookbook of docs/analytics.md are generated from the database: from the comments of its views, and
// from the answers of the cookbook's queries on the sandbox's ledger. To generate them again: npm run docs

const docs = (name: string) => fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
const { db, url } = await fileDatabase();

beforeAll(async () => {
  await using run = simulate(url, {
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
  // As a run does: without it, each of seven queries took 2.4 s.
  await db.execute(sql`analyze`);
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
    const { record } = reading;
    const commit = { account: "main", riskUnitId: undefined, readAt: readAt, record };
    await inTransaction(db, (tx) => commitLoanToValue(tx, commit));
  }
}

type Answer = { readonly columns: readonly string[]; readonly rows: readonly string[][] };

const client = new Client({
  connectionString: url,
  types: { getTypeParser: () => (text: string) => text },
});
beforeAll(async () => {
  await client.connect();
  await client.query("set timezone = 'UTC'");
});
afterAll(() => client.end());

/** A query's answer, each value as the text that Postgres prints. */
async function ask(query: string): Promise<Answer> {
  const { fields, rows } = await client.query<(string | null)[]>({ text: query, rowMode: "array" });
  return {
    columns: fields.map(({ name }) => name),
    rows: rows.map((row) => row.map((value) => value ?? "")),
  };
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
      .join("  ")
      .trimEnd();
  return lines.map(print).join("\n");
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

/** The views with their columns. What a column means in several views is said once, before them. */
async function viewsText(): Promise<string> {
  const { rows } = await ask(viewColumns);
  // Every view and column has a comment.
  expect(rows.flat()).not.toContain("");
  const meanings = Map.groupBy(rows, ([, , name, , meaning]) => `- \`${name}\`: ${meaning}`);
  // A column has one meaning there; a view in which it means something else says so.
  const often = [...meanings.keys()].filter((line) => (meanings.get(line) ?? []).length > 1);
  const shared = [...Map.groupBy(often, (line) => line.split(":")[0]).values()].flatMap(
    ([first = ""]) => first,
  );
  const isShared = (line: string): boolean => shared.includes(line);
  const views = [...Map.groupBy(rows, ([view = ""]) => view)].map(([view, columns]) => {
    const lines = columns.map(([, , name, , meaning]) => `- \`${name}\`: ${meaning}`);
    const own = lines.filter((line) => !isShared(line));
    return [`### ${view}`, "", columns[0]?.[1], "", ...own, ...(own.length > 0 ? [""] : [])].join(
      "\n",
    );
  });
  return [shared.join("\n"), "", ...views].join("\n").trim();
}

test("docs/analytics.md says what the database says (else: npm run docs)", async () => {
  expect(questions.length).toBeGreaterThanOrEqual(15);
  const answers: string[] = [];
  for (const { title, query } of questions) {
    const { columns, rows } = await ask(query);
    expect([title, rows.flat().some((value) => /[1-9]/.test(value))]).toEqual([title, true]);
    const answer = textTable({ columns, rows: rows.slice(0, 1) });
    answers.push(`### ${title}\n\n\`\`\`sql\n${query}\n\`\`\`\n\n\`\`\`\n${answer}\n\`\`\``);
  }
  const parts = { views: await viewsText(), cookbook: answers.join("\n\n") };
  await expect(withParts(docs("analytics.md"), parts)).toMatchFileSnapshot(docs("analytics.md"));
});
