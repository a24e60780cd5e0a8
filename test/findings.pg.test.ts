import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { dayMs, epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { countFindings, readAccepted, readFindings } from "../src/health/findings.ts";
import { alarms, kinds, sentenceOf } from "../src/health/kinds.ts";
import { verdictOf } from "../src/health/verdict.ts";
import { testDatabase } from "./support/database.ts";
import { healthStates, plant } from "./support/health-states.ts";
import { rosterOfAccounts } from "./support/roster.ts";

const now = epochMs(Date.parse("2026-11-23T12:00:00Z"));

describe.concurrent("a database", () => {
  test.each(healthStates)("$name", async ({ statements, found, next, title, configured = [] }) => {
    await using database = await testDatabase();
    await using tables = openDatabase(database.url);
    await plant(tables.db, statements, now);
    const scope = { now, roster: await rosterOfAccounts(configured)(tables.db) };
    const findings = await readFindings(tables.db, scope);
    expect(findings.map(({ kind, isDemo }) => `${isDemo ? "demo " : ""}${kind}`)).toEqual(found);
    const counts = await countFindings(tables.db, scope);
    expect(counts.reduce((sum, { findings: count }) => sum + count, 0)).toBe(findings.length);
    const verdict = verdictOf(findings, await readAccepted(tables.db, {}));
    expect(verdict.title).toBe(title);
    expect(verdict.next[0]).toBe(next);
    expect(verdict.severity === "good").toBe(found.every((kind) => kind.startsWith("demo ")));
    expect(findings.some(alarms)).toBe(["critical", "warning"].includes(verdict.severity));
    for (const finding of findings) expect(sentenceOf(finding, now)).toMatch(/^\S+ \S/);
  });
});

test("the states above have every kind but one, which no query finds", () => {
  const found = healthStates.flatMap((state) =>
    state.found.map((kind) => kind.replace("demo ", "")),
  );
  expect(new Set([...found, "unreachable"])).toEqual(new Set(Object.keys(kinds)));
});

test("findings of a span of time are those that concern it", async () => {
  await using database = await testDatabase();
  await using tables = openDatabase(database.url);
  const lost = healthStates.find(({ name }) => name === "lost time, long ago");
  await plant(tables.db, lost?.statements ?? [], now);
  const kindsOf = async (fromDays: number, toDays: number) => {
    const span = { from: epochMs(now - fromDays * dayMs), to: epochMs(now - toDays * dayMs) };
    const findings = await readFindings(tables.db, { now, span });
    return findings.map(({ kind }) => kind);
  };
  expect(await kindsOf(99, 81)).toEqual(["lost"]);
  expect(await kindsOf(79, 1)).toEqual([]);
});

test("findings are those of the accounts and product types that are asked for", async () => {
  await using database = await testDatabase();
  await using tables = openDatabase(database.url);
  const behind = healthStates.find(({ name }) => name === "5 h behind");
  await plant(tables.db, behind?.statements ?? [], now);
  const read = async (scope: object) =>
    (await readFindings(tables.db, { now, ...scope })).map(({ kind }) => kind);
  expect(await read({ accounts: ["a"] })).toEqual(["behind"]);
  expect(await read({ accounts: ["b"] })).toEqual([]);
  expect(await read({ productTypes: ["USDT-FUTURES"] })).toEqual(["behind"]);
  expect(await read({ productTypes: ["COIN-FUTURES"] })).toEqual([]);
  expect(await read({ limits: { maxAgeMs: 6 * hourMs, ltvMax: 1 } })).toEqual([]);
});

test("a demo break stands behind one of real money, and the longest unread first", async () => {
  await using database = await testDatabase();
  await using tables = openDatabase(database.url);
  await tables.db.execute(sql`
    insert into sync_runs (run_id, command, started_at, outcome)
    values (gen_random_uuid(), 'sync', now(), 'complete')`);
  for (const [account, days] of [
    ["late", 2],
    ["later", 3],
    ["demo", 40],
  ] as const) {
    const to = isoTime(epochMs(now - days * dayMs));
    await tables.db.execute(sql`
      insert into streams (account, product_type, covered, settled_to)
      values (${account}, 'USDT-FUTURES', ${`{[2026-08-01, ${to})}`}, ${to})`);
  }
  await tables.db.execute(sql`
    insert into streams (account, product_type, is_demo) values ('demo', '', true)
    on conflict (account, product_type) do update set is_demo = excluded.is_demo`);
  const findings = await readFindings(tables.db, { now });
  expect(findings.map(({ account }) => account)).toEqual(["later", "late", "demo"]);
});
