// Holds: No answer over a hole
// Report's shell command computes its digest, and it names what is missing. Its figures: close.pg.test.ts.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { decideOnBreaks } from "../src/check/reconcile/record-breaks.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import { decideOnRejected } from "../src/core/store/rejected-bills.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { aBill, billAt } from "./support/bills.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { smallLedger, storeLedgers } from "./support/small-ledger.ts";
import { ledgerOf, storeBills, storeTime } from "./support/stored-ledger.ts";

const { db, url: databaseUrl } = await fileDatabase();
const env = { DATABASE_URL: databaseUrl };
const everything = { accounts: undefined, productTypes: undefined };

const hostile = `<script>alert("1")</script>&'\u001b[2J,\n"é`;
const march = (day: number, hour = 0) => Date.UTC(2026, 2, day, hour);
const plain = smallLedger(seededRandom("report"), { largestCluster: 20 });
/** A coin with a bill in February, in March and in April, and a break in March. */
const odd: readonly Bill[] = [
  [Date.UTC(2026, 1, 20), "10.5", "100"],
  [march(3, 1), "-0.25", "99.75"],
  [march(5, 1), "1", "107.75"],
  [march(9, 1), "2", "109.75"],
  [Date.UTC(2026, 3, 2), "5", "114.75"],
].map(([time = 0, amount = "", balance = ""], index) =>
  billAt(Number(time), index, {
    amount: String(amount),
    fee: "0",
    balance: String(balance),
    coin: hostile,
    symbol: index % 2 === 0 ? hostile : "ÄÖ😀,1",
  }),
);
await storeLedgers(db, new Map([["main", plain]]));
await storeBills(db, ledgerOf("main", "COIN-FUTURES"), odd);
await cover("USDT-FUTURES", "2026-03-31", "2026-04-10");
await cover("COIN-FUTURES", "2026-02-01", "2026-03-20");
await cover("COIN-FUTURES", "2026-03-21", "2026-04-10");

function cover(productType: ProductType, from: string, to: string) {
  const span = { from: `${from}Z`, to: `${to}Z` };
  return storeTime(db, { account: "main", productType }, { covered: [span] });
}

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, { env });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const reported = async (...args: string[]) =>
  JSON.parse(await run("report", "--month", "2026-03", "--format", "json", ...args));
test("a digest is what its line of shell computes from the exported CSV, and of the content alone", async () => {
  await using folder = await temporaryFolder();
  const product = "COIN-FUTURES";
  const digestOf = async () => (await reported("--product", product)).ledgers[0].digest;
  const { sha256, command, export: exportLine } = await digestOf();
  const page = readFileSync(new URL("../docs/accounting.md", import.meta.url), "utf8");
  expect(page).toContain(`\n${command}\n`);
  const words = `--format csv --account main --product ${product} --month 2026-03`;
  expect(exportLine).toBe(`npm run --silent export -- ${words}`);
  await writeFile(join(folder.path, "bills.csv"), await run("export", ...words.split(" ")));
  const computed = execFileSync("bash", ["-c", command], { cwd: folder.path, encoding: "utf8" });
  expect(computed).toBe(`${sha256}  -\n`);
  // The time of storing is a fact of this database only.
  for (const [change, isSame] of [
    ["ingested_at = ingested_at - interval '1 day'", true],
    ["fee = fee - 1", false],
    ["fee = fee + 1", true],
  ] as const) {
    await db.execute(sql`
      update bills
      set ${sql.raw(change)}
      where product_type = ${product} and c_time >= '2026-03-05Z'`);
    expect([change, (await digestOf()).sha256 === sha256]).toEqual([change, isSame]);
  }
});

