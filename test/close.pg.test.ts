// A journal with a start opens there with what the close opens with, and hledger's income statement is its net
// result in the currency, by days of any zone (hledger; bean-check).
// A close in any zone, of a month, a year or other days, with prices: amounts, worths, contracts, confirmed balances, lots
// first in first out; what changed after a signature, with the digest of then; a wrong file of prices is refused
// by line (integers over the exported CSV); each transfer names its other side.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { Bill } from "../src/contract/bill.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { snowflake } from "../src/sandbox/entry.ts";
import { integer, seededRandom } from "../src/sandbox/random.ts";
import { aBill, billAt } from "./support/bills.ts";
import { openBrowser } from "./support/browser.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { ledgerOf, storeBills } from "./support/export.ts";
import { exactUnits, hledgerPrints, refusalOf } from "./support/journal.ts";
import { storeTime } from "./support/stored-time.ts";

// A close with prices, in any zone, against integers over its exported CSV.

const { database, tables } = await fileDatabase();
const { db } = tables;
const env = { DATABASE_URL: database.url };
const folder = await temporaryFolder();
const start = Date.UTC(2025, 11, 30);
const end = Date.UTC(2026, 3, 3);

const kinds = [
  ...["close_long", "contract_settle_fee", "trans_from_exchange", "open_short", "close_short"],
  ...[
    "contract_settle_fee",
    "force_close_long",
    "trans_to_exchange",
    "risk_new_type",
    "cash_gift_issue",
  ],
];

/** A bill every two hours, of every kind; some show no balance, and one is missing. */
function bills(coin: string, symbols: readonly string[], step: string): readonly Bill[] {
  const unit = exactUnits(step);
  let balance = exactUnits("1000");
  const all: Bill[] = [];
  for (let at = start, index = 0; at < end; at += 2 * hourMs, index++) {
    const businessType = kinds[(index * 7) % kinds.length] ?? "";
    const isTraded = /^(close|open|force)/.test(businessType);
    const sign = /^trans_to/.test(businessType)
      ? -1n
      : /^trans_from|issue/.test(businessType)
        ? 1n
        : 0n;
    const size = BigInt((index * 37) % 101);
    const amount =
      businessType === "open_short" ? 0n : unit * (sign === 0n ? size - 48n : sign * size);
    const fee = isTraded ? -unit / 8n : 0n;
    balance += amount + fee;
    all.push(
      aBill({
        billId: snowflake(at, index % 4_000),
        cTime: epochMs(at + (index % 5) * 60_000),
        ...{ coin, businessType, amount: textOf(amount), fee: textOf(fee) },
        symbol: isTraded ? (symbols[index % symbols.length] ?? null) : null,
        balance: index % 11 === 3 ? null : textOf(balance),
      }),
    );
  }
  return all.filter(({ cTime }) => cTime < march(9) || cTime > march(9, 5));
}

const march = (day: number, hour = 0) => Date.UTC(2026, 2, day, hour);

