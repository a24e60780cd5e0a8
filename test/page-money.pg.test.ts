import { parse } from "csv-parse/sync";
import { beforeAll, describe, expect, test } from "vitest";
import { businessTypes, type Category } from "../src/contract/business-types.ts";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { refreshAllDays } from "../src/db/days/refresh-days.ts";
import { writeBillsPage } from "../src/page/bills/bills-page.ts";

import { exportFile } from "../src/page/money/exports.ts";
import { writePage } from "../src/page/page.ts";
import { walletTitle } from "../src/page/selection.ts";
import { reconcile } from "../src/reconciliation/reconcile.ts";
import { pick, seededRandom } from "../src/sandbox/random.ts";
import { snowflake } from "../src/sandbox/snowflake.ts";
import { fileDatabase } from "./support/database.ts";
import { exact, places } from "./support/exact.ts";
import { type FigureRow, type FigureTable, tablesIn } from "./support/page-figures.ts";
import { logRun } from "./support/page-states.ts";
import {
  type Habits,
  smallLedger,
  smallLedgerEnd,
  smallLedgerStart,
  storeLedgers,
  type TrueBill,
} from "./support/small-ledger.ts";
import { storeUnified, unifiedEnd, unifiedLedger, unifiedStart } from "./support/unified-ledger.ts";

// Every figure of the page against the same figure made here from the bills as they were drawn: in
// integers of the last place, by the true order, without a word of SQL and of the page's own sums.

const { tables } = await fileDatabase();
const { db } = tables;

const scaled = (units: bigint, scale: number) => units * 10n ** BigInt(places - scale);

/** A bill with what it truly does to its balance. */
type ModelBill = {
  readonly id: string;
  readonly time: number;
  readonly coin: string;
  readonly symbol: string;
  readonly category: Category;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly movedAmount: bigint;
  readonly movedFee: bigint;
  readonly balance: bigint | undefined;
  /** Whether a coupon paid some of its fee. */
  readonly isOnCoupon?: boolean;
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

const classicBill = (
  bill: TrueBill & { readonly symbol: string | null },
  { couponMoves = false }: Habits,
): ModelBill => {
  const category = categoryOf.get(bill.businessType) ?? "unknown";
  const [amount, fee] = [exact(bill.amount), exact(bill.fee)];
  const coupon = exact(bill.feeByCoupon ?? "0");
  const isStill = bill.moved === 0n && amount + fee + coupon !== 0n;
  return {
    id: bill.billId,
    time: bill.cTime,
    coin: bill.coin,
    symbol: bill.symbol ?? "",
    category,
    amount,
    fee,
    movedAmount: isStill ? 0n : amount,
    movedFee: isStill ? 0n : fee + (couponMoves ? coupon : 0n),
    balance: bill.balance === null ? undefined : exact(bill.balance),
    isOnCoupon: coupon !== 0n,
  };
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
  unsettled: { loses: 12, isHalfRead: true },
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
      account,
      product: "USDT-FUTURES",
      coin: "USDT",
      bills: bills.map((bill) => classicBill(bill, habits)),
      from: smallLedgerStart,
      to: isHalfRead ? (bills.at(-1)?.cTime ?? 0) : smallLedgerEnd,
      settledTo,
    });
  }
  await storeLedgers(db, stored, { unread });
  const unified = unifiedLedger(seededRandom("page unified"));
  await storeUnified(db, "unified", unified);
  for (const coin of ["USDT", "rTOWN"]) {
    models.push({
      account: "unified",
      product: "UTA",
      coin,
      from: unifiedStart,
      to: unifiedEnd,
      settledTo: unifiedEnd,
      bills: unified
        .filter((bill) => bill.coin === coin)
        .map((bill) => ({
          id: bill.billId,
          time: bill.cTime,
          coin,
          symbol: bill.symbol ?? "",
          category: bill.category,
          amount: exact(bill.amount),
          fee: exact(bill.fee),
          movedAmount: scaled(bill.movedAmount, 16),
          movedFee: scaled(bill.movedFee, 16),
          balance: bill.balance === null ? undefined : exact(bill.balance),
        })),
    });
  }
  await reconcile(db, { accounts: undefined, productTypes: undefined }, { isFull: true });
  await refreshAllDays(db, new AbortController().signal);
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
      (moved > 10n ** 8n || moved < -(10n ** 8n)) &&
      bills.filter((other) => other.cTime === cTime).length === 1,
  );
  const gone = Array.from(
    { length: count },
    (_, index) => fit[Math.floor((fit.length * (index + 1)) / (count + 1))],
  );
  return bills.filter((bill) => !gone.includes(bill));
}

