import { sql } from "drizzle-orm";
import type { Transaction } from "../connect.ts";

// Any number that no other program is likely to use; the second one is the account's.
const accountTurns = 730_549;

/**
 * Waits until no other transaction writes the account: two at once would both count the bills that both
 * store. An advisory lock, not a row's, so that the account's holder can renew its lease meanwhile; and
 * the transaction's, not the session's, so that it works behind a pooler in transaction mode. Accounts
 * whose names have the same hash wait for each other, too.
 */
export async function takeTurn(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${accountTurns}::int, hashtext(${account}))`);
}
