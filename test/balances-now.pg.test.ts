// What a wallet holds now follows from its bills, or is a break: bills that are missing after the last stored
// one; where both may differ it is a notice.

import { expect, test } from "vitest";
import { readFindings } from "../src/check/health/findings.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { unifiedProductTypes } from "../src/core/contract/product-types.ts";
import { balancesOperations } from "../src/core/contract/wallet-balances.ts";
import { isComplete } from "../src/core/sync/account-report.ts";
import { dayMs, epochMs, hourMs, minuteMs } from "../src/lib/time.ts";
import type { LedgerBill } from "../src/wings/sandbox/entry.ts";
import type { Answer } from "../src/wings/sandbox/exchange/api.ts";
import type { Source } from "../src/wings/sandbox/exchange/source.ts";
import type { AccountBills } from "../src/wings/sandbox/ledger.ts";
import { integer, seededRandom } from "../src/wings/sandbox/random.ts";
import { fileDatabase } from "./support/database.ts";
import { openHouse } from "./support/house.ts";
import { exactUnits } from "./support/journal.ts";
import { query } from "./support/query.ts";
import { type SimulationOptions, simulate, simulationStart } from "./support/simulation.ts";

/** An exchange whose pages have no bill of this time or later, while its balances have all: times in ms since the epoch. */
const hidingNewest = (source: Source, hiddenFrom: () => number): Source => ({
  ...source,
  bills: (request) => {
    const endTime = Math.min(request.endTime ?? Number.POSITIVE_INFINITY, hiddenFrom() - 1);
    const isCut = Number.isFinite(endTime);
    return source.bills({
      ...request,
      endTime: isCut ? (endTime as typeof request.now) : undefined,
    });
  },
});

const { db, url } = await fileDatabase();

/** An account of one wallet, which is synced and checked. */
function house(name: string, options: Partial<SimulationOptions> = {}) {
  const simulation = simulate(url, {
    ...{ name, seed: name, density: 0.2, productTypes: ["USDT-FUTURES"], ...options },
  });
  return {
    ...simulation,
    ledger: simulation.sandbox.account.ledger.bills["USDT-FUTURES"],
    asked: () => simulation.sandbox.statistics().arrivals[balancesOperations.classic.name] ?? 0,
    async check() {
      const scope = { accounts: [name], productTypes: undefined };
      const { breaks } = await reconcile(db, scope, { isFull: false });
      return breaks.filter(({ firstBadBill }) => firstBadBill === null);
    },
    stored: () =>
      query(
        url,
        `select wallet, coin, balance, expected, balance = expected as follows from wallet_balances where account = '${name}' order by first_seen_at, coin`,
      ),
    findings: async () => {
      const now = simulation.time.clock.now();
      const found = await readFindings(db, { now, accounts: [name] });
      return found.filter(({ kind, difference }) => kind === "unexplained" && difference !== null);
    },
    [Symbol.asyncDispose]: () => simulation[Symbol.asyncDispose](),
  };
}

/** Changes the balances that the exchange tells, those of futures or of another operation. */
const telling =
  (
    change: (rows: { [name: string]: string }[]) => unknown,
    { path } = balancesOperations.classic as { path: string },
  ) =>
  (answer: Answer): Answer =>
  async (request) => {
    const given = await answer(request);
    if (request.path !== path) return given;
    const body = JSON.parse(given.body);
    return { ...given, body: JSON.stringify({ ...body, data: change(body.data) }) };
  };

/** The ledger has no bill from a time on. */
const quietAfter =
  (time: number) =>
  (ledger: AccountBills): AccountBills => ({
    ...ledger,
    bills: {
      ...ledger.bills,
      "USDT-FUTURES": ledger.bills["USDT-FUTURES"].filter(({ visibleAt }) => visibleAt < time),
    },
  });

