// Spot pairs and contracts: every version is kept with its time, they may go and return, an older list never
// wins, and a bill belongs to its contract's version of its time.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { readContract } from "../src/core/contract/contracts.ts";
import type { ContractProductType } from "../src/core/contract/product-types.ts";
import { readSymbol } from "../src/core/contract/symbols.ts";
import { commitContracts, commitSymbols } from "../src/core/store/reference/stored-symbols.ts";
import { readList } from "../src/core/sync/settings-lists.ts";
import { epochMs, hourMs } from "../src/lib/time.ts";
import { openTestDatabase } from "./support/database.ts";

const start = Date.UTC(2026, 9, 1, 12, 34, 56, 789);
/** The exchange's time that many hours after the start. */
const at = (hour: number) => epochMs(start + hour * hourMs);
const hourOf = (time: string | null) =>
  time === null ? null : (Date.parse(time) - start) / hourMs;

const btc = {
  ...{ symbol: "BTCUSDT", baseCoin: "BTC", quoteCoin: "USDT", status: "online", areaSymbol: "no" },
  ...{ minTradeAmount: "0", maxTradeAmount: "900000000000000000000", minTradeUSDT: "1" },
  ...{ takerFeeRate: "0.002", makerFeeRate: "0.00200000", pricePrecision: "2" },
  ...{ quantityPrecision: "6", quotePrecision: "8", orderQuantity: "200" },
  ...{ buyLimitPriceRatio: "0.05", sellLimitPriceRatio: "0.06", openTime: "1532454360000" },
  offTime: "",
};
const [eth, sol, xrp] = ["ETH", "SOL", "XRP"].map((coin) => ({
  ...{ ...btc, symbol: `${coin}USDT`, baseCoin: coin },
})) as [typeof btc, typeof btc, typeof btc];
const withFee = (takerFeeRate: string, row = btc) => ({ ...row, takerFeeRate });
const [usdt, coin] = ["USDT-FUTURES", "COIN-FUTURES"] as const;
const none = { new: 0, changed: 0, returned: 0, gone: 0, isStored: true };

/** A database of its own, and functions that store lists as they were at an hour. */
async function house() {
  const database = await openTestDatabase();
  const { db } = database;
  const query = async <Row extends Record<string, unknown>>(statement: ReturnType<typeof sql>) =>
    (await db.execute<Row>(statement)).rows;
  return {
    ...database,
    query,
    bring: (hour: number, rows: readonly unknown[]) =>
      commitSymbols(db, { readAt: at(hour), ...readList(rows, readSymbol).list }),
    bringContracts: (
      hour: number,
      rows: readonly unknown[],
      productType: ContractProductType = usdt,
    ) =>
      commitContracts(db, { productType, readAt: at(hour), ...readList(rows, readContract).list }),
    /** The versions of a symbol: from and to in hours, and the taker's rate in between. */
    async versionsOf(symbol: string, productType?: string) {
      const rows = await query<Record<"from" | "to" | "fee", string>>(sql`
        select valid_from as from, valid_to as to, taker_fee_rate::text as fee
        from ${productType === undefined ? sql`spot_pair_versions` : sql`contract_versions`} as version
        where symbol = ${symbol}
          and ${productType ?? null}::text is not distinct from to_jsonb(version) ->> 'product_type'
        order by valid_from`);
      return rows.map(({ from, to, fee }) => [hourOf(from), hourOf(to), fee]);
    },
    /** Every row, with the transaction that last wrote it. */
    rowVersions: () =>
      query(sql`
        select symbol, xmin::text, xmax::text, ctid::text, null as valid_from from spot_pairs
        union all
        select symbol, xmin::text, xmax::text, ctid::text, valid_from from spot_pair_versions
        order by 1, 5`),
  };
}

