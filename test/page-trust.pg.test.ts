import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { minuteMs } from "../src/contract/time.ts";
import { decideOnRejected } from "../src/ledger/rejected-bills.ts";
import { headlines } from "../src/page/trust/headline.ts";
import { fileDatabase } from "./support/database.ts";
import { openPageServer } from "./support/page-server.ts";
import { check, logRun, states } from "./support/page-states.ts";

// What the first card says as one ledger goes from state to state.

const { tables } = await fileDatabase();
const { db } = tables;

const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ (?=[:)])/g, "");

async function read() {
  await using server = await openPageServer();
  server.show(tables);
  const page = await (await fetch(server.url)).text();
  const part = (id: string) =>
    textOf(new RegExp(`<section[^>]* id="${id}".*?</section>`, "s").exec(page)?.[0] ?? "");
  const command = /<p class="command">(.*?)<\/p>/s.exec(page)?.[1];
  return {
    title: /<h1[^>]*>(?:<svg.*?<\/svg>)?([^<]*)/s.exec(page)?.[1],
    next: command === undefined ? undefined : textOf(command).trim(),
    trust: part("trust"),
    breaks: part("breaks"),
  };
}

/** A time as the page writes it. */
async function minuteOf(time: ReturnType<typeof sql>): Promise<string> {
  const { rows } = await db.execute<{ at: string }>(sql`
    select to_char((${time}) at time zone 'UTC', 'YYYY-MM-DD HH24:MI"Z"') as at`);
  return rows[0]?.at ?? "";
}

test("a rejected row that is accepted leads to a check, and nothing is said to have changed", async () => {
  await states["rejected"]?.(db);
  expect(await read()).toMatchObject({ title: headlines.rejected.title });
  await check(db);
  const open = await read();
  expect(open.title).toBe(headlines.rejected.title);
  expect(open.next).toBe("Next: npm run sync then npm run reconcile");
  const digests = ["0".repeat(64)];
  const all = { accounts: undefined, productTypes: undefined };
  expect(await decideOnRejected(db, { digests, note: "read by hand" }, all)).toEqual([]);
  const accepted = await read();
  expect(accepted.title).toBe(headlines.unreconciled.title);
  expect(accepted.next).toBe("Next: npm run reconcile");
  expect(accepted.trust).toContain("rejected rows were read or accepted");
  expect(accepted.trust + accepted.breaks).not.toMatch(/bills? (was|were) changed|quarantine/);
  expect(accepted.breaks).not.toContain("--accept");
  await check(db);
  expect(await read()).toMatchObject({ title: headlines.good.title, next: undefined });
});

test("green says as of which check, and when all bills were read if that check read less", async () => {
  const checkedAt = sql`select min(reconciled_at) from reconciled_chains where product_type not like 'S%'`;
  const whole = (await read()).trust;
  expect(whole).toContain(`As reconciled ${await minuteOf(checkedAt)}: all time from`);
  await db.execute(sql`
    update sync_runs
    set started_at = started_at - interval '50 hours', finished_at = finished_at - interval '50 hours'
    where command = 'reconcile'`);
  await check(db, { isFull: false });
  const { title, trust } = await read();
  expect(title).toBe(headlines.good.title);
  const wholeAt = await minuteOf(
    sql`select max(finished_at) from sync_runs where counts @> '{"isOfAll": true}'`,
  );
  expect(trust).toContain(
    `As reconciled ${await minuteOf(checkedAt)} (all bills: ${wholeAt}): all time from`,
  );
  expect(trust).toMatch(new RegExp(`Last reconcile .* all bills: ${wholeAt} Open breaks`));
});

test("the last sync stays the last sync, and another command after it has its own words", async () => {
  await logRun(db, { agoMs: 12 * minuteMs });
  expect((await read()).trust).toMatch(/Last sync done \d+ min ago $/);
  await logRun(db, { command: "replay", agoMs: 8 * minuteMs });
  expect((await read()).trust).toMatch(/Last sync done \d+ min ago then replay, \d+ min ago $/);
  await logRun(db, { command: "verify", agoMs: 4 * minuteMs, outcome: "incomplete" });
  expect((await read()).trust).toMatch(/done \d+ min ago then verify not complete, \d+ min ago $/);
});

test("a break of demo trading does not count, and is named with what closes it", async () => {
  const openOf = (breakId: number, firstBadBill: string | null) =>
    db.execute(sql`
      insert into ledger_breaks (
        account, break_id, kind, product_type, coin, anchor, happened_at, first_bad_bill,
        explanation, state, first_seen_at, last_seen_at
      )
      values (
        'main', ${breakId}, 'chain', 'SUSDT-FUTURES', 'SUSDT', ${String(breakId)}, now(),
        ${firstBadBill}, '', 'open', now(), now()
      )`);
  await openOf(900, null);
  const one = await read();
  expect(one.title).toBe(headlines.good.title);
  expect(one.trust).toContain("Open breaks none nothing rejected and 1 of demo trading");
  expect(one.breaks).toContain(
    '1 break of demo trading, which is not money, is open, too: npm run breaks -- accept 900 --note "why"',
  );
  await openOf(901, "1");
  expect((await read()).breaks).toContain(
    "2 breaks of demo trading, which is not money, are open, too: npm run reconcile -- --repair",
  );
});