test("a sync keeps what each wallet holds now, by one request a product type, and it follows from the bills", async () => {
  await using at = house("follows");
  expect(isComplete(await at.sync())).toBe(true);
  expect(at.asked()).toBe(1);
  await at.pass(hourMs);
  await at.sync();
  expect(await at.check()).toEqual([]);
  const stored = await at.stored();
  expect(stored[0]).toMatchObject({ coin: "USDT", follows: true });
  expect(stored.length).toBeGreaterThan(1);
  // A balance that stays the same is one row, whose time grows.
  await using same = house("same", { alterLedger: quietAfter(simulationStart - dayMs) });
  for (let run = 0; run < 3; run++) {
    await same.sync();
    await same.pass(hourMs);
  }
  await same.check();
  expect(await same.stored()).toEqual([expect.objectContaining({ follows: true })]);
});

test("bills that are missing after the last stored one are a break with their sum, if they moved the balance, until they are read", async () => {
  // Seeds whose last bill tells its balance, and the last shown one, too.
  for (const seed of [0, 1, 2, 4]) {
    const random = seededRandom(`hidden ${seed}`);
    let hiddenFrom = Number.POSITIVE_INFINITY;
    await using at = house(`drawn ${seed}`, {
      density: 0.02 + random() / 10,
      alterLedger: quietAfter(simulationStart - integer(random, 1, 40) * dayMs),
      wrapSource: (source) => hidingNewest(source, () => hiddenFrom),
    });
    hiddenFrom = at.ledger.at(-integer(random, 1, 9))?.cTime ?? 0;
    const shown = at.ledger.filter(({ cTime }) => cTime < hiddenFrom);
    const balance = (bills: readonly LedgerBill[]) => Number(Object(bills.at(-1)?.row).balance);
    expect(isComplete(await at.sync())).toBe(true);
    // Late bills may still come: that is told as soon as they could no longer.
    expect(await at.check()).toEqual([]);
    await at.pass(integer(random, 20, 300) * minuteMs);
    await at.sync();
    const found = await at.check();
    await at.pass(integer(random, 20, 300) * minuteMs);
    await at.sync();
    const again = await at.check();
    const moved = balance(at.ledger) - balance(shown);
    expect(
      again.map(({ difference }) => Number(difference)),
      `seed ${seed}`,
    ).toEqual(Math.abs(moved) < 1e-8 ? [] : [expect.closeTo(moved, 7)]);
    // The same break, however often it is found.
    expect(again.map(({ breakId }) => breakId)).toEqual(found.map(({ breakId }) => breakId));
    for (const { explanation } of again)
      expect(explanation).toMatch(/newest bills are missing, or a type of bill moves it/);
    hiddenFrom = Number.POSITIVE_INFINITY;
    await at.sync();
    expect(await at.check()).toEqual([]);
  }
}, 120_000);

test("a bill that came while the balance was looked up is no break, before or after", async () => {
  for (const [name, change] of [
    ["before", "0"],
    ["after", "5"],
  ] as const) {
    let isFirst = true;
    await using at = house(name, {
      alterLedger: quietAfter(simulationStart - dayMs),
      wrapAnswer: (answer) => async (request) => {
        if (request.path === balancesOperations.classic.path && isFirst) {
          isFirst = false;
          const last = at.ledger.at(-1);
          const now = epochMs(Math.floor(at.time.clock.now()) + 900);
          const row = { ...Object(last?.row), cTime: String(now), amount: "5", fee: "0" };
          row.billId = String(BigInt(row.billId) + (BigInt(now - (last?.cTime ?? 0)) << 22n));
          row.balance = (Number(row.balance) + 5).toFixed(8);
          const bill = { ...last, billId: row.billId, cTime: now, visibleAt: now, row };
          (at.ledger as unknown as object[]).push(bill);
          return telling((rows) =>
            rows.map((one) => ({
              ...one,
              accountEquity: (Number(one["accountEquity"]) + Number(change)).toFixed(8),
            })),
          )(answer)(request);
        }
        return answer(request);
      },
    });
    await at.sync();
    await at.pass(hourMs);
    await at.sync();
    expect(await at.check()).toEqual([]);
    const compared = (await at.stored()).filter(({ expected }) => expected !== null);
    expect(compared.map(({ follows }) => follows)).toEqual([true]);
  }
});

