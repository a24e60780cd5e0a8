import { expect, test } from "vitest";
import { isUnified, type ProductType } from "../src/contract/product-types.ts";
import { dayMs, type EpochMs, epochMs } from "../src/contract/time.ts";
import { ExchangeError, ForeignKeyError } from "../src/errors.ts";
import { type BillMark, type ProofStore, proveAccount } from "../src/sync/account-proof.ts";
import type { AccountMode } from "../src/sync/account-state.ts";
import { aBill } from "./support/bills.ts";

const now = epochMs(Date.UTC(2026, 10, 22));
const daysAgo = (days: number): EpochMs => epochMs(now - days * dayMs);
const markAt = (days: number): BillMark =>
  aBill({ billId: `${days}`, cTime: daysAgo(days), amount: "1", fee: "0" });

type Stored = Partial<Record<ProductType, readonly number[]>>;

/** What is stored of an account: for each bill, the days since its time. */
function storeOf(stored: Stored): ProofStore {
  const marksOf = (type: ProductType) => (stored[type] ?? []).map(markAt);
  return {
    newestBill: async ({ productType }, since, before = now) => {
      const times = marksOf(productType).map(({ cTime }) => cTime);
      const inside = times.filter((time) => time >= since && time < before);
      return inside.length === 0 ? undefined : epochMs(Math.max(...inside));
    },
    hasBills: async () => Object.keys(stored).length > 0,
    storedTimes: async ({ productType }, bills) =>
      marksOf(productType)
        .filter(({ billId, cTime }) =>
          bills.some((bill) => bill.billId === billId && bill.cTime === cTime),
        )
        .map(({ cTime }) => cTime),
  };
}

type Served = Partial<Record<ProductType, readonly number[] | ExchangeError>>;

/** Has an account prove itself at an exchange that serves these bills. */
async function prove(
  store: ProofStore,
  served: Served,
  exchangeNow = () => now,
  /** The answers that are empty, by their numbers from 1. */
  falseEnds: readonly number[] = [],
  mode: AccountMode = "classic",
) {
  const asked: ProductType[] = [];
  const proof = proveAccount(
    {
      store,
      exchangeNow,
      async ask(productType, question) {
        const { startTime = 0, endTime = now } = question();
        asked.push(productType);
        const rows = served[productType] ?? [];
        if (rows instanceof ExchangeError) throw rows;
        const inside = (falseEnds.includes(asked.length) ? [] : rows)
          .map(markAt)
          .filter(({ cTime }) => cTime >= startTime && cTime <= endTime)
          .map((mark) =>
            isUnified(productType)
              ? { ...mark, id: mark.billId, type: "BUY_DEAL", ts: String(mark.cTime) }
              : { ...mark, businessType: "buy", cTime: String(mark.cTime) },
          );
        return { rows: inside, endId: undefined, requestTime: now, rowTexts: () => [] };
      },
    },
    "main",
    mode,
  );
  return { ended: await proof.catch((error: unknown) => error), asked };
}

const unpermitted = new ExchangeError("refused-permission", "the key has no right to it");

test("bills of two times prove a key, by one request if a page has both", async () => {
  const apart = storeOf({ "USDT-FUTURES": [80, 40, 3] });
  expect(await prove(apart, { "USDT-FUTURES": [80, 40, 3, 1] })).toEqual({
    ended: "served",
    asked: ["USDT-FUTURES", "USDT-FUTURES"],
  });
  const together = storeOf({ "USDT-FUTURES": [80, 40, 4, 3] });
  expect(await prove(together, { "USDT-FUTURES": [80, 40, 4, 3, 1] })).toEqual({
    ended: "served",
    asked: ["USDT-FUTURES"],
  });
});

test("one bill lets no key in where another bill can be compared, in whatever product type", async () => {
  const stores = [
    { "USDT-FUTURES": [80, 40, 3] },
    { "USDT-FUTURES": [4, 3] },
    { "USDT-FUTURES": [3], "COIN-FUTURES": [30] },
  ];
  for (const stored of stores) {
    const { ended, asked } = await prove(storeOf(stored), { "USDT-FUTURES": [3, 2, 1] });
    expect(ended).toBeInstanceOf(ForeignKeyError);
    expect(String(ended)).toContain("serves one of its bills that are stored, and not the others");
    expect(asked.length).toBeLessThanOrEqual(5);
  }
});

