// Real clients read from the mirror and from the sandbox, unmodified (ccxt, bitget-api; a year, each bill once;
// past the limit).

import { setTimeout as sleep } from "node:timers/promises";
import { RestClientV2 } from "bitget-api";
import ccxt, { type bitget } from "ccxt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { billFields } from "../src/core/contract/bill.ts";
import {
  classicProductTypes,
  type ProductType,
  unifiedProductTypes,
} from "../src/core/contract/product-types.ts";
import { readStoredBills } from "../src/core/store/bill-rows.ts";
import { dayMs, epochMs, minuteMs } from "../src/lib/time.ts";
import { listen } from "../src/wings/serve/app.ts";
import { type OpenSandbox, openSandbox } from "./exchange/sandbox.ts";
import { fileDatabase } from "./support/database.ts";
import { aMirrorKey, openMirror } from "./support/mirror.ts";
import { storeLedger, storeLists, storeLoanToValue } from "./support/stored-year.ts";

// The latest versions of the clients, unchanged. Only the base URL and the key are different.

type Key = Readonly<Record<"apiKey" | "apiSecret" | "apiPassphrase", string>>;
type Place = { readonly url: string; readonly key: Key; readonly unified: Key };

const accountNames = ["classic", "unified"] as const;
const days = 380;
const storedMs = (days - 10) * dayMs;
const stack = new AsyncDisposableStack();
const tables = await fileDatabase();
let sandbox: OpenSandbox;
let places: Readonly<Record<"mirror" | "sandbox", Place>>;
/** The end of the stored time. */
let storedTo: number;

beforeAll(async () => {
  sandbox = stack.use(
    await openSandbox({
      seed: 20,
      days,
      density: 0.6,
      accountNames,
      modesOf: (name) => [
        { at: Number.NEGATIVE_INFINITY, mode: name === "unified" ? "unified" : "classic" },
      ],
    }),
  );
  const [classic, unified] = sandbox.accounts;
  if (classic === undefined || unified === undefined)
    throw new Error("two accounts were asked for");
  storedTo = Date.now();
  const span = { from: storedTo - storedMs, to: storedTo };
  await storeLedger(tables.db, classic, [...classicProductTypes, "SPOT"], span);
  await storeLedger(tables.db, unified, [...unifiedProductTypes, "UTA-FUNDING"], span);
  await storeLists(tables.db, sandbox.url, epochMs(storedTo));
  const keys = {
    classic: aMirrorKey("classic", { incomplete: "trim" }),
    unified: aMirrorKey("unified"),
  };
  const mirror = stack.use(openMirror(tables.url, { keys: Object.values(keys), now: Date.now }));
  const { url } = stack.use(await listen(mirror.app, { host: "127.0.0.1", port: 0 }));
  places = {
    mirror: { url, key: keys.classic, unified: keys.unified },
    sandbox: { url: sandbox.url, key: classic, unified },
  };
}, 120_000);

afterAll(() => stack.disposeAsync());

/** A client of ccxt for which every address is this one. */
function ccxtAt(url: string, { apiKey, apiSecret, apiPassphrase }: Key): bitget {
  const client = new ccxt.bitget({ apiKey, secret: apiSecret, password: apiPassphrase });
  const { api } = client.urls;
  if (typeof api !== "object") throw new Error("ccxt has one address for each part of the API");
  client.urls["api"] = Object.fromEntries(Object.keys(api).map((part) => [part, url]));
  return client;
}

const idsOf = (entries: readonly { readonly info?: unknown; readonly id?: string | undefined }[]) =>
  entries.map(({ id }) => id);

/** Bills may appear late. Both the table and the sandbox have all bills older than this. */
const settledTo = () => storedTo - dayMs / 2;

/** The ids of the classic account's stored bills of a time, oldest first. */
async function storedIds(
  productType: ProductType,
  from: number,
  to: number,
  businessType?: string,
) {
  return (await readStoredBills(tables.db, { account: "classic", productType }))
    .filter(({ cTimeMs }) => Number(cTimeMs) >= from && Number(cTimeMs) <= to)
    .filter((bill) => businessType === undefined || bill.businessType === businessType)
    .filter((bill) => businessType === undefined || bill.symbol === "BTCUSDT")
    .map(({ billId }) => billId);
}