function textOf(units: bigint): string {
  const digits = String(units < 0n ? -units : units).padStart(31, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -30)}.${digits.slice(-30)}`.replace(
    /\.?0+$/,
    "",
  );
}

const ledgers = [
  ["fund", "USDT-FUTURES", bills("USDT", ["BTCUSDT", "ETHUSDT"], "0.25")],
  ["fund", "COIN-FUTURES", bills("BTC", ["BTCUSD"], "0.00008")],
] as const satisfies (readonly [string, ProductType, readonly Bill[]])[];
for (const [account, productType, own] of ledgers) {
  await storeBills(db, ledgerOf(account, productType), own);
  const span = { from: isoTime(epochMs(start)), to: isoTime(epochMs(end)) };
  await storeTime(db, { account, productType }, { covered: [span] });
}
const everything = { accounts: undefined, productTypes: undefined };
await reconcile(db, everything, { isFull: true });
await db.execute(sql`analyze`);

/** Prices of every third day, and of a bitcoin in two currencies. */
const prices = Array.from({ length: 40 }, (_, index) => {
  const day = isoTime(epochMs(start - dayMs + index * 3 * dayMs)).slice(0, 10);
  return [
    `${day},USDT,0.${9_100 + ((index * 31) % 97)},EUR`,
    `${day},BTC,${60_000 + index * 321}.5,EUR`,
    `${day},BTC,${70_000 + index},USD`,
  ];
}).flat();
const pricesFile = join(folder.path, "prices.csv");
await writeFile(pricesFile, `date,coin,price,currency\n${prices.join("\n")}\n`);

const run = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await runCli(args, { env });
  // An export warns of the missing bill, and of a year that is not over.
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^(warning: .*\n)*$/),
  });
  return stdout;
};
const reportOf = async (...args: readonly string[]) =>
  JSON.parse(await run("report", ...args, "--format", "json"));
/** A file of prices in euros: a date, a coin and a price a line. */
const pricesOf = async (name: string, lines: readonly string[]) => {
  const path = join(folder.path, `${name}.csv`);
  const rows = lines.map((line) => `${line},EUR\n`);
  await writeFile(path, `date,coin,price,currency\n${rows.join("")}`);
  return path;
};
type Close = { readonly account: string; readonly productType: string };
const isOf = (type: string) => (close: Close) => close.productType === type;
const inEuros = ["--prices", pricesFile, "--currency", "EUR"];

const scale = 10n ** 30n;
const priceOn = (coin: string, day: string): bigint => {
  const rows = prices
    .map((line) => line.split(","))
    .filter((row) => row[1] === coin && row[3] === "EUR");
  return exactUnits(rows.findLast(([date = ""]) => date <= day)?.[2] ?? "");
};

const columnOf: Readonly<Record<string, readonly [string, string]>> = {
  trade: ["realised_pnl", "realised_pnl"],
  funding: ["funding_received", "funding_paid"],
  transfer: ["transfers_in", "transfers_out"],
  unclassified: ["unclassified", "unclassified"],
};
const results = [
  ...["realised_pnl", "fees_paid", "funding_received", "funding_paid", "liquidation"],
  ...["bonus", "unclassified"],
];

/** Amounts and values of each line and contract, from the CSV's own columns and a calendar of Intl. */
function byHand(csv: string, zone: string, coin: string) {
  const calendar = new Intl.DateTimeFormat("en-CA", { timeZone: zone });
  const rows: Record<string, string>[] = parse(csv, { columns: true });
  const sums = new Map<string, { amount: bigint; value: bigint }>();
  const contracts = new Map<string, bigint>();
  const count = (line: string, amount: bigint, value: bigint) => {
    const sum = sums.get(line) ?? { amount: 0n, value: 0n };
    sums.set(line, { amount: sum.amount + amount, value: sum.value + value });
  };
  let opening: bigint | undefined;
  let [closing, moved] = [0n, 0n];
  for (const row of rows.filter((one) => one["coin"] === coin)) {
    const day = calendar.format(new Date(row["c_time"] ?? ""));
    const [amount, fee] = [exactUnits(row["amount"] ?? ""), exactUnits(row["fee"] ?? "")];
    const category = row["category"] ?? "";
    for (const [line, units] of [
      [columnOf[category]?.[amount > 0n ? 0 : 1] ?? category, amount],
      ["fees_paid", fee],
    ] as const) {
      const value = (units * priceOn(coin, day)) / scale;
      count(line, units, value);
      if (results.includes(line)) {
        count("result", units, value);
        contracts.set(row["symbol"] ?? "", (contracts.get(row["symbol"] ?? "") ?? 0n) + units);
      }
    }
    moved += amount + fee;
    closing = row["balance"] === "" ? closing + amount + fee : exactUnits(row["balance"] ?? "");
    if (row["balance"] !== "") opening ??= closing - moved;
  }
  return {
    sums,
    contracts,
    opening: opening ?? 0n,
    closing,
    difference: closing - (opening ?? 0n) - moved,
  };
}

type Line = {
  coin: string;
  line: string;
  title: string;
  amount: string | null;
  value: string | null;
};
const exact = (text: string | null | undefined) => exactUnits(text ?? "none");
/** Values have more digits than the scale of the test: the rest is below any coin. */
const inUnits = (text: string | null | undefined): bigint => {
  const [whole = "", places = ""] = (text ?? "none").split(".");
  return exactUnits(`${whole}.${places.slice(0, 30)}`);
};
const isNear = (left: bigint, right: bigint) =>
  left - right < 10n ** 12n && right - left < 10n ** 12n;

describe.each([
  ["Europe/Berlin", ["--month", "2026-03"]],
  ["Europe/Berlin", ["--year", "2026"]],
  ["America/New_York", ["--from", "2026-01-15", "--to", "2026-03-20"]],
] as const)("the close by the clock of %s, %j", (zone, period) => {
  const when = [...period, "--time-zone", zone];
  let report: ReturnType<typeof reportOf> | undefined;
  const reported = async () => {
    report ??= reportOf(...when, ...inEuros);
    return await report;
  };

  test("has figures that are plain arithmetic over its exported CSV, and its prices", async () => {
    const report = await reported();
    expect(report.ledgers).toHaveLength(2);
    for (const {
      productType,
      rollforward,
      contracts,
      transfers,
      liquidations,
      digest,
    } of report.ledgers) {
      const coin = productType === "COIN-FUTURES" ? "BTC" : "USDT";
      const exportArgs: readonly string[] = digest.export.split(" -- ")[1].split(" ");
      const hand = byHand(await run("export", ...exportArgs), zone, coin);
      const lines = new Map<string, Line>(rollforward.map((line: Line) => [line.line, line]));
      expect(exact(lines.get("opening")?.amount)).toBe(hand.opening);
      expect(exact(lines.get("closing")?.amount)).toBe(hand.closing);
      expect(exact(lines.get("difference")?.amount)).toBe(hand.difference);
      for (const line of ["result", ...results, "transfers_in", "transfers_out"]) {
        const { amount, value } = hand.sums.get(line) ?? { amount: 0n, value: 0n };
        expect([line, exact(lines.get(line)?.amount)]).toEqual([line, amount]);
        expect([line, isNear(inUnits(lines.get(line)?.value), value)]).toEqual([line, true]);
      }
      const legs: readonly { amount: string }[] = transfers;
      expect(legs.reduce((sum, { amount }) => sum + exact(amount), 0n)).toBe(
        ["transfers_in", "transfers_out"].reduce(
          (sum, line) => sum + (hand.sums.get(line)?.amount ?? 0n),
          0n,
        ),
      );
      const events: readonly { amount: string; value: string }[] = liquidations;
      const force = hand.sums.get("liquidation");
      expect(events.reduce((sum, { amount }) => sum + exact(amount), 0n)).toBe(force?.amount);
      expect(
        isNear(
          events.reduce((sum, { value }) => sum + inUnits(value), 0n),
          force?.value ?? 0n,
        ),
      ).toBe(true);
      // What was held changed its worth by what is left.
      const worth = (line: string) => inUnits(lines.get(line)?.value);
      const moved = [...lines.keys()].filter(
        (line) => !["opening", "closing", "result"].includes(line),
      );
      expect(
        isNear(
          moved.reduce((sum, line) => sum + worth(line), worth("opening")),
          worth("closing"),
        ),
      ).toBe(true);
      expect(
        new Map(
          contracts.map((one: { contract: string; result: string }) => [
            one.contract,
            exact(one.result),
          ]),
        ),
      ).toEqual(
        new Map(
          [...hand.contracts]
            .filter(([, units]) => units !== 0n)
            .map(([name, units]) => [name || "no contract", units]),
        ),
      );
    }
  });

  test.each(["hledger", "beancount"] as const)("is what %s makes of the journal", async (tool) => {
    const journal = await run("export", ...when, ...inEuros, "--format", tool);
    expect(refusalOf(tool, journal)).toBe("");
    const { ledgers: closed, from } = await reported();
    const lines: readonly Line[] = closed.flatMap(
      ({ rollforward }: { rollforward: Line[] }) => rollforward,
    );
    const amounts = (name: string) =>
      lines.filter(({ line }) => line === name).map(({ coin, amount }) => [coin, exact(amount)]);
    // It opens at the start, with all that the close opens with.
    const first = new Intl.DateTimeFormat("en-CA", { timeZone: zone }).format(new Date(from));
    const openings = journal.split(/\n\n/).filter((part) => part.includes("held at the start"));
    expect(openings.every((part) => part.includes(first))).toBe(true);
    expect(
      openings.map((part) => {
        const [, amount = "", coin = ""] = /Assets\S+ {2}(\S+) (\w+)/.exec(part) ?? [];
        return [coin, exact(amount)];
      }),
    ).toEqual(expect.arrayContaining(amounts("opening")));
    expect(openings).toHaveLength(2);
    if (tool === "beancount") return;
    const value = hledgerPrints({ "the.journal": journal }, [
      ...["-f", "the.journal", "balance", "^Income", "^Expenses", "--value=then,EUR", "--depth=1"],
      ...["-c", "1.000000000000000 EUR", "--format=%(total)", "--invert", "-O", "csv"],
    ]);
    const total = /^"?total"?,"?(-?[\d.]+) EUR/m.exec(value ?? "")?.[1];
    const result = lines
      .filter(({ line }) => line === "result")
      .reduce((sum, line) => sum + inUnits(line.value), 0n);
    if (value !== undefined) expect(isNear(inUnits(total), result)).toBe(true);
    const shown = hledgerPrints({ "the.journal": journal }, [
      "-f",
      "the.journal",
      "incomestatement",
    ]);
    if (shown !== undefined) expect(shown).toMatch(/Income:.*:Unclassified/);
  });

  test("adds its coins up, and its CSV has the same lines", async () => {
    const report = await reported();
    const rows: Record<string, string>[] = parse(
      await run("report", ...when, ...inEuros, "--format", "csv"),
      { columns: true },
    );
    const lines = report.ledgers.flatMap(({ rollforward }: { rollforward: Line[] }) => rollforward);
    expect(rows.map(({ line, coin, amount, value }) => [line, coin, amount, value])).toEqual(
      lines.map(({ line, coin, amount, value }: Line) => [line, coin, amount ?? "", value ?? ""]),
    );
    const sumsOf = (name: string, coin: string) =>
      lines
        .filter((one: Line) => one.line === name && one.coin === coin)
        .reduce((sum: bigint, { amount }: Line) => sum + exact(amount), 0n);
    for (const { coin, opening, result: net, closing } of report.coins)
      expect([opening, net, closing].map(exact)).toEqual(
        ["opening", "result", "closing"].map((name) => sumsOf(name, coin)),
      );
    expect(report.coins.map(({ coin }: Line) => coin).toSorted()).toEqual(["BTC", "USDT"]);
  });
});

test("each table of JSON is a file of CSV that a spreadsheet reads, with the ledger of each row", async () => {
  const lots = ["--month", "2026-03", ...inEuros, "--lots"];
  const report = await reportOf(...lots);
  type Row = Record<string, unknown>;
  const listsOf = (data: Row) => Object.entries(data).filter(([, value]) => Array.isArray(value));
  const ofLedgers = Map.groupBy(
    report.ledgers.flatMap((ledger: Row) =>
      listsOf(ledger)
        .filter(([name]) => name !== "productTypes")
        .map(([name, rows]) => ({ name, rows: rows as Row[], ledger })),
    ) as readonly { name: string; rows: Row[]; ledger: Row }[],
    ({ name }) => name,
  );
  const tables = new Map<string, readonly Row[]>([
    ...listsOf(report)
      .filter(([name]) => !["ledgers", "incomplete"].includes(name))
      .map(([name, rows]) => [name, rows as Row[]] as const),
    ...[...ofLedgers].map(
      ([name, all]) =>
        [
          name,
          all.flatMap(({ rows, ledger: { account, productType } }) =>
            rows.map((row) => ({ account, productType, ...row })),
          ),
        ] as const,
    ),
  ]);
  const { stdout } = await runCli(["report", "--help"], { env });
  const [, choices = ""] = /--table <name>[^:]*:([^()]*)/.exec(stdout) ?? [];
  expect(choices.trim().split(/,\s+/).toSorted()).toEqual([...tables.keys()].toSorted());
  // A dollar has no cost basis.
  expect(tables.get("costBasis")).toMatchObject([{ coin: "BTC" }]);
  for (const name of ["transfers", "lots", "summary", "accepted"]) {
    const rows: Record<string, string>[] = parse(
      await run("report", ...lots, "--format", "csv", "--table", name),
      { columns: true },
    );
    const textOfCell = (value: unknown) =>
      value === null ? "" : /^\d{16,}$/.test(`${value}`) ? `'${value}` : `${value}`;
    expect(rows).toEqual(
      (tables.get(name) ?? []).map((row) =>
        Object.fromEntries(Object.entries(row).map(([key, value]) => [key, textOfCell(value)])),
      ),
    );
    expect([name, rows.length > 0]).toEqual([name, name !== "accepted"]);
  }
  // Also a table without rows has its header.
  expect(await run("report", ...lots, "--format", "csv", "--table", "accepted")).toMatch(
    /^ledger,number,kind,/,
  );
});

