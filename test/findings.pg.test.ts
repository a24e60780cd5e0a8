// Holds: No answer over a hole, One definition
// Status, its JSON and exit, the page, metrics, reports, exports, names of files and the mirror say the same of
// every state of a database (one table).

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import type { Account } from "../src/accounts/account.ts";
import { type Config, readConfig } from "../src/accounts/config.ts";
import { everyLedger } from "../src/accounts/roster.ts";
import { periodIn } from "../src/books/export/time-zone.ts";
import { readCloseReport } from "../src/books/report/read-close.ts";
import { readAccepted } from "../src/check/health/accepted.ts";
import {
  alarms,
  type Finding,
  findingKinds,
  isHole,
  isOfBills,
  type Kind,
  remedyOf,
  sentenceOf,
  severityOf,
} from "../src/check/health/finding-kinds.ts";
import { usualLimits } from "../src/check/health/finding-rows.ts";
import { countFindings, readFindings } from "../src/check/health/findings.ts";
import { verdictOf } from "../src/check/health/verdict.ts";
import { exportOptions, planExport } from "../src/commands/export.ts";
import { status } from "../src/commands/status.ts";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { inTransaction, type OpenDatabase } from "../src/core/postgres/connect.ts";
import { dayMs, epochMs, hourMs, isoTime, minuteMs } from "../src/lib/time.ts";
import { html } from "../src/output/html.ts";
import { asJson, asText } from "../src/output/result.ts";
import { exportFile } from "../src/wings/serve/page/downloads.ts";
import { writePage } from "../src/wings/serve/page/page.ts";
import { readMetrics, registryOf } from "../src/wings/serve/registry.ts";
import { openTestDatabase } from "./support/database.ts";
import { healthStates, plant } from "./support/health-states.ts";
import { aMirrorKey, openMirror } from "./support/mirror.ts";
import { seriesOf } from "./support/promtool.ts";
import { rosterOfAccounts } from "./support/roster.ts";

const now = epochMs(Math.floor(Date.now() / minuteMs) * minuteMs);

/** A finding's own day; of one without a time, yesterday. */
function daysOf({ since, until }: Partial<Finding>) {
  const dayOf = (time: number) => isoTime(epochMs(time)).slice(0, 10);
  const from = since ?? now - dayMs;
  return { from: dayOf(from), to: dayOf(Math.min(until ?? now, from + dayMs)) };
}

/** What each output says of a database. */
function outputsOf(url: string, { db }: OpenDatabase, configured: readonly Account[]) {
  const roster = rosterOfAccounts(configured);
  const accountNames = configured.map(({ name }) => name);
  const config: Config = {
    ...readConfig({ DATABASE_URL: url }, { credentials: false }),
    ...{ accounts: configured, accountNames, namesAccounts: true },
  };
  return {
    /** @param ledgersMax more ledgers than this are counted, and the worst of them listed. */
    status: (ledgersMax = 100) =>
      status(db, config, { selection: everyLedger, check: true, ledgersMax, wings: {} }),
    exported: (day: string) =>
      inTransaction(db, async (tx) => {
        const words = { format: "koinly" as const, from: day, to: isoTime(now) };
        return (await planExport(tx, config, exportOptions(words))).said.join("\n");
      }),
    page: () =>
      inTransaction(db, async (tx) => {
        const parts: string[] = [];
        const deps = { readRoster: roster, limits: usualLimits, query: new URLSearchParams() };
        await writePage(tx, deps, ({ text }) => parts.push(text));
        return parts.join("");
      }),
    metrics: async () => {
      const read = await readMetrics(db, { readRoster: roster, limits: usualLimits });
      const series = seriesOf(await registryOf(read).metrics(), "bill_sync_findings");
      return Object.fromEntries(Object.entries(series).filter(([, count]) => count > 0));
    },
    report: (day: string) =>
      inTransaction(db, async (tx) => {
        const month = day.slice(0, 7);
        return (
          await readCloseReport(tx, await roster(tx), {
            ...{ period: month, span: periodIn(month, "UTC"), zone: "UTC" },
            ...{ selection: everyLedger, limits: usualLimits },
          })
        ).problems;
      }),
    exportName: (product: string, days: { readonly from: string; readonly to: string }) =>
      inTransaction(db, async (tx) => {
        const of = { account: "a", product, coin: "USDT", ...days };
        const selection = { ...of, view: "days", isExact: false } as const;
        return (await exportFile(tx, selection, "csv", now)).name;
      }),
    /** What the mirror answers who asks for time of a ledger. */
    served: async (
      { account, ledger }: Pick<Finding, "account" | "ledger">,
      { from, to }: { readonly from: number; readonly to?: number },
    ) => {
      const key = aMirrorKey(account);
      await using mirror = openMirror(url, { keys: [key], now: () => now });
      const span = { startTime: String(from), ...(to !== undefined && { endTime: String(to) }) };
      return await mirror.ask(key, accountBills.path, { productType: ledger, ...span });
    },
  };
}