type Sums = Record<string, bigint>;
type DayModel = {
  opening: bigint;
  closing: bigint;
  sums: Sums;
  ids: Record<string, string[]>;
  bills: number;
};

const dayOf = (time: number) => isoTime(epochMs(time)).slice(0, 10);

const amountTitles: Readonly<Record<Category, readonly [received: string, paid: string]>> = {
  trade: ["realised profit and loss", "realised profit and loss"],
  funding: ["funding received", "funding paid"],
  transfer: ["transfers in", "transfers out"],
  liquidation: ["liquidation", "liquidation"],
  bonus: ["bonus", "bonus"],
  copy: ["copy trading", "copy trading"],
  delivery: ["delivery", "delivery"],
  margin: ["margin moves", "margin moves"],
  interest: ["interest", "interest"],
  conversion: ["conversion", "conversion"],
  spot: ["coins bought and sold", "coins bought and sold"],
  loan: ["loans borrowed and repaid", "loans borrowed and repaid"],
  fees: ["fees in rows of their own", "fees in rows of their own"],
  unknown: ["unmapped types", "unmapped types"],
};
const results = [
  "realised profit and loss",
  "trading fees",
  "fee rebates",
  "funding received",
  "funding paid",
  "liquidation",
  "bonus",
  "copy trading",
  "delivery",
  "interest",
  "fees in rows of their own",
];

/** Every day from the first bill to the end of what was read. */
function daysOf({ bills, to, settledTo }: Model): ReadonlyMap<string, DayModel> {
  const [first] = bills;
  const shownAt = bills.findIndex(({ balance }) => balance !== undefined);
  if (first === undefined || shownAt === -1) throw new Error("no ledger");
  const net = (bill: ModelBill) => bill.movedAmount + bill.movedFee;
  let balance =
    (bills[shownAt]?.balance ?? 0n) -
    bills.slice(0, shownAt + 1).reduce((sum, bill) => sum + net(bill), 0n);
  let since = 0n;
  const days = new Map<string, DayModel>();
  const byDay = Map.groupBy(bills, ({ time }) => dayOf(time));
  for (let time = Date.parse(dayOf(first.time)); time <= to; time += dayMs) {
    const day: DayModel = { opening: balance, closing: balance, sums: {}, ids: {}, bills: 0 };
    const add = (title: string, value: bigint, id: string) => {
      if (value === 0n) return;
      day.sums[title] = (day.sums[title] ?? 0n) + value;
      day.ids[title] = [...(day.ids[title] ?? []), id];
    };
    for (const bill of byDay.get(dayOf(time)) ?? []) {
      day.bills += 1;
      add(bill.movedFee > 0n ? "fee rebates" : "trading fees", bill.movedFee, bill.id);
      add(amountTitles[bill.category][bill.movedAmount > 0n ? 0 : 1], bill.movedAmount, bill.id);
      balance += net(bill);
      since += 1n;
      if (bill.balance === undefined) continue;
      const step = bill.balance - balance;
      const isRounding = (step < 0n ? -step : step) <= since * 10n ** BigInt(places - 8);
      const title = bill.time < settledTo ? "unexplained" : "not settled yet";
      add(isRounding ? "rounding" : title, step, bill.id);
      balance = bill.balance;
      since = 0n;
    }
    day.closing = balance;
    days.set(dayOf(time), day);
  }
  return days;
}

const sumOf = (values: readonly bigint[]) => values.reduce((sum, value) => sum + value, 0n);

