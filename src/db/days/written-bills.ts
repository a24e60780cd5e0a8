import { walletOf } from "../../contract/product-types.ts";
import { isoTime } from "../../contract/time.ts";
import type { Transaction } from "../connect.ts";
import { type ChainDay, findEnds, forgetEnds, moveEnds } from "./day-ends.ts";
import { addSums, type DayBill, rowsOf, storedBills, sumTables } from "./day-sums.ts";

/*
 * The two places where days follow the bills. A page's transaction calls both, and sends their statements
 * with its other writes in one message: so they read nothing that they would have to wait for, and send
 * several statements with Promise.all. The caller holds the account.
 */

/**
 * Runs before stored bills are overwritten.
 * @param replaced their stored content.
 */
export async function takeOutOfDays(
  tx: Transaction,
  account: string,
  replaced: readonly DayBill[],
): Promise<void> {
  if (replaced.length === 0) return;
  const bills = rowsOf(account, replaced);
  await Promise.all([
    ...sumTables.map((table) => addSums(tx, table, bills, "-")),
    forgetEnds(tx, account, replaced),
  ]);
}

/**
 * Runs after the bills were written.
 * @param written the bills that are new or replace other content. No key is there twice.
 * @param replaced the stored content of the latter: their days may have lost their first or last bill.
 */
export async function putIntoDays(
  tx: Transaction,
  account: string,
  written: readonly DayBill[],
  replaced: readonly DayBill[],
): Promise<void> {
  if (written.length === 0) return;
  const bills = rowsOf(account, written);
  await Promise.all([
    ...sumTables.map((table) => addSums(tx, table, bills)),
    ...(replaced.length === 0 ? [] : [findEnds(tx, account, replaced.map(chainDayOf))]),
    moveEnds(tx, account, bills),
  ]);
}

type PlacedBill = Pick<DayBill, "productType" | "billId" | "coin" | "cTime">;

/** Runs after these bills were given other places in `bill_order`: one may be its day's first or last now. */
export async function reorderInDays(
  tx: Transaction,
  account: string,
  bills: readonly PlacedBill[],
): Promise<void> {
  if (bills.length === 0) return;
  await Promise.all([
    forgetEnds(tx, account, bills),
    findEnds(tx, account, bills.map(chainDayOf)),
    moveEnds(tx, account, storedBills(account, bills)),
  ]);
}

const chainDayOf = ({ productType, coin, cTime }: PlacedBill): ChainDay => ({
  wallet: walletOf(productType),
  coin,
  day: isoTime(cTime).slice(0, 10),
});