/** How the mirror refuses a hole: for good, or until a sync has read it. */
const refusals: Partial<Record<Kind, number>> = {
  ...{ lost: 400, "partly-recovered": 400 },
  ...{ unread: 503, behind: 503, rejected: 503, "never-read": 503 },
};

describe.concurrent("every output says of a database", () => {
  test.each(healthStates)("$name", async ({ statements, found, next, title, configured = [] }) => {
    await using database = await openTestDatabase();
    await plant(database.db, statements, now);
    // Where the database's clock seems to be set back, the exchange's time stands still.
    await database.db.execute(sql`
      update ledgers
      set planned_at = ${isoTime(now)}, planned_clock = ${isoTime(epochMs(now + dayMs))}`);
    const scope = { now, roster: await rosterOfAccounts(configured)(database.db) };
    const findings = await readFindings(database.db, scope);
    const namesOf = (all: readonly Pick<Finding, "kind">[]) => all.map(({ kind }) => kind);
    expect(namesOf(findings)).toEqual(found);
    const counts = await countFindings(database.db, scope);
    expect(counts.reduce((sum, { findings: count }) => sum + count, 0)).toBe(findings.length);
    const verdict = verdictOf(findings, await readAccepted(database.db, {}));
    expect([verdict.title, verdict.next[0]]).toEqual([title, next]);
    expect(verdict.severity === "good").toBe(found.length === 0);
    const alarming = findings.some(alarms);
    expect(alarming).toBe(["critical", "warning"].includes(verdict.severity));

    const outputs = outputsOf(database.url, database, configured);
    const result = await outputs.status();
    const { exit } = result;
    const { findings: printed } = asJson(result) as { readonly findings: readonly Finding[] };
    expect(exit).toBe(alarming ? 1 : 0);
    const fleet = await outputs.status(0);
    expect(fleet.exit).toBe(exit);
    expect(namesOf(printed)).toEqual(found);
    const text = asText(result);
    const page = await outputs.page();
    for (const told of [text, asText(fleet)]) expect(told).toContain(title);
    expect(page).toContain(`<i class="dot"></i>${title}<`);
    for (const finding of findings) {
      const sentence = sentenceOf(finding, now);
      expect(sentence).toMatch(/^\S+ \S/);
      expect(text).toContain(sentence);
      expect(page).toContain(html`<span class="what">${sentence}</span>`.text);
      expect(text).toContain(remedyOf(finding));
      expect(page).toContain(html`${remedyOf(finding)}`.text);
    }
    expect(await outputs.metrics()).toEqual(
      Object.fromEntries(
        findings.map((one) => [`kind="${one.kind}",severity="${severityOf(one)}"`, 1]),
      ),
    );

    const isStored = findings.every(({ kind }) => kind !== "never-synced");
    const held = daysOf({ since: epochMs(now - 40 * dayMs) });
    if (isStored && findings.length === 0) {
      expect(await outputs.report(held.from)).toEqual([]);
      // Of a month that is not over, it says of the last minutes what status says.
      expect((await outputs.report(isoTime(now))).join()).not.toContain("behind");
      expect(await outputs.exportName("USDT-FUTURES", held)).not.toMatch(/not|complete/);
    }
    for (const finding of findings.filter(isOfBills)) {
      const { kind, ledger, since, until } = finding;
      const days = daysOf(finding);
      if (kind !== "restated" && isStored)
        expect(await outputs.exported(days.from)).toContain(sentenceOf(finding, now));
      if (kind !== "restated")
        expect((await outputs.report(days.from)).join("\n")).toContain(sentenceOf(finding, now));
      if (kind !== "never-read" && ledger !== "") {
        const name = await outputs.exportName(ledger, days);
        if (isHole(finding)) expect(name).toMatch(/not-all-read|read-through/);
        if (kind === "broken") expect(name).toContain("does-not-add-up");
      }
      if (!isHole(finding)) continue;
      const { status: code, body } = await outputs.served(finding, {
        from: since === undefined ? now - dayMs : since + minuteMs,
        ...(until !== undefined && { to: until - 1 }),
      });
      expect([kind, code, body.msg]).toEqual([kind, refusals[kind], expect.any(String)]);
    }
    const asked = { from: now - 40 * dayMs, to: now - 39 * dayMs };
    const isFree = isStored && findings.every((one) => !isHole(one) || (one.since ?? 0) > asked.to);
    const { status: code } = await outputs.served({ account: "a", ledger: "USDT-FUTURES" }, asked);
    if (isFree) expect(code).toBe(200);
    if (!isStored) expect(code).toBe(503);
  });
});

