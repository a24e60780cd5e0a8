// Holds: Days are of bills, One definition
// Every figure of the served page is that of the bills, digit by digit; it leads to those bills and no others,
// and so does a file (drawn ledgers, classic and unified, with lost bills, roundings and time that is not
// judged yet, against integers in their true order).

import { parse } from "csv-parse/sync";
import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import { businessTypes, type Category } from "../src/core/contract/business-types.ts";
import { inTransaction, type Transaction } from "../src/core/postgres/connect.ts";
import { dayMs, epochMs, isoTime } from "../src/lib/time.ts";
import { snowflake } from "../src/wings/sandbox/entry.ts";
import { units } from "../src/wings/sandbox/money.ts";
import { pick, seededRandom } from "../src/wings/sandbox/random.ts";
import { writeBillsPage } from "../src/wings/serve/page/bills-page.ts";
import { exportFile } from "../src/wings/serve/page/downloads.ts";
import { writePage } from "../src/wings/serve/page/page.ts";
import { fileDatabase } from "./support/database.ts";
import { exactUnits, places } from "./support/journal.ts";
import { type FigureRow, type FigureTable, tablesIn } from "./support/page-figures.ts";
import { logRun } from "./support/page-states.ts";
import { unconfigured } from "./support/roster.ts";
import {
  type Habits,
  smallLedger,
  smallLedgerEnd,
  smallLedgerStart,
  storeLedgers,
  type TrueBill,
} from "./support/small-ledger.ts";
import { storeUnified, unifiedEnd, unifiedLedger, unifiedStart } from "./support/unified-ledger.ts";

const { db } = await fileDatabase();

const scaled = (units: bigint, scale: number) => units * 10n ** BigInt(places - scale);

/** A bill with what it truly does to its balance. */
type ModelBill = Readonly<Record<"id" | "symbol" | "type", string>> &
  Readonly<Record<"amount" | "movedAmount" | "movedFee", bigint>> & {
    readonly time: number;
    readonly category: Category;
    readonly balance: bigint | undefined;
  };

type Model = {
  readonly account: string;
  readonly product: string;
  readonly coin: string;
  /** In true order. */
  readonly bills: readonly ModelBill[];
  readonly from: number;
  readonly to: number;
  /** What comes later is not judged yet. */
  readonly settledTo: number;
};

const categoryOf = new Map(businessTypes.map(({ code, category }) => [code, category]));

const modelBill = (
  bill: Bill,
  category: Category,
  [movedAmount, movedFee]: readonly [bigint, bigint],
): ModelBill => ({
  ...{ id: bill.billId, time: bill.cTime, symbol: bill.symbol ?? "", type: bill.businessType },
  ...{ category, amount: exactUnits(bill.amount), movedAmount, movedFee },
  balance: bill.balance === null ? undefined : exactUnits(bill.balance),
});

const classicBill = (bill: TrueBill, { couponMoves = false }: Habits): ModelBill => {
  const [amount, fee] = [exactUnits(bill.amount), exactUnits(bill.fee)];
  const coupon = exactUnits(bill.feeByCoupon ?? "0");
  const isStill = bill.moved === 0n && amount + fee + coupon !== 0n;
  return modelBill(bill, categoryOf.get(bill.businessType) ?? "unclassified", [
    isStill ? 0n : amount,
    isStill ? 0n : fee + (couponMoves ? coupon : 0n),
  ]);
};

type Drawn = Habits & {
  readonly loses?: number;
  /** Only the time of the first half of its bills is known to be completely read. */
  readonly isHalfRead?: boolean;
};

const classicLedgers: Readonly<Record<string, Drawn>> = {
  plain: {},
  rounding: { rounds: true, missingPercent: 15 },
  broken: { loses: 3 },
  unreconciled: { loses: 12, isHalfRead: true },
  margins: { marginMoves: true, missingPercent: 5 },
  coupons: { couponMoves: true },
};

const models: Model[] = [];

