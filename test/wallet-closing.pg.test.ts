// Holds: One definition
// Of an account that became unified, rollforwards, month ends, a month's close and journals take the same out
// of the old wallet, on one day (integers over what was drawn).

import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { Bill } from "../src/contract/bill.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { decimalText, drawUnits, type Units, units } from "../src/sandbox/money.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { billAt } from "./support/bills.ts";
import { runCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { storeBills } from "./support/export.ts";
import { exactUnits, refusalOf, verifiedSums } from "./support/journal.ts";
import { coverLedger } from "./support/small-ledger.ts";
import { storeClosing } from "./support/stored-time.ts";

// An account that became unified at the turn of a month, by plain sums over what was drawn.

const { database, tables } = await fileDatabase();
const { db } = tables;
const env = { DATABASE_URL: database.url };
const account = "seam";
const start = Date.UTC(2026, 9, 20);
const closedAt = Date.UTC(2026, 10, 2, 15);
const end = Date.UTC(2026, 10, 6);
const random = seededRandom("the seam");

/** A wallet's balance before its first bill, and what its bills moved. */
type Drawn = {
  readonly productType: ProductType;
  readonly wallet: string;
  readonly coin: string;
  readonly started: Units;
  readonly bills: readonly { readonly cTime: number; readonly moved: Units }[];
};

const draw = (
  wallet: string,
  coin: string,
  {
    from,
    to,
    productType = wallet as ProductType,
  }: { from: number; to: number; productType?: ProductType },
): Drawn => ({
  productType,
  wallet,
  coin,
  started: drawUnits(random, units("1000")),
  bills: Array.from({ length: 40 }, (_, index) => ({
    cTime: Math.floor(from + ((to - from) * index) / 40) + 1,
    moved: drawUnits(random, units("9")) - units("4"),
  })),
});

// One classic wallet has its last bill on the day of the closing, the other in the month before.
const classic = [
  draw("USDT-FUTURES", "USDT", { from: start, to: closedAt }),
  draw("COIN-FUTURES", "BTC", { from: start, to: Date.UTC(2026, 9, 28) }),
];
const unified = draw("UTA", "USDT", { from: closedAt, to: end, productType: "UTA-OTHER" });
const all = [...classic, unified];

/** The balance after the bills before a time. */
const leftAt = ({ started, bills }: Drawn, time = Number.POSITIVE_INFINITY): Units =>
  bills.filter(({ cTime }) => cTime < time).reduce((sum, { moved }) => sum + moved, started);

function storedBills(drawn: Drawn): readonly Bill[] {
  let balance = drawn.started;
  return drawn.bills.map(({ cTime, moved }, index) => {
    balance += moved;
    return billAt(cTime, index, {
      businessType: drawn === unified ? "TRANSFER_IN" : "close_long",
      coin: drawn.coin,
      amount: decimalText(moved),
      fee: "0",
      balance: decimalText(balance),
    });
  });
}

beforeAll(async () => {
  for (const drawn of all) {
    await storeBills(db, { account, productType: drawn.productType }, storedBills(drawn));
  }
  await inTransaction(db, async (tx) => {
    for (const { productType } of classic) {
      // The newest bills were stored while they were still settling, so it is not proven that they are all.
      await coverLedger(tx, { account, productType }, start, closedAt - 12 * hourMs);
      await storeClosing(tx, { account, productType }, closedAt);
    }
    await coverLedger(tx, { account, productType: "UTA-OTHER" }, closedAt, end);
    for (const type of ["SPOT", "MARGIN", "USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES"]) {
      await coverLedger(tx, { account, productType: `UTA-${type}` as ProductType }, closedAt, end);
    }
  });
  const everything = { accounts: undefined, productTypes: undefined };
  const { breaks } = await reconcile(db, everything, { isFull: true });
  // The closed ledgers' time before their first bill was never read.
  expect(breaks.filter(({ kind }) => kind !== "lost")).toEqual([]);
});

type Row = {
  wallet: string;
  coin: string;
  period: string;
  opening: string;
  moved: string;
  closed_out: string;
  computed: string;
  closing: string;
  off: string;
};

const rollforward = async (view: "daily" | "monthly"): Promise<readonly Row[]> => {
  const period = view === "daily" ? "day" : "month";
  const { rows } = await db.execute<Row>(
    sql.raw(`
      select
        product_type as wallet,
        coin,
        ${period}::text as period,
        opening::text,
        (realised_pnl + transfers_in + transfers_out)::text as moved,
        closed_out::text,
        computed_closing::text as computed,
        reported_closing::text as closing,
        difference::text as off
      from analytics.${view}_rollforward
      where account = '${account}'
      order by 1, 2, ${period}`),
  );
  return rows;
};

/** In units of 1e-8, like what was drawn. */
const drawnUnits = (text: string): Units => exactUnits(text) / 10n ** 22n;

const rowsOf = (rows: readonly Row[], { wallet, coin }: Drawn) =>
  rows.filter((row) => row.wallet === wallet && row.coin === coin);

describe("the rollforward of an account that became unified", () => {
  test("takes what was left out of each classic wallet on the day of its closing, and ends there", async () => {
    const rows = await rollforward("daily");
    for (const drawn of classic) {
      const days = rowsOf(rows, drawn);
      const outs = days.map((row) => drawnUnits(row.closed_out));
      expect(outs).toEqual([...outs.slice(1).fill(0n), -leftAt(drawn)]);
      expect(days.at(-1)?.period).toBe("2026-11-02");
      const { computed = "", closing = "" } = days.at(-1) ?? {};
      expect([computed, closing].map(drawnUnits)).toEqual([0n, 0n]);
    }
    const own = rowsOf(rows, unified);
    expect(own.every((row) => drawnUnits(row.closed_out) === 0n)).toBe(true);
    expect(own.map(({ period }) => period)[0]).toBe("2026-11-02");
    expect(drawnUnits(own[0]?.opening ?? "")).toBe(unified.started);
    expect(drawnUnits(own.at(-1)?.closing ?? "")).toBe(leftAt(unified));
  });

  test.each(["daily", "monthly"] as const)(
    "adds up in each row, and from row to row: %s",
    async (view) => {
      const rows = await rollforward(view);
      for (const drawn of all) {
        let balance = drawn.started;
        for (const row of rowsOf(rows, drawn)) {
          expect(drawnUnits(row.opening)).toBe(balance);
          balance += drawnUnits(row.moved) + drawnUnits(row.closed_out);
          expect([row.period, row.computed, row.closing].slice(1).map(drawnUnits)).toEqual([
            balance,
            balance,
          ]);
          expect(drawnUnits(row.off)).toBe(0n);
        }
        expect(balance).toBe(drawn === unified ? leftAt(unified) : 0n);
      }
    },
  );

  test("counts no coin twice at the end of the month of the closing", async () => {
    const { rows } = await db.execute<{ wallet: string; month: string; balance: string }>(sql`
      select product_type as wallet, month::text, reported_closing::text as balance
      from analytics.monthly_rollforward
      where account = ${account}
      order by month, product_type, coin`);
    const [usdt, btc] = classic;
    if (usdt === undefined || btc === undefined) throw new Error("no wallet was drawn");
    const november = Date.UTC(2026, 10, 1);
    expect(rows.map(({ wallet, month, balance }) => [month, wallet, drawnUnits(balance)])).toEqual([
      ["2026-10-01", "COIN-FUTURES", leftAt(btc)],
      ["2026-10-01", "USDT-FUTURES", leftAt(usdt, november)],
      ["2026-11-01", "COIN-FUTURES", 0n],
      ["2026-11-01", "USDT-FUTURES", 0n],
      ["2026-11-01", "UTA", leftAt(unified)],
    ]);
  });

  test("is told by the month's close, with the closing by name", async () => {
    const { stdout } = await runCli(["report", "--month", "2026-11", "--all-digits"], { env });
    const closed = stdout.match(/^ *closed, left behind +(.*)$/gm) ?? [];
    expect(
      closed.map((line) => drawnUnits((/\S+$/.exec(line)?.[0] ?? "").replaceAll(",", ""))),
    ).toEqual(classic.map((drawn) => -leftAt(drawn)));
    expect(stdout).toMatch(/closed 2026-11-02T15:00:00.*: the account changed its mode then/);
  });
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
      expect(closing / 10n ** 22n).toBe(leftAt(drawn));
      const left = isoTime(epochMs(closedAt - 12 * hourMs))
        .slice(0, 16)
        .replace("T", " ");
      expect(stderr).toMatch(
        new RegExp(`^warning: seam/.*${wallet}.* w(as|ere) not read from ${left}`, "m"),
      );
    }
    expect(sums.get(`Assets:Exchange:${name}:UTA:USDT USDT`)).toBe(leftAt(unified) * 10n ** 22n);
    expect(sums.get(`Equity:Exchange:${name}:UTA:Opening USDT`)).toBe(
      -unified.started * 10n ** 22n,
    );
    expect(stdout).not.toMatch(/discrepancy/i);
  },
);

test("a closed wallet of which no bill shows a balance has an unknown closing, and nothing known is left in it", async () => {
  const blind = { account: "blind", productType: "USDT-FUTURES" } as const;
  const bill = billAt(start, 0, { balance: null });
  await storeBills(db, blind, [bill]);
  await inTransaction(db, async (tx) => {
    await coverLedger(tx, blind, start, closedAt);
    await storeClosing(tx, blind, closedAt);
  });
  const { rows } = await db.execute(sql`
    select day::text, reported_closing as closing, closed_out::text as out
    from analytics.daily_rollforward
    where account = ${blind.account}
    order by daily_rollforward.day desc
    limit 1`);
  expect(rows).toEqual([{ day: "2026-11-02", closing: null, out: "0" }]);
});
