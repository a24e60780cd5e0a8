// A close in any zone, of a month, a year or other days: amounts, contracts, confirmed balances; what changed after a
// signature, with the digest of then (integers over the exported CSV); each transfer names its other side. Monthly
// journals are the journal of all months (hledger and bean-check on the files put together).

import { parse } from "csv-parse/sync";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { limited } from "../src/books/report/figures.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import { epochMs, hourMs, isoTime } from "../src/lib/time.ts";
import { fields, table } from "../src/output/result.ts";
import { snowflake } from "../src/wings/sandbox/entry.ts";
import { aBill, billAt } from "./support/bills.ts";
import { openBrowser } from "./support/browser.ts";
import { runCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { exactUnits, refusalOf, verifiedSums } from "./support/journal.ts";
import { ledgerOf, storeBills, storeTime } from "./support/stored-ledger.ts";

const { db, url } = await fileDatabase();
const env = { DATABASE_URL: url };
const start = Date.UTC(2025, 11, 30);
const end = Date.UTC(2026, 3, 3);

const kinds = [
  ...["close_long", "contract_settle_fee", "trans_from_exchange", "open_short", "close_short"],
  ...["contract_settle_fee", "force_close_long", "trans_to_exchange", "risk_new_type"],
  "cash_gift_issue",
];

/** A bill every two hours, of every kind; some show no balance, and one is missing. */
function bills(coin: string, symbols: readonly string[], step: string): readonly Bill[] {
  const unit = exactUnits(step);
  let balance = exactUnits("1000");
  const all: Bill[] = [];
  for (let at = start, index = 0; at < end; at += 2 * hourMs, index++) {
    const businessType = kinds[(index * 7) % kinds.length] ?? "";
    const isTraded = /^(close|open|force)/.test(businessType);
    const sign = BigInt(
      Number(/^trans_from|issue/.test(businessType)) - Number(/^trans_to/.test(businessType)),
    );
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

const run = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await runCli(args, { env });
  // An export warns of the missing bill, and of a year that is not over.
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^(warning: .*\n)*$/),
  });
  return stdout;
};
type Row = Readonly<Record<string, string>>;
type Line = Record<"coin" | "line" | "title", string> & { readonly amount: string | null };
type Closed = {
  readonly account: string;
  readonly productType: string;
  readonly rollforward: readonly Line[];
  readonly balanceChecks: readonly object[];
  readonly digest: Row;
  readonly digestThen: object;
} & Readonly<Record<"contracts" | "flows", readonly Row[]>>;
type Report = {
  readonly from: string;
  readonly asOf: string;
  readonly problems: readonly string[];
  readonly ledgers: readonly Closed[];
} & Readonly<Record<"coins" | "changes" | "summary", readonly Row[]>>;
const reportOf = async (...args: readonly string[]): Promise<Report> =>
  JSON.parse(await run("report", ...args, "--format", "json"));
const usdtFuturesOf = ({ ledgers }: Report): Closed =>
  ledgers.find(({ productType }) => productType === "USDT-FUTURES") ?? expect.unreachable();
const linesOf = ({ ledgers }: Report) => ledgers.flatMap(({ rollforward }) => rollforward);
const sumOf = <One>(rows: readonly One[], of: (row: One) => bigint) =>
  rows.reduce((sum, row) => sum + of(row), 0n);
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

type Contract = Record<"realisedPnl" | "fees" | "funding" | "otherResult" | "result", bigint>;
const noResult: Contract = { realisedPnl: 0n, fees: 0n, funding: 0n, otherResult: 0n, result: 0n };
const partOf: Readonly<Record<string, keyof Contract>> = {
  realised_pnl: "realisedPnl",
  fees_paid: "fees",
  funding_received: "funding",
  funding_paid: "funding",
};