test("with prices, each line of the rollforwards is added up over all ledgers of real money", async () => {
  const when = ["--month", "2026-02", ...inEuros];
  const { ledgers } = await reportOf(...when);
  const lines: Line[] = ledgers
    .filter(({ isDemo }: { isDemo: boolean }) => !isDemo)
    .flatMap(({ rollforward }: { rollforward: Line[] }) => rollforward);
  const text = await run("report", ...when, "--all-digits");
  const [, result = ""] = /^all +.* (\S+) +\S+$/m.exec(text) ?? [];
  const summed = lines
    .filter(({ line }) => line === "result")
    .reduce((sum, { value }) => sum + inUnits(value), 0n);
  expect(isNear(inUnits(result.replaceAll(",", "")), summed)).toBe(true);
  const [, shown = ""] = /^all ledgers +EUR\n([\s\S]*?)\n\n/m.exec(text) ?? [];
  const rows = shown.split("\n").map((row) => /^(.*?) +(\S+)$/.exec(row) ?? []);
  expect(rows.length).toBeGreaterThan(6);
  expect(rows.map(([, title]) => title)).toContain("transfers, in less out");
  for (const [, title = "", value = ""] of rows) {
    const sum = lines
      .filter((line) =>
        title === "transfers, in less out"
          ? /^transfers (in|out)$/.test(line.title)
          : line.title === title,
      )
      .reduce((total, line) => total + inUnits(line.value ?? "0"), 0n);
    expect([title, isNear(inUnits(value.replaceAll(",", "")), sum)]).toEqual([title, true]);
  }
});