test("open positions' profit is no balance; where all coins are one margin, a difference is a notice and no break", async () => {
  let mode = "single";
  await using at = house("union", {
    wrapAnswer: telling((rows) =>
      rows.map((row) => ({
        ...row,
        accountEquity: (Number(row["accountEquity"]) + (mode === "single" ? 2.5 : 3)).toFixed(8),
        unrealizedPL: "2.5",
        assetMode: mode,
      })),
    ),
  });
  await at.sync();
  await at.pass(hourMs);
  mode = "union";
  await at.sync();
  expect(await at.check()).toEqual([]);
  expect(await at.findings()).toEqual([]);
  await at.pass(hourMs);
  await at.sync();
  expect(await at.check()).toEqual([]);
  const [finding, ...others] = await at.findings();
  expect([finding?.coin, others]).toEqual(["USDT", []]);
  expect(exactUnits(finding?.difference ?? "")).toBe(exactUnits("0.5"));
});

const less2 = (whole: string) => String(BigInt(whole) - 2n);

test("a unified account has one balance of each coin, and a difference in it is a notice", async () => {
  await using at = house("unified", {
    modes: [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }],
    productTypes: unifiedProductTypes,
    wrapAnswer: (answer) => async (request) => {
      const given = await answer(request);
      if (request.path !== balancesOperations.unified.path) return given;
      const body = JSON.parse(given.body);
      const assets = body.data.assets.map((row: { coin: string; balance: string }) =>
        row.coin === "USDC"
          ? { ...row, balance: "1.5" }
          : row.coin === "USDT"
            ? { ...row, balance: row.balance.replace(/^\d+/, less2), locked: "2" }
            : row,
      );
      return { ...given, body: JSON.stringify({ ...body, data: { assets } }) };
    },
  });
  await at.sync();
  await at.pass(hourMs);
  await at.sync();
  expect(await at.check()).toEqual([]);
  const stored = await at.stored();
  expect(stored.length).toBeGreaterThan(2);
  const differing = stored.filter(({ follows }) => follows === false);
  // What orders lock is left out of the balances that are told, and in those of the bills.
  expect(differing).toMatchObject([{ coin: "USDC", balance: "1.5" }]);
  expect((await at.findings()).map(({ coin, ledger }) => [ledger, coin])).toEqual([
    ["UTA", "USDC"],
  ]);
});

const besides = [
  ["SPOT", { productTypes: ["USDT-FUTURES", "SPOT"] }],
  [
    "UTA-FUNDING",
    {
      modes: [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }],
      productTypes: [...unifiedProductTypes, "UTA-FUNDING"],
    },
  ],
] as const;

test.each(besides)(
  "what %s holds follows from its bills; a newest bill that is missing is a break",
  async (wallet, options) => {
    let hiddenFrom = Number.POSITIVE_INFINITY;
    const opened = (name: string) =>
      house(`${wallet} ${name}`, {
        ...{ ...options, seed: wallet, density: 0.6 },
        alterLedger: (ledger) => {
          const bills = ledger.bills[wallet].filter(({ cTime }) => cTime < simulationStart - dayMs);
          return { ...ledger, bills: { ...ledger.bills, [wallet]: bills } };
        },
        wrapSource: (source) => {
          const hiding = hidingNewest(source, () => hiddenFrom);
          return {
            ...source,
            bills: (request) => (request.productType === wallet ? hiding : source).bills(request),
          };
        },
      });
    await using whole = opened("whole");
    await using hidden = opened("hidden");
    const bills = hidden.sandbox.account.ledger.bills[wallet];
    const [before, last] = bills.filter(({ coin }) => coin === bills.at(-1)?.coin).slice(-2);
    const balanceOf = (bill: LedgerBill | undefined) => String(Object(bill?.row).balance);
    for (const at of [whole, hidden]) {
      hiddenFrom = at === whole ? Number.POSITIVE_INFINITY : (last?.cTime ?? 0);
      await at.sync();
      await at.pass(hourMs);
      await at.sync();
      const found = (await at.check()).filter(({ coin }) => at === whole || coin === last?.coin);
      expect(found).toMatchObject(
        at === whole
          ? []
          : [{ ledger: wallet, expected: balanceOf(before), observed: balanceOf(last) }],
      );
      expect(await at.findings()).toEqual([]);
    }
    const compared = (await whole.stored()).filter(
      (row) => row["wallet"] === wallet && row["expected"] !== null,
    );
    expect(compared.length).toBeGreaterThan(0);
    expect(new Set(compared.map(({ follows }) => follows))).toEqual(new Set([true]));
  },
);

