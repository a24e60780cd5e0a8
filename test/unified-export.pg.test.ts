// A unified account's journals, ccxt's entries and Koinly's rows are what was drawn; an account that became
// unified has a closing (hledger and bean-check).

import { parse } from "csv-parse/sync";
import { beforeAll, describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import type { Bill } from "../src/contract/bill.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { bookings, feeBooking } from "../src/export/bookings.ts";
import { type Units, unifiedPlaces, units } from "../src/sandbox/money.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import type { Ledger } from "../src/sync/store.ts";
import { aBill } from "./support/bills.ts";
import { runCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { exported, storeBills } from "./support/export.ts";
import { exactUnits, refusalOf, verifiedSums } from "./support/journal.ts";
import { coverLedger } from "./support/small-ledger.ts";
import { storeClosing, storeOpen } from "./support/stored-time.ts";
import { storeUnified, type UnifiedBill, unifiedLedger } from "./support/unified-ledger.ts";

// What the exports say of unified accounts is compared with what was drawn, without SQL in between.

const { database, tables } = await fileDatabase();
const { db } = tables;
const env = { DATABASE_URL: database.url };

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
const started = units("1000", unifiedPlaces);
/** From units of a unified account to those of a journal's sums. */
const widened = (moved: Units): bigint => moved * 10n ** 14n;

const nameOf = (tool: (typeof tools)[number], account: string): string =>
  tool === "hledger" ? account : account.replace(/^./, (letter) => letter.toUpperCase());

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

describe.each(tools)("a unified account's journal for %s", (tool) => {
  test.each(Object.keys(accounts))(
    "checks, has one wallet a coin and no discrepancy: %s",
    async (account) => {
      const bills = accounts[account] ?? [];
      const text = String(await exported(db, tool, { accounts: [account] }));
      expect(refusalOf(tool, text)).toBe("");
      expect(text.match(/discrepancy.*/g)).toBeNull();
      const sums = verifiedSums(tool, text);
      const name = nameOf(tool, account);
      const coinOf = (coin: string) => (tool === "beancount" && /[a-z]/.test(coin) ? "COIN" : coin);
      const short = (key: string) =>
        key.replace(/COIN\.RTOWN.*|"rTOWN"/, "COIN").replace(/:RTOWN-\w+/, ":COIN");
      const found = new Map([...sums].map(([key, sum]) => [short(key), sum]));
      const wallets = [...found].filter(([key]) => key.startsWith("Assets:"));
      expect(new Set(wallets.map(([key]) => key))).toEqual(
        new Set(
          ["BGB", "BTC", "USDT", "rTOWN"].map(
            (coin) => `Assets:Exchange:${name}:UTA:${coinOf(coin)} ${coinOf(coin)}`,
          ),
        ),
      );
      for (const coin of ["BGB", "BTC", "USDT", "rTOWN"]) {
        const moved = bills
          .filter((bill) => bill.coin === coin)
          .reduce((sum, bill) => sum + bill.movedAmount + bill.movedFee, started);
        expect(found.get(`Assets:Exchange:${name}:UTA:${coinOf(coin)} ${coinOf(coin)}`)).toBe(
          widened(moved),
        );
      }
      const others = [...found].filter(
        ([key, sum]) => !/^Assets:|:Opening /.test(key) && sum !== 0n,
      );
      expect(new Map(others)).toEqual(bookedOf(name, bills, coinOf));
    },
  );
});

describe("a unified account's entries", () => {
  test("move on by ccxt's words over all categories, the fee beside the amount", async () => {
    for (const [account, bills] of Object.entries(accounts)) {
      const entries = JSON.parse(String(await exported(db, "ccxt", { accounts: [account] })));
      expect(entries).toHaveLength(bills.length);
      const balances = new Map<string, string>();
      for (const entry of entries) {
        expect(entry.account).toBe(`${account}/UTA`);
        const before = balances.get(entry.currency);
        if (before !== undefined && entry.before !== null) {
          expect([entry.id, exactUnits(entry.before)]).toEqual([entry.id, exactUnits(before)]);
        }
        if (entry.after === null) balances.delete(entry.currency);
        else balances.set(entry.currency, entry.after);
        const moved =
          entry.after === null ? 0n : exactUnits(entry.after) - exactUnits(entry.before);
        const sign = entry.direction === "in" ? 1n : -1n;
        const byNumbers = sign * exactUnits(entry.amount) - exactUnits(entry.fee.cost);
        if (moved !== 0n) expect([entry.id, byNumbers]).toEqual([entry.id, moved]);
      }
      expect(
        new Set(entries.map(({ info }: { info: { category: string } }) => info.category)),
      ).toEqual(new Set(["SPOT", "MARGIN", "OTHER", "USDT-FUTURES", "USDC-FUTURES"]));
    }
  });

  test("are CSV's rows with what each says of its position", async () => {
    for (const [account, bills] of Object.entries(accounts)) {
      const rows = parse(String(await exported(db, "csv", { accounts: [account] })), {
        columns: true,
      }) as Record<string, string>[];
      const shown = new Map(rows.map((row) => [`${row["product_type"]} ${row["bill_id"]}`, row]));
      const wrong = bills.filter((bill) => {
        const row = shown.get(`${bill.productType} ${bill.billId}`);
        return (
          row?.["position_type"] !== (bill.positionType ?? "") ||
          row["position_amount"] !== (bill.positionAmount ?? "") ||
          row["position_balance"] !== (bill.positionBalance ?? "")
        );
      });
      expect({ wrong, rows: rows.length }).toEqual({ wrong: [], rows: bills.length });
    }
  });

  test("are Koinly's with each movement once, told apart where two categories have one id", async () => {
    for (const [account, bills] of Object.entries(accounts)) {
      const text = String(await exported(db, "koinly", { accounts: [account] }));
      const rows = text
        .trimEnd()
        .split("\r\n")
        .slice(1)
        .map((line) => line.split(","));
      expect(new Set(rows.map((row) => row[11])).size).toBe(rows.length);
      for (const coin of ["BGB", "BTC", "USDT", "rTOWN"]) {
        const of = (currency: number) =>
          rows
            .filter((row) => row[currency] === coin)
            .reduce((sum, row) => sum + exactUnits(row[currency - 1] ?? ""), 0n);
        const moved = bills
          .filter((bill) => bill.coin === coin)
          .reduce((sum, bill) => sum + bill.movedAmount + bill.movedFee, 0n);
        expect([coin, of(4) - of(2)]).toEqual([coin, widened(moved)]);
      }
    }
  });
});

test("a category of which nothing was read to its end yet ends where the others do", async () => {
  const account = "begun";
  const [first, ...others] = ["UTA-SPOT", "UTA-MARGIN", "UTA-OTHER"] as const;
  const end = Date.UTC(2026, 9, 2);
  const at = (time: number) => aBill({ cTime: epochMs(time), billId: String(time) });
  for (const productType of [first, ...others]) {
    await storeBills(db, { account, productType }, [at(end - hourMs), at(end + hourMs)]);
  }
  await inTransaction(db, async (tx) => {
    const window = { from: epochMs(end - dayMs), to: epochMs(end) };
    await storeOpen(tx, { account, productType: first }, window);
    for (const productType of others)
      await coverLedger(tx, { account, productType }, end - dayMs, end);
  });
  const { stdout, stderr } = await runCli(["export", "--format", "csv", "--account", account], {
    env,
  });
  const rows: Record<string, string>[] = parse(stdout, { columns: true });
  expect(rows.map(({ c_time }) => c_time)).toEqual(
    [first, ...others].map(() => isoTime(epochMs(end - hourMs))),
  );
  expect(stderr).toMatch(/warning: begun\/UTA-SPOT not read/);
});

describe("a spot trade for Koinly", () => {
  const time = epochMs(1_790_187_950_042);
  const side = (billId: string, coin: string, amount: string, fee: string): Bill =>
    aBill({
      ...{ billId, symbol: "RTOWNUSDT", amount, fee, coin, balance: null, cTime: time },
      businessType: amount.startsWith("-") ? "ORDER_DEALT_FROZEN_OUT" : "ORDER_DEALT_IN",
    });
  // As an exchange served them.
  const given = side("1486721507613851649", "USDT", "-10.1079350372", "-0.0100978372");
  const taken = side("1486721507613851648", "rTOWN", "0.2783", "0");
  const name = (account: string, billId: string) => `${account}/UTA-SPOT/${billId}`;
  const text = (businessType: string, account: string) =>
    `${businessType} RTOWNUSDT ${account}/UTA-SPOT`;
  const date = "2026-09-23 18:25:50 UTC";
  const rowsOf = async (account: string, bills: readonly Bill[]) => {
    await storeBills(db, { account, productType: "UTA-SPOT" }, bills);
    const csv = String(await exported(db, "koinly", { accounts: [account] }));
    return csv.trimEnd().split("\r\n").slice(1);
  };

  test("is one row of two coins, without the fee, which is a cost", async () => {
    const sold = text("ORDER_DEALT_FROZEN_OUT", "koinly");
    expect(await rowsOf("koinly", [given, taken])).toEqual([
      `${date},10.0978372000,USDT,0.2783,rTOWN,,,,,,${sold},${name("koinly", given.billId)}`,
      `${date},0.0100978372,USDT,,,,,,,cost,${sold},${name("koinly", given.billId)}/fee`,
    ]);
  });

  test("is a row of one coin where the other side is not there", async () => {
    const bought = text("ORDER_DEALT_IN", "half");
    expect(await rowsOf("half", [taken])).toEqual([
      `${date},,,0.2783,rTOWN,,,,,,${bought},${name("half", taken.billId)}`,
    ]);
  });
});

const seamStart = Date.UTC(2026, 9, 30);

/** An account that became unified while its classic wallet held 125 USDT. */
async function storeSeam(): Promise<void> {
  const bill = (index: number, businessType: string, amount: string, balance: string): Bill =>
    aBill({
      ...{ billId: `15000000000000000${index}0`, symbol: null, businessType, amount, balance },
      ...{ fee: "0", cTime: epochMs(seamStart + index * 6 * hourMs) },
    });
  const classic: Ledger = { account: "seam", productType: "USDT-FUTURES" };
  const unified: Ledger = { account: "seam", productType: "UTA-OTHER" };
  await storeBills(db, classic, [
    bill(0, "trans_from_exchange", "100", "100"),
    bill(1, "close_long", "20", "120"),
    // On the day of the closing. The amount at the day's end is what is taken out.
    bill(4, "close_long", "5", "125"),
  ]);
  await storeBills(db, unified, [
    bill(5, "TRANSFER_IN", "120", "120"),
    bill(9, "TRANSFER_OUT", "-50", "70"),
  ]);
  await inTransaction(db, async (tx) => {
    await coverLedger(tx, classic, seamStart, seamStart + dayMs + hourMs);
    await coverLedger(tx, unified, seamStart + dayMs, seamStart + 10 * dayMs);
    await storeClosing(tx, classic, seamStart + dayMs + 2 * hourMs);
  });
}

describe("an account that became unified", () => {
  beforeAll(storeSeam);
  const journal = async (tool: (typeof tools)[number], ...args: readonly string[]) => {
    const { code, stdout, stderr } = await runCli(
      ["export", "--format", tool, "--account", "seam", ...args],
      { env },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    return stdout;
  };

  test("has its closing once in files of months that continue each other", async () => {
    const october = await journal("hledger", "--month", "2026-10");
    const november = await journal("hledger", "--month", "2026-11", "--continue");
    expect(october.match(/category:closing/g)).toHaveLength(1);
    expect(november.match(/category:closing/g)).toBeNull();
    expect(refusalOf("hledger", october + november)).toBe("");
    const before = await journal("hledger", "--to", "2026-10-31");
    expect(before.match(/category:closing/g)).toBeNull();
    const after = await journal("hledger", "--from", "2026-10-31", "--continue");
    expect(after.match(/category:closing/g)).toHaveLength(1);
    expect(refusalOf("hledger", before + after)).toBe("");
  });

  test("is refused as a journal of some of its categories", async () => {
    const half = await runCli(["export", "--format", "hledger", "--product", "UTA-SPOT"], { env });
    expect(half).toMatchObject({ code: 2, stderr: expect.stringMatching(/add --product UTA-/) });
  });
});