async function pageOf(
  { account, product, coin, from, to }: Model,
  more: Record<string, string> = {},
) {
  const query = new URLSearchParams({
    account,
    product,
    coin,
    from: dayOf(from),
    to: dayOf(to),
    ...more,
  });
  return await inTransaction(db, async (tx) => {
    const parts: string[] = [];
    await writePage(tx, { query, settleLagMs: 600_000 }, ({ text }) => parts.push(text));
    return parts.join("");
  });
}

/** Titles and values of a row, but for zeros and for cells that are no figures. */
const figures = ({ titles }: FigureTable, { cells }: FigureRow): Record<string, bigint> =>
  Object.fromEntries(
    cells.flatMap(({ value }, index) => {
      const title = titles[index] ?? "";
      return title === "" || title === "All bills" || value === null || exact(value) === 0n
        ? []
        : [[title, exact(value)] as const];
    }),
  );

const isResult = (title: string): boolean => results.includes(title);
const titlesOf = (rows: readonly (readonly [string, bigint])[]) => rows.map(([title]) => title);
const resultOf = (sums: Readonly<Record<string, bigint>>): bigint =>
  sumOf(results.map((title) => sums[title] ?? 0n));

/** The lines of the rollforward's columns that hold several. */
const columnLines: Readonly<Record<string, readonly string[]>> = {
  fees: ["trading fees", "fee rebates", "fees in rows of their own"],
  funding: ["funding received", "funding paid"],
  "other results": ["liquidation", "bonus", "copy trading", "delivery", "interest"],
  Result: results,
  transfers: ["transfers in", "transfers out"],
  "other movements": [
    "margin moves",
    "conversion",
    "coins bought and sold",
    "loans borrowed and repaid",
    "unmapped types",
    "closed, left behind",
  ],
};
const linesOfColumn = (title: string): readonly string[] => columnLines[title] ?? [title];

/** The same of a column, where lines are rows. */
const columnAt = ({ rows }: FigureTable, index: number): Record<string, bigint> =>
  figures(
    { titles: rows.map(({ name }) => name), rows, total: undefined },
    { name: "", cells: rows.flatMap(({ cells }) => cells[index] ?? []) },
  );

/** A row's day, without the mark of one that was not all read. */
const dayIn = ({ name }: FigureRow): string => name.slice(0, "2026-11-22".length);

/** The titles and values of the sum from the opening balance to the closing one. */
function sumIn(page: string): readonly (readonly [string, bigint])[] {
  const [, text = ""] = /<p[^>]* id="balance-sum">(.*?)<\/p>/s.exec(page) ?? [];
  return [...text.matchAll(/(\w[a-z ]*[a-z]) (?:<a [^>]*>)?<data [^>]*value="([^"]*)"/g)].map(
    ([, title = "", value = ""]) => [title, exact(value)],
  );
}

const withoutZeros = (values: Readonly<Record<string, bigint>>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== 0n));

const names = [
  ...Object.keys(classicLedgers).map((name) => [name, "USDT"] as const),
  ["unified", "USDT"] as const,
  ["unified", "rTOWN"] as const,
];
const modelOf = (account: string, coin: string): Model => {
  const model = models.find((each) => each.account === account && each.coin === coin);
  if (model === undefined) throw new Error(`no model ${account}`);
  return model;
};