/** Amounts of each line and contract, from the CSV's own columns and a calendar of Intl. */
function byHand(csv: string, coin: string) {
  const rows: Record<string, string>[] = parse(csv, { columns: true });
  const sums = new Map<string, bigint>();
  const contracts = new Map<string, Contract>();
  const count = (line: string, amount: bigint) => sums.set(line, (sums.get(line) ?? 0n) + amount);
  let opening: bigint | undefined;
  let [closing, moved] = [0n, 0n];
  for (const row of rows.filter((one) => one["coin"] === coin)) {
    const [amount, fee] = [exactUnits(row["amount"] ?? ""), exactUnits(row["fee"] ?? "")];
    const category = row["category"] ?? "";
    for (const [line, units] of [
      [columnOf[category]?.[amount > 0n ? 0 : 1] ?? category, amount],
      ["fees_paid", fee],
    ] as const) {
      count(line, units);
      if (results.includes(line)) {
        count("result", units);
        const contract = contracts.get(row["symbol"] ?? "") ?? noResult;
        const part = partOf[line] ?? "otherResult";
        const result = contract.result + units;
        contracts.set(row["symbol"] ?? "", { ...contract, result, [part]: contract[part] + units });
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
    discrepancy: closing - (opening ?? 0n) - moved,
  };
}

const exact = (text: string | null | undefined) => exactUnits(text ?? "none");
test.each([
  ["Europe/Berlin", ["--year", "2026"]],
  ["America/New_York", ["--from", "2026-01-15", "--to", "2026-03-20"]],
] as const)(
  "the close by the clock of %s, %j, has figures that are plain arithmetic over its exported CSV, and its own CSV has them",
  async (zone, period) => {
    const when = [...period, "--time-zone", zone];
    const report = await reportOf(...when);
    expect(report.ledgers).toHaveLength(2);
    for (const closed of report.ledgers) {
      const coin = closed.productType === "COIN-FUTURES" ? "BTC" : "USDT";
      const exportArgs = closed.digest["export"]?.split(" -- ")[1]?.split(" ") ?? [];
      const hand = byHand(await run("export", ...exportArgs), coin);
      const lines = new Map(closed.rollforward.map((line) => [line.line, line]));
      const shown = (line: string) => exact(lines.get(line)?.amount);
      expect(["opening", "closing", "discrepancy"].map(shown)).toEqual([
        ...[hand.opening, hand.closing, hand.discrepancy],
      ]);
      for (const line of ["result", ...results, "transfers_in", "transfers_out"])
        expect([line, shown(line)]).toEqual([line, hand.sums.get(line) ?? 0n]);
      expect(sumOf(closed.flows, ({ amount }) => exact(amount))).toBe(
        shown("transfers_in") + shown("transfers_out"),
      );
      const named = [...hand.contracts].filter(([, { result }]) => result !== 0n);
      const parts = Object.keys(noResult);
      expect(
        new Map(
          closed.contracts.map((one) => [
            one["contract"],
            Object.fromEntries(parts.map((part) => [part, exact(one[part])])),
          ]),
        ),
      ).toEqual(new Map(named.map(([name, sums]) => [name || "no contract", sums])));
      const moves = ["result", "transfers_in", "transfers_out"].map(
        (line) => hand.sums.get(line) ?? 0n,
      );
      const otherMoves =
        hand.closing - hand.opening - moves.reduce((sum, units) => sum + units, 0n);
      for (const rows of [report.summary, report.coins])
        expect(exact(rows.find((one) => one["coin"] === coin)?.["otherMoves"])).toBe(otherMoves);
    }
    const lines = linesOf(report);
    for (const { coin, opening, result, closing } of report.coins)
      expect([opening, result, closing].map(exact)).toEqual(
        ["opening", "result", "closing"].map((name) =>
          sumOf(
            lines.filter((one) => one.line === name && one.coin === coin),
            ({ amount }) => exact(amount),
          ),
        ),
      );
    expect(report.coins.map(({ coin }) => coin).toSorted()).toEqual(["BTC", "USDT"]);
    const csv = await run("report", ...when, "--format", "csv");
    const rows: Row[] = parse(csv, { columns: true });
    expect(rows.map(({ line, coin, amount }) => [line, coin, amount])).toEqual(
      lines.map(({ line, coin, amount }) => [line, coin, amount ?? ""]),
    );
  },
);

test("each table of JSON is a file of CSV that a spreadsheet reads, with the ledger of each row", async () => {
  const month = ["--month", "2026-03"];
  const report = await reportOf(...month);
  const listsOf = (data: object): [string, Row[]][] =>
    Object.entries(data).filter(([, value]) => typeof value?.[0] === "object");
  const tables = new Map(listsOf(report).filter(([name]) => name !== "ledgers"));
  for (const { account, productType, ...lists } of report.ledgers)
    for (const [name, rows] of listsOf(lists))
      tables.set(name, [
        ...(tables.get(name) ?? []),
        ...rows.map((row) => ({ account, productType, ...row })),
      ]);
  const { stdout } = await runCli(["report", "--help"], { env });
  const [, choices = ""] = /--table <name>[^:]*:([^()]*)/.exec(stdout) ?? [];
  expect(choices.trim().split(/,\s+/)).toEqual(expect.arrayContaining([...tables.keys()]));
  for (const name of ["flows", "summary"]) {
    const csv = await run("report", ...month, "--format", "csv", "--table", name);
    const cellOf = (value: unknown) =>
      value === null ? "" : /^\d{16,}$/.test(`${value}`) ? `'${value}` : `${value}`;
    expect(parse(csv, { columns: true })).toEqual(
      (tables.get(name) ?? expect.unreachable()).map((row) =>
        Object.fromEntries(Object.entries(row).map(([key, value]) => [key, cellOf(value)])),
      ),
    );
  }
  // Also a table without rows has its header.
  expect(await run("report", ...month, "--format", "csv", "--table", "accepted")).toMatch(
    /^account,productType,number,kind,/,
  );
});

test("amounts are in cents and thousands, zero lines hidden, and the zone is said once", async () => {
  const when = ["--month", "2026-03", "--time-zone", "Europe/Berlin", "--product", "USDT-FUTURES"];
  const text = await run("report", ...when);
  expect(text).toMatch(/^net result +-?[\d,]+\.\d\d$/m);
  expect(text).not.toMatch(/^(copy trading|delivery|interest)/m);
  expect(text.indexOf("\nunclassified ")).toBeGreaterThan(0);
  expect(text.indexOf("\nunclassified ")).toBeLessThan(text.indexOf("\nnet result"));
  expect(text.match(/(?<!--time-zone )Europe\/Berlin/g)).toHaveLength(1);
});

test("people see ten rows of a long table, and what writes all", () => {
  const rows = (count: number) =>
    limited(
      table("", fields<{ n: number }>("count", ["n"]), Array(count).fill({ n: 1 })),
      "flows",
    ).cells.map(([cell]) => cell);
  expect(rows(10)).toEqual(Array(10).fill("1"));
  expect(rows(12)).toEqual([...Array(10).fill("1"), "and 2 more: --format csv --table flows"]);
});

test("a month of three ledgers prints in 8 points on two A4 pages, and no day or amount breaks", async () => {
  await using browser = await openBrowser();
  const page = await browser.newPage();
  const args = ["--month", "2026-02", "--format", "html"];
  // The fund has two ledgers: the first one is printed twice.
  const [top, head, ledger, ...others] = (await run("report", ...args)).split("<h2>");
  await page.setContent([top, head, ledger, ledger, ...others].join("<h2>"));
  await page.setViewportSize({ width: 600, height: 800 });
  const broken = "td => td.className !== 'long' && td.clientHeight > 30";
  const all = (selector: string) => `[...document.querySelectorAll("${selector}")]`;
  expect(await page.evaluate(`${all("td")}.filter(${broken}).length`)).toBe(0);
  await page.emulateMedia({ media: "print" });
  const sizes = `${all("body *")}.map(one => parseFloat(getComputedStyle(one).fontSize))`;
  expect(0.75 * Math.min(...(await page.evaluate<number[]>(sizes)))).toBeGreaterThanOrEqual(8);
  const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
  expect(/\/MediaBox \[[^\]]*/.exec(pdf)?.[0]).toMatch(/\[0 0 84[12](\.\d+)? 59[45]/);
  expect((pdf.match(/\/Type \/Page\b/g) ?? []).length).toBeLessThanOrEqual(2);
});

test("the exchange's own balances stand beside closings", async () => {
  await db.execute(sql`
    insert into wallet_balances (account, wallet, coin, first_seen_at, last_seen_at, balance, may_differ, expected)
    values
      ('fund', 'USDT-FUTURES', 'USDT', '2026-01-31T20:00Z', '2026-02-01T04:00Z', 1000.5, false, 1000.5),
      ('fund', 'USDT-FUTURES', 'USDT', '2026-02-20Z', '2026-02-20Z', 7, false, null),
      ('fund', 'USDT-FUTURES', 'USDT', '2026-03-01T05:00Z', '2026-03-01T06:00Z', 1200, false, 1201),
      ('fund', 'USDT-FUTURES', 'USDT', '2026-03-20Z', '2026-03-20Z', 1300, false, 1300)`);
  const report = () => reportOf("--month", "2026-02");
  const checks = async () => usdtFuturesOf(await report()).balanceChecks;
  expect(await checks()).toMatchObject([
    { readAt: "2026-03-01T05:00:00Z", exchange: "1200", differs: true },
  ]);
  expect(await run("report", "--month", "2026-02")).toContain("NO: 1200, not 1201");
  expect((await report()).summary.map(({ coin, closingCheck }) => [coin, closingCheck])).toEqual([
    ["BTC", "no balance yet"],
    ["USDT", "NO: 1200, not 1201"],
  ]);
  // Where time between the period and a reading was not read, bills do not lead from one to the other.
  const hours = sql`'{[2026-03-01T02:00Z,2026-03-01T03:00Z)}'::tstzmultirange`;
  const ofFund = sql`where account = 'fund' and product_type = 'USDT-FUTURES'`;
  await db.execute(sql`update ledgers set covered = covered - ${hours} ${ofFund}`);
  expect(await checks()).toEqual([]);
  await db.execute(sql`update ledgers set covered = covered + ${hours} ${ofFund}`);
  // What follows from bills that somebody changed by hand, no balance confirms.
  const add = (amount: number) => sql`
    update bills set amount = amount + ${amount} ${ofFund}
    and bill_id = (select min(bill_id) from bills ${ofFund} and c_time > '2026-02-02Z')`;
  await db.execute(add(1));
  expect(await checks()).toEqual([]);
  expect((await report()).problems.join()).toMatch(
    /fund\/USDT-FUTURES\/USDT does not add up.*by hand/,
  );
  await db.execute(add(-1));
});

test("beside a bill that was deleted by SQL the closing stays what the exchange served, and the first bill that does not follow is named", async () => {
  const [account, productType, own] = ledgers[0];
  const february = own.filter(({ cTime }) => cTime >= Date.UTC(2026, 1, 1) && cTime < march(1));
  const at = february.findIndex(({ amount, balance }, place) => {
    const beside = [february[place - 1], february[place + 1]];
    return (
      exactUnits(amount) > 0n && [balance, ...beside.map((one) => one?.balance)].every(Boolean)
    );
  });
  const [before, gone, after] = february.slice(at - 1);
  const last = february.findLastIndex(({ balance }) => balance !== null);
  const moved = (some: readonly Bill[]) =>
    sumOf(some, ({ amount, fee }) => exactUnits(amount) + exactUnits(fee));
  const served = exactUnits(february[last]?.balance ?? "") + moved(february.slice(last + 1));
  const isGone = sql`account = ${account} and product_type = ${productType} and bill_id = ${gone?.billId ?? ""}`;
  const closing = async () =>
    usdtFuturesOf(await reportOf("--month", "2026-02")).rollforward.find(
      ({ coin, line }) => coin === "USDT" && line === "closing",
    )?.amount;
  expect(exactUnits((await closing()) ?? "")).toBe(served);
  await db.execute(sql`create table gone as select * from bills where ${isGone}`);
  await db.execute(sql`delete from bills where ${isGone}`);
  const size = textOf(moved(gone === undefined ? [] : [gone]));
  const said =
    `${account}/${productType}/USDT does not add up: 1 break (bill ${after?.billId} does not follow from bill ` +
    `${before?.billId}, and rows were changed or deleted by hand, the balance is ${size} USDT higher than the bills explain) ` +
    `since ${isoTime(before?.cTime ?? epochMs(0))
      .slice(0, 16)
      .replace("T", " ")}Z; bill-sync reconcile --full --repair`;
  try {
    expect((await reportOf("--month", "2026-02")).problems).toContainEqual(said);
    expect(exactUnits((await closing()) ?? "")).toBe(served);
    const words = ["export", "--format", "hledger", "--month", "2026-02"];
    const journal = await runCli(words, { env });
    expect(journal.stderr).toContain(`warning: ${said}`);
    expect(journal.stdout).toContain(`as the balance of bill ${after?.billId} shows`);
    expect((await reportOf("--month", "2026-01")).problems.join()).not.toContain("by hand");
  } finally {
    await db.execute(sql`insert into bills select * from gone`);
    await db.execute(sql`drop table gone`);
  }
  expect((await reportOf("--month", "2026-02")).problems.join()).not.toContain("by hand");
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
  const recovered = { source: "tax-records", businessType: "trans_from_exchange" } as const;
  await storeBills(db, ledger, [bill(3, "5", recovered)]);
  const since = ["--month", "2026-02", "--signed-at", signed.asOf];
  const report = await reportOf(...since);
  const fee = textOf(exactUnits("-4.5") - exactUnits(trade.fee));
  expect(report.changes).toMatchObject([
    { kind: "late", category: "trade", coin: "USDT", bills: 2, difference: "11.25" },
    { kind: "recovered", category: "transfer", bills: 1, difference: "5" },
    { kind: "restated", category: "trade", bills: 1 },
  ]);
  expect(report.changes[2]?.["difference"]).toMatch(new RegExp(`^${fee}0*$`));
  for (const { since: changedAt = "" } of report.changes)
    expect(changedAt > signed.asOf).toBe(true);
  expect(report.ledgers.map(({ digestThen }) => digestThen)).toEqual(
    signed.ledgers.map(({ digest: { bills, sha256 } }) => ({ bills, sha256 })),
  );
  expect(await run("report", ...since)).toContain(`CHANGED AFTER ${signed.asOf}`);
  const { asOf: now } = await reportOf("--month", "2026-02");
  expect(await run("report", "--month", "2026-02", "--signed-at", now)).toContain(
    "no bill was stored or restated after",
  );
  const ahead = ["--month", "2026-02", "--signed-at", "2999-03-03T08:15Z"];
  expect(await runCli(["report", ...ahead], { env })).toMatchObject({
    ...{ code: 2, stdout: "" },
    stderr: expect.stringMatching(/^--signed-at "2999-03-03T08:15Z" is after now, .*Z: write the/),
  });
});

test("each transfer names its other side, in the account, in another one, or by its type", async () => {
  const at = (minute: number) => epochMs(Date.UTC(2026, 1, 5, 12, minute));
  const legs = [
    ["main", "USDC-FUTURES", 1, "-20.5", "trans_to_exchange"],
    ["main", "SPOT", 1, "20.5", "transfer/transfer_in"],
    ["main", "SPOT", 11, "-7", "transfer/transfer_out"],
    ["sub", "USDC-FUTURES", 11, "7", "trans_from_exchange"],
    ["sub", "USDC-FUTURES", 21, "-3", "trans_to_otc"],
  ] as const;
  for (const [account, productType, minute, amount, businessType] of legs) {
    const money = { businessType, amount, coin: "USDC", fee: "0", balance: null, symbol: null };
    const ledger = ledgerOf(account, productType);
    await storeBills(db, ledger, [billAt(at(minute), 7, money)]);
    await storeTime(db, ledger, { covered: [{ from: "2026-02-01Z", to: "2026-03-01Z" }] });
  }
  const shown = (await reportOf("--month", "2026-02")).ledgers
    .filter(({ account }) => account !== "fund")
    .flatMap(({ account, productType, flows }) =>
      flows.map((one) => ({ account, productType, ...one })),
    );
  const others = [legs[1], legs[0], legs[3], legs[2], []];
  expect(shown).toHaveLength(legs.length);
  expect(shown).toEqual(
    expect.arrayContaining(
      legs.map(([account, productType, minute, amount], place) => {
        const [otherAccount = null, otherProductType = null, other] = others[place] ?? [];
        return {
          ...{ account, productType, coin: "USDC", amount, otherAccount, otherProductType },
          ...{ billId: snowflake(at(minute), 7), time: isoTime(at(minute)).replace(".000", "") },
          otherBillId: other === undefined ? null : snowflake(at(other), 7),
          meaning: expect.stringContaining("transfer"),
        };
      }),
    ),
  );
  const text = await run("report", "--month", "2026-02");
  expect(text).toMatch(/^to main\/SPOT +USDC +1 +-20.50$/m);
  expect(text).toMatch(/^from main\/SPOT +USDC +1 +7.00$/m);
  expect(text).toMatch(/^transfer out to OTC; the other side is not stored +USDC +1 +-3.00$/m);
  // Alone, an account does not look into the others.
  const alone = await reportOf("--month", "2026-02", "--account", "sub");
  const unknown = { otherAccount: null };
  expect(alone.ledgers[0]?.flows).toMatchObject([unknown, unknown]);
});

test("a coin whose first bill comes later has the same balance before, if all time between was read", async () => {
  const at = epochMs(Date.UTC(2026, 2, 20, 12));
  const resting = ledgerOf("resting", "COIN-FUTURES");
  const kind = { coin: "BTC", businessType: "withdraw", amount: "-0.5", fee: "0", balance: "1.5" };
  await storeBills(db, resting, [billAt(at, 1, kind)]);
  await storeTime(db, resting, { covered: [{ from: "2026-02-01Z", to: "2026-04-01Z" }] });
  const ofResting = ["--month", "2026-02", "--account", "resting"];
  expect(await run("export", "--format", "hledger", ...ofResting)).toMatch(
    /^2026-02-01 .*\n.*\n.* 2.0 BTC$/m,
  );
  expect((await reportOf(...ofResting)).summary).toMatchObject([
    { coin: "BTC", opening: "2.0", closing: "2.0" },
  ]);
  await db.execute(sql`
    update ledgers set covered = '{[2026-02-01Z,2026-03-05Z),[2026-03-06Z,2026-04-01Z)}'
    where account = 'resting'`);
  expect((await reportOf(...ofResting)).summary).toEqual([]);
});

test.each([
  ["hledger", "Europe/Berlin"],
  ["beancount", "America/New_York"],
] as const)(
  "files of %s by months of %s make one journal that checks, with the balances of one file of all",
  async (format, zone) => {
    // Both zones change their clocks in March, a bill of which is lost; wallets begin at other times.
    const months = ["2026-01", "2026-02", "2026-03"];
    const journal = (...words: readonly string[]) =>
      run("export", "--format", format, "--time-zone", zone, ...words);
    const whole = await journal("--from", "2026-01-01", "--to", "2026-04-01");
    const files: string[] = [];
    for (const month of months)
      files.push(
        await journal("--month", month, ...(files[0] ? ["--continue", "2026-01-01"] : [])),
      );
    const together = files.join("\n");
    expect([refusalOf(format, whole), refusalOf(format, together)]).toEqual(["", ""]);
    expect(verifiedSums(format, together)).toEqual(verifiedSums(format, whole));
    const count = (text: string, kind: string) =>
      text.match(new RegExp(`category:? ?"?${kind}`, "g"))?.length;
    for (const kind of ["opening", "discrepancy"])
      expect(count(together, kind)).toBe(count(whole, kind));
    const directives = together.match(/^(?:\S+ open |account |(?:\S+ )?commodity ).*$/gm) ?? [];
    expect(new Set(directives).size).toBe(directives.length);
    // Each transaction is only in the file of its month.
    for (const [index, file] of files.entries()) {
      const days = [...file.matchAll(/^(\d{4}-\d\d)-\d\d \* /gm)].map(([, month]) => month);
      expect(new Set(days)).toEqual(new Set([months[index]]));
    }
  },
);
