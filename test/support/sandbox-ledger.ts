import type { ProductType } from "../../src/core/contract/product-types.ts";
import type { Database } from "../../src/core/postgres/connect.ts";
import { readStoredBills } from "../../src/core/store/bill-rows.ts";
import { horizonAt } from "../../src/core/words/plan.ts";
import { epochMs, minuteMs } from "../../src/lib/time.ts";
import { type Comparison, compareWithLedger } from "../../src/wings/sandbox/comparison.ts";
import type { Sandbox } from "../exchange/sandbox.ts";

/** Compares what is stored of a product type with the sandbox's own ledger. */
export async function heldAgainstLedger(
  db: Database,
  { account }: Pick<Sandbox, "account">,
  productType: ProductType,
  /** Bills that were served by then are expected. */
  syncedAt: number,
  /** The account's name in the tables. */
  name = "main",
): Promise<Comparison> {
  const stored = await readStoredBills(db, { account: name, productType });
  return compareWithLedger(account.ledger.bills[productType], stored, {
    // The horizon moves while a test runs.
    from: epochMs(horizonAt(epochMs(syncedAt)) + minuteMs),
    visibleAt: epochMs(syncedAt),
  });
}

/**
 * The result of {@link heldAgainstLedger} if every bill is there, with every digit, and no other
 * one.
 */
export const exactly = { missing: [], extra: [], different: [] };