test("coins that an order freezes are in the spot wallet's balance; while some are frozen, a difference is a notice", async () => {
  let extra = "0";
  const { spot } = balancesOperations;
  await using at = house("frozen", {
    ...{ productTypes: ["USDT-FUTURES", "SPOT"], density: 0.6 },
    wrapAnswer: telling(
      (rows) =>
        rows.map(({ available = "", ...row }) => ({
          ...{ ...row, coin: row["coin"]?.toLowerCase() },
          available: (Number(available) - 2 + Number(extra)).toFixed(8),
          ...{ frozen: "1.5", locked: "0.5", limitAvailable: "" },
        })),
      spot,
    ),
  });
  await at.sync();
  await at.pass(hourMs);
  extra = "1";
  await at.sync();
  expect(await at.check()).toEqual([]);
  expect(await at.findings()).toEqual([]);
  await at.pass(hourMs);
  await at.sync();
  expect(await at.check()).toEqual([]);
  const found = await at.findings();
  expect(found.map(({ ledger, coin }) => [ledger, coin])).toEqual([["SPOT", "USDT"]]);
});

test("a coin that an answer leaves out is held no more: it is a notice if bills say otherwise, and kept only then", async () => {
  let isListed = false;
  await using at = house("unlisted", {
    ...{ productTypes: ["USDT-FUTURES", "SPOT"], density: 0.6 },
    wrapAnswer: telling(
      (rows) => rows.filter(({ coin }) => isListed || coin !== "USDT"),
      balancesOperations.spot,
    ),
  });
  for (const passMs of [0, hourMs, hourMs]) {
    await at.pass(passMs);
    await at.sync();
    expect(await at.check()).toEqual([]);
  }
  const found = await at.findings();
  expect(found.map(({ ledger, coin }) => [ledger, coin])).toEqual([["SPOT", "USDT"]]);
  const unlisted = (await at.stored()).filter(({ balance }) => Number(balance) === 0);
  expect(unlisted.map(({ wallet, coin }) => [wallet, coin])).toEqual([["SPOT", "USDT"]]);
  isListed = true;
  for (const passMs of [hourMs, hourMs]) {
    await at.pass(passMs);
    await at.sync();
    expect(await at.check()).toEqual([]);
  }
  expect(await at.findings()).toEqual([]);
});

// Rows that users of ccxt published in its pull requests 20558, 16712 (by the names of the v2 API) and 30083.
test.each([
  [
    balancesOperations.classic.data.parse([
      {
        ...{ marginCoin: "USDT", locked: "6.063618", available: "47.99149777" },
        ...{ accountEquity: "48.07069777", unrealizedPL: "0.0792", coupon: "0" },
        ...{ crossedUnrealizedPL: null, isolatedUnrealizedPL: null },
      },
    ]),
    { coin: "USDT", balance: "47.99149777", mayDiffer: false },
  ],
  [
    balancesOperations.classic.data.parse([
      {
        ...{ marginCoin: "USDT", locked: "0", available: "33.12880076" },
        ...{ accountEquity: "45.14880076", unrealizedPL: null },
      },
    ]),
    { coin: "USDT", balance: "45.14880076", mayDiffer: true },
  ],
  [
    balancesOperations.unified.data.parse({
      assets: [
        {
          ...{ coin: "USDT", equity: "44.63320947", balance: "0.00000002" },
          ...{ available: "0.00000002", debt: "0", locked: "44.63320944", bonus: "0" },
        },
      ],
    }),
    { coin: "USDT", balance: "44.63320946", mayDiffer: true },
  ],
])("of published rows, %j is the balance", ([balance], expected) => {
  expect(balance).toEqual(expected);
});

