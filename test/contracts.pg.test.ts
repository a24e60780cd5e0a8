// Contracts: the same for each product type; a bill belongs to the version of its time.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { readContract } from "../src/contract/contracts.ts";
import type { ContractProductType } from "../src/contract/product-types.ts";
import { readSymbol } from "../src/contract/symbols.ts";
import { epochMs, hourMs } from "../src/contract/time.ts";
import { type Database, openDatabase } from "../src/db/connect.ts";
import { commitContracts, commitSymbols } from "../src/db/reference/stored-symbols.ts";
import { UnbelievableListError } from "../src/errors.ts";
import { readList } from "../src/sync/settings-lists.ts";
import { testDatabase } from "./support/database.ts";

const start = Date.UTC(2026, 9, 1, 12);
const at = (hour: number) => epochMs(start + hour * hourMs);

const btc = {
  symbol: "BTCUSDT",
  baseCoin: "BTC",
  makerFeeRate: "0.00020",
  takerFeeRate: "0.0006",
  supportMarginCoins: ["USDT"],
  offTime: "-1",
};
const eth = { ...btc, symbol: "ETHUSDT", baseCoin: "ETH" };

/** A database of its own, and a function that stores a product type's list as it was at an hour. */
async function house() {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(url));
  const bring = (hour: number, rows: readonly unknown[], productType: ContractProductType = usdt) =>
    commitContracts(db, { productType, readAt: at(hour), ...readList(rows, readContract).list });
  return { db, bring, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const usdt = "USDT-FUTURES";
const coin = "COIN-FUTURES";
const none = { new: 0, changed: 0, returned: 0, gone: 0, isOutdated: false };

const hourOf = (time: string | null) =>
  time === null ? null : (Date.parse(time) - start) / hourMs;

async function versionsOf(db: Database, productType: string, symbol: string) {
  const { rows } = await db.execute<Record<"from" | "to" | "fee", string>>(sql`
    select valid_from as from, valid_to as to, maker_fee_rate::text as fee
    from contract_versions
    where product_type = ${productType}
      and symbol = ${symbol}
    order by valid_from`);
  return rows.map(({ from, to, fee }) => [hourOf(from), hourOf(to), fee]);
}

test("a contract's columns hold its digits, lists and times, and what they do not is in extra", async () => {
  await using to = await house();
  await to.bring(0, [{ ...btc, launchTime: "1532454360000", isRwa: "NO" }]);
  const { rows } = await to.db.execute(sql`
    select
      product_type, symbol, base_coin, quote_coin, maker_fee_rate::text, off_time,
      support_margin_coins, extract(epoch from launch_time)::text as launch_time, extra::text
    from contracts`);
  expect(rows).toEqual([
    {
      product_type: usdt,
      symbol: "BTCUSDT",
      base_coin: "BTC",
      quote_coin: null,
      maker_fee_rate: "0.00020",
      off_time: null,
      support_margin_coins: ["USDT"],
      launch_time: "1532454360.000000",
      extra: '{"isRwa":"NO","offTime":"-1"}',
    },
  ]);
});

describe("lists of one product type", () => {
  test("leave those of another, and the spot pairs of the same names, as they are", async () => {
    await using to = await house();
    const { db, bring } = to;
    const spot = readList([{ symbol: "BTCUSDT", makerFeeRate: "0.002" }], readSymbol).list;
    await commitSymbols(db, { readAt: at(0), ...spot });
    expect(await bring(0, [btc, eth])).toEqual({ ...none, new: 2 });
    expect(await bring(0, [btc], coin)).toEqual({ ...none, new: 1 });
    // At another hour, so that the list of one product type could end a version of the other.
    expect(await bring(1, [{ ...btc, makerFeeRate: "0.1" }, eth])).toEqual({ ...none, changed: 1 });
    expect(await bring(1, [{ ...eth, symbol: "X" }, btc], coin)).toEqual({ ...none, new: 1 });
    expect(await bring(2, [eth])).toEqual({ ...none, gone: 1 });
    expect(await versionsOf(db, usdt, "BTCUSDT")).toEqual([
      [0, 1, "0.00020"],
      [1, 2, "0.1"],
    ]);
    expect(await versionsOf(db, coin, "BTCUSDT")).toEqual([[0, null, "0.00020"]]);
    expect(await versionsOf(db, coin, "ETHUSDT")).toEqual([]);
    await expect(bring(3, [])).rejects.toThrow(/listed 0 contracts of USDT-FUTURES/);
    await expect(bring(3, [], coin)).rejects.toThrow(UnbelievableListError);
    const { rows } = await db.execute(sql`
      select symbol, gone_at, maker_fee_rate::text as fee from spot_pairs`);
    expect(rows).toEqual([{ symbol: "BTCUSDT", gone_at: null, fee: "0.002" }]);
  });
});

test("a bill's contract is the version of its time, else the nearest before, else the first", async () => {
  await using to = await house();
  const { db, bring } = to;
  // From 0 to 2, then from 2 to 4, then gone until 6.
  const rates: readonly (readonly [hour: number, fee: string | undefined])[] = [
    [0, "0.1"],
    [2, "0.2"],
    [4, undefined],
    [6, "0.3"],
  ];
  for (const [hour, makerFeeRate] of rates)
    await bring(hour, makerFeeRate === undefined ? [eth] : [{ ...btc, makerFeeRate }, eth]);
  const hours = [-1, 0, 1.5, 2, 3, 4, 5, 6, 9];
  const bills = hours.flatMap((hour, place) => [
    { id: `a${place}`, hour, productType: usdt, symbol: "BTCUSDT" },
    { id: `u${place}`, hour, productType: "UTA-USDT-FUTURES", symbol: "BTCUSDT" },
    { id: `c${place}`, hour, productType: coin, symbol: "BTCUSDT" },
    { id: `n${place}`, hour, productType: usdt, symbol: null },
  ]);
  for (const { id, hour, productType, symbol } of bills) {
    await db.execute(sql`
      insert into bills (
        account, product_type, bill_id, symbol, amount, fee, business_type, coin, c_time, ingested_at
      )
      values (
        'main', ${productType}, ${id}, ${symbol}, 0, 0, 'buy', 'USDT',
        ${new Date(at(hour)).toISOString()}, now()
      )`);
  }
  const { rows } = await db.execute<{ id: string; fee: string | null; held: boolean | null }>(sql`
    select bill_id as id, maker_fee_rate::text as fee, is_of_that_time as held
    from analytics.bill_contracts`);
  const expectedAt = (hour: number) => {
    const begun = rates.filter(([from]) => from <= hour);
    const fee = begun.findLast(([, rate]) => rate !== undefined)?.[1] ?? "0.1";
    return { fee, held: begun.at(-1)?.[1] !== undefined };
  };
  expect(Object.fromEntries(rows.map(({ id, ...version }) => [id, version]))).toEqual(
    Object.fromEntries(
      bills.map(({ id, hour, productType, symbol }) => [
        id,
        productType === coin || symbol === null ? { fee: null, held: null } : expectedAt(hour),
      ]),
    ),
  );
});