test("columns hold every field to the last digit, and what they do not is in extra", async () => {
  await using to = await house();
  await to.bring(0, [{ ...btc, minTradeUSDT: "1E0", maxLimitOrderValue: "10000000" }]);
  await to.bringContracts(0, [
    {
      ...{ symbol: "BTCUSDT", baseCoin: "BTC", makerFeeRate: "0.00020", offTime: "-1" },
      ...{ supportMarginCoins: ["USDT"], launchTime: "1532454360000", isRwa: "NO" },
    },
  ]);
  expect(
    await to.query(sql`
      select array_to_string(array[
        base_coin, quote_coin, min_trade_amount::text, max_trade_amount::text, taker_fee_rate::text,
        maker_fee_rate::text, price_precision::text, quantity_precision::text,
        quote_precision::text, min_trade_usdt::text, status, buy_limit_price_ratio::text,
        sell_limit_price_ratio::text, area_symbol, order_quantity::text,
        extract(epoch from open_time)::text, off_time::text, extra::text
      ], ' ', '-') as "row"
      from spot_pairs
      union all
      select array_to_string(array[
        product_type, base_coin, quote_coin, maker_fee_rate::text, off_time::text,
        support_margin_coins::text, extract(epoch from launch_time)::text, extra::text
      ], ' ', '-')
      from contracts`),
  ).toEqual([
    {
      row:
        "BTC USDT 0 900000000000000000000 0.002 0.00200000 2 6 8 1 online 0.05 0.06 no 200 " +
        '1532454360.000000 - {"maxLimitOrderValue":"10000000","minTradeUSDT":"1E0"}',
    },
    {
      row: 'USDT-FUTURES BTC - 0.00020 - ["USDT"] 1532454360.000000 {"isRwa":"NO","offTime":"-1"}',
    },
  ]);
});

test("a pair has a version for each change, and none while it is gone; what is as it was is not rewritten", async () => {
  await using to = await house();
  const { bring, rowVersions, versionsOf } = to;
  expect(await bring(0, [btc, eth])).toEqual({ ...none, new: 2 });
  const before = await rowVersions();
  const ofEth = (rows: typeof before) => rows.filter(({ symbol }) => symbol === "ETHUSDT");
  expect(await bring(1, [eth, btc])).toEqual(none);
  expect(await rowVersions()).toEqual(before);
  // A digit, a spelling, a field that nobody listed, a null, and as it was.
  const lists = [withFee("0.0020"), withFee("2E-3"), { ...btc, note: 1 }, { ...btc, status: null }];
  for (const [place, row] of [...lists, btc].entries())
    expect(await bring(2 + place, [row, eth])).toEqual({ ...none, changed: 1 });
  expect(await bring(7, [eth])).toEqual({ ...none, gone: 1 });
  expect(await bring(8, [eth])).toEqual(none);
  const pair = () =>
    to.query(sql`
      select gone_at is null as listed, (extract(epoch from valid_from - first_seen_at) / 3600)::int as after
      from spot_pairs where symbol = 'BTCUSDT'`);
  expect(await pair()).toEqual([{ listed: false, after: 6 }]);
  expect(await bring(9, [btc, eth])).toEqual({ ...none, returned: 1 });
  expect(await pair()).toEqual([{ listed: true, after: 9 }]);
  expect(await versionsOf("BTCUSDT")).toEqual([
    [0, 2, "0.002"],
    [2, 3, "0.0020"],
    [3, 4, "0.002"],
    [4, 5, "0.002"],
    [5, 6, "0.002"],
    [6, 7, "0.002"],
    [9, null, "0.002"],
  ]);
  expect(ofEth(await rowVersions())).toEqual(ofEth(before));
  // An older list changes nothing, nor does one of the same moment, though the newest said nothing new itself.
  await bring(11, [btc, eth]);
  const newest = await rowVersions();
  for (const hour of [10, 11])
    expect(await bring(hour, [withFee("0.1"), sol])).toEqual({ ...none, isStored: false });
  expect(await rowVersions()).toEqual(newest);
});

test("an older list never wins, in whatever order those of many runs at once are committed", async () => {
  await using to = await house();
  const hours = [3, 1, 4, 0, 2, 5, 4, 1];
  await Promise.all(hours.map((hour) => to.bring(hour, [withFee(`0.${hour}`), eth])));
  const versions = await to.versionsOf("BTCUSDT");
  expect(versions.at(-1)).toEqual([5, null, "0.5"]);
  expect(versions.slice(0, -1).map(([, end]) => end)).toEqual(
    versions.slice(1).map(([from]) => from),
  );
  for (const [from, , fee] of versions) expect(fee).toBe(`0.${from}`);
});

test("a list that cannot be all pairs is refused, and nothing is gone; half of them is believed", async () => {
  await using to = await house();
  await expect(to.bring(0, [])).rejects.toThrow(/listed 0 pairs, where 0 are known/);
  const four = [btc, eth, sol, xrp];
  await to.bring(0, four);
  for (const rows of [[], [btc]])
    await expect(to.bring(1, rows)).rejects.toThrow(/where 4 are known/);
  // Nor does it count as the newest list.
  expect(await to.bring(1, four)).toEqual(none);
  expect(await to.bring(2, [btc, eth])).toEqual({ ...none, gone: 2 });
});