describe.each(names)("the figures of %s %s", (account, coin) => {
  test("of each day are those of its bills: rollforward, balance and result", async () => {
    const model = modelOf(account, coin);
    const days = daysOf(model);
    const page = await pageOf(model);
    const [rollforward] = tablesIn(page, "rollforward");
    const [withAllLines] = tablesIn(await pageOf(model, { lines: "all" }), "rollforward");
    if (rollforward === undefined || withAllLines === undefined) throw new Error("no rollforward");
    const shown = withAllLines.rows.map((row) => [dayIn(row), figures(withAllLines, row)]);
    const expected = [...days]
      .toReversed()
      .map(([day, { opening, closing, sums }]) => [
        day,
        withoutZeros({ Opening: opening, ...sums, Result: resultOf(sums), Closing: closing }),
      ]);
    expect(shown).toEqual(expected);
    // In a few columns, a line is in one of them, and the result is the sum of what stands before it.
    const used = [
      ...new Set([...days.values()].flatMap(({ sums }) => Object.keys(withoutZeros(sums)))),
    ];
    const columns = rollforward.titles.filter((title) => title !== "All bills").slice(1, -1);
    const inColumns = columns.filter((title) => title !== "Result").flatMap(linesOfColumn);
    expect(inColumns.filter((title) => used.includes(title)).toSorted()).toEqual(used.toSorted());
    expect(rollforward.rows.map((row) => figures(rollforward, row))).toEqual(
      [...days.values()].toReversed().map(({ opening, closing, sums }) =>
        withoutZeros({
          Opening: opening,
          ...Object.fromEntries(
            columns.map((title) => [
              title,
              sumOf(linesOfColumn(title).map((line) => sums[line] ?? 0n)),
            ]),
          ),
          Closing: closing,
        }),
      ),
    );
    const isOff = ({ sums }: DayModel) => (sums["unexplained"] ?? 0n) !== 0n;
    const offDays = [...days].toReversed().filter(([, day]) => isOff(day));
    expect(
      rollforward.rows.filter(({ name }) => name.endsWith("does not add up")).map(dayIn),
    ).toEqual(offDays.map(([day]) => day));
    const off = offDays.map(([, { sums }]) => sums["unexplained"] ?? 0n);
    const [above, below] = [off.filter((value) => value > 0n), off.filter((value) => value < 0n)];
    // The sum alone would hide differences that cancel out.
    const expectedNote =
      above.length > 0 && below.length > 0
        ? [sumOf(off), sumOf(above), sumOf(below)].filter((value) => value !== 0n)
        : [sumOf(off)];
    const notes = [...page.matchAll(/class="is-off">.*?unexplained(.*?)<\/span>/gs)].map(
      ([, note = ""]) =>
        [...note.matchAll(/value="([^"]*)"/g)].map(([, value = ""]) => exact(value)),
    );
    // The selection, the result, and the coin among the contracts.
    expect(notes).toEqual(offDays.length === 0 ? [] : Array(3).fill(expectedNote));
    const place = rollforward.titles.indexOf("All bills");
    expect(rollforward.rows.map(({ cells }) => cells[place]?.text)).toEqual(
      [...days.values()].toReversed().map(({ bills }) => (bills === 0 ? "–" : String(bills))),
    );
    const [balances] = tablesIn(page, "balance");
    expect(balances?.rows.map(({ name, cells }) => [name, exact(cells[0]?.value ?? "")])).toEqual(
      [...days].toReversed().map(([day, { closing }]) => [day, closing]),
    );
    const [earned] = tablesIn(page, "result");
    expect(earned?.rows.map(({ name, cells }) => [name, exact(cells[0]?.value ?? "")])).toEqual(
      [...days]
        .toReversed()
        .map(([day, { sums }]) => [day, sumOf(results.map((title) => sums[title] ?? 0n))]),
    );
  });

  test("of a time and of its months are the sums of their days", async () => {
    const model = modelOf(account, coin);
    const all = [...daysOf(model)];
    const part = all.slice(2, -3);
    const [first, last] = [part.at(0), part.at(-1)];
    if (first === undefined || last === undefined) throw new Error("too short a ledger");
    const page = await pageOf(model, { from: first[0], to: last[0], by: "month" });
    const titles = [...new Set(part.flatMap(([, { sums }]) => Object.keys(sums)))];
    const sumsOf = (days: typeof part) =>
      withoutZeros(
        Object.fromEntries(
          titles.map((title) => [title, sumOf(days.map(([, { sums }]) => sums[title] ?? 0n))]),
        ),
      );
    const [bridge] = tablesIn(page, "bridge");
    const lines = (bridge?.rows ?? []).map(
      ({ name, cells }) => [name, exact(cells[0]?.value ?? "")] as const,
    );
    expect(lines.at(0)).toEqual(["Opening balance", first[1].opening]);
    expect(lines.at(-1)).toEqual(["Closing balance", last[1].closing]);
    const between = Object.fromEntries(lines.slice(1, -1).filter(([title]) => title !== "Result"));
    expect(withoutZeros(between)).toEqual(sumsOf(part));
    expect(Object.keys(between)).toContain("unexplained");
    expect(first[1].opening + sumOf(Object.values(between))).toBe(last[1].closing);
    // The result stands below all that is earned or lost, and above all else.
    const place = titlesOf(lines).indexOf("Result");
    expect(lines[place]?.[1]).toBe(resultOf(between));
    expect(titlesOf(lines).slice(1, place).every(isResult)).toBe(true);
    expect(
      titlesOf(lines)
        .slice(place + 1)
        .some(isResult),
    ).toBe(false);
    const [opening, result, ...rest] = sumIn(page);
    expect(opening).toEqual(["Opening", first[1].opening]);
    expect(result).toEqual(["result", resultOf(between)]);
    expect(rest.at(-1)).toEqual(["closing", last[1].closing]);
    expect(Object.fromEntries(rest.slice(0, -1))).toEqual(
      withoutZeros(Object.fromEntries(lines.slice(place + 1, -1))),
    );
    const unmapped = part.flatMap(([, { sums }]) => sums["unmapped types"] ?? []);
    const noted = /id="unmapped">.*?value="([^"]*)"/s.exec(page)?.[1];
    expect(noted === undefined ? [] : [exact(noted)]).toEqual(
      unmapped.length === 0 ? [] : [sumOf(unmapped)],
    );
    const [rollforward] = tablesIn(page, "rollforward");
    const months = Map.groupBy(part, ([day]) => day.slice(0, 7));
    if (rollforward === undefined) throw new Error("no rollforward");
    expect(rollforward.titles.map((title) => title.slice(0, 7))).toEqual([
      ...months.keys(),
      "Total",
    ]);
    const columns = rollforward.titles.map((_, index) => columnAt(rollforward, index));
    expect(columns).toEqual(
      [...months.values(), part].map((days) => ({
        Opening: days[0]?.[1].opening,
        ...sumsOf(days),
        ...withoutZeros({ Result: resultOf(sumsOf(days)) }),
        Closing: days.at(-1)?.[1].closing,
      })),
    );
  });

  test("lead to their bills, which are those and no others, and add up to them", async () => {
    const model = modelOf(account, coin);
    const days = daysOf(model);
    const page = await pageOf(model);
    const random = seededRandom(`links ${account} ${coin}`);
    const links = [page, await pageOf(model, { lines: "all" })].flatMap((shown) => {
      const [rollforward] = tablesIn(shown, "rollforward");
      return (rollforward?.rows ?? []).flatMap((row) =>
        row.cells.flatMap(({ href, value }, index) => {
          const title = rollforward?.titles[index] ?? "";
          return href === undefined || title === "All bills"
            ? []
            : [{ day: dayIn(row), title, href, value }];
        }),
      );
    });
    expect(links.length).toBeGreaterThan(40);
    const odd = links.filter(({ title }) =>
      ["unexplained", "not settled yet", "rounding"].includes(title),
    );
    for (const { day, title, href, value } of [
      ...odd,
      ...Array.from({ length: 12 }, () => pick(random, links)),
    ]) {
      const [list] = tablesIn(await billsPageOf(href), "bills");
      const place = list?.titles.indexOf("Counted") ?? -1;
      const rows = list?.rows ?? [];
      expect(rows.map(({ cells }) => cells.at(-1)?.text).toSorted()).toEqual(
        [
          ...new Set(linesOfColumn(title).flatMap((line) => days.get(day)?.ids[line] ?? [])),
        ].toSorted(),
      );
      expect(sumOf(rows.map(({ cells }) => exact(cells[place]?.value ?? "")))).toBe(
        exact(value ?? ""),
      );
    }
    const [earned] = tablesIn(page, "result");
    const shown = (earned?.rows ?? []).filter(({ cells }) => cells[0]?.href !== undefined);
    for (const { name, cells } of Array.from({ length: 4 }, () => pick(random, shown))) {
      const [list] = tablesIn(await billsPageOf(cells[0]?.href ?? ""), "bills");
      const place = list?.titles.indexOf("Counted") ?? -1;
      const ids = results.flatMap((title) => days.get(name)?.ids[title] ?? []);
      expect(new Set(list?.rows.map((row) => row.cells.at(-1)?.text))).toEqual(new Set(ids));
      expect(sumOf((list?.rows ?? []).map((row) => exact(row.cells[place]?.value ?? "")))).toBe(
        exact(cells[0]?.value ?? ""),
      );
    }
  });

  test("in the sentence are the result and its parts", async () => {
    const model = modelOf(account, coin);
    const [, sentence = ""] = /<p class="summary">(.*?)<\/p>/s.exec(await pageOf(model)) ?? [];
    const found = [
      ...sentence.matchAll(/([a-z][a-z ]*) <strong><a [^>]*><data [^>]*value="([^"]*)"/g),
    ].map(([, title = "", value = ""]) => [title.trim(), exact(value)] as const);
    const sums = [...daysOf(model).values()].map((day) => day.sums);
    const of = (title: string) =>
      sumOf(linesOfColumn(title).flatMap((line) => sums.map((day) => day[line] ?? 0n)));
    const expected = {
      result: of("Result"),
      profit: of("realised profit and loss"),
      fees: of("fees"),
      funding: of("funding"),
      "other results": of("other results"),
    };
    const single = new Set(linesOfColumn("other results"));
    expect(
      withoutZeros(
        Object.fromEntries(
          found.map(([title, value]) => [single.has(title) ? "other results" : title, value]),
        ),
      ),
    ).toEqual(withoutZeros(expected));
  });

  test("by contract are those of its bills, and add up to the result of the same days", async () => {
    const model = modelOf(account, coin);
    const [table] = tablesIn(await pageOf(model), "contracts");
    const title = `${walletTitle(model.product)} ${coin}`;
    const rows = rowsOfCoin(table?.rows ?? [], title);
    const unread = [...daysOf(model).keys()].filter(
      (day) => Date.parse(day) + dayMs > model.settledTo,
    ).length;
    const [lack] = rows[0]?.name.slice(title.length).split(/ unexplained| unmapped/) ?? [];
    expect(lack?.trim()).toBe(
      unread === 0 ? "" : `${unread} day${unread === 1 ? "" : "s"} not all read`,
    );
    const expected = [...Map.groupBy(model.bills, ({ symbol }) => symbol)].flatMap(
      ([symbol, bills]) => {
        const parts = earnedParts.map(([, partOf]) =>
          bills.flatMap((bill) => {
            const value = partOf(bill, model);
            return value === undefined ? [] : [{ value, id: bill.id }];
          }),
        );
        const sums = parts.map((part) => sumOf(part.map(({ value }) => value)));
        const ids = [...new Set(parts.flatMap((part) => part.map(({ id }) => id)))];
        return ids.length === 0 ? [] : [{ symbol, sums: [...sums, sumOf(sums)], ids }];
      },
    );
    const result = sumOf(
      [...daysOf(model).values()].flatMap(({ sums }) => results.map((title) => sums[title] ?? 0n)),
    );
    const billed = sumOf(expected.map(({ sums }) => sums.at(-1) ?? 0n));
    const values = ({ cells }: FigureRow) =>
      cells.slice(0, 5).map(({ value }) => exact(value ?? ""));
    const [sum, ...contracts] = rows;
    if (sum === undefined) throw new Error("the coin has no sum");
    expect(values(sum).at(-1)).toBe(result);
    const otherwise = contracts.filter(({ name }) => name === "moved otherwise");
    expect(otherwise.map(({ cells }) => exact(cells[4]?.value ?? ""))).toEqual(
      result === billed ? [] : [result - billed],
    );
    expect(result === billed).toBe(account !== "coupons");
    expect(contracts.length - otherwise.length).toBe(expected.length);
    for (const { symbol, sums, ids } of expected) {
      const row = contracts.find(({ name }) => name === (symbol || "no contract named"));
      if (row === undefined) throw new Error(`no row of ${symbol}`);
      expect(values(row)).toEqual(sums);
      expect(row.cells[5]?.text).toBe(String(ids.length));
      // Each figure leads to the bills that it counts, which add up to it.
      for (const [place, part] of sums.entries()) {
        const href = row.cells[place]?.href;
        if (href === undefined) continue;
        const markup = await billsPageOf(href);
        const [list] = tablesIn(markup, "bills");
        const column = list?.titles.indexOf("Counted") ?? -1;
        const listed = (list?.rows ?? []).map(({ cells }) => exact(cells[column]?.value ?? ""));
        expect(sumOf(listed)).toBe(part);
        expect(markup).toMatch(/\d bills? adds? up to it, to the last digit/);
        const [, idle = "0"] = /last digit; (\d+) of them adds? nothing/.exec(markup) ?? [];
        expect(Number(idle)).toBe(listed.filter((each) => each === 0n).length);
      }
      const [listed] = tablesIn(await billsPageOf(row.cells[5]?.href ?? ""), "bills");
      expect(listed?.rows.map(({ cells }) => cells.at(-1)?.text ?? "").toSorted()).toEqual(
        ids.toSorted(),
      );
    }
  });
});