test("the states above have every kind but one, which is of spans alone", () => {
  const found = healthStates.flatMap((state) => state.found);
  expect(new Set([...found, "recovered"])).toEqual(new Set(Object.keys(findingKinds)));
});

test("findings are those of the time, the accounts and the product types that are asked for", async () => {
  const read = async (name: string, scopes: readonly object[]) => {
    await using database = await openTestDatabase();
    await plant(database.db, healthStates.find((one) => one.name === name)?.statements ?? [], now);
    const found: (readonly Kind[])[] = [];
    for (const scope of scopes)
      found.push((await readFindings(database.db, { now, ...scope })).map(({ kind }) => kind));
    return found;
  };
  const ago = (days: number) => epochMs(now - days * dayMs);
  const spans = [
    { from: ago(99), to: ago(81) },
    { from: ago(79), to: ago(1) },
  ];
  expect(
    await read(
      "lost time, long ago",
      spans.map((span) => ({ span })),
    ),
  ).toEqual([["lost"], []]);
  expect(
    await read("5 h behind", [
      ...[{ accounts: ["a"] }, { accounts: ["b"] }, { productTypes: ["USDT-FUTURES"] }],
      ...[{ productTypes: ["COIN-FUTURES"] }, { limits: { maxAgeMs: 6 * hourMs, ltvMax: 1 } }],
    ]),
  ).toEqual([["behind"], [], ["behind"], [], []]);
});

test.each<[string, string, string]>([
  ["deleted", "delete from bills where bill_id = '3'", "higher"],
  ["changed", "update bills set amount = amount + 1 where bill_id = '3'", "lower"],
  [
    "added",
    `insert into bills
     select (jsonb_populate_record(bills, '{"bill_id": "34"}')).* from bills where bill_id = '3'`,
    "lower",
  ],
  ["left as they were", "select 1", ""],
])(
  "what is made of a period says whether its bills were %s by hand, before a check has seen it",
  async (_, damage, way) => {
    await using database = await openTestDatabase();
    const checked = healthStates.find(({ name }) => name === "read and checked")?.statements ?? [];
    const more = [2, 3, 4].map(
      (id) => `
        insert into bills (account, product_type, bill_id, amount, fee, business_type, coin, balance, c_time, ingested_at)
        values ('a', 'USDT-FUTURES', '${id}', 1, 0, 'open_long', 'USDT', ${id + 1}, '{${195 - id} d}', '{1 d}')`,
    );
    await plant(database.db, [...checked, ...more, damage], now);
    const outputs = outputsOf(database.url, database, []);
    const sentence = `and rows were changed or deleted by hand, the balance is 1 USDT ${way} than the bills explain)`;
    const countIn = (text: string) => text.split(sentence).length - 1;
    const breaks = way === "" ? 0 : 1;
    const dayAgo = (days: number) => isoTime(epochMs(now - days * dayMs)).slice(0, 10);
    expect(countIn((await outputs.report(dayAgo(192))).join())).toBe(breaks);
    expect(countIn(await outputs.exported(dayAgo(193)))).toBe(breaks);
    const days = { from: dayAgo(193), to: dayAgo(191) };
    const name = await outputs.exportName("USDT-FUTURES", days);
    expect(name.includes("does-not-add-up")).toBe(breaks > 0);
    // Another period's bills are what they were.
    expect(countIn((await outputs.report(dayAgo(40))).join())).toBe(0);
  },
);

test("the longest unread stands first", async () => {
  await using database = await openTestDatabase();
  await database.db.execute(sql`
    insert into runs (run_id, command, started_at, outcome)
    values (gen_random_uuid(), 'sync', now(), 'complete')`);
  for (const [account, days] of [
    ["late", 2],
    ["later", 3],
  ] as const) {
    const to = isoTime(epochMs(now - days * dayMs));
    await database.db.execute(sql`
      insert into ledgers (account, product_type, covered, first_unread_at)
      values (${account}, 'USDT-FUTURES', ${`{[2026-08-01, ${to})}`}, ${to})`);
  }
  const findings = await readFindings(database.db, { now });
  expect(findings.map(({ account }) => account)).toEqual(["later", "late"]);
});