test.each<[string, readonly unknown[], string]>([
  ["a rate that is none", [withFee("free")], "BTCUSDT"],
  ["text that Postgres cannot hold", [{ ...btc, note: "\0" }], "BTCUSDT"],
  ["two rows that differ", [btc, withFee("0.1")], "BTCUSDT"],
  ["a name that cannot be read", [{ ...btc, symbol: "\ud800" }], "row 2"],
  ["no row at all", [null], "row 2"],
])(
  "a broken row leaves the good ones stored and its own pair as it was: %s",
  async (_, rows, name) => {
    await using to = await house();
    await to.bring(0, [btc, eth, xrp]);
    // A row that is the same twice is one.
    const list = [withFee("0.1", eth), ...rows, sol, sol];
    expect(readList(list, readSymbol).broken).toEqual([
      { name, fault: { path: expect.any(String), reason: expect.any(String) } },
    ]);
    // Whether another pair is gone is known only where each row has a name.
    const gone = name === "BTCUSDT" ? 1 : 0;
    expect(await to.bring(1, list)).toEqual({ ...none, new: 1, changed: 1, gone });
    expect(await to.versionsOf("BTCUSDT")).toEqual([[0, null, "0.002"]]);
  },
);

test("contracts of one product type leave those of another, and the spot pairs of the same names, as they are", async () => {
  await using to = await house();
  const { bringContracts, versionsOf } = to;
  await to.bring(0, [btc]);
  expect(await bringContracts(0, [btc, eth])).toEqual({ ...none, new: 2 });
  expect(await bringContracts(0, [btc], coin)).toEqual({ ...none, new: 1 });
  // At another hour, so that the list of one product type could end a version of the other.
  expect(await bringContracts(1, [withFee("0.1"), eth])).toEqual({ ...none, changed: 1 });
  expect(await bringContracts(1, [sol, btc], coin)).toEqual({ ...none, new: 1 });
  expect(await bringContracts(2, [eth])).toEqual({ ...none, gone: 1 });
  expect(await versionsOf("BTCUSDT", usdt)).toEqual([
    [0, 1, "0.002"],
    [1, 2, "0.1"],
  ]);
  expect(await versionsOf("BTCUSDT", coin)).toEqual([[0, null, "0.002"]]);
  expect(await versionsOf("ETHUSDT", coin)).toEqual([]);
  expect(await versionsOf("BTCUSDT")).toEqual([[0, null, "0.002"]]);
  await expect(bringContracts(3, [])).rejects.toThrow(/listed 0 contracts of USDT-FUTURES/);
});

test("a bill's contract is the version of its time, else the nearest before, else the first", async () => {
  await using to = await house();
  // From 0 to 2, then from 2 to 4, then gone until 6.
  await to.bringContracts(0, [withFee("0.1"), eth]);
  await to.bringContracts(2, [withFee("0.2"), eth]);
  await to.bringContracts(4, [eth]);
  await to.bringContracts(6, [withFee("0.3"), eth]);
  const store = (id: string, hour: number, productType: string, symbol: string | null) =>
    to.query(sql`
      insert into bills (
        account, product_type, bill_id, symbol, amount, fee, business_type, coin, c_time, ingested_at
      )
      values (
        'main', ${productType}, ${id}, ${symbol}, 0, 0, 'buy', 'USDT',
        ${new Date(at(hour)).toISOString()}, now()
      )`);
  for (const [place, hour] of [-1, 0, 1.5, 2, 3, 4, 5, 6, 9].entries()) {
    await store(`a${place}`, hour, usdt, "BTCUSDT");
    await store(`u${place}`, hour, "UTA-USDT-FUTURES", "BTCUSDT");
  }
  await store("c", 3, coin, "BTCUSDT");
  await store("n", 3, usdt, null);
  const rows = await to.query<{ kind: string; versions: string }>(sql`
    select
      left(bill_id, 1) as kind,
      string_agg(
        coalesce(taker_fee_rate::text, '-') || case when is_of_that_time then '' else '?' end,
        ' ' order by bill_id
      ) as versions
    from analytics.bill_contracts
    group by 1
    order by 1`);
  const versions = "0.1? 0.1 0.1 0.2 0.2 0.2? 0.2? 0.3 0.3";
  expect(rows).toEqual([
    { kind: "a", versions },
    { kind: "c", versions: "-?" },
    { kind: "n", versions: "-?" },
    { kind: "u", versions },
  ]);
});