test("beside the result of a coin stand those of the account's other coins, over the same days", async () => {
  const coins = ["USDT", "rTOWN"] as const;
  for (const [chosen, other] of [coins, coins.toReversed()] as const) {
    const model = modelOf("unified", chosen ?? "");
    const page = await pageOf(model);
    const [, others = ""] = /<div class="others">(.*?)<\/div>/s.exec(page) ?? [];
    const found = [...others.matchAll(/>(\w+)<\/a> (?:<a [^>]*>)?<data [^>]*value="([^"]*)"/g)].map(
      ([, name = "", value = ""]) => [name, exact(value)] as const,
    );
    const result = sumOf(
      [...daysOf(modelOf("unified", other ?? ""))]
        .filter(([day]) => day >= dayOf(model.from) && day <= dayOf(model.to))
        .map(([, { sums }]) => resultOf(sums)),
    );
    expect(found.map(([name]) => name)).not.toContain(chosen);
    expect(found.find(([name]) => name === other)?.[1] ?? 0n).toBe(result);
    if (other === "USDT") expect(result).not.toBe(0n);
  }
});

/** Its sum, and the rows below it up to the next coin's. */
function rowsOfCoin(rows: readonly FigureRow[], title: string): readonly FigureRow[] {
  const start = rows.findIndex(({ name }) => name === title || name.startsWith(`${title} `));
  const length = rows
    .slice(start + 1)
    .findIndex(({ name }) => /^(?:[A-Z]+-FUTURES|unified account) /.test(name));
  return length === -1 ? rows.slice(start) : rows.slice(start, start + 1 + length);
}

