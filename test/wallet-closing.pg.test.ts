// Holds: One definition
// Of an account that became unified, rollforwards, month ends, a month's close and journals take the same out
// of the old wallet, on one day (integers over what was drawn).

import { sql } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { hourMs } from "../src/lib/time.ts";
import { decimalText, drawUnits, type Units, units } from "../src/wings/sandbox/money.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { billAt } from "./support/bills.ts";
import { runCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { exactUnits, refusalOf, verifiedSums } from "./support/journal.ts";
import { coverLedger, storeBills, storeEnd } from "./support/stored-ledger.ts";

// An account that became unified at the turn of a month, by plain sums over what was drawn.

const { db, url } = await fileDatabase();
const env = { DATABASE_URL: url };
const account = "seam";
const start = Date.UTC(2026, 9, 20);
const endedAt = Date.UTC(2026, 10, 2, 15);
const end = Date.UTC(2026, 10, 6);
const random = seededRandom("the seam");

/** A wallet's balance before its first bill, and what its bills moved. */
type Drawn = ReturnType<typeof draw>;
const draw = (productType: ProductType, coin: string, from: number, to: number) => ({
  ...{ productType, coin, wallet: productType === "UTA-OTHER" ? "UTA" : productType },
  started: drawUnits(random, units("1000")),
  bills: Array.from({ length: 40 }, (_, index) => ({
    cTime: Math.floor(from + ((to - from) * index) / 40) + 1,
    moved: drawUnits(random, units("9")) - units("4"),
  })),
});

// One classic wallet has its last bill on the day of the closing, the other in the month before.
const classic = [
  draw("USDT-FUTURES", "USDT", start, endedAt),
  draw("COIN-FUTURES", "BTC", start, Date.UTC(2026, 9, 28)),
] as const;
const unified = draw("UTA-OTHER", "USDT", endedAt, end);
const all = [...classic, unified];

/** The balance after the bills before a time. */
const leftAt = ({ started, bills }: Drawn, time = Number.POSITIVE_INFINITY): Units =>
  bills.filter(({ cTime }) => cTime < time).reduce((sum, { moved }) => sum + moved, started);

function storedBills(drawn: Drawn): readonly Bill[] {
  let balance = drawn.started;
  return drawn.bills.map(({ cTime, moved }, index) => {
    balance += moved;
    const money = { amount: decimalText(moved), fee: "0", balance: decimalText(balance) };
    const businessType = drawn === unified ? "TRANSFER_IN" : "close_long";
    return billAt(cTime, index, { businessType, coin: drawn.coin, ...money });
  });
}

beforeAll(async () => {
  for (const drawn of all)
    await storeBills(db, { account, productType: drawn.productType }, storedBills(drawn));
  await inTransaction(db, async (tx) => {
    for (const { productType } of classic) {
      // The newest bills were stored while they were still settling, so it is not proven that they are all.
      await coverLedger(tx, { account, productType }, start, endedAt - 12 * hourMs);
      await storeEnd(tx, { account, productType }, endedAt);
    }
    await coverLedger(tx, { account, productType: "UTA-OTHER" }, endedAt, end);
    for (const type of ["SPOT", "MARGIN", "USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES"])
      await coverLedger(tx, { account, productType: `UTA-${type}` as ProductType }, endedAt, end);
  });
  const everything = { accounts: undefined, productTypes: undefined };
  const { breaks } = await reconcile(db, everything, { isFull: true });
  // The ended ledgers' time before their first bill was never read.
  expect(breaks.filter(({ kind }) => kind !== "lost")).toEqual([]);
});

type Row = Readonly<
  Record<"wallet" | "coin" | "period" | "opening" | "moved" | "left_behind", string> &
    Record<"computed" | "closing" | "off", string>
>;

const rollforward = async (view: "daily" | "monthly"): Promise<readonly Row[]> => {
  const period = view === "daily" ? "day" : "month";
  const { rows } = await db.execute<Row>(
    sql.raw(`
      select
        product_type as wallet, coin, ${period}::text as period, opening::text,
        (realised_pnl + transfers_in + transfers_out)::text as moved, left_behind::text,
        computed_closing::text as computed, closing::text,
        (discrepancy + unreconciled)::text as off
      from analytics.${view}_rollforward
      where account = '${account}'
      order by ${period}, 1, 2`),
  );
  return rows;
};

/** In units of 1e-8, like what was drawn. */
const drawnUnits = (text: string): Units => exactUnits(text) / 10n ** 14n;

const rowsOf = (rows: readonly Row[], { wallet, coin }: Drawn) =>
  rows.filter((row) => row.wallet === wallet && row.coin === coin);

test("the rollforward takes what was left out of each classic wallet on the day of its closing, ends there, and adds up", async () => {
  const daily = await rollforward("daily");
  const monthly = await rollforward("monthly");
  for (const rows of [daily, monthly])
    for (const drawn of all) {
      let balance = drawn.started;
      const own = rowsOf(rows, drawn);
      for (const [place, row] of own.entries()) {
        const out = drawn === unified || place < own.length - 1 ? 0n : -leftAt(drawn);
        expect([row.opening, row.left_behind].map(drawnUnits)).toEqual([balance, out]);
        balance += drawnUnits(row.moved) + out;
        expect([row.computed, row.closing, row.off].map(drawnUnits)).toEqual([
          balance,
          balance,
          0n,
        ]);
      }
      expect(balance).toBe(drawn === unified ? leftAt(unified) : 0n);
    }
  for (const drawn of classic) expect(rowsOf(daily, drawn).at(-1)?.period).toBe("2026-11-02");
  expect(rowsOf(daily, unified)[0]?.period).toBe("2026-11-02");
  // No coin is counted twice at the end of the month of the closing.
  const [usdt, btc] = classic;
  expect(
    monthly.map(({ wallet, period, closing }) => [period, wallet, drawnUnits(closing)]),
  ).toEqual([
    ["2026-10-01", "COIN-FUTURES", leftAt(btc)],
    ["2026-10-01", "USDT-FUTURES", leftAt(usdt, Date.UTC(2026, 10, 1))],
    ["2026-11-01", "COIN-FUTURES", 0n],
    ["2026-11-01", "USDT-FUTURES", 0n],
    ["2026-11-01", "UTA", leftAt(unified)],
  ]);
  // The month's close tells it, with the closing by name.
  const report = ["report", "--month", "2026-11"];
  const csv = await runCli([...report, "--format", "csv"], { env });
  const left = [...csv.stdout.matchAll(/,left_behind,left behind,(-.*)$/gm)];
  expect(new Set(left.map(([, amount = ""]) => drawnUnits(amount)))).toEqual(
    new Set(classic.map((drawn) => -leftAt(drawn))),
  );
  const { stdout } = await runCli(report, { env });
  expect(stdout).toMatch(/ended 2026-11-02T15:00:00.*: the account changed its mode then/);
});

test.each(["hledger", "beancount"] as const)(
  "a journal for %s takes out the same, the bills of the last minutes among it",
  async (tool) => {
    const { code, stdout, stderr } = await runCli(["export", "--format", tool], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    expect(refusalOf(tool, stdout)).toBe("");
    const sums = verifiedSums(tool, stdout);
    const name = tool === "hledger" ? "seam" : "Seam";
    for (const drawn of classic) {
      const { wallet, coin } = drawn;
      expect(sums.get(`Assets:Exchange:${name}:${wallet}:${coin} ${coin}`)).toBe(0n);
      const closing = sums.get(`Equity:Exchange:${name}:${wallet}:Closing ${coin}`) ?? 0n;
      expect(closing / 10n ** 14n).toBe(leftAt(drawn));
      expect(stderr).toMatch(
        new RegExp(`^warning: seam/.*${wallet}.* w(as|ere) not read from 2026-11-02 03:00`, "m"),
      );
    }
    expect(sums.get(`Assets:Exchange:${name}:UTA:USDT USDT`)).toBe(leftAt(unified) * 10n ** 14n);
    expect(sums.get(`Equity:Exchange:${name}:UTA:Opening USDT`)).toBe(
      -unified.started * 10n ** 14n,
    );
    expect(stdout).not.toMatch(/discrepancy/i);
  },
);

test("the closing is once in files of months that continue each other, and a journal of some categories is refused", async () => {
  const journal = (...args: readonly string[]) =>
    runCli(["export", "--format", "hledger", "--account", account, ...args], { env });
  for (const [first, second, closings] of [
    [
      ["--month", "2026-10"],
      ["--month", "2026-11", "--continue"],
      [undefined, 2],
    ],
    [
      ["--to", "2026-11-03"],
      ["--from", "2026-11-03", "--continue"],
      [2, undefined],
    ],
  ] as const) {
    const files = [(await journal(...first)).stdout, (await journal(...second)).stdout];
    expect(files.map((text) => text.match(/category:closing/g)?.length)).toEqual(closings);
    expect(refusalOf("hledger", files.join(""))).toBe("");
  }
  expect(await journal("--product", "UTA-SPOT")).toMatchObject({
    ...{ code: 2, stderr: expect.stringMatching(/add --product UTA-/) },
  });
});

test("an ended wallet of which no bill shows a balance has an unknown closing, and nothing known is left in it", async () => {
  const blind = { account: "blind", productType: "USDT-FUTURES" } as const;
  await storeBills(db, blind, [billAt(start, 0, { balance: null })]);
  await coverLedger(db, blind, start, endedAt);
  await storeEnd(db, blind, endedAt);
  const { rows } = await db.execute(sql`
    select day::text, closing, left_behind::text as out
    from analytics.daily_rollforward
    where account = ${blind.account}
    order by daily_rollforward.day desc
    limit 1`);
  expect(rows).toEqual([{ day: "2026-11-02", closing: null, out: "0" }]);
});