test("what is missing, off, open, rejected or restated is said, in each format, and exit code 0 stays", async () => {
  await storeBills(db, ledgerOf("main", "COIN-FUTURES"), [
    { ...(odd[3] ?? aBill()), amount: "2.5" },
  ]);
  await storeBills(db, ledgerOf("main", "COIN-FUTURES"), [odd[3] ?? aBill()]);
  await db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, path, reason, rejected_at
    )
    values ('main', 'COIN-FUTURES', 'abc', '{}', ${hostile}, 'is odd', now())`);
  expect((await reported("--product", "COIN-FUTURES")).problems).toContainEqual(
    expect.stringMatching(/^main\/COIN-FUTURES was (never reconciled|not reconciled since .*)$/),
  );
  const { breaks } = await reconcile(db, everything, { isFull: true });
  const breakIds = [breaks.find(({ kind }) => kind === "restated")?.breakId ?? 0];
  const decision = { breakIds, isAccept: true, note: `note: ${hostile}`, by: "Ada" };
  expect(await decideOnBreaks(db, decision)).toEqual([]);
  const { problems, ledgers } = await reported("--product", "COIN-FUTURES");
  const [ledger] = ledgers;
  expect(ledger.coverage).toContainEqual({
    state: "unread",
    from: "2026-03-20T00:00:00Z",
    to: "2026-03-21T00:00:00Z",
  });
  const amounts = new Map<string, string>(
    ledger.rollforward.map(({ line, amount }: Record<string, string>) => [line, amount]),
  );
  expect(["opening", "closing", "discrepancy"].map((name) => Number(amounts.get(name)))).toEqual([
    ...[100, 109.75, 7],
  ]);
  expect(problems).toEqual([
    expect.stringMatching(
      /^main\/COIN-FUTURES\/.* does not add up: the balance is 7 .* higher than the bills explain since 2026-03-05 01:00Z; bill-sync breaks accept 1 --note "…"$/,
    ),
    "main/COIN-FUTURES was not read from 2026-03-20 00:00Z to 2026-03-21 00:00Z",
    "main/COIN-FUTURES rejected 1 row",
  ]);
  expect(ledger.counts.restatements).toBe(2);
  expect(ledger.restatements).toMatchObject([
    { revision: 1, changes: [{ field: "amount", old: "2", new: "2.5" }] },
    { revision: 2, changes: [{ field: "amount", old: "2.5", new: "2" }] },
  ]);
  expect(ledger.breaks).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ state: "accepted", note: `note: ${hostile}` }),
      expect.objectContaining({ state: "open", note: null }),
    ]),
  );
  for (const format of ["text", "html"]) {
    const page = await run("report", "--month", "2026-03", "--format", format);
    const lines = ["2026-03-20 00:00Z to 2026-03-21 00:00Z", "109.75", "Ada", "note: "];
    for (const line of [...lines, ledger.digest.sha256]) expect(page).toContain(line);
    expect(page).toMatch(/not complete or not reconciled/i);
    expect(page.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
});

test("what was accepted stays in the close: a row that was rejected, and what a later check has resolved", async () => {
  await reconcile(db, everything, { isFull: true });
  const decision = { digests: ["abc"], note: "support knows", by: "Ben" };
  expect(await decideOnRejected(db, decision)).toEqual([]);
  const { accepted, ledgers } = await reported("--product", "COIN-FUTURES");
  expect(accepted).toMatchObject([
    { kind: "restated", state: "resolved", note: `note: ${hostile}`, acceptedBy: "Ada" },
    {
      kind: "rejected row",
      state: "accepted",
      number: "abc",
      note: "support knows",
      acceptedBy: "Ben",
    },
  ]);
  expect(ledgers[0].counts.rejected).toBe(0);
});

test("of many rejected rows, people see a hundred and how many there are, and CSV and JSON have all", async () => {
  await db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, path, reason, rejected_at
    )
    select 'main', 'COIN-FUTURES', 'many ' || number, '{}', 'fee', 'is odd', now()
    from generate_series(1, 150) as number`);
  const report = (...args: string[]) => run("report", "--month", "2026-03", ...args);
  for (const format of ["text", "html"]) {
    const shown = await report("--format", format);
    expect(shown.match(/many \d+/g)).toHaveLength(100);
    expect(shown).toContain(
      "150 rejected rows, of which 100 are shown: --format csv --table rejected has all",
    );
  }
  const csv = await report("--format", "csv", "--table", "rejected");
  expect(new Set(csv.match(/many \d+/g)).size).toBe(150);
  const [ledger] = (await reported("--product", "COIN-FUTURES")).ledgers;
  expect([ledger.counts.rejected, ledger.rejected.length]).toEqual([150, 150]);
  await db.execute(sql`delete from rejected_bills where digest like 'many %'`);
});

