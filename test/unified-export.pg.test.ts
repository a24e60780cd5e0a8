// A unified account's journals, Koinly's rows and closes are what was drawn (hledger and bean-check).

import { parse } from "csv-parse/sync";
import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { bookings, feeBooking } from "../src/books/export/bookings.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/lib/time.ts";
import { type Units, units } from "../src/wings/sandbox/money.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { aBill } from "./support/bills.ts";
import { runCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { exported } from "./support/export.ts";
import { exactUnits, refusalOf, verifiedSums } from "./support/journal.ts";
import { coverLedger, storeBills, storeOpen } from "./support/stored-ledger.ts";
import { storeUnified, type UnifiedBill, unifiedLedger } from "./support/unified-ledger.ts";

// What the exports say of unified accounts is compared with what was drawn, without SQL in between.

const { db, url } = await fileDatabase();
const env = { DATABASE_URL: url };

const accounts: Readonly<Record<string, readonly UnifiedBill[]>> = {
  inside: unifiedLedger(seededRandom("inside")),
  beside: unifiedLedger(seededRandom("beside"), {
    feesBeside: ["trade", "liquidation"],
    areIdsReused: true,
  }),
};

beforeAll(async () => {
  for (const [account, bills] of Object.entries(accounts)) await storeUnified(db, account, bills);
  const { breaks } = await reconcile(
    db,
    { accounts: undefined, productTypes: undefined },
    { isFull: true },
  );
  expect(breaks).toEqual([]);
});

const tools = ["hledger", "beancount"] as const;
const started = units("1000");
/** From units of a unified account to those of a journal's sums. */
const widened = (moved: Units): bigint => moved * 10n ** 14n;

/** Each account of a journal except the wallets', by what the bills moved. */
function bookedOf(name: string, bills: readonly UnifiedBill[], coins: (coin: string) => string) {
  const sums = new Map<string, bigint>();
  const book = (bill: UnifiedBill, moved: Units, booked: typeof feeBooking) => {
    if (moved === 0n) return;
    const { root, name: leaf, owner = "product type" } = moved > 0n ? booked.gain : booked.loss;
    const whose = { account: "", wallet: ":UTA", "product type": `:${bill.productType}` }[owner];
    const key = `${root}:Exchange:${name}${whose}:${leaf} ${coins(bill.coin)}`;
    sums.set(key, (sums.get(key) ?? 0n) - widened(moved));
  };
  for (const bill of bills) {
    book(bill, bill.movedAmount, bookings[bill.category]);
    book(bill, bill.movedFee, feeBooking);
  }
  return sums;
}

const coins = ["BGB", "BTC", "USDT", "rTOWN"];
const movedOf = (bills: readonly UnifiedBill[], coin: string) =>
  bills
    .filter((bill) => bill.coin === coin)
    .reduce((sum, bill) => sum + bill.movedAmount + bill.movedFee, 0n);

test.each(
  tools.flatMap((tool) => Object.keys(accounts).map((account) => [tool, account] as const)),
)(
  "a journal for %s checks, has one wallet a coin and no discrepancy: %s",
  async (tool, account) => {
    const bills = accounts[account] ?? [];
    const text = String(await exported(db, tool, { accounts: [account] }));
    expect(refusalOf(tool, text)).toBe("");
    expect(text.match(/discrepancy.*/g)).toBeNull();
    const name = tool === "hledger" ? account : account.replace(/^./, (one) => one.toUpperCase());
    const coinOf = (coin: string) => (tool === "beancount" && /[a-z]/.test(coin) ? "COIN" : coin);
    const short = (key: string) =>
      key.replace(/COIN\.RTOWN.*|"rTOWN"/, "COIN").replace(/:RTOWN-\w+/, ":COIN");
    const sums = [...verifiedSums(tool, text)].filter(
      ([key, sum]) => sum !== 0n && !key.includes(":Opening "),
    );
    const wallets = coins.map((coin) => {
      const key = `Assets:Exchange:${name}:UTA:${coinOf(coin)} ${coinOf(coin)}`;
      return [key, widened(started + movedOf(bills, coin))] as const;
    });
    expect(new Map(sums.map(([key, sum]) => [short(key), sum]))).toEqual(
      new Map([...wallets, ...bookedOf(name, bills, coinOf)]),
    );
  },
);

describe("a unified account's entries", () => {
  test("are CSV's rows with what each says of its position", async () => {
    for (const [account, bills] of Object.entries(accounts)) {
      const csv = String(await exported(db, "csv", { accounts: [account] }));
      const rows: Record<string, string>[] = parse(csv, { columns: true });
      const positions = rows.map((row) => [
        ...[row["product_type"], row["bill_id"], row["position_type"]],
        ...[row["position_amount"], row["position_balance"]],
      ]);
      const drawn = bills.map((bill) => [
        ...[bill.productType, bill.billId, bill.positionType ?? ""],
        ...[bill.positionAmount ?? "", bill.positionBalance ?? ""],
      ]);
      expect(positions.toSorted()).toEqual(drawn.toSorted());
    }
  });

  test("are Koinly's with each movement once, told apart where two categories have one id", async () => {
    for (const [account, bills] of Object.entries(accounts)) {
      const rows = String(await exported(db, "koinly", { accounts: [account] }))
        .trimEnd()
        .split("\r\n")
        .slice(1)
        .map((line) => line.split(","));
      expect(new Set(rows.map((row) => row[11])).size).toBe(rows.length);
      for (const coin of coins) {
        const of = (currency: number) =>
          rows
            .filter((row) => row[currency] === coin)
            .reduce((sum, row) => sum + exactUnits(row[currency - 1] ?? ""), 0n);
        expect([coin, of(4) - of(2)]).toEqual([coin, widened(movedOf(bills, coin))]);
      }
    }
  });
});

test("a category of which nothing was read to its end yet ends where the others do", async () => {
  const account = "begun";
  const [first, ...others] = ["UTA-SPOT", "UTA-MARGIN", "UTA-OTHER"] as const;
  const end = Date.UTC(2026, 9, 2);
  const at = (time: number) => aBill({ cTime: epochMs(time), billId: String(time) });
  for (const productType of [first, ...others])
    await storeBills(db, { account, productType }, [at(end - hourMs), at(end + hourMs)]);
  const window = { from: epochMs(end - dayMs), to: epochMs(end) };
  await storeOpen(db, { account, productType: first }, window);
  for (const productType of others)
    await coverLedger(db, { account, productType }, end - dayMs, end);
  const { stdout, stderr } = await runCli(["export", "--format", "csv", "--account", account], {
    env,
  });
  const rows: Record<string, string>[] = parse(stdout, { columns: true });
  expect(rows.map(({ c_time }) => c_time)).toEqual(
    [first, ...others].map(() => isoTime(epochMs(end - hourMs))),
  );
  expect(stderr).toMatch(/warning: begun\/UTA-SPOT was not read/);
});

test("a spot trade is for Koinly one row of two coins, without the fee, which is a cost; of one coin where the other side is not there", async () => {
  const side = (billId: string, coin: string, amount: string, fee: string): Bill =>
    aBill({
      ...{ billId, symbol: "RTOWNUSDT", amount, fee, coin, balance: null },
      cTime: epochMs(1_790_187_950_042),
      businessType: amount.startsWith("-") ? "ORDER_DEALT_FROZEN_OUT" : "ORDER_DEALT_IN",
    });
  // As an exchange served them.
  const sold = side("1486721507613851649", "USDT", "-10.1079350372", "-0.0100978372");
  const bought = side("1486721507613851648", "rTOWN", "0.2783", "0");
  const rowsOf = async (account: string, bills: readonly Bill[]) => {
    await storeBills(db, { account, productType: "UTA-SPOT" }, bills);
    const csv = String(await exported(db, "koinly", { accounts: [account] }));
    return csv.trimEnd().split("\r\n").slice(1);
  };
  const date = "2026-09-23 18:25:50 UTC";
  const text = "ORDER_DEALT_FROZEN_OUT RTOWNUSDT koinly/UTA-SPOT,koinly/UTA-SPOT";
  expect(await rowsOf("koinly", [sold, bought])).toEqual([
    `${date},10.0978372000,USDT,0.2783,rTOWN,,,,,,${text}/${sold.billId}`,
    `${date},0.0100978372,USDT,,,,,,,cost,${text}/${sold.billId}/fee`,
  ]);
  expect(await rowsOf("half", [bought])).toEqual([
    `${date},,,0.2783,rTOWN,,,,,,ORDER_DEALT_IN RTOWNUSDT half/UTA-SPOT,half/UTA-SPOT/${bought.billId}`,
  ]);
});

const reportOf = async (...args: readonly string[]) =>
  JSON.parse((await runCli(["report", "--format", "json", ...args], { env })).stdout);

test.each(Object.entries(accounts))(
  "the close of %s has one ledger for all categories, with sums of what was drawn",
  async (account, bills) => {
    const args = ["--month", "2026-10", "--account", account];
    // The exchange serves a type that nobody has heard of, and that moves money.
    const { problems } = await reportOf(...args);
    expect(problems[0]).toMatch(/of type VAULT_ADJUST, without a category$/);
    const { ledgers } = await reportOf(...args, "--product", "UTA-SPOT");
    expect(ledgers).toMatchObject([{ productType: "UTA", digest: { bills: bills.length } }]);
    expect(ledgers[0].productTypes).toHaveLength(6);
    const lines: readonly Record<string, string>[] = ledgers[0].rollforward;
    const categories = {
      ...{ realised_pnl: "trade", liquidation: "liquidation", spot: "spot", loan: "loan" },
      ...{
        separate_fees: "fee-bills",
        interest: "interest",
        conversion: "conversion",
        unclassified: "unclassified",
      },
    };
    expect(new Set(lines.map((line) => line["coin"]))).toEqual(new Set(coins));
    for (const coin of coins) {
      const figure = (name: string) =>
        exactUnits(
          lines.find((one) => one["coin"] === coin && one["line"] === name)?.["amount"] ?? "",
        );
      const sum = (of: (bill: UnifiedBill) => Units) =>
        bills
          .filter((bill) => bill.coin === coin)
          .reduce((total, bill) => total + widened(of(bill)), 0n);
      for (const [name, category] of Object.entries(categories)) {
        const moved = sum((bill) => (bill.category === category ? bill.movedAmount : 0n));
        expect([coin, name, figure(name)]).toEqual([coin, name, moved]);
      }
      expect(figure("fees_paid")).toBe(sum(({ movedFee }) => movedFee));
      expect(figure("opening")).toBe(widened(started));
      expect(figure("closing")).toBe(widened(started + movedOf(bills, coin)));
    }
  },
);

test("the close of a unified account is not complete where a category was never read, unless the key may not read it", async () => {
  await storeUnified(db, "partial", [], { uncovered: ["UTA-MARGIN"] });
  const problems = async () =>
    (await reportOf("--month", "2026-10", "--account", "partial")).problems;
  // As a sync learns it.
  const learn = (productType: string, columns: string, values: string) =>
    db.execute(
      sql.raw(`
        insert into ledgers (account, product_type, ${columns})
        values ('partial', '${productType}', ${values})
        on conflict (account, product_type)
        do update set (${columns}) = row (${values})`),
    );
  await learn("", "mode, mode_since", "'unified', now()");
  expect(await problems()).toEqual(["partial/UTA-MARGIN was never read"]);
  await learn("UTA-MARGIN", "not_available_since, not_available_asked_at", "now(), now()");
  expect(await problems()).toEqual([]);
});