beforeAll(async () => {
  const stored = new Map<string, readonly TrueBill[]>();
  const unread = new Map<string, readonly [number, number]>();
  for (const [account, { loses = 0, isHalfRead = false, ...habits }] of Object.entries(
    classicLedgers,
  )) {
    const random = seededRandom(`page ${account}`);
    const drawn = smallLedger(random, habits).map((bill) => ({
      ...bill,
      symbol: pick(random, [null, "BTCUSDT", "ETHUSDT"]),
    }));
    const bills = without(isHalfRead ? inOrder(drawn) : drawn, loses);
    stored.set(account, bills);
    const middle = (bills[Math.floor(bills.length / 2)]?.cTime ?? 0) + 1;
    const settledTo = isHalfRead ? middle : smallLedgerEnd;
    if (isHalfRead) unread.set(account, [settledTo, smallLedgerEnd]);
    models.push({
      ...{ account, product: "USDT-FUTURES", coin: "USDT", settledTo },
      bills: bills.map((bill) => classicBill(bill, habits)),
      from: smallLedgerStart,
      to: isHalfRead ? (bills.at(-1)?.cTime ?? 0) : smallLedgerEnd,
    });
  }
  await storeLedgers(db, stored, { unread });
  const unified = unifiedLedger(seededRandom("page unified"));
  await storeUnified(db, "unified", unified);
  for (const coin of ["USDT", "rTOWN"]) {
    models.push({
      ...{ account: "unified", product: "UTA", coin },
      ...{ from: unifiedStart, to: unifiedEnd, settledTo: unifiedEnd },
      bills: unified
        .filter((bill) => bill.coin === coin)
        .map((bill) =>
          modelBill(bill, bill.category, [scaled(bill.movedAmount, 16), scaled(bill.movedFee, 16)]),
        ),
    });
  }
  await reconcile(db, { accounts: undefined, productTypes: undefined }, { isFull: true });
  await db.execute(sql`analyze`);
  await logRun(db, { command: "reconcile", agoMs: 1, tookMs: 1 });
});

/** With ids in the true order: where none was reconciled, nothing else tells it. */
const inOrder = <Bill extends TrueBill>(bills: readonly Bill[]): readonly Bill[] =>
  bills.map((bill, index) => ({ ...bill, billId: snowflake(bill.cTime, index) }));

/** Takes so many bills out that move the balance, stand alone in their millisecond, and are followed by one. */
function without<Bill extends TrueBill>(bills: readonly Bill[], count: number): readonly Bill[] {
  const fit = bills.filter(
    ({ moved, cTime }, index) =>
      index > 5 &&
      index < bills.length - 5 &&
      (moved > units("1") || moved < -units("1")) &&
      bills.filter((other) => other.cTime === cTime).length === 1,
  );
  const gone = Array.from(
    { length: count },
    (_, index) => fit[Math.floor((fit.length * (index + 1)) / (count + 1))],
  );
  return bills.filter((bill) => !gone.includes(bill));
}

/** A figure of the statement, and the bills that make it up. */
type Part = { readonly value: bigint; readonly ids: readonly string[] };
type Day = {
  readonly opening: bigint;
  readonly closing: bigint;
  /** By the statement's titles. */
  readonly parts: ReadonlyMap<string, Part>;
  readonly bills: number;
};

const dayOf = (time: number) => isoTime(epochMs(time)).slice(0, 10);

const titles: Readonly<Record<Category, string>> = {
  ...{ trade: "Profit", "fee-bills": "Fees", funding: "Funding", liquidation: "Liquidations" },
  ...{ bonus: "Other results", copy: "Other results", delivery: "Other results" },
  ...{ interest: "Other results", margin: "Other", conversion: "Other", spot: "Other" },
  ...{ loan: "Other", transfer: "Net flows", deposit: "Net flows", withdrawal: "Net flows" },
  unclassified: "Unclassified",
};
const results = ["Profit", "Fees", "Funding", "Liquidations", "Other results", "Unclassified"];
const ofChain = ["Rounding", "Discrepancy", "Not reconciled yet"];

