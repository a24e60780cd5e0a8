import { randomUUID } from "node:crypto";
import type { ExportedBill } from "../../src/books/export/exported-bill.ts";
import { type Bill, noPosition } from "../../src/core/contract/bill.ts";
import type { Ledger } from "../../src/core/words/ledger.ts";
import { epochMs } from "../../src/lib/time.ts";
import { snowflake } from "../../src/wings/sandbox/entry.ts";

/** An ordinary bill, with the fields that the test sets. */
export const aBill = (but: Partial<Bill> = {}): Bill => ({
  billId: "1098396773329305606",
  symbol: "BTCUSDT",
  amount: "12.50",
  fee: "-0.0123",
  feeByCoupon: null,
  businessType: "close_long",
  coin: "USDT",
  balance: "1234.56789",
  cTime: epochMs(1_700_000_000_000),
  ...noPosition,
  extra: null,
  ...but,
});

/** A bill of a time, whose id tells the time and its place in the millisecond. */
export const billAt = (time: number, place: number, but: Partial<Bill> = {}): Bill =>
  aBill({ billId: snowflake(time, place), cTime: epochMs(time), ...but });

/** Bills that differ in their ids. */
export const bills = (count: number, but: Partial<Bill> = {}): Bill[] =>
  Array.from({ length: count }, (_, index) =>
    aBill({ billId: String(1_000_000 + index), cTime: epochMs(1_700_000_000_000 + index), ...but }),
  );

/** A ledger that no other test writes. */
export const aLedger = (): Ledger => ({ account: randomUUID(), productType: "USDT-FUTURES" });

/** The same bill as an export reads it. */
export function anExportedBill(but: Partial<ExportedBill> = {}): ExportedBill {
  const { amount, fee } = { ...aBill(), ...but };
  const isMargin = but.category === "margin";
  return {
    ...aBill(),
    account: "main",
    productType: "USDT-FUTURES",
    ...noPosition,
    extra: null,
    ingestedAt: epochMs(1_700_000_100_000),
    category: "trade",
    walletAmount: isMargin ? "0" : amount,
    walletFee: isMargin ? "0" : fee,
    ...but,
  };
}
