import { get, type IncomingHttpHeaders } from "node:http";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { dayMs } from "../src/contract/time.ts";
import { recordDemo } from "../src/db/accounts/demo-accounts.ts";
import { openDatabase } from "../src/db/connect.ts";
import { isShownTo } from "../src/serve/page/guard.ts";
import { fileDatabase, testDatabase } from "./support/database.ts";
import { tablesIn } from "./support/page-figures.ts";
import { openPageServer } from "./support/page-server.ts";
import { check, type LedgerShape, losesBill, states, storeAccount } from "./support/page-states.ts";

const { tables } = await fileDatabase();
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

test("the page is shown to this machine by its own names, and to others by names that are given", async () => {
  await using server = await openPageServer({ pageNames: ["bills.example.com"] });
  server.show(tables);
  const statusOf = async (host?: string) => (await ask(`${server.url}/`, host)).status;
  expect(await statusOf()).toBe(200);
  expect(await statusOf("LOCALHOST:8787")).toBe(200);
  expect(await statusOf("bills.example.com")).toBe(200);
  expect(await statusOf("evil.example.com")).toBe(403);
  expect(await statusOf("127.0.0.1.evil.example.com")).toBe(403);
  for (const path of ["/page/page.css", "/page/live", "/bills", "/export?format=csv"]) {
    const refused = await ask(server.url + path, "evil.example.com");
    expect(refused.status).toBe(403);
    expect(refused.text).not.toContain("USDT");
  }
  const lan = { host: "127.0.0.1:8787", from: "192.168.1.7" };
  expect(isShownTo(lan, [])).toBe(false);
  expect(isShownTo({ ...lan, from: "::ffff:127.0.0.1" }, [])).toBe(true);
  expect(isShownTo({ ...lan, host: "bills.example.com:443" }, ["bills.example.com"])).toBe(true);
  expect(isShownTo({ host: undefined, from: "127.0.0.1" }, [])).toBe(false);
});

test("it is asked by GET alone, and lets nothing in from elsewhere", async () => {
  await using server = await openPageServer();
  server.show(tables);
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
    expect((await fetch(`${server.url}/`, { method })).status).toBe(404);
  }
  for (const path of ["/", "/page/page.css", "/page/page.js", "/page/icon.svg"]) {
    const { status, headers } = await ask(server.url + path);
    expect(status).toBe(200);
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none';/);
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|data:|https?:/);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
  }
  const { text } = await ask(`${server.url}/`);
  expect(text).not.toMatch(
    / style=|<style|<script(?! src="\/page\/)| on\w+="|https?:\/\/(?!www\.w3\.org)/,
  );
});

test("an address that nothing answers is a page for browsers, and the exchange's error for programs", async () => {
  await using server = await openPageServer();
  server.show(tables);
  const asked = (accept: string) => fetch(`${server.url}/bils`, { headers: { accept } });
  const shown = await asked("text/html,application/xhtml+xml,*/*;q=0.8");
  expect(shown.status).toBe(404);
  expect(shown.headers.get("content-security-policy")).toMatch(/^default-src 'none';/);
  expect(await shown.text()).toContain("There is no such page");
  const told = await asked("*/*");
  expect(told.status).toBe(404);
  expect(await told.json()).toMatchObject({ code: "40404" });
});

const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&#39;/g, "'")
    .replaceAll(/\s+/g, " ");