/** What bills move, by title; the result is the sum of its parts. */
function partsOf(bills: readonly ModelBill[]): Map<string, Part> {
  const parts = new Map<string, Part>();
  const add = (title: string, value: bigint, id: string) => {
    const { value: sum = 0n, ids = [] } = parts.get(title) ?? {};
    if (value !== 0n) parts.set(title, { value: sum + value, ids: [...ids, id] });
  };
  for (const { id, category, movedAmount, movedFee } of bills) {
    const own = new Map<string, bigint>([["Fees", movedFee]]);
    own.set(titles[category], (own.get(titles[category]) ?? 0n) + movedAmount);
    for (const [title, value] of own) add(title, value, id);
    add(
      "Result",
      sumOf([...own].flatMap(([title, value]) => (results.includes(title) ? value : []))),
      id,
    );
  }
  return parts;
}

/** Every day from the first bill to the end of what was read. */
function daysOf({ bills, to, settledTo }: Model): ReadonlyMap<string, Day> {
  const [first] = bills;
  const shownAt = bills.findIndex(({ balance }) => balance !== undefined);
  if (first === undefined || shownAt === -1) throw new Error("no ledger");
  const net = (bill: ModelBill) => bill.movedAmount + bill.movedFee;
  let balance = (bills[shownAt]?.balance ?? 0n) - sumOf(bills.slice(0, shownAt + 1).map(net));
  let since = 0n;
  const days = new Map<string, Day>();
  const byDay = Map.groupBy(bills, ({ time }) => dayOf(time));
  for (let time = Date.parse(dayOf(first.time)); time <= to; time += dayMs) {
    const own = byDay.get(dayOf(time)) ?? [];
    const opening = balance;
    const parts = partsOf(own);
    for (const bill of own) {
      balance += net(bill);
      since += 1n;
      if (bill.balance === undefined) continue;
      const step = bill.balance - balance;
      const isRounding = (step < 0n ? -step : step) <= since * 10n ** BigInt(places - 8);
      const title = isRounding
        ? "Rounding"
        : bill.time < settledTo
          ? "Discrepancy"
          : "Not reconciled yet";
      const { value = 0n, ids = [] } = parts.get(title) ?? {};
      if (step !== 0n) parts.set(title, { value: value + step, ids: [...ids, bill.id] });
      balance = bill.balance;
      since = 0n;
    }
    days.set(dayOf(time), { opening, closing: balance, parts, bills: own.length });
  }
  return days;
}

const sumOf = (values: readonly bigint[]) => values.reduce((sum, value) => sum + value, 0n);

/** The figures that are not zero, of adjacent days together. */
function figuresOf(days: readonly Day[]): Record<string, bigint> {
  return withoutZeros(
    Object.fromEntries([
      ["Opening", days[0]?.opening ?? 0n],
      ...[...results, "Result", "Net flows", "Other", ...ofChain].map(
        (title) => [title, sumOf(days.map(({ parts }) => parts.get(title)?.value ?? 0n))] as const,
      ),
      ["Closing", days.at(-1)?.closing ?? 0n],
    ]),
  );
}

const withoutZeros = (values: Readonly<Record<string, bigint>>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== 0n));

const written = (
  write: (tx: Transaction, take: (part: { text: string }) => void) => Promise<void>,
) =>
  inTransaction(db, async (tx) => {
    const parts: string[] = [];
    await write(tx, ({ text }) => parts.push(text));
    return parts.join("");
  });

function pageOf({ account, product, coin, from, to }: Model, more: Record<string, string> = {}) {
  const days = { from: dayOf(from), to: dayOf(to) };
  const query = new URLSearchParams({ account, product, coin, ...days, ...more });
  return written((tx, take) => writePage(tx, { ...unconfigured, query }, take));
}