/** What a bill has of a contract's figure, undefined where nothing. */
type PartOf = (bill: ModelBill, model: Model) => bigint | undefined;

const otherResults: readonly Category[] = ["liquidation", "bonus", "copy", "delivery", "interest"];
// As billed: of a unified account without the fee that is inside an amount.
const billedAmount: PartOf = ({ amount, movedAmount }, { product }) =>
  product === "UTA" ? movedAmount : amount;
const earnedParts: readonly (readonly [string, PartOf])[] = [
  [
    "profit",
    (bill, model) =>
      bill.category === "trade" ? billedAmount(bill, model) || undefined : undefined,
  ],
  [
    "fees",
    ({ fee, isOnCoupon, category, movedAmount }) => {
      const own = category === "fees" ? movedAmount : 0n;
      return fee !== 0n || own !== 0n || isOnCoupon === true ? fee + own : undefined;
    },
  ],
  [
    "funding",
    (bill, model) => (bill.category === "funding" ? billedAmount(bill, model) : undefined),
  ],
  [
    "other",
    ({ category, movedAmount }) =>
      otherResults.includes(category) ? movedAmount || undefined : undefined,
  ],
];

test("days without bills are said to have none, with where the bills are", async () => {
  const model = modelOf("plain", "USDT");
  const page = await pageOf(model, { from: "2025-01-01", to: "2025-12-31" });
  const last = dayOf(model.bills.at(-1)?.time ?? 0);
  const first = dayOf(model.bills[0]?.time ?? 0);
  expect(page).toContain(
    `Nothing of plain USDT-FUTURES USDT is stored from 2025-01-01 to 2025-12-31. Its bills are from <a href="/?account=plain&amp;product=USDT-FUTURES&amp;coin=USDT&amp;from=${first}&amp;to=${last}&amp;by=day#filters">${first} to ${last}</a>`,
  );
  for (const section of ["balance", "bridge", "result", "export", "rollforward"]) {
    expect(page).not.toContain(`id="${section}"`);
  }
});

