// A unified account has one ledger in a month's close, with a digest over all its categories.

import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { epochMs, hourMs, isoTime } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import type { Units } from "../src/sandbox/money.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import type { Ledger } from "../src/sync/store.ts";
import { billAt } from "./support/bills.ts";
import { runCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";
import { storeBills } from "./support/export.ts";
import { exactUnits } from "./support/journal.ts";
import { coverLedger } from "./support/small-ledger.ts";
import { storeClosing } from "./support/stored-time.ts";
import {
  storeUnified,
  type UnifiedBill,
  unifiedLedger,
  unifiedStart,
} from "./support/unified-ledger.ts";

// A month's close of an account that became unified.

const { database, tables } = await fileDatabase();
const { db } = tables;
const env = { DATABASE_URL: database.url };
const bills = unifiedLedger(seededRandom("a month"));
const first = epochMs(unifiedStart + hourMs);
const became = epochMs(unifiedStart + 2 * hourMs);

beforeAll(async () => {
  const classic: Ledger = { account: "fund", productType: "USDT-FUTURES" };
  await storeUnified(db, "fund", bills);
  await storeBills(db, classic, [billAt(first, 0)]);
  await inTransaction(db, async (tx) => {
    await coverLedger(tx, classic, unifiedStart, became);
    await storeClosing(tx, classic, became);
  });
  await reconcile(db, { accounts: undefined, productTypes: undefined }, { isFull: true });
});

const ofCategory =
  (category: UnifiedBill["category"]) =>
  (bill: UnifiedBill): Units =>
    bill.category === category ? bill.movedAmount : 0n;

const report = async (...args: readonly string[]) => {
  const { code, stdout } = await runCli(["report", "--month", "2026-10", ...args], { env });
  expect(code).toBe(0);
  return stdout;
};

describe("the month of an account that became unified", () => {
  test("has one ledger for all categories, whichever of them is asked for", async () => {
    const { ledgers, isComplete, incomplete } = JSON.parse(await report("--format", "json"));
    // The exchange serves a type that nobody has heard of, and that moves money.
    expect({ isComplete, incomplete }).toEqual({
      isComplete: false,
      incomplete: ["BGB has 2 bills", "rTOWN has 1 bill", "BTC has 2 bills"].map(
        (bills) => `fund/UTA-OTHER/${bills} of type VAULT_ADJUST, without a category`,
      ),
    });
    expect(ledgers).toMatchObject([
      { account: "fund", productType: "UTA", closedAt: null, digest: { bills: bills.length } },
      {
        account: "fund",
        productType: "USDT-FUTURES",
        closedAt: isoTime(became).replace(".000", ""),
      },
    ]);
    expect(ledgers[0].productTypes).toHaveLength(6);
    const spot = JSON.parse(await report("--format", "json", "--product", "UTA-SPOT"));
    expect(spot.ledgers).toEqual([ledgers[0]]);
    for (const format of ["text", "html"]) {
      const shown = await report("--format", format);
      expect(shown).toMatch(/closed 2026-10-01T02:00:00.000Z: the account changed its mode /);
      expect(shown).toMatch(/fund\/UTA/);
    }
  });

  test("has figures that are the sums of what was drawn, a spot trade's principal apart from its fee", async () => {
    const { ledgers } = JSON.parse(await report("--format", "json", "--product", "UTA-SPOT"));
    const wanted: Readonly<Record<string, (bill: UnifiedBill) => Units>> = {
      realised_pnl: ofCategory("trade"),
      liquidation: ofCategory("liquidation"),
      spot: ofCategory("spot"),
      loan: ofCategory("loan"),
      fee_bills: ofCategory("fee_bills"),
      interest: ofCategory("interest"),
      conversion: ofCategory("conversion"),
      unclassified: ofCategory("unclassified"),
      fees_paid: ({ movedFee }) => movedFee,
    };
    const [{ rollforward }] = ledgers;
    expect([...new Set(rollforward.map(({ coin }: { coin: string }) => coin))]).toEqual([
      "BGB",
      "BTC",
      "USDT",
      "rTOWN",
    ]);
    for (const [coin, lines] of Map.groupBy(
      rollforward as { coin: string; line: string; amount: string }[],
      (one) => one.coin,
    )) {
      const figures = new Map(lines.map(({ line, amount }) => [line, amount]));
      const own = bills.filter((bill) => bill.coin === coin);
      const sum = (of: (bill: UnifiedBill) => Units) =>
        own.reduce((total, bill) => total + of(bill), 0n);
      const exact = (text: string) => exactUnits(text) / 10n ** 14n;
      for (const [name, of] of Object.entries(wanted)) {
        expect([coin, name, exact(figures.get(name) ?? "")]).toEqual([coin, name, sum(of)]);
      }
      const moved = sum((bill) => bill.movedAmount + bill.movedFee);
      expect(exact(figures.get("opening") ?? "")).toBe(1_000n * 10n ** 16n);
      expect(exact(figures.get("closing") ?? "")).toBe(1_000n * 10n ** 16n + moved);
    }
  });

  test("is not complete where a category was never read, unless the key may not read it", async () => {
    const account = "partial";
    await storeUnified(db, account, [], { uncovered: ["UTA-MARGIN"] });
    const incomplete = async () =>
      JSON.parse(await report("--format", "json", "--account", account)).incomplete;
    // As a sync learns it.
    await db.execute(sql`
      insert into ledgers (account, product_type, mode, mode_since)
      values (${account}, '', 'unified', now())
      on conflict (account, product_type)
      do update set mode = excluded.mode, mode_since = excluded.mode_since`);
    expect(await incomplete()).toEqual(["partial/UTA-MARGIN was never read"]);
    await db.execute(sql`
      insert into ledgers (account, product_type, not_available_since, not_available_asked_at)
      values (${account}, 'UTA-MARGIN', now(), now())
      on conflict (account, product_type)
      do update set
        not_available_since = excluded.not_available_since,
        not_available_asked_at = excluded.not_available_asked_at`);
    expect(await incomplete()).toEqual([]);
  });
});