const billsPageOf = (href: string) =>
  written((tx, take) => writeBillsPage(tx, new URL(href, "http://localhost").searchParams, take));

/** Titles and values of a row, but for zeros and for cells that are no figures. */
const figuresIn = (columns: readonly string[], { cells }: FigureRow): Record<string, bigint> =>
  withoutZeros(
    Object.fromEntries(
      cells.flatMap(({ value }, index) => {
        const title = columns[index] ?? "";
        return title === "Bills" || value === null ? [] : [[title, exactUnits(value)] as const];
      }),
    ),
  );

function tableOf(page: string, section = "statement"): FigureTable {
  const [table] = tablesIn(page, section);
  if (table === undefined) throw new Error(`no table in ${section}`);
  return table;
}

/** The figures above the table, with their links. */
const sumIn = (page: string) =>
  [
    ...(/<div class="sum">(.*?)<\/div><\/div>/s.exec(page)?.[1] ?? "").matchAll(
      /<small>([^<]*)<\/small><b[^>]*>(?:<a href="([^"]*)">)?(?:<data value="([^"]*)")?/g,
    ),
  ].map(([, title = "", href, value = "0"]) => ({
    title: title.replace(/,.*/, ""),
    href: href?.replaceAll("&amp;", "&"),
    value: exactUnits(value),
  }));

/** The bills that a page of bills lists, and what they add up to. */
function listedIn(markup: string) {
  const list = tableOf(markup, "bills");
  const place = list.titles.indexOf("Bill") - (list.titles.includes("Check") ? 4 : 1);
  return {
    ids: list.rows.map(({ cells }) => cells.at(-1)?.text ?? ""),
    sum: sumOf(list.rows.map(({ cells }) => exactUnits(cells[place]?.value ?? ""))),
  };
}

/** What it says of all of them, also of those on older pages. */
function saidIn(markup: string) {
  const [, bills = "", sum = ""] =
    /<p>([\d,]+) bills? adds? up to <b>(\S+) \S+<\/b>/.exec(markup) ?? [];
  return {
    bills: Number(bills.replaceAll(",", "")),
    sum: exactUnits(sum.replace("−", "-").replace(/[+,]/g, "")),
  };
}

const modelOf = (account: string, coin: string): Model =>
  models.find((one) => one.account === account && one.coin === coin) ?? expect.unreachable();

const names = [
  ...Object.keys(classicLedgers).map((name) => [name, "USDT"] as const),
  ["unified", "USDT"] as const,
  ["unified", "rTOWN"] as const,
];