test("its figures are those of the tables, counted without it", async () => {
  await storeAccount(db, { account: "counted", seed: "figures" });
  await losesBill(db, "USDC-FUTURES", 0.5);
  // Bills without a balance around it: days lie between the last good bill and the one that shows it.
  await db.execute(sql`
    update bills
    set balance = null
    from (
      select bill_id, row_number() over (order by c_time, bill_id) as place, count(*) over () as of
      from bills
      where product_type = 'USDC-FUTURES'
    ) as placed
    where product_type = 'USDC-FUTURES'
      and bills.bill_id = placed.bill_id
      and abs(place - of / 2) < 20`);
  await check(db);
  await using server = await openPageServer();
  server.show(tables);
  const page = textOf((await ask(`${server.url}/?account=counted`)).text);
  const { rows: ledgers } = await db.execute<{
    product_type: string;
    bills: string;
    through: string;
  }>(sql`
    select
      product_type,
      to_char(count(*), 'FM999,999') as bills,
      (
        select to_char(max(upper(covered)) at time zone 'UTC', 'YYYY-MM-DD HH24:MI"Z"')
        from streams
        where streams.product_type = bills.product_type
      ) as through
    from bills
    group by product_type`);
  expect(ledgers).toHaveLength(4);
  for (const { product_type, bills, through } of ledgers) {
    // The one that lost a bill by hand is still counted as it was stored.
    if (product_type === "USDC-FUTURES") continue;
    expect(page).toMatch(new RegExp(`counted ${product_type} [A-Z ]+ ${bills} ${through} `));
  }
  const { rows: breaks } = await db.execute<
    Record<
      | ("break_id" | "expected" | "observed" | "off")
      | ("first_bad_bill" | "last_good_bill" | "days_apart")
      | ("good_at" | "bad_at"),
      string
    >
  >(sql`
    select
      break_id,
      first_bad_bill,
      last_good_bill,
      happened_at::date - c_time::date as days_apart,
      to_char(c_time at time zone 'UTC', 'YYYY-MM-DD HH24:MI"Z"') as good_at,
      to_char(happened_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI"Z"') as bad_at,
      round(expected, places)::text as expected,
      round(observed, places)::text as observed,
      round(observed - expected, places)::text as off
    from ledger_breaks
    join bills
      on bill_id = last_good_bill
      and bills.product_type = ledger_breaks.product_type
    cross join lateral (select greatest(scale(expected), scale(observed)) as places) as shown
    where state = 'open'`);
  expect(breaks.length).toBeGreaterThan(0);
  expect(breaks.some(({ days_apart }) => Number(days_apart) > 1)).toBe(true);
  const bare = page.replaceAll(/(?<=\d),(?=\d)/g, "").replaceAll("−", "-");
  const strips = (await ask(`${server.url}/?account=counted`)).text;
  for (const { break_id, expected, observed, off, ...place } of breaks) {
    const { first_bad_bill, last_good_bill, good_at = "", bad_at = "" } = place;
    expect(page).toContain(`between ${good_at} and ${bad_at}`);
    expect(strips).toMatch(
      new RegExp(`aria-label="[^"]*does not add up on [^"]*${bad_at.slice(0, 10)}`),
    );
    expect(bare).toContain(`#${break_id} open`);
    expect(bare).toContain(`${expected} ${observed} ${off.startsWith("-") ? off : `+${off}`} `);
    // However many days lie between them.
    expect(page).toContain(` ${last_good_bill} last good `);
    expect(page).toContain(` ${first_bad_bill} off `);
  }
  expect(page).toContain(`Open breaks ${breaks.length} `);
  const perCoin = await db.execute<{ ids: string }>(sql`
    select string_agg(break_id::text, ',' order by abs(difference) desc) as ids
    from ledger_breaks
    where state = 'open'
    group by coin
    order by count(*) desc`);
  const listed = [...strips.matchAll(/id="break-(\d+)"/g)].map(([, id]) => id).join(",");
  expect(listed).toContain(perCoin.rows[0]?.ids ?? "none");
  // A page says what it shows instead; a file cannot.
  const other = "?account=counted&product=COIN-FUTURES&coin=USDT&format=csv";
  const said = "there is no coin “USDT” here";
  expect(textOf((await ask(`${server.url}/${other}`)).text)).toContain(said);
  expect(textOf((await ask(`${server.url}/bills${other}`)).text)).toContain(said);
  const { status, text } = await ask(`${server.url}/export${other}`);
  expect([status, text.includes("There is no coin “USDT”")]).toEqual([404, true]);
});