test("days to come are said to be so, and a day that is one before all others has a remark", async () => {
  const model = modelOf("plain", "USDT");
  const ahead = await pageOf(model, { from: "2100-01-01", to: "2100-01-31" });
  expect(ahead).toContain("The days from 2100-01-01 to 2100-01-31 are still to come.");
  expect(ahead).toContain("These days are still to come.");
  expect(ahead).not.toContain("Nothing was earned or lost");
  const first = model.bills[0]?.time ?? 0;
  const remark = `The bills of ${dayOf(first)}, its first day, are in none of these figures`;
  const from = (time: number) => pageOf(model, { from: dayOf(time) });
  expect(await from(first)).not.toContain(remark);
  expect(await from(first + dayMs)).toContain(remark);
  expect(await from(first + 2 * dayMs)).not.toContain(remark);
});

test("days that were not read are not said to have earned nothing", async () => {
  const model = modelOf("unsettled", "USDT");
  const textOf = async (from: string, to: string) =>
    /<p class="note">([^<]*)/.exec(
      /id="contracts"(.*?)<\/section>/s.exec(await pageOf(model, { from, to }))?.[1] ?? "",
    )?.[1];
  const lastBill = dayOf(model.to);
  const unread = (Date.parse(dayOf(Date.now())) - Date.parse(lastBill)) / dayMs - 1;
  expect(unread).toBeGreaterThan(1);
  expect(await textOf(dayOf(Date.parse(lastBill) + dayMs), dayOf(Date.now()))).toBe(
    `Nothing is stored that was earned or lost, but ${unread} days of these were not all read.`,
  );
  expect(await textOf("2025-01-01", "2025-12-31")).toBe(
    "Nothing of these days was read, so what they earned is not known.",
  );
});