describe.each(names)("the figures of %s %s", (account, coin) => {
  test("of each day are those of its bills, in the table and in the chart", async () => {
    const model = modelOf(account, coin);
    const days = [...daysOf(model)];
    const page = await pageOf(model, { view: "days" });
    const { titles: columns, rows } = tableOf(page);
    expect(rows.map((row) => figuresIn(columns, row))).toEqual(
      days.toReversed().map(([, day]) => figuresOf([day])),
    );
    const drawn = [
      ...page.matchAll(
        /<title>[^:<]*: balance ([^,]*(?:,\d{3})*[^,]*), result ([^<]*?) \w+(?:, not all read)?<\/title>/g,
      ),
    ];
    const digits = (text = "") =>
      exactUnits(text.replaceAll(",", "").replace("−", "-").replace("+", ""));
    expect(drawn.map(([, balance, result]) => [digits(balance), digits(result)])).toEqual(
      days.map(([, { closing, parts }]) => [closing, parts.get("Result")?.value ?? 0n]),
    );
  });

  test("of a time and of its months are the sums of their days, and opening and movements make closing", async () => {
    const model = modelOf(account, coin);
    const part = [...daysOf(model)].slice(2, -3);
    const page = await pageOf(model, { from: part.at(0)?.[0] ?? "", to: part.at(-1)?.[0] ?? "" });
    const whole = figuresOf(part.map(([, day]) => day));
    const shown = Object.fromEntries(sumIn(page).map(({ title, value }) => [title, value]));
    const { Opening: opening = 0n, Closing: closing = 0n, ...moved } = shown;
    const outer = Object.entries(whole).filter(([title]) => !results.includes(title));
    expect(withoutZeros(shown)).toEqual(Object.fromEntries(outer));
    expect(opening + sumOf(Object.values(moved))).toBe(closing);
    const { titles: columns, rows, total } = tableOf(page);
    const months = [...Map.groupBy(part, ([day]) => day.slice(0, 7)).values()];
    expect(rows.map((row) => figuresIn(columns, row))).toEqual(
      months.toReversed().map((month) => figuresOf(month.map(([, day]) => day))),
    );
    expect(total && figuresIn(columns, total)).toEqual(months.length > 1 ? whole : undefined);
  });

  test("lead to their bills, which are those and no others, and add up to them", async () => {
    const model = modelOf(account, coin);
    const billsAt = Map.groupBy(model.bills, ({ time }) => time);
    const together = new Set(
      [...billsAt.values()].flatMap((bills) =>
        bills.length === 1 ? [] : bills.map(({ id }) => id),
      ),
    );
    // Of bills of one time nothing says which was rounded: their order is not known.
    const isPlaced = (title: string, ids: readonly string[] = []) =>
      title !== "Rounding" || !ids.some((id) => together.has(id));
    const days = [...daysOf(model)];
    const page = await pageOf(model, { view: "days" });
    const { titles: columns, rows } = tableOf(page);
    const links = rows.flatMap(({ cells }, index) =>
      cells.flatMap(({ href, value }, place) => {
        const title = columns[place] ?? "";
        const part = days.at(-1 - index)?.[1].parts.get(title);
        return href === undefined || !isPlaced(title, part?.ids)
          ? []
          : [{ part, title, href, value: exactUnits(value ?? "") }];
      }),
    );
    expect(links.length).toBeGreaterThan(40);
    const random = seededRandom(`links ${account} ${coin}`);
    // A page of bills takes 0.1 s, most of it to plan.
    const odd = ofChain.flatMap((name) => links.filter(({ title }) => title === name).slice(0, 3));
    for (const { part, href, value } of [
      ...odd,
      ...Array.from({ length: 6 }, () => pick(random, links)),
    ]) {
      const markup = await billsPageOf(href);
      const { ids, sum } = listedIn(markup);
      expect(ids.toSorted()).toEqual(part?.ids.toSorted());
      expect(sum).toBe(value);
      expect(saidIn(markup)).toEqual({ bills: ids.length, sum: value });
    }
    // And those above the table, of all days.
    for (const { title, href, value } of sumIn(page)) {
      if (href === undefined) continue;
      // Roundings of a day that cancel out are not looked for.
      const all = days.flatMap(([, { parts }]) => {
        const { value: sum = 0n, ids = [] } = parts.get(title) ?? {};
        return sum === 0n && title === "Rounding" ? [] : ids;
      });
      if (!isPlaced(title, all)) continue;
      const markup = await billsPageOf(href);
      expect(saidIn(markup)).toEqual({ bills: all.length, sum: value });
      if (all.length <= 200) expect(listedIn(markup).sum).toBe(value);
    }
  });

  test("by contract and by kind are those of its bills, and lead to them", async () => {
    const model = modelOf(account, coin);
    const views = [
      ["contracts", ({ symbol }: ModelBill) => symbol || "no contract"],
      ["kinds", ({ type }: ModelBill) => type.replaceAll("_", " ")],
    ] as const;
    for (const [view, nameOf] of views) {
      const { titles: columns, rows, total } = tableOf(await pageOf(model, { view }));
      const expected = Map.groupBy(model.bills, nameOf);
      expect(rows.map(({ name }) => name).toSorted()).toEqual([...expected.keys()].toSorted());
      for (const row of rows) {
        const bills = expected.get(row.name) ?? [];
        const parts = partsOf(bills);
        const moved = sumOf(bills.map(({ movedAmount, movedFee }) => movedAmount + movedFee));
        const figures = Object.fromEntries([...parts].map(([title, { value }]) => [title, value]));
        expect(figuresIn(columns, row)).toEqual(
          withoutZeros(view === "contracts" ? figures : { Moved: moved }),
        );
        expect(row.cells.at(-1)?.text).toBe(bills.length.toLocaleString("en-US"));
      }
      if (view === "contracts" && total !== undefined) {
        const { Opening: _, Closing: __, ...whole } = figuresOf([...daysOf(model).values()]);
        for (const title of ofChain) delete whole[title];
        const shown = columns.filter((title) => !ofChain.includes(title));
        expect(figuresIn(shown, total)).toEqual(whole);
      }
      const [row] = rows;
      for (const [place, { href, value }] of (row?.cells ?? []).entries()) {
        if (href === undefined) continue;
        const { sum } = listedIn(await billsPageOf(`${href}&search=`));
        if (columns[place] !== "Bills") expect(sum).toBe(exactUnits(value ?? ""));
      }
    }
  });
});