test("the page is one file: no script, nothing to load, and every text is escaped", async () => {
  const page = await run("report", "--month", "2026-03", "--format", "html");
  expect(page).toContain("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;\\u{1b}[2J");
  expect(page).not.toMatch(/<script|<img|<link|<iframe|src=|href=|url\(|@import|\son\w+=/i);
  expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
  // Every element that is opened is closed, in the right order.
  const open: string[] = [];
  const isVoid = (name: string) => ["meta", "!doctype"].includes(name);
  for (const [, end, name = ""] of page.matchAll(/<(\/?)([!a-z][a-z0-9]*)[^>]*>/g)) {
    if (isVoid(name)) continue;
    if (end === "") open.push(name);
    else expect(open.pop()).toBe(name);
  }
  expect(open).toEqual([]);
});

test("a month of which nothing was read, or that is not over, is told as that", async () => {
  const before = JSON.parse(await run("report", "--month", "2025-12", "--format", "json"));
  expect(before.problems).toContain(
    "main/USDT-FUTURES was not read from 2025-12-01 00:00:00Z to 2026-01-01 00:00:00Z, before its history begins",
  );
  const whole = { from: "2025-12-01T00:00:00Z", to: "2026-01-01T00:00:00Z" };
  for (const ledger of before.ledgers)
    expect(ledger).toMatchObject({
      ...{ rollforward: [], digest: { bills: 0 } },
      coverage: [{ state: "older", ...whole }],
    });
  const later = await run("report", "--month", "2999-01");
  expect(later).toContain("2999-01 is not over yet: it ends 2999-02-01T00:00:00.000Z");
});

test("a month is complete that was read to its end, whenever the coin's first bill in it was", async () => {
  const { rows } = await db.execute(sql`
    select month::text, is_complete
    from analytics.monthly_rollforward
    where product_type = 'COIN-FUTURES'
    order by month`);
  expect(rows).toEqual([
    { month: "2026-02-01", is_complete: true },
    { month: "2026-03-01", is_complete: false },
    { month: "2026-04-01", is_complete: false },
  ]);
});

test("an opening is marked where the period's start was not read, in each format, and not where it was", async () => {
  for (const [from, isRead] of [
    ["2026-03-20", false],
    ["2026-03-21", true],
  ] as const) {
    const args = ["--from", from, "--to", "2026-04-05", "--product", "COIN-FUTURES", "--format"];
    const title = isRead ? "opening" : "opening (not read)";
    const report = JSON.parse(await run("report", ...args, "json"));
    expect(report.ledgers).toMatchObject([{ isOpeningRead: isRead }]);
    expect(report.summary).toMatchObject([{ opening: "109.75", isOpeningRead: isRead }]);
    expect(await run("report", ...args, "csv")).toContain(`,opening,${title},109.75\n`);
    for (const format of ["text", "html"]) {
      const shown = await run("report", ...args, format);
      expect([format, /109\.750* \(not read\)/.test(shown)]).toEqual([format, !isRead]);
      expect([format, shown.includes("opening (not read)")]).toEqual([format, !isRead]);
    }
  }
});

test.each([
  [["--month", "2026-03", "--to", "2026-04-01"], "--month and --year set the start and the end"],
  [["--from", "2026-03-01"], "which time? --month 2026-10, --year 2026, or whole days: --from "],
  [["--from", "2026-03-01", "--to", "2026-03-10T09:00Z"], "--to is not the start of a day in UTC"],
  [["--month", "2026-03", "--table", "flows"], "--table is for csv only: text has all tables"],
])("report %j ends with code 2 and what is meant", async (args, message) => {
  const end = await runCli(["report", ...args], { env });
  expect(end).toMatchObject({ code: 2, stdout: "" });
  expect(end.stderr).toContain(message);
});