test("one bill proves a key if no bill of another time can be compared, and that is told", async () => {
  for (const stored of [[3], [200, 3], [3, 3]]) {
    const store = storeOf({ "USDT-FUTURES": stored });
    expect((await prove(store, { "USDT-FUTURES": [3, 2] })).ended).toBe("served-one");
  }
});

test("a key that serves none of what is stored is another account's, after two requests", async () => {
  const store = storeOf({ "USDT-FUTURES": [80, 3] });
  const { ended, asked } = await prove(store, { "USDT-FUTURES": [80.5, 4, 2] });
  expect(ended).toBeInstanceOf(ForeignKeyError);
  expect(String(ended)).toMatch(/account main before.*USDT-FUTURES up to.*--new-key/);
  expect(asked).toHaveLength(2);
});

test("an answer without a bill is asked for again: it neither refuses a key nor lets one in", async () => {
  const own = storeOf({ "USDT-FUTURES": [80, 3] });
  const bills = { "USDT-FUTURES": [80, 3] };
  for (const falseEnds of [[1], [2], [1, 3]]) {
    const { ended, asked } = await prove(own, bills, undefined, falseEnds);
    expect({ ended, asked: asked.length }).toEqual({
      ended: "served",
      asked: 2 + falseEnds.length,
    });
  }
  const empty = await prove(own, {});
  expect(empty.ended).toBeInstanceOf(ForeignKeyError);
  expect(empty.asked).toHaveLength(4);
});

test("one bill that the exchange took back makes no account another one", async () => {
  const store = storeOf({ "USDT-FUTURES": [80, 20, 3] });
  const { ended } = await prove(store, { "USDT-FUTURES": [80, 20] });
  expect(ended).toBe("served");
});

test("is compared where bills are, whatever product types the account is to sync", async () => {
  const store = storeOf({ "USDC-FUTURES": [50, 5] });
  expect(await prove(store, { "USDC-FUTURES": [50, 5] })).toEqual({
    ended: "served",
    asked: ["USDC-FUTURES", "USDC-FUTURES"],
  });
  const { ended } = await prove(store, { "USDT-FUTURES": [50, 5] });
  expect(ended).toBeInstanceOf(ForeignKeyError);
});

test("a product type that the key may not read leaves the proof to another one", async () => {
  const store = storeOf({ "USDT-FUTURES": [3], "COIN-FUTURES": [9, 8.5] });
  const refused = { "USDT-FUTURES": unpermitted };
  expect((await prove(store, { ...refused, "COIN-FUTURES": [9, 8.5] })).ended).toBe("served");
  const foreign = await prove(store, { ...refused, "COIN-FUTURES": [8] });
  expect(foreign.ended).toBeInstanceOf(ForeignKeyError);
  const none = await prove(store, { ...refused, "COIN-FUTURES": unpermitted });
  expect(none.ended).toBe(unpermitted);
});

test("where nothing can be compared the key is taken, and it is told whether anything is stored", async () => {
  expect(await prove(storeOf({}), {})).toEqual({ ended: "nothing-stored", asked: [] });
  const forgotten = storeOf({ "USDT-FUTURES": [200, 95] });
  expect(await prove(forgotten, {})).toEqual({ ended: "out-of-reach", asked: [] });
});

test("what lies within the 90 days is told by the exchange's clock, not by this machine's", async () => {
  const store = storeOf({ "USDT-FUTURES": [90.5] });
  // More than half a day behind, until the first answer corrects it.
  const times = [daysAgo(0.8), daysAgo(0.8), daysAgo(0.8)];
  const { ended, asked } = await prove(store, {}, () => times.pop() ?? now);
  expect(ended).toBe("out-of-reach");
  expect(asked.length).toBeGreaterThan(0);
});

test("a new key of a unified account is proven by its unified ledgers, and never by a ledger that is only classic", async () => {
  const both = storeOf({ "USDT-FUTURES": [9], "UTA-OTHER": [4, 3] });
  const served = await prove(both, { "UTA-OTHER": [4, 3] }, undefined, [], "unified");
  expect(served).toEqual({ ended: "served", asked: ["UTA-OTHER"] });
  const classic = storeOf({ "USDT-FUTURES": [9] });
  const { ended, asked } = await prove(classic, { "UTA-OTHER": [3] }, undefined, [], "unified");
  expect(ended).toBeInstanceOf(ForeignKeyError);
  expect(String(ended)).toMatch(
    /is the key of a unified account, .* nothing was written.*--new-key/,
  );
  expect(asked).toEqual([]);
});