test("amounts are in cents and thousands, and zero lines hidden; all digits on request", async () => {
  const text = await run("report", "--month", "2026-03", "--product", "USDT-FUTURES");
  expect(text).toMatch(/^net result +-?[\d,]+\.\d\d$/m);
  expect(text).not.toMatch(/^(copy trading|delivery|interest)/m);
  expect(text).toMatch(/^unclassified /m);
  const rows = (shown: string) =>
    shown.match(/ force_close|^2026-03-\d\d \d\d:\d\dZ +BTC/gm)?.length ?? 0;
  expect(text).toMatch(/^and \d+ more: --all-rows/m);
  const all = await run("report", "--month", "2026-03", "--product", "USDT-FUTURES", "--all-rows");
  expect(all).not.toContain("--all-rows");
  expect(rows(all)).toBeGreaterThan(rows(text));
  const before = text.indexOf("\nunclassified");
  expect(before).toBeLessThan(text.indexOf("\nnet result"));
});

test("liquidations have the time of the zone's clock, and the close says the zone once", async () => {
  const when = ["--month", "2026-03", "--time-zone", "Europe/Berlin", "--product", "USDT-FUTURES"];
  const { ledgers: closed } = await reportOf(...when);
  const clock = new Intl.DateTimeFormat("sv-SE", {
    ...{ timeZone: "Europe/Berlin", dateStyle: "short", timeStyle: "short" },
  });
  const wanted = closed[0].liquidations.map(({ liquidation }: { liquidation: string }) =>
    clock.format(new Date(liquidation)),
  );
  const text = await run("report", ...when, "--all-rows");
  const shown = [...text.matchAll(/^(2026-0[34]-\d\d \d\d:\d\d) +\S+USDT +USDT/gm)];
  expect(shown.map(([, at]) => at)).toEqual(wanted);
  expect(wanted.length).toBeGreaterThan(20);
  expect(text.match(/(?<!--time-zone )Europe\/Berlin/g)).toHaveLength(1);
});

