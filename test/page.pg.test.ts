// The page: each headline from a database in that state, figures equal to the tables', text that is never
// markup, names and methods that are refused, light, dark, narrow, without scripts, live.

import { get, type IncomingHttpHeaders } from "node:http";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { rosterReader } from "../src/accounts/roster.ts";
import { decideOnBreaks } from "../src/check/reconcile/record-breaks.ts";
import { dayMs } from "../src/lib/time.ts";
import { isShownTo } from "../src/wings/serve/page/page-routes.ts";
import { fileDatabase, openTestDatabase } from "./support/database.ts";
import { openPageServer } from "./support/page-server.ts";
import { check, logRun, losesBill, storeAccount } from "./support/page-states.ts";

const tables = await fileDatabase();
const { db } = tables;

type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
};

/** As a browser asks that was led to this machine under another name. */
const ask = (url: string, host?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = host === undefined ? {} : { host };
    get(url, { headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    }).on("error", reject);
  });

test("it is shown to this machine by its own names, and to others by names that are given; by GET alone, and lets nothing in from elsewhere", async () => {
  await using server = await openPageServer({ pageNames: ["bills.example.com"] });
  server.show(tables);
  const statusOf = async (host?: string) => (await ask(`${server.url}/`, host)).status;
  for (const host of [undefined, "LOCALHOST:8787", "bills.example.com"])
    expect(await statusOf(host)).toBe(200);
  expect(await statusOf("127.0.0.1.evil.example.com")).toBe(403);
  for (const path of ["/page/page.css", "/bills", "/runs", "/export?format=csv"]) {
    const refused = await ask(server.url + path, "evil.example.com");
    expect([refused.status, refused.text.includes("USDT")]).toEqual([403, false]);
  }
  const [local, lan] = ["127.0.0.1:8787", "192.168.1.7"];
  expect(isShownTo(local, lan, [])).toBe(false);
  expect(isShownTo(local, "::ffff:127.0.0.1", [])).toBe(true);
  expect(isShownTo("bills.example.com:443", lan, ["bills.example.com"])).toBe(true);
  expect(isShownTo(undefined, "127.0.0.1", [])).toBe(false);

  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
    expect((await fetch(`${server.url}/`, { method })).status).toBe(404);
  for (const path of ["/", "/page/page.css", "/page/page.js", "/page/icon.svg"]) {
    const { status, headers } = await ask(server.url + path);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-security-policy": expect.stringMatching(/^default-src 'none';/),
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|data:|https?:/);
  }
  expect((await fetch(server.url)).headers.get("content-encoding")).toBe("gzip");
  const { text } = await ask(`${server.url}/`);
  expect(text).not.toMatch(
    / style=|<style|<script(?! src="\/page\/)| on\w+="|https?:\/\/(?!www\.w3\.org)/,
  );
  // An address that nothing answers is a page for browsers, and the exchange's error for programs.
  const asked = (accept: string) => fetch(`${server.url}/bils`, { headers: { accept } });
  const shown = await asked("text/html,application/xhtml+xml,*/*;q=0.8");
  expect([shown.status, await shown.text()]).toEqual([
    ...[404, expect.stringContaining("There is no such page")],
  ]);
  expect(shown.headers.get("content-security-policy")).toMatch(/^default-src 'none';/);
  const told = await asked("*/*");
  expect([told.status, await told.json()]).toEqual([
    ...[404, expect.objectContaining({ code: "40404" })],
  ]);
});

const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&#39;/g, "'")
    .replaceAll(/\s+/g, " ");

test("the figures of recovered time have its bills, those of unread time have not, and exact ones are not rounded", async () => {
  await using own = await openTestDatabase();
  await storeAccount(own.db, { account: "recovered", seed: "recovered" });
  await using server = await openPageServer();
  server.show(own);
  const shown = async () => textOf((await ask(`${server.url}/?account=recovered&exact=1`)).text);
  const move = (recovered: string) =>
    own.db.execute(sql`
      update ledgers
      set
        recovered = ${sql.raw(recovered)},
        covered = covered - tstzmultirange(tstzrange(null, now() - interval '45 days'))
      where account = 'recovered'`);
  await move("covered * tstzmultirange(tstzrange(null, now() - interval '45 days'))");
  expect(await shown()).not.toMatch(/Not all is read|rounded for reading/);
  await move("'{}'");
  expect(await shown()).toContain("Not all is read");
});