test("days without bills are said to have none", async () => {
  const page = await pageOf(modelOf("plain", "USDT"), { from: "2025-01-01", to: "2025-12-31" });
  expect(page).toContain("Nothing is stored of 1 Jan – 31 Dec 2025.");
  expect(page).not.toContain(`class="sum"`);
});

test("bills are found by their id, type or contract", async () => {
  const model = modelOf("plain", "USDT");
  const [bill] = model.bills.slice(-3);
  if (bill === undefined) throw new Error("no bill");
  const base = `/bills?account=plain&product=USDT-FUTURES&coin=USDT&from=${dayOf(model.from)}&to=${dayOf(model.to)}`;
  const found = async (search: string) =>
    await billsPageOf(`${base}&${new URLSearchParams({ search })}`);
  expect(listedIn(await found(bill.id)).ids).toEqual([bill.id]);
  expect(saidIn(await found(bill.id)).bills).toBe(1);
  const ofType = model.bills.filter(({ type }) => type.includes("settle")).map(({ id }) => id);
  expect(listedIn(await found("SETTLE")).ids.toSorted()).toEqual(ofType.toSorted().slice(0, 200));
  expect(await found("no such bill")).toContain("There is none.");
});

test.each(["broken", "unreconciled", "unified"])(
  "a file of %s has the selected bills, every one and no other",
  async (account) => {
    const model = modelOf(account, "USDT");
    const end = account === "unified" ? unifiedEnd : smallLedgerEnd;
    const to = dayOf(model.bills.at(-10)?.time ?? 0);
    const [, from = ""] = [...daysOf(model).keys()];
    const selection = { ...model, from, to, view: "days", isExact: false } as const;
    const text = await inTransaction(db, async (tx) => {
      const file = await exportFile(tx, selection, "csv", epochMs(end));
      const through = isoTime(epochMs(model.settledTo)).slice(0, 16).replace(":", "");
      const lack = model.settledTo === end ? "" : `-read-through-${through}Z`;
      const selected = [...daysOf(model)].filter(([day]) => day >= from && day <= to);
      const isOff = selected.some(([, { parts }]) => parts.has("Discrepancy"));
      const name = `${account}-${model.product}-USDT-${from}-to-${to}${lack}`;
      expect(file.name).toBe(`${name}${isOff ? "-does-not-add-up" : ""}.csv`);
      return (await Array.fromAsync(file.chunks)).join("");
    });
    const rows: Record<string, string>[] = parse(text, { columns: true });
    const wanted = model.bills.filter(({ time }) => dayOf(time) >= from && dayOf(time) <= to);
    expect(wanted.length).toBeGreaterThan(20);
    expect(rows.map((row) => [row["bill_id"], exactUnits(row["amount"] ?? "")]).toSorted()).toEqual(
      wanted.map(({ id, amount }) => [id, amount]).toSorted(),
    );
  },
);