test("a month of three ledgers with lots prints in 8 points on two A4 pages, and no day or amount breaks", async () => {
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const args = ["--month", "2026-02", ...inEuros, "--lots", "--format", "html"];
  // The fund has two ledgers: the first one is printed twice.
  const [top = "", head = "", ledger = "", ...others] = (await run("report", ...args)).split(
    "<h2>",
  );
  await page.setContent([top, head, ledger, ledger, ...others].join("<h2>"));
  await page.setViewportSize({ width: 600, height: 800 });
  const broken = "td => td.className !== 'long' && td.clientHeight > 30";
  expect(await page.evaluate(`[...document.querySelectorAll("td")].filter(${broken}).length`)).toBe(
    0,
  );
  await page.emulateMedia({ media: "print" });
  const sizes =
    "[...document.querySelectorAll('body *')].map(one => parseFloat(getComputedStyle(one).fontSize))";
  const points = 0.75 * Math.min(...(await page.evaluate<number[]>(sizes)));
  expect(points).toBeGreaterThanOrEqual(8);
  const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
  expect(/\/MediaBox \[[^\]]*/.exec(pdf)?.[0]).toMatch(/\[0 0 84[12](\.\d+)? 59[45]/);
  expect((pdf.match(/\/Type \/Page\b/g) ?? []).length).toBeLessThanOrEqual(2);
});

test("the exchange's own balances stand beside opening and closing", async () => {
  await db.execute(sql`
    insert into wallet_balances (account, wallet, coin, taken_at, held_until, balance, may_differ, expected)
    values
      ('fund', 'USDT-FUTURES', 'USDT', '2026-01-31T20:00Z', '2026-02-01T04:00Z', 1000.5, false, 1000.5),
      ('fund', 'USDT-FUTURES', 'USDT', '2026-02-20Z', '2026-02-20Z', 7, false, null),
      ('fund', 'USDT-FUTURES', 'USDT', '2026-03-01T05:00Z', '2026-03-01T06:00Z', 1200, false, 1201),
      ('fund', 'USDT-FUTURES', 'USDT', '2026-03-20Z', '2026-03-20Z', 1300, false, 1300)`);
  const report = await reportOf("--month", "2026-02");
  const { confirmed } = report.ledgers.find(isOf("USDT-FUTURES"));
  expect(confirmed).toMatchObject([
    { balance: "opening", readAt: "2026-02-01T00:00:00Z", exchange: "1000.5", differs: false },
    { balance: "closing", readAt: "2026-03-01T05:00:00Z", exchange: "1200", differs: true },
  ]);
  expect(await run("report", "--month", "2026-02")).toContain("NO: 1200, not 1201");
  // Where time between the period and a reading was not read, bills do not lead from one to the other.
  const hours = sql`'{[2026-03-01T02:00Z,2026-03-01T03:00Z)}'::tstzmultirange`;
  const ofFund = sql`where account = 'fund' and product_type = 'USDT-FUTURES'`;
  await db.execute(sql`update ledgers set covered = covered - ${hours} ${ofFund}`);
  const unread = await reportOf("--month", "2026-02");
  await db.execute(sql`update ledgers set covered = covered + ${hours} ${ofFund}`);
  expect(unread.ledgers.find(isOf("USDT-FUTURES")).confirmed).toMatchObject([
    { balance: "opening" },
  ]);
});

test("what changed after the signature is named by kind, amount and time, and the digest of then is kept", async () => {
  const signed = await reportOf("--month", "2026-02");
  const [account, productType, own] = ledgers[0];
  const ledger = ledgerOf(account, productType);
  const february = own.filter(
    ({ cTime }) => cTime >= Date.UTC(2026, 1, 1) && cTime < Date.UTC(2026, 2, 1),
  );
  const trade = february.find(({ businessType }) => businessType === "close_long") ?? aBill();
  const at = Date.UTC(2026, 1, 11, 5, 30);
  const bill = (index: number, amount: string, others: Partial<Bill> = {}) =>
    billAt(at, index, { amount, fee: "0", balance: null, ...others });
  await storeBills(db, ledger, [{ ...trade, fee: "-3.5" }]);
  await storeBills(db, ledger, [{ ...trade, fee: "-4.5" }, bill(1, "10.25"), bill(2, "1")]);
  await storeBills(db, ledger, [
    bill(3, "5", { source: "tax", businessType: "trans_from_exchange" }),
  ]);
  const since = ["--month", "2026-02", "--signed-at", signed.asOf];
  const report = await reportOf(...since);
  const fee = textOf(exactUnits("-4.5") - exactUnits(trade.fee));
  expect(report.changes).toMatchObject([
    { kind: "late", category: "trade", coin: "USDT", bills: 2, difference: "11.25" },
    { kind: "recovered", category: "transfer", bills: 1, difference: "5" },
    {
      kind: "restated",
      category: "trade",
      bills: 1,
      difference: expect.stringMatching(new RegExp(`^${fee}0*$`)),
    },
  ]);
  for (const { since: changedAt } of report.changes) expect(changedAt > signed.asOf).toBe(true);
  const [late, recovered] = (await reportOf(...since, ...inEuros)).changes;
  const price = priceOn("USDT", "2026-02-11");
  for (const [{ value }, amount] of [
    [late, "11.25"],
    [recovered, "5"],
  ] as const)
    expect(isNear(inUnits(value), (exactUnits(amount) * price) / exactUnits("1"))).toBe(true);
  const then = report.ledgers.map(({ digestThen }: { digestThen: object }) => digestThen);
  expect(then).toEqual(
    report.ledgers.map((ledger: { productType: string }) => {
      const { bills: count, sha256 } = signed.ledgers.find(isOf(ledger.productType)).digest;
      return { bills: count, sha256 };
    }),
  );
  expect(await run("report", ...since)).toContain(`CHANGED AFTER ${signed.asOf}`);
  const { asOf: now } = await reportOf("--month", "2026-02");
  expect(await run("report", "--month", "2026-02", "--signed-at", now)).toContain(
    "no bill was stored or restated after",
  );
});

test.each([
  [
    "2026-01-01,USDT,0.9,EUR",
    'line 1: "2026-01-01,USDT,0.9,EUR" is not the header: write date,coin,price,currency',
  ],
  [
    "date,coin,price,currency\n2026-02-30,BTC,1,EUR",
    'line 2: "2026-02-30" is not a date: write 2026-10-31',
  ],
  ["date;coin;price;currency", 'line 1: "date;coin;price;currency" is not the header'],
  ['date,coin,price,currency\n\n2026-02-03,BTC,"1,5",EUR', "line 3: "],
  [
    "date,coin,price,currency\n2026-02-03,BTC,1e3,EUR",
    'line 2: "1e3" is not a price: write digits with a point',
  ],
  ["date,coin,price,currency\n2026-02-03,BTC,0.0,EUR", "line 2: "],
  [
    "date,coin,price,currency\n2026-02-03,BTC,1,EUR\n2026-02-03,BTC,2,EUR",
    "line 3: line 2 has another price of BTC on 2026-02-03: leave one out",
  ],
  [
    "date,coin,price,currency\n2026-02-03,BTC,1,EUR\n2026-02-03,BTC,2,USD",
    "has prices in EUR, USD: choose one by --currency",
  ],
  ["date,coin,price,currency\n", "has no prices: write a line such as 2026-10-31,USDT,0.92,EUR"],
])("a file of prices %j is refused by line and remedy", async (text, message) => {
  const path = join(folder.path, "bad.csv");
  await writeFile(path, text);
  const refused = await runCli(["report", "--month", "2026-02", "--prices", path], { env });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain(message);
});

test("a coin without a price is named with the line to add, and no sum pretends", async () => {
  const path = join(folder.path, "one.csv");
  await writeFile(path, "\uFEFFcurrency,date,coin,price\r\nEUR,2026-01-31,USDT,0.9\r\n");
  const { incomplete, prices: said } = await reportOf("--month", "2026-02", "--prices", path);
  const sha256 = execFileSync("sha256sum", [path], { encoding: "utf8" }).split(" ")[0];
  expect(said).toEqual({ file: path, sha256 });
  expect(incomplete).toContain(
    "no price of BTC on 2026-01-31 or before: add a line such as 2026-01-31,BTC,PRICE,EUR",
  );
  expect(await run("report", "--month", "2026-02", "--prices", path)).toMatch(/^all +(- +)*-$/m);
  // A year opens with the prices of the day before it. Of CSV, standard error says so.
  const later = await pricesOf("later", ["2026-01-01,USDT,0.9", "2026-01-01,BTC,8"]);
  const year = ["--year", "2026", "--prices", later, "--format", "csv"];
  expect((await runCli(["report", ...year], { env })).stderr).toContain(
    "warning: no price of BTC on 2025-12-31 or before: add a line such as 2025-12-31,BTC,PRICE,EUR\n",
  );
});

test("the lots of the page's example are its own figures", async () => {
  const page = readFileSync(new URL("../docs/accounting.md", import.meta.url), "utf8");
  const rows = [
    ...page.matchAll(
      /^\| (2026-01-\d\d) \| (\w+) \| (-?[\d.]+) \| (-?\d+) \|.*\| (\d+) \| (\d+) \|$/gm,
    ),
  ];
  expect(rows).toHaveLength(5);
  let balance = 0n;
  const own = rows.map(([, day = "", businessType = "", amount = ""], index) => {
    balance += exactUnits(amount);
    const money = { amount, fee: "0", balance: textOf(balance) };
    return billAt(Date.parse(day) + index, index, { coin: "BTC", businessType, ...money });
  });
  const pencil = ledgerOf("pencil", "COIN-FUTURES");
  await storeBills(db, pencil, own);
  const spot = ledgerOf("pencil", "SPOT");
  const received = { coin: "BTC", amount: "0.5", fee: "0", balance: "0.5" };
  await storeBills(db, spot, [
    billAt(Date.parse("2026-01-31") + 900, 9, {
      ...received,
      businessType: "transfer/transfer_in",
    }),
  ]);
  for (const ledger of [pencil, spot])
    await storeTime(db, ledger, { covered: [{ from: "2026-01-01Z", to: "2026-02-01Z" }] });
  const lines = ["05,BTC,50000", "12,BTC,60000", "20,BTC,55000", "31,BTC,65000"];
  const path = await pricesOf(
    "pencil",
    lines.map((line) => `2026-01-${line}`),
  );
  const args = ["--month", "2026-01", "--account", "pencil", "--prices", path, "--lots"];
  const report = await reportOf(...args);
  const basis: Record<string, string> = report.ledgers.find(isOf("COIN-FUTURES")).costBasis[0];
  const [, ...carried] =
    /then has ([\d.]+) at ([\d,]+) since.*?\nand ([\d.]+) at ([\d,]+) since/.exec(page) ?? [];
  const lots: { amount: string; price: string }[] = report.ledgers.find(isOf("SPOT")).lots;
  expect(lots.flatMap(({ amount, price }) => [Number(amount), Number(price)])).toEqual(
    carried.map((text) => Number(text.replaceAll(",", ""))),
  );
  const names = ["opening", "acquired", "cost", "movedOut", "closing", "proceeds", "gain", "worth"];
  const [, sentence = ""] = /The close says: (.*?)\n\n/s.exec(page) ?? [];
  const told = [...sentence.matchAll(/[\d,]*\d(?:\.\d\d)?/g)].map(([text]) =>
    Number(text.replaceAll(",", "")),
  );
  expect(names.map((name) => Number(basis[name]))).toEqual(told);
  expect(Number(basis["gain"])).toBe(rows.reduce((sum, row) => sum + Number(row[6]), 0));
  expect(Number(basis["closing"])).toBe(Number(rows.at(-1)?.[5]));
});

test("each transfer names its other side, in the account, in another one, or by its type", async () => {
  const at = (minute: number) => epochMs(Date.UTC(2026, 1, 5, 12, minute));
  const leg = (
    account: string,
    productType: ProductType,
    [minute, amount, businessType]: readonly [number, string, string],
  ) =>
    storeBills(db, ledgerOf(account, productType), [
      billAt(at(minute), 7, {
        ...{ businessType, amount, coin: "USDC", fee: "0", balance: null, symbol: null },
      }),
    ]);
  await leg("main", "USDC-FUTURES", [1, "-20.5", "trans_to_exchange"]);
  await leg("main", "SPOT", [1, "20.5", "transfer/transfer_in"]);
  await leg("main", "SPOT", [11, "-7", "transfer/transfer_out"]);
  await leg("sub", "USDC-FUTURES", [11, "7", "trans_from_exchange"]);
  await leg("sub", "USDC-FUTURES", [21, "-3", "trans_to_otc"]);
  for (const [account, productType] of [
    ["main", "USDC-FUTURES"],
    ["main", "SPOT"],
    ["sub", "USDC-FUTURES"],
  ] as const)
    await storeTime(
      db,
      { account, productType },
      { covered: [{ from: "2026-02-01Z", to: "2026-03-01Z" }] },
    );
  const when = ["--month", "2026-02"];
  const { ledgers: all } = await reportOf(...when);
  type Named = { account: string; productType: string; rollforward: Line[]; transfers: object[] };
  const legs = all
    .flatMap(({ account, transfers }: Named) => transfers.map((one) => ({ account, ...one })))
    .filter(({ account }: { account: string }) => account !== "fund");
  const one = (
    ...[account, productType, minute, amount, otherAccount, otherProductType, other]: readonly [
      ...[string, string, number, string, string | null, string | null, number?],
    ]
  ) => ({
    ...{ account, productType, coin: "USDC", amount, otherAccount, otherProductType },
    ...{ billId: snowflake(at(minute), 7), time: isoTime(at(minute)).replace(".000", "") },
    otherBillId: other === undefined ? null : snowflake(at(other), 7),
    meaning: expect.stringContaining("transfer"),
  });
  expect(legs).toHaveLength(5);
  expect(legs).toEqual(
    expect.arrayContaining([
      one("main", "USDC-FUTURES", 1, "-20.5", "main", "SPOT", 1),
      one("main", "SPOT", 1, "20.5", "main", "USDC-FUTURES", 1),
      one("main", "SPOT", 11, "-7", "sub", "USDC-FUTURES", 11),
      one("sub", "USDC-FUTURES", 11, "7", "main", "SPOT", 11),
      one("sub", "USDC-FUTURES", 21, "-3", null, null),
    ]),
  );
  const text = await run("report", ...when);
  expect(text).toMatch(/^to main\/SPOT +USDC +1 +-20.50$/m);
  expect(text).toMatch(/^from main\/SPOT +USDC +1 +7.00$/m);
  expect(text).toMatch(/^transfer out to OTC; the other side is not stored +USDC +1 +-3.00$/m);
  // Alone, an account does not look into the others.
  const alone = await reportOf("--month", "2026-02", "--account", "sub");
  expect(alone.ledgers[0].transfers).toMatchObject([
    { otherAccount: null },
    { otherAccount: null },
  ]);
});

/**
 * First in, first out of two wallets, a satoshi's lots at a time: what is sent keeps its day, and what is not there is owed.
 * @param moves of satoshis, at a price; a transfer has its other leg later.
 */
function carriedByHand(moves: readonly Move[], from: number) {
  const wallets = new Map<string, { day: number; units: bigint }[]>();
  const road = new Map<number, { day: number; units: bigint }[]>();
  const sums = new Map<
    string,
    Record<"opening" | "cost" | "proceeds" | "movedOut" | "acquired", bigint>
  >();
  const all = moves.flatMap(({ fee, ...move }) => [
    move,
    // A transfer's fee is spent.
    ...(fee === 0n ? [] : [{ ...move, units: -fee, isSpent: true, transfer: undefined }]),
  ]);
  const costOf = (wallet: string) =>
    (wallets.get(wallet) ?? []).reduce((sum, lot) => sum + lot.units * priceOfDay(lot.day), 0n);
  for (const { wallet, day, units, transfer, isSpent } of all) {
    const before = day < from ? undefined : sums.get(wallet);
    const opening = before?.opening ?? costOf(wallet);
    const sum = before ?? { opening, cost: 0n, proceeds: 0n, movedOut: 0n, acquired: 0n };
    if (day >= from) sums.set(wallet, sum);
    const held = wallets.get(wallet) ?? [];
    const arriving = transfer === undefined ? undefined : road.get(transfer);
    if (units > 0n) {
      for (const lot of arriving ?? [{ day, units }]) {
        held.push({ ...lot });
        sum.acquired += lot.units * priceOfDay(lot.day);
      }
      held.sort((a, b) => a.day - b.day);
    }
    const sent: { day: number; units: bigint }[] = [];
    for (let left = -units; left > 0n; ) {
      const [first] = held;
      if (first === undefined) throw new Error("the test sends what is not there");
      const taken = first.units < left ? first.units : left;
      sent.push({ day: first.day, units: taken });
      sum[isSpent ? "cost" : "movedOut"] += taken * priceOfDay(first.day);
      if (isSpent) sum.proceeds += taken * priceOfDay(day);
      first.units -= taken;
      left -= taken;
      if (first.units === 0n) held.shift();
    }
    if (transfer !== undefined && units < 0n) road.set(transfer, sent);
    wallets.set(wallet, held);
  }
  return (wallet: string) => ({ ...sums.get(wallet), closing: costOf(wallet) });
}

type Move = {
  readonly wallet: string;
  /** Of 2026, from 0. */
  readonly day: number;
  readonly units: bigint;
  readonly fee: bigint;
  readonly isSpent: boolean;
  readonly transfer: number | undefined;
  /** Whether its bill is stored; else the next balance shows it. */
  readonly isStored: boolean;
};

const priceOfDay = (day: number): bigint => 50_000n + BigInt((day * 7919) % 20_000);

test("lots are first in, first out, what no bill moved is acquired, and a transfer takes lots along, with their days, to the other wallet and back", async () => {
  const random = seededRandom("lots");
  const moves: Move[] = [];
  const balance = new Map([
    ["COIN-FUTURES", 0n],
    ["SPOT", 0n],
  ]);
  const move = (
    wallet: string,
    day: number,
    units: bigint,
    isSpent: boolean,
    transfer?: number,
    isStored = true,
  ) => {
    const fee = transfer !== undefined && units < 0n ? 100n : 0n;
    moves.push({ wallet, day, units, fee, isSpent, transfer, isStored });
    balance.set(wallet, (balance.get(wallet) ?? 0n) + units - fee);
  };
  for (let day = 0; day < 59; day++) {
    const [wallet, other] = random() < 0.5 ? ["COIN-FUTURES", "SPOT"] : ["SPOT", "COIN-FUTURES"];
    const part = BigInt(integer(random, 1, 90));
    const held = balance.get(wallet) ?? 0n;
    if (day % 20 === 15) move(wallet, day, 77_000n, false, undefined, false);
    if (held < 1_000n) move(wallet, day, BigInt(integer(random, 1e6, 1e8)), false);
    else if (random() < 0.4) move(wallet, day, (-held * part) / 100n, true);
    else {
      move(wallet, day, (-held * part) / 100n, false, day);
      move(other, day, (held * part) / 100n, false, day);
    }
  }
  const sofar = new Map<string, bigint>();
  for (const [place, each] of moves.entries()) {
    const { wallet, day, units, fee, isSpent, transfer, isStored } = each;
    const cTime = epochMs(Date.UTC(2026, 0, 1 + day, 12) + place * 10);
    sofar.set(wallet, (sofar.get(wallet) ?? 0n) + units - fee);
    if (!isStored) continue;
    const kind = `${transfer !== undefined ? "transfer" : isSpent ? "sell" : "buy"} ${wallet}`;
    const businessType =
      {
        "transfer COIN-FUTURES": units < 0n ? "trans_to_exchange" : "trans_from_exchange",
        "transfer SPOT": units < 0n ? "transfer/transfer_out" : "transfer/transfer_in",
      }[kind] ?? (wallet === "SPOT" ? "trade/" : "") + (isSpent ? "sell" : "buy");
    const inBitcoin = (satoshis: bigint) => textOf(satoshis * (scale / 100_000_000n));
    const text = { amount: inBitcoin(units), fee: inBitcoin(-fee) };
    await storeBills(db, ledgerOf("carrier", wallet as ProductType), [
      billAt(cTime, place, {
        ...{ coin: "BTC", businessType, ...text, balance: inBitcoin(sofar.get(wallet) ?? 0n) },
      }),
    ]);
  }
  for (const wallet of ["COIN-FUTURES", "SPOT"] as const)
    await storeTime(db, ledgerOf("carrier", wallet), {
      covered: [{ from: "2026-01-01Z", to: "2026-03-01Z" }],
    });
  const dates = Array.from({ length: 59 }, (_, day) =>
    isoTime(epochMs(Date.UTC(2026, 0, 1 + day))).slice(0, 10),
  );
  const path = await pricesOf(
    "carrier",
    dates.map((date, day) => `${date},BTC,${priceOfDay(day)}`),
  );
  const args = ["--month", "2026-02", "--account", "carrier", "--prices", path, "--lots"];
  const report = await reportOf(...args);
  const byHand = carriedByHand(moves, 31);
  for (const wallet of ["COIN-FUTURES", "SPOT"]) {
    const hand = byHand(wallet);
    const { costBasis, lots } = report.ledgers.find(isOf(wallet));
    expect(lots.reduce((sum: bigint, { amount }: Line) => sum + exact(amount), 0n)).toBe(
      (sofar.get(wallet) ?? 0n) * (scale / 100_000_000n),
    );
    for (const name of ["opening", "acquired", "cost", "proceeds", "movedOut", "closing"] as const)
      expect([wallet, name, inUnits(costBasis[0][name])]).toEqual([
        wallet,
        name,
        (hand[name] ?? 0n) * (scale / 100_000_000n),
      ]);
  }
});

test("a coin whose first bill comes later has the same balance before, if all time between was read", async () => {
  const at = epochMs(Date.UTC(2026, 2, 20, 12));
  const resting = ledgerOf("resting", "COIN-FUTURES");
  const kind = { coin: "BTC", businessType: "withdraw", amount: "-0.5", fee: "0", balance: "1.5" };
  await storeBills(db, resting, [billAt(at, 1, kind)]);
  const summaryOf = async (month: string) =>
    (await reportOf("--month", month, "--account", "resting")).summary;
  await storeTime(db, resting, { covered: [{ from: "2026-02-01Z", to: "2026-04-01Z" }] });
  expect(await summaryOf("2026-02")).toMatchObject([
    { coin: "BTC", opening: "2.0", closing: "2.0" },
  ]);
  expect(await summaryOf("2026-03")).toMatchObject([
    { coin: "BTC", opening: "2.0", closing: "1.5" },
  ]);
  const journal = await run(
    "export",
    "--format",
    "hledger",
    "--month",
    "2026-02",
    "--account",
    "resting",
  );
  expect(journal).toMatch(/^2026-02-01 .*\n.*\n.* 2.0 BTC$/m);
  // Its lots cost the price of the first bill's day, in each close alike, and the close says of which day that is.
  const path = await pricesOf("resting", [
    ...["2026-01-31,BTC,100", "2026-03-18,BTC,110", "2026-03-25,BTC,130"],
  ]);
  for (const [month, figures] of [
    ["2026-02", { opening: "220.0", cost: "0", closing: "220.0", worth: "200.0" }],
    ["2026-03", { opening: "220.0", cost: "55.0", closing: "165.0", worth: "195.0" }],
  ] as const) {
    const args = ["--month", month, "--account", "resting", "--prices", path, "--lots"];
    const { ledgers: closed } = await reportOf(...args);
    expect(closed[0].costBasis).toMatchObject([
      { ...figures, firstBillOn: "2026-03-20", pricedOn: "2026-03-18" },
    ]);
    expect(await run("report", ...args)).toContain(
      "2.000000 BTC were there before the first bill, of 2026-03-20, and cost the price of 2026-03-18",
    );
  }
  await db.execute(sql`
    update ledgers set covered = '{[2026-02-01Z,2026-03-05Z),[2026-03-06Z,2026-04-01Z)}'
    where account = 'resting'`);
  expect(await summaryOf("2026-02")).toEqual([]);
});