test("its ledgers are those of the tables, counted without it, and files cannot be of something else", async () => {
  await storeAccount(db, { account: "counted", seed: "figures" });
  await losesBill(db, "USDC-FUTURES", 0.5);
  await check(db);
  await using server = await openPageServer();
  server.show(tables);
  const page = (await ask(`${server.url}/?account=counted`)).text;
  const { rows: ledgers } = await db.execute<{ name: string; bills: string; through: string }>(sql`
    select
      product_type as name,
      to_char(count(*), 'FM999,999') as bills,
      to_char(now() - interval '0.01 days', 'YYYY-MM-DD') as through
    from bills
    group by product_type`);
  expect(ledgers).toHaveLength(4);
  const [section = ""] = /<section id="ledgers".*?<\/section>/s.exec(page) ?? [];
  for (const { name, bills, through } of ledgers) {
    expect(textOf(section.split("<tr>").find((one) => one.includes(name)) ?? "")).toMatch(
      new RegExp(`\\b${name} .*\\b${bills} .*${through} \\d\\d:\\d\\dZ`),
    );
  }
  expect(textOf(page)).toContain("counted/USDC-FUTURES/USDC does not add up: the balance is ");
  const { rows: breaks } = await db.execute<{ id: string; day: string; off: string }>(sql`
    select
      break_id as id,
      to_char(happened_at at time zone 'UTC', 'YYYY-MM-DD') as day,
      difference::text as off
    from ledger_breaks
    where state = 'open' and coin = 'USDC'`);
  const [{ id, day, off } = { id: "", day: "", off: "" }] = breaks;
  const own = (await ask(`${server.url}/?account=counted&product=USDC-FUTURES&coin=USDC`)).text;
  // The break stands at its day, and its figure leads to the bill that shows it.
  expect(own.match(/<g class="break">/g)).toHaveLength(1);
  const discrepancy =
    /<small>Discrepancy<\/small><b class="bad"><a href="([^"]*)"><data value="([^"]*)"/.exec(own);
  expect(Number(discrepancy?.[2])).toBe(Number(off));
  expect(
    textOf((await ask(server.url + (discrepancy?.[1] ?? "").replaceAll("&amp;", "&"))).text),
  ).toMatch(
    new RegExp(`${day} \\d\\d:.*the balance is [\\d.]+ USDC (lower|higher) than the bills`),
  );
  // Once it is accepted, it alarms nobody.
  const decision = { breakIds: [Number(id)], note: "a test", by: null };
  await decideOnBreaks(db, { ...decision, isAccept: true });
  const accepted = (await ask(`${server.url}/?account=counted&product=USDC-FUTURES&coin=USDC`))
    .text;
  expect(accepted).toMatch(/<small>Discrepancy<\/small><b class="quiet" title="accepted">/);
  await decideOnBreaks(db, { ...decision, isAccept: false });
  // A page says what it shows instead; a file cannot.
  const other = "?account=counted&product=COIN-FUTURES&coin=DOGEX&format=csv";
  const said = "There is no coin “DOGEX”";
  expect(textOf((await ask(`${server.url}/${other}`)).text)).toContain(said);
  expect(textOf((await ask(`${server.url}/bills${other}`)).text)).toContain(said);
  const { status, text } = await ask(`${server.url}/export${other}`);
  expect([status, text.includes(said)]).toEqual([404, true]);
});

test("the close of a month is a file, and its closing is the balance of the month's last bill", async () => {
  const configured = { accounts: [], accountNames: [], namesAccounts: true };
  await using server = await openPageServer({ readRoster: rosterReader(configured) });
  server.show(tables);
  const wallet = "?account=counted&product=USDT-FUTURES&coin=USDT";
  const page = (await ask(`${server.url}/${wallet}`)).text;
  const [, address = "", month = ""] =
    /<a href="(\/close[^"]*)">Close of ([\d-]*)</.exec(page) ?? [];
  const { status, headers, text } = await ask(server.url + address.replaceAll("&amp;", "&"));
  expect(status).toBe(200);
  expect(headers["content-disposition"]).toBe(
    `attachment; filename="counted-USDT-FUTURES-${month}.html"`,
  );
  const { rows } = await db.execute<{ balance: string }>(sql`
    select to_char(round(balance, 2), 'FM999,999,999.00') as balance
    from bills
    where account = 'counted' and product_type = 'USDT-FUTURES' and coin = 'USDT'
      and balance is not null
    order by c_time desc, length(bill_id) desc, bill_id desc
    limit 1`);
  expect(textOf(text)).toContain(`closing ${rows[0]?.balance}`);
  expect((await ask(`${server.url}/close${wallet.replace("counted", "nobody")}`)).status).toBe(404);
});

test("the runs have a page of their own, with days and a search", async () => {
  await using server = await openPageServer();
  server.show(tables);
  await logRun(db, { agoMs: 60_000, outcome: "failed", error: "the exchange is down <b>" });
  await logRun(db, { agoMs: 30 * dayMs, command: "verify" });
  const runs = async (query = "") => textOf((await ask(`${server.url}/runs${query}`)).text);
  expect(await runs()).toMatch(/sync failed .*the exchange is down &lt;b&gt;/);
  expect(await runs()).not.toContain("verify");
  expect(await runs("?from=2020-01-01")).toContain("verify");
  expect(await runs("?search=EXCHANGE is")).toContain("1 run, 1 failed");
  expect(await runs("?search=nothing of this")).toContain("There is none.");
  expect(textOf((await ask(`${server.url}/`)).text)).toContain(
    "did not finish: the exchange is down",
  );
});

test("a database that is away is told, and the page comes back with it", async () => {
  await using server = await openPageServer();
  const away = await ask(`${server.url}/`);
  expect(away.status).toBe(503);
  expect(away.text).toContain("The database does not answer");
  server.show(tables);
  expect((await ask(`${server.url}/`)).status).toBe(200);
});
