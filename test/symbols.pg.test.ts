// Symbols: every version is kept with its time, pairs may go and return, and an older list never wins.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { readSymbol } from "../src/contract/symbols.ts";
import { epochMs, hourMs } from "../src/contract/time.ts";
import { type Database, openDatabase } from "../src/db/connect.ts";
import { commitSymbols } from "../src/db/reference/stored-symbols.ts";
import { UnbelievableListError } from "../src/errors.ts";
import { readList } from "../src/sync/settings-lists.ts";
import { testDatabase } from "./support/database.ts";

const start = Date.UTC(2026, 9, 1, 12, 34, 56, 789);
/** The exchange's time that many hours after the start. */
const at = (hour: number) => epochMs(start + hour * hourMs);

const btc = {
  symbol: "BTCUSDT",
  baseCoin: "BTC",
  quoteCoin: "USDT",
  minTradeAmount: "0",
  maxTradeAmount: "900000000000000000000",
  takerFeeRate: "0.002",
  makerFeeRate: "0.00200000",
  pricePrecision: "2",
  quantityPrecision: "6",
  quotePrecision: "8",
  minTradeUSDT: "1",
  status: "online",
  buyLimitPriceRatio: "0.05",
  sellLimitPriceRatio: "0.05",
  areaSymbol: "no",
  orderQuantity: "200",
  openTime: "1532454360000",
  offTime: "",
};
const eth = { ...btc, symbol: "ETHUSDT", baseCoin: "ETH" };
const sol = { ...btc, symbol: "SOLUSDT", baseCoin: "SOL" };
const withFee = (takerFeeRate: string, row = btc) => ({ ...row, takerFeeRate });