describe.each(["mirror", "sandbox"] as const)("from the %s", (name) => {
  test("ccxt reads markets, time, bills of each product type, what funding a contract paid, and unified records", async () => {
    const client = ccxtAt(places[name].url, places[name].key);
    const markets = await client.loadMarkets();
    expect(Object.values(markets).filter((market) => market?.swap).length).toBeGreaterThan(10);
    expect(Math.abs(Number(await client.fetchTime()) - Date.now())).toBeLessThan(minuteMs);
    const [since, until] = [storedTo - 3 * dayMs, settledTo()];
    for (const productType of classicProductTypes) {
      const params = { productType, until, type: "swap" };
      const entries = await client.fetchLedger(undefined, since, 100, params);
      const expected = (await storedIds(productType, since, until)).slice(-entries.length);
      expect(idsOf(entries).toSorted()).toEqual(expected.toSorted());
    }
    const paid = await client.fetchFundingHistory("BTC/USDT:USDT", since, 100, { until });
    const expected = await storedIds("USDT-FUTURES", since, until, "contract_settle_fee");
    expect(expected.length).toBeGreaterThan(0);
    expect(idsOf(paid).toSorted()).toEqual(expected.toSorted());
    const ofUnified = ccxtAt(places[name].url, places[name].unified);
    const spot = { category: "SPOT", productType: "SPOT", type: "swap" };
    const records = await ofUnified.fetchLedger(undefined, storedTo - 20 * dayMs, 50, spot);
    expect(records).toHaveLength(50);
  });

  const optionsOf = ({ apiKey, apiSecret, apiPassphrase }: Key) => ({
    ...{ apiKey, apiSecret, apiPass: apiPassphrase, baseUrl: places[name].url },
  });

  test("bitget-api reads bills, loan-to-value, symbols, contracts and time", async () => {
    const v2 = new RestClientV2(optionsOf(places[name].key));
    const record = {
      ltv: "0.3104",
      subAccountUids: ["1"],
      usdtBalance: "12.50",
      unpaidUsdtAmount: "3.88",
    };
    const lists = { unpaidInfo: [], balanceInfo: [] };
    if (name === "mirror")
      await storeLoanToValue(tables.db, "classic", { ...record, ...lists }, Date.now());
    const bills = await v2.getFuturesAccountBills({
      productType: "USDT-FUTURES",
      startTime: String(storedTo - 3 * dayMs),
      endTime: String(settledTo()),
      limit: "100",
    });
    const { bills: rows } = bills.data as { bills: readonly { billId: string }[] };
    const within = [storedTo - 3 * dayMs, settledTo()] as const;
    const expected = (await storedIds("USDT-FUTURES", ...within)).slice(-rows.length);
    expect(rows.map(({ billId }) => billId)).toEqual(expected.toReversed());
    const ltv = await v2.getLoanLTVConvert();
    if (name === "mirror") expect(ltv.data).toEqual({ ...record, ...lists });
    else expect(ltv.data).toMatchObject({ ltv: expect.any(String) });
    expect((await v2.getSpotSymbolInfo()).data).toHaveLength(60);
    const contracts = await v2.getFuturesContractConfig({ productType: "USDT-FUTURES" });
    expect(contracts.data.map(({ symbol }) => symbol)).toContain("BTCUSDT");
    expect(Math.abs(Number((await v2.getServerTime()).data.serverTime) - Date.now())).toBeLessThan(
      minuteMs,
    );
  });
});

test("ccxt reads from the mirror spot of a classic account and funding of a unified one", async () => {
  const since = storedTo - 80 * dayMs;
  const { url, key, unified } = places.mirror;
  const spot = await ccxtAt(url, key).fetchLedger(undefined, since, 500, { type: "spot" });
  const expected = await storedIds("SPOT", since, storedTo);
  expect(expected.length).toBeGreaterThan(10);
  expect(idsOf(spot).toSorted()).toEqual(expected.toSorted());
  const params = { uta: true, type: "funding" };
  const funding = await ccxtAt(url, unified).fetchLedger(undefined, since, 500, params);
  const stored = await readStoredBills(tables.db, {
    account: "unified",
    productType: "UTA-FUNDING",
  });
  const ofFunding = stored.filter(({ cTimeMs }) => Number(cTimeMs) >= since);
  expect(ofFunding.length).toBeGreaterThan(10);
  expect(idsOf(funding).toSorted()).toEqual(ofFunding.map(({ billId }) => billId).toSorted());
});

test("a loop over a year in windows of 7 days, 100 bills a page, reads the table to the last digit", async () => {
  const { key, url } = places.mirror;
  const client = new RestClientV2({
    apiKey: key.apiKey,
    apiSecret: key.apiSecret,
    apiPass: key.apiPassphrase,
    baseUrl: url,
  });
  const read: Record<string, string>[] = [];
  for (let end = storedTo; end > storedTo - 378 * dayMs; end -= 7 * dayMs) {
    let idLessThan: string | undefined;
    do {
      const { data } = await client.getFuturesAccountBills({
        productType: "USDT-FUTURES",
        startTime: String(end - 7 * dayMs),
        endTime: String(end - 1),
        limit: "100",
        ...(idLessThan !== undefined && { idLessThan }),
      });
      const page = data as unknown as { bills: Record<string, string>[]; endId: string };
      read.push(...page.bills);
      // The client does not limit its rate. A key has 100 requests a second.
      await sleep(12);
      idLessThan = page.endId === "" ? undefined : page.endId;
    } while (idLessThan !== undefined);
  }
  const [classic] = sandbox.accounts;
  const served = (classic?.ledger.bills["USDT-FUTURES"] ?? [])
    .filter(({ cTime, visibleAt }) => cTime >= storedTo - storedMs && visibleAt <= storedTo)
    .map(({ row }) => row);
  expect(served.length).toBeGreaterThan(1_500);
  expect(read.map(spelled).toSorted()).toEqual(served.map(spelled).toSorted());
});

/** A row's documented fields, each as it was written. */
const spelled = (row: unknown): string =>
  Object.keys(billFields)
    .map((name) => (row as Readonly<Record<string, unknown>>)[name] || "none")
    .join(" ");