test("where a bill was deleted by hand, the bills of its figures say so, on one page and on many", async () => {
  await using fresh = await testDatabase();
  await using own = openDatabase(fresh.url);
  await using server = await openPageServer();
  server.show(own);
  await states["good"]?.(own.db);
  const { rows } = await own.db.execute<{ fee: string; day: string }>(sql`
    delete from bills
    where bill_id = (
      select bill_id
      from bills
      where product_type = 'USDT-FUTURES'
        and fee < 0
      order by c_time desc
      offset 20
      limit 1
    )
    returning fee::text, to_char(c_time at time zone 'UTC', 'YYYY-MM-DD') as day`);
  const [{ fee, day } = { fee: "", day: "" }] = rows;
  const fees = "/bills?account=main&product=USDT-FUTURES&of=trading_fees";
  const first = await ask(server.url + fees);
  const [, older = ""] = /href="(\/bills[^"]*before=[^"]*)">Older bills/.exec(first.text) ?? [];
  const pages = [fees, older.replaceAll("&amp;", "&"), `${fees}&from=${day}&to=${day}`];
  const lackOf = async (path: string) => {
    const { text } = await ask(server.url + path);
    const [, note] = /class="is-off">(.*?)<\/p>/s.exec(text) ?? [];
    return note && /the figure has <b><data [^>]*value="([^"]*)"/.exec(note)?.[1];
  };
  expect(older).toContain("before=");
  // A sum has as many digits as its longest part.
  for (const path of pages) expect(Number(await lackOf(path))).toBe(Number(fee));
  expect(await lackOf(fees.replace("trading_fees", "funding_paid"))).toBeUndefined();
  // As the page says: a full check adds the figures up anew.
  await check(own.db);
  for (const path of pages) expect(await lackOf(path)).toBeUndefined();
});

test("every coin of a wallet has its unread days, also those before the coin's first bill", async () => {
  await using fresh = await testDatabase();
  await using own = openDatabase(fresh.url);
  await using server = await openPageServer();
  server.show(own);
  const now = Date.now();
  const known = {
    "COIN-FUTURES": {
      read: [
        [90, 70],
        [60, 0.01],
      ],
    },
  } satisfies LedgerShape["known"];
  await storeAccount(own.db, { known });
  await own.db.execute(sql`
    with gone as (
      delete from bills
      where product_type = 'COIN-FUTURES'
        and coin = 'XRP'
        and c_time < now() - interval '30 days'
      returning account, product_type, (c_time at time zone 'UTC')::date as day
    )
    insert into dirty_days (account, wallet, day, cause)
    select distinct account, product_type, day, 'bills'
    from gone`);
  await check(own.db);
  const dayOf = (daysAgo: number) => Math.floor((now - daysAgo * dayMs) / dayMs);
  const unread = dayOf(60) - dayOf(70) + 1;
  const { text } = await ask(`${server.url}/`);
  const [contracts] = tablesIn(text, "contracts");
  const coins = contracts?.rows.flatMap(({ name }) => /^COIN-FUTURES.*/s.exec(name) ?? []) ?? [];
  expect(coins.length).toBeGreaterThan(2);
  for (const name of coins) expect(name).toContain(`${unread} days not all read`);
  expect(coins.some((name) => name.includes("XRP"))).toBe(true);
  const ofDays = async (query: string) => {
    const [, selected = ""] =
      /id="filters"(.*?)<\/section>/s.exec(
        (await ask(`${server.url}/?product=COIN-FUTURES&coin=XRP${query}`)).text,
      ) ?? [];
    return textOf(selected);
  };
  expect(await ofDays("")).toContain(`${unread} days not all read`);
  const [from, to] = [66, 63].map((ago) => new Date(dayOf(ago) * dayMs).toISOString().slice(0, 10));
  const inHole = await ofDays(`&from=${from}&to=${to}`);
  expect(inHole).toContain(`XRP is stored from ${from} to ${to}`);
  expect(inHole).toContain("4 days not all read");
});