async function billsPageOf(href: string): Promise<string> {
  const query = new URL(href, "http://localhost").searchParams;
  return await inTransaction(db, async (tx) => {
    const parts: string[] = [];
    await writeBillsPage(tx, query, ({ text }) => parts.push(text));
    return parts.join("");
  });
}

describe.each(Object.keys(classicLedgers))("of %s", (account) => {
  test("a file has the selected bills, every one and no other", async () => {
    const model = modelOf(account, "USDT");
    const days = [...daysOf(model).keys()];
    const to = dayOf(model.bills.at(-10)?.time ?? 0);
    const [from = ""] = days.slice(1);
    const selection = { ...model, from, to, by: "day", isExact: false } as const;
    const text = await inTransaction(db, async (tx) => {
      const file = await exportFile(tx, selection, "csv", epochMs(smallLedgerEnd));
      const through = isoTime(epochMs(model.settledTo)).slice(0, 16).replace(":", "");
      const lack = model.settledTo === smallLedgerEnd ? "" : `-complete-through-${through}Z`;
      const selected = [...daysOf(model)].filter(([day]) => day >= from && day <= to);
      const isOff = selected.some(([, { sums }]) => (sums["unexplained"] ?? 0n) !== 0n);
      const name = `${account}-USDT-FUTURES-USDT-${from}-to-${to}${lack}`;
      expect(file.name).toBe(`${name}${isOff ? "-does-not-add-up" : ""}.csv`);
      return (await Array.fromAsync(file.chunks)).join("");
    });
    const rows: Record<string, string>[] = parse(text, { columns: true });
    const wanted = model.bills.filter(({ time }) => dayOf(time) >= from && dayOf(time) <= to);
    expect(wanted.length).toBeGreaterThan(20);
    expect(rows.map((row) => [row["bill_id"], exact(row["amount"] ?? "")]).toSorted()).toEqual(
      wanted.map(({ id, amount }) => [id, amount]).toSorted(),
    );
  });
});
