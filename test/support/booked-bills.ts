import { sql } from "drizzle-orm";
import { epochMs, hourMs } from "../../src/contract/time.ts";
import { type Database, inTransaction } from "../../src/db/connect.ts";
import type { ExportedBill } from "../../src/export/exported-bill.ts";
import { readBills } from "../../src/export/read-bills.ts";
import { snowflake } from "../../src/sandbox/entry.ts";
import { unifiedPlaces, units } from "../../src/sandbox/money.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import { type UnifiedBill, unifiedLedger, unifiedStart } from "./unified-ledger.ts";

export const exact = (text: string) => units(text, unifiedPlaces);

/** How often a served balance is not the one before plus what the bills moved. */
function breaksOf(
  bills: readonly { coin: string; moved: bigint; balance: string | null }[],
): number {
  const balances = new Map<string, bigint>();
  let breaks = 0;
  for (const { coin, moved, balance } of bills) {
    const before = balances.get(coin);
    const shown = balance === null ? undefined : exact(balance);
    if (before !== undefined && shown !== undefined && shown !== before + moved) breaks += 1;
    const after = shown ?? (before === undefined ? undefined : before + moved);
    if (after !== undefined) balances.set(coin, after);
  }
  return breaks;
}

export async function exportedOf(db: Database, account: string) {
  const found: ExportedBill[] = [];
  await inTransaction(db, async (tx) => {
    for await (const page of readBills(tx, { accounts: [account] })) found.push(...page);
  });
  return found;
}

/** How often an account's balances do not follow in views and in exports. */
export async function offsOf(db: Database, account: string) {
  const { rows } = await db.execute<{ activity: number; days: number }>(sql`
    select
      (
        select count(*)::int
        from analytics.activity
        where account = ${account} and difference <> 0
      ) as activity,
      (
        select count(*)::int
        from analytics.daily_rollforward
        where account = ${account} and difference <> 0
      ) as days`);
  const bills = await exportedOf(db, account);
  const exported = bills.map(({ coin, balance, walletAmount, walletFee }) => ({
    coin,
    balance,
    moved: exact(walletAmount) + exact(walletFee),
  }));
  const { activity, days } = rows[0] ?? { activity: -1, days: -1 };
  return { activity, days, exported: breaksOf(exported) };
}

export const none = { activity: 0, days: 0, exported: 0 };

/** Rows of USDT in the order in which they were booked: what each moves, and its time. */
export const rowsOf = (
  rows: readonly (readonly [moved: number, atMs: number])[],
): UnifiedBill[] => {
  const row = unifiedLedger(seededRandom("a row")).find(
    ({ productType, coin }) => productType === "UTA-OTHER" && coin === "USDT",
  );
  if (row === undefined) throw new Error("no row");
  let balance = 1_000;
  let latest = 0;
  return rows.map(([moved, atMs], place) => {
    balance += moved;
    latest = Math.max(latest, unifiedStart + hourMs + atMs);
    return {
      ...row,
      billId: snowflake(latest, place),
      businessType: "TRANSFER_IN",
      amount: String(moved),
      balance: String(balance),
      cTime: epochMs(unifiedStart + hourMs + atMs),
    };
  });
};