test.each([
  ["of a coin is null", (rows: object[]) => rows.map((row) => ({ ...row, available: null }))],
  ["are a null instead of a list", () => null],
])("balances that %s are no failure and no break", async (what, change) => {
  const told: string[] = [];
  await using at = house(`balances ${what}`, {
    ...{ productTypes: ["USDT-FUTURES", "SPOT"], density: 0.6 },
    onFailure: ({ message }) => told.push(message),
    wrapAnswer: telling(change, balancesOperations.spot),
  });
  for (const passMs of [0, hourMs, hourMs]) {
    await at.pass(passMs);
    expect(isComplete(await at.sync())).toBe(true);
    expect(await at.check()).toEqual([]);
  }
  expect(told).toEqual([]);
  // An empty list says that nothing is held, and a null says nothing.
  const spot = (await at.stored()).filter(({ wallet }) => wallet === "SPOT");
  expect(spot.length > 0).toBe(what.includes("list"));
});

test.each([
  ["classic", "USDT-FUTURES", 0],
  ["spot", "SPOT", 3],
] as const)(
  "a key that may not read %s balances is told so once a day, is no failure, and the other wallets are compared",
  async (kind, wallet, asked) => {
    const told: string[] = [];
    await using at = house(`no ${kind}`, {
      productTypes: ["USDT-FUTURES", "SPOT"],
      onFailure: ({ message }) => told.push(message),
      wrapAnswer: (answer) => async (request) =>
        request.path === balancesOperations[kind].path
          ? { status: 400, headers: {}, body: '{"code":"40014","msg":"Incorrect permissions"}' }
          : answer(request),
    });
    for (const passMs of [0, hourMs, 22 * hourMs]) {
      await at.pass(passMs);
      expect(isComplete(await at.sync())).toBe(true);
    }
    expect(told).toEqual([
      expect.stringMatching(RegExp(`^balances of ${wallet} are not compared: .*40014`)),
    ]);
    expect(at.asked()).toBe(asked);
    await at.pass(dayMs / 8);
    await at.sync();
    expect(told).toHaveLength(2);
  },
);

/** The ledger, cut where its last two bills are alone in their milliseconds, tell their balances, and the last one moved money. */
function untilTwoFollow(ledger: AccountBills): AccountBills {
  const bills = ledger.bills["USDT-FUTURES"];
  const end = bills.findLastIndex((hidden, index) => {
    const [before, shown] = bills.slice(index - 2, index);
    const times = [before, shown, hidden].map((bill) => bill?.cTime ?? 0);
    const rows = [shown, hidden].map((bill) => Object(bill?.row));
    return (
      new Set(times).size === 3 &&
      rows.every(({ coin, balance }) => coin === "USDT" && /\d/.test(balance)) &&
      Number(rows[1].amount) !== 0
    );
  });
  const cut = bills.slice(0, end + 1);
  return { ...ledger, bills: { ...ledger.bills, "USDT-FUTURES": cut } };
}

test("a first sync says what the exchange holds if the newest bills do not say so, and the next one that it is a break", async () => {
  let passedMs = 0;
  let hiddenFrom = Number.POSITIVE_INFINITY;
  await using at = await openHouse({
    ...{ seed: "newest end", density: 0.3, futureDays: 0, now: () => Date.now() + passedMs },
    alterLedger: (ledger) => untilTwoFollow(quietAfter(Date.now() - hourMs)(ledger)),
    wrapSource: (source) => hidingNewest(source, () => hiddenFrom),
  });
  const [shown, hidden] = at.sandbox.account.ledger.bills["USDT-FUTURES"].slice(-2);
  hiddenFrom = hidden?.cTime ?? 0;
  const holds = Object(hidden?.row).balance;
  const first = await at.run("sync", "--only", "bills");
  const [, told = "", says = ""] =
    /^main\/USDT-FUTURES: the exchange holds (\S+) USDT, the newest bill says (\S+); asked again by the next sync$/m.exec(
      first.stdout,
    ) ?? [];
  expect([first.code, exactUnits(told), exactUnits(says)]).toEqual([
    ...[0, exactUnits(holds), exactUnits(Object(shown?.row).balance)],
  ]);
  passedMs += hourMs;
  const next = await at.run("sync", "--only", "bills");
  expect(next.code).toBe(1);
  expect(next.stdout).toMatch(/^#\d+ +balance /m);
  expect(next.stdout).not.toContain("asked again by the next sync");
});