/** A database of its own, and a function that stores a list as it was at an hour. */
async function house() {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(url));
  const bring = async (hour: number, rows: readonly unknown[]) =>
    commitSymbols(db, { readAt: at(hour), ...readList(rows, readSymbol).list });
  return { db, bring, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const hourOf = (time: string | null) =>
  time === null ? null : (Date.parse(time) - start) / hourMs;

/** A pair's versions: from and to in hours, and the taker's rate in between. */
async function versionsOf(db: Database, symbol: string) {
  const { rows } = await db.execute<Record<"from" | "to" | "fee", string>>(sql`
    select valid_from as from, valid_to as to, taker_fee_rate::text as fee
    from spot_pair_versions
    where symbol = ${symbol}
    order by valid_from`);
  return rows.map(({ from, to, fee }) => [hourOf(from), hourOf(to), fee]);
}

/** Every row, with the transaction that last wrote it. */
async function rowVersions(db: Database) {
  const { rows } = await db.execute(sql`
    select symbol, xmin::text, xmax::text, ctid::text, null as valid_from from spot_pairs
    union all
    select symbol, xmin::text, xmax::text, ctid::text, valid_from from spot_pair_versions
    order by 1, 5`);
  return rows;
}

const none = { new: 0, changed: 0, returned: 0, gone: 0, isOutdated: false };

test("a pair's columns hold every field to the last digit, and what is not listed is in extra", async () => {
  await using to = await house();
  await to.bring(0, [{ ...btc, minTradeUSDT: "1E0", maxLimitOrderValue: "10000000" }]);
  const { rows } = await to.db.execute(sql`
    select
      symbol, base_coin, quote_coin, min_trade_amount::text, max_trade_amount::text,
      taker_fee_rate::text, maker_fee_rate::text, price_precision::text,
      quantity_precision::text, quote_precision::text, min_trade_usdt::text, status,
      buy_limit_price_ratio::text, sell_limit_price_ratio::text, area_symbol,
      order_quantity::text, extract(epoch from open_time)::text as open_time, off_time,
      extra::text, gone_at
    from spot_pairs`);
  expect(rows).toEqual([
    {
      symbol: "BTCUSDT",
      base_coin: "BTC",
      quote_coin: "USDT",
      min_trade_amount: "0",
      max_trade_amount: "900000000000000000000",
      taker_fee_rate: "0.002",
      maker_fee_rate: "0.00200000",
      price_precision: "2",
      quantity_precision: "6",
      quote_precision: "8",
      min_trade_usdt: "1",
      status: "online",
      buy_limit_price_ratio: "0.05",
      sell_limit_price_ratio: "0.05",
      area_symbol: "no",
      order_quantity: "200",
      open_time: "1532454360.000000",
      off_time: null,
      extra: '{"maxLimitOrderValue":"10000000","minTradeUSDT":"1E0"}',
      gone_at: null,
    },
  ]);
});

describe("a pair's versions", () => {
  test("are three where it changes and changes back, and say what held at any time by one predicate", async () => {
    await using to = await house();
    const { db, bring } = to;
    expect(await bring(0, [btc, eth])).toEqual({ ...none, new: 2 });
    expect(await bring(1, [withFee("0.001"), eth])).toEqual({ ...none, changed: 1 });
    expect(await bring(2, [withFee("0.001"), eth])).toEqual(none);
    expect(await bring(3, [btc, eth])).toEqual({ ...none, changed: 1 });
    expect(await versionsOf(db, "BTCUSDT")).toEqual([
      [0, 1, "0.002"],
      [1, 3, "0.001"],
      [3, null, "0.002"],
    ]);
    expect(await versionsOf(db, "ETHUSDT")).toEqual([[0, null, "0.002"]]);
    const feeAt = async (hour: number) => {
      const { rows } = await db.execute(sql`
        select taker_fee_rate::text as fee
        from spot_pair_versions
        where symbol = 'BTCUSDT'
          and tstzrange(valid_from, valid_to) @> ${new Date(at(hour)).toISOString()}::timestamptz`);
      return rows;
    };
    expect(await Promise.all([-0.5, 0, 0.5, 1, 2.5, 3, 99].map(feeAt))).toEqual([
      [],
      [{ fee: "0.002" }],
      [{ fee: "0.002" }],
      [{ fee: "0.001" }],
      [{ fee: "0.001" }],
      [{ fee: "0.002" }],
      [{ fee: "0.002" }],
    ]);
  });

  test("have a gap while it is gone, and the pair stays, marked", async () => {
    await using to = await house();
    const { db, bring } = to;
    const pairAt = async () => {
      const { rows } = await db.execute<Record<"first" | "since" | "gone", string>>(sql`
        select first_seen_at as first, valid_from as since, gone_at as gone
        from spot_pairs
        where symbol = 'BTCUSDT'`);
      return rows.map(({ first, since, gone }) => [first, since, gone].map(hourOf));
    };
    await bring(0, [btc, eth]);
    expect(await bring(1, [eth])).toEqual({ ...none, gone: 1 });
    expect(await bring(2, [eth])).toEqual(none);
    expect(await pairAt()).toEqual([[0, 0, 1]]);
    expect(await bring(3, [btc, eth])).toEqual({ ...none, returned: 1 });
    expect(await pairAt()).toEqual([[0, 3, null]]);
    expect(await versionsOf(db, "BTCUSDT")).toEqual([
      [0, 1, "0.002"],
      [3, null, "0.002"],
    ]);
  });

  test("change with a digit, a field that nobody listed, or a null", async () => {
    await using to = await house();
    const lists = [
      btc,
      withFee("0.0020"),
      withFee("2E-3"),
      { ...btc, note: 1 },
      { ...btc, status: null },
    ];
    for (const [hour, row] of lists.entries()) await to.bring(hour, [row]);
    expect(await versionsOf(to.db, "BTCUSDT")).toEqual([
      [0, 1, "0.002"],
      [1, 2, "0.0020"],
      [2, 3, "0.002"],
      [3, 4, "0.002"],
      [4, null, "0.002"],
    ]);
  });
});

test("a list that says nothing new rewrites no pair and no version, and a change only its own", async () => {
  await using to = await house();
  await to.bring(0, [btc, eth, sol]);
  const before = await rowVersions(to.db);
  await to.bring(1, [sol, btc, eth]);
  expect(await rowVersions(to.db)).toEqual(before);
  await to.bring(2, [withFee("0.1"), eth, sol]);
  const others = (rows: readonly Record<string, unknown>[]) =>
    rows.filter(({ symbol }) => symbol !== "BTCUSDT");
  expect(others(await rowVersions(to.db))).toEqual(others(before));
});

describe("a list that is older than the newest", () => {
  test("changes nothing, though the newest said nothing new itself", async () => {
    await using to = await house();
    await to.bring(0, [btc, eth]);
    await to.bring(2, [btc, eth]);
    const before = await rowVersions(to.db);
    for (const hour of [1, 2]) {
      expect(await to.bring(hour, [withFee("0.1"), sol])).toEqual({ ...none, isOutdated: true });
    }
    expect(await rowVersions(to.db)).toEqual(before);
  });

  test("never wins, in whatever order those of many runs at once are committed", async () => {
    await using to = await house();
    const hours = [3, 1, 4, 0, 2, 5, 4, 1];
    await Promise.all(hours.map((hour) => to.bring(hour, [withFee(`0.${hour}`), eth])));
    const versions = await versionsOf(to.db, "BTCUSDT");
    expect(versions.at(-1)).toEqual([5, null, "0.5"]);
    const ends = versions.slice(0, -1).map(([, end]) => end);
    expect(ends).toEqual(versions.slice(1).map(([from]) => from));
    for (const [from, , fee] of versions) expect(fee).toBe(`0.${from}`);
  });
});

describe("a list that cannot be all pairs is refused, and nothing is gone", () => {
  const four = [btc, eth, sol, { ...btc, symbol: "XRPUSDT" }];
  test.each([
    ["none", []],
    ["fewer than half", [btc]],
  ])("%s", async (_, rows) => {
    await using to = await house();
    await to.bring(0, four);
    const before = await rowVersions(to.db);
    await expect(to.bring(1, rows)).rejects.toThrow(UnbelievableListError);
    expect(await rowVersions(to.db)).toEqual(before);
    // Nor does it count as the newest list.
    expect(await to.bring(1, four)).toEqual(none);
  });

  test("but half of them is believed, and an empty one is not even the first time", async () => {
    await using to = await house();
    await expect(to.bring(0, [])).rejects.toThrow(/listed 0 pairs, where 0 are known/);
    await to.bring(0, four);
    expect(await to.bring(1, [btc, eth])).toEqual({ ...none, gone: 2 });
  });
});

describe("a broken row", () => {
  test.each<[string, readonly unknown[], string]>([
    ["a rate that is none", [withFee("free")], "BTCUSDT"],
    ["text that Postgres cannot hold", [{ ...btc, note: "\0" }], "BTCUSDT"],
    ["two rows that differ", [btc, withFee("0.1")], "BTCUSDT"],
    ["a name that cannot be read", [{ ...btc, symbol: "\ud800" }], "row 2"],
    ["no row at all", [null], "row 2"],
  ])("leaves the good ones stored and its own pair as it was: %s", async (_, rows, name) => {
    await using to = await house();
    await to.bring(0, [btc, eth]);
    const list = [withFee("0.1", eth), ...rows, sol];
    const { broken } = readList(list, readSymbol);
    expect(broken).toEqual([
      { name, fault: { path: expect.any(String), reason: expect.any(String) } },
    ]);
    expect(await to.bring(1, list)).toEqual({ ...none, new: 1, changed: 1 });
    expect(await versionsOf(to.db, "BTCUSDT")).toEqual([[0, null, "0.002"]]);
  });

  test("whose name can be read keeps nobody else from being gone", async () => {
    await using to = await house();
    await to.bring(0, [btc, eth, sol]);
    expect(await to.bring(1, [withFee("free"), eth])).toEqual({ ...none, gone: 1 });
  });

  test("that is the same twice is one", () => {
    expect(readList([btc, { ...btc }], readSymbol)).toMatchObject({
      list: { settings: [{}] },
      broken: [],
    });
  });
});