test("an account whose key is for demo trading is no money: whatever is wrong of it, it is folded", async () => {
  await using fresh = await testDatabase();
  await using own = openDatabase(fresh.url);
  await using server = await openPageServer();
  server.show(own);
  await states["good"]?.(own.db);
  const known = {
    "USDT-FUTURES": {
      read: [
        [90, 40],
        [30, 0.01],
      ],
    },
    "COIN-FUTURES": { read: [[80, 0.01]], lost: [[95, 80]] },
  } satisfies LedgerShape["known"];
  await storeAccount(own.db, { account: "paper", seed: "paper", density: 1, known });
  await own.db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, fault_path, fault, run_id, rejected_at
    )
    values ('paper', 'USDC-FUTURES', repeat('0', 64), '{}', 'billId', 'is missing', gen_random_uuid(), now())`);
  await check(own.db);
  const read = async (query = "") => {
    const page = (await ask(`${server.url}/${query}`)).text;
    return {
      headline: /<h1[^>]*>(?:<svg.*?<\/svg>)?([^<]*)/s.exec(page)?.[1],
      selected: /<select name="account">.*?<option value="([^"]*)" selected/s.exec(page)?.[1],
      folded: /Demo trading, which is not money: (\d+)/.exec(page)?.[1],
      rejected: page.includes("Rejected rows"),
      isNoMoney: page.includes("demo trading, not money"),
    };
  };
  const asMoney = {
    ...{ headline: "Some history is lost", selected: "paper", folded: "2" },
    ...{ rejected: true, isNoMoney: false },
  };
  expect(await read()).toEqual(asMoney);
  await recordDemo(own.db, "paper", true);
  const asDemo = { headline: "Complete, and it adds up", folded: "5", rejected: false };
  expect(await read()).toEqual({ ...asDemo, selected: "main", isNoMoney: false });
  expect(await read("?account=paper")).toEqual({ ...asDemo, selected: "paper", isNoMoney: true });
  await recordDemo(own.db, "paper", false);
  expect(await read()).toEqual(asMoney);
});

test("it is never green where reconcile did not look at what is stored by now", async () => {
  await using fresh = await testDatabase();
  await using own = openDatabase(fresh.url);
  await using server = await openPageServer();
  server.show(own);
  const read = async (product: string) => {
    const { text } = await ask(`${server.url}/?product=${product}`);
    const [, bridge = ""] = /<section[^>]* id="bridge"(.*?)<\/section>/s.exec(text) ?? [];
    const [unexplained] = tablesIn(text, "bridge").flatMap(({ rows }) =>
      rows.filter(({ name }) => name === "unexplained"),
    );
    return {
      headline: /<h1[^>]*>(?:<svg.*?<\/svg>)?([^<]*)/s.exec(text)?.[1],
      ties: /adds up through|not reconciled[^<]*/.exec(bridge)?.[0],
      unexplained: unexplained?.cells[0]?.text,
    };
  };
  const green = {
    headline: "Complete, and it adds up",
    ties: "adds up through",
    unexplained: "–",
  };
  await states["good"]?.(own.db);
  expect(await read("USDT-FUTURES")).toEqual(green);
  const [never, since] = ["not reconciled yet", "not reconciled since bills changed"];
  const changes = [
    [
      "USDC-FUTURES",
      since,
      sql`update bills set ingested_at = clock_timestamp() where bill_id = (select max(bill_id) from bills where product_type = 'USDC-FUTURES' and coin = 'USDC' and c_time < now() - interval '1 day')`,
    ],
    [
      "USDT-FUTURES",
      since,
      sql`update reconciled_chains set ingested_before = '-infinity' where product_type = 'USDT-FUTURES'`,
    ],
    [
      "USDT-FUTURES",
      never,
      sql`update reconciled_chains set reconciled_at = null where product_type = 'USDT-FUTURES'`,
    ],
    ["USDT-FUTURES", never, sql`delete from reconciled_chains where product_type = 'USDT-FUTURES'`],
    ["COIN-FUTURES", never, sql`delete from sync_runs where command = 'reconcile'`],
    [
      "USDC-FUTURES",
      since,
      sql`insert into dirty_days (account, wallet, day, cause) values ('main', 'USDT-FUTURES', '2026-11-01', 'bills')`,
    ],
  ] as const;
  for (const [product, ties, change] of changes) {
    await own.db.execute(change);
    expect(await read(product)).toEqual({
      headline: "Complete, not yet reconciled",
      ties,
      unexplained: ties === never ? "unknown" : "–",
    });
    await check(own.db);
    expect(await read(product)).toEqual(green);
  }
  await own.db.execute(sql`
    insert into ledger_breaks (
      account, break_id, kind, product_type, coin, anchor, explanation, state, first_seen_at, last_seen_at
    )
    values ('main', 900, 'chain', 'USDT-FUTURES', 'USDT', '1', '', 'explained', now(), now())`);
  expect((await read("USDT-FUTURES")).headline).toBe(
    "Complete, and what does not add up is signed off",
  );
  expect((await ask(`${server.url}/`)).text).toContain("but for 1 break that is signed off.");
});

test("a database that is away is told, and the page comes back with it", async () => {
  await using server = await openPageServer();
  const away = await ask(`${server.url}/`);
  expect(away.status).toBe(503);
  expect(away.text).toContain("The database does not answer");
  server.show(tables);
  expect((await ask(`${server.url}/`)).status).toBe(200);
});
