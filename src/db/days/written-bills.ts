import { sql } from "drizzle-orm";
import type { Bill } from "../../contract/bill.ts";
import { type ProductType, walletOf } from "../../contract/product-types.ts";
import { dayMs, type EpochMs } from "../../contract/time.ts";
import type { Transaction } from "../connect.ts";
import { textArray } from "../sql/array-literal.ts";

/** A bill that this transaction writes: it is new, or replaces other content. No key is there twice. */
export type WrittenBill = { readonly productType: ProductType; readonly bill: Bill };

/** A stored bill that is about to be overwritten, with its stored time and coin. */
export type ReplacedBill = {
  readonly productType: ProductType;
  readonly billId: string;
  readonly coin: string;
  readonly cTime: EpochMs;
};

/*
 * The two places where days follow the bills. A page's transaction calls both, and sends their statements
 * with its other writes in one message: so they read nothing that they would have to wait for, and send
 * several statements with Promise.all. The caller holds the account.
 */

/** Runs before stored bills are overwritten: `bills` still has the content that the days lose. */
export async function takeOutOfDays(
  tx: Transaction,
  account: string,
  replaced: readonly ReplacedBill[],
): Promise<void> {
  await markDays(tx, account, replaced);
}

/**
 * Runs after the bills were written: `bills` has what the days gain.
 * @param _replaced for what cannot be added up, such as a day's last balance: the days that lost a bill.
 */
export async function putIntoDays(
  tx: Transaction,
  account: string,
  written: readonly WrittenBill[],
  _replaced: readonly ReplacedBill[],
): Promise<void> {
  const times = written.map(({ productType, bill }) => ({ productType, cTime: bill.cTime }));
  await markDays(tx, account, times);
}

async function markDays(
  tx: Transaction,
  account: string,
  bills: readonly { readonly productType: ProductType; readonly cTime: EpochMs }[],
): Promise<void> {
  if (bills.length === 0) return;
  // A page's bills are mostly of one day.
  const wallets = Map.groupBy(bills, ({ productType }) => walletOf(productType));
  const marked = [...wallets].flatMap(([wallet, ofWallet]) =>
    [...new Set(ofWallet.map(({ cTime }) => Math.floor(cTime / dayMs)))].map((day) => ({
      wallet,
      day,
    })),
  );
  await tx.execute(sql`
    insert into dirty_days (account, wallet, day, cause)
    select ${account}, wallet, date '1970-01-01' + day, 'bills'
    from unnest(
      ${textArray(marked.map(({ wallet }) => wallet))}::text[],
      ${textArray(marked.map(({ day }) => String(day)))}::int[]
    ) as marked (wallet, day)
    on conflict (account, wallet, day, cause) do nothing`);
}
