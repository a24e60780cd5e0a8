import { sql } from "drizzle-orm";
import type { Transaction } from "../connect.ts";

// Any number that no other program is likely to use; the second one is the account's.
const accountTurns = 730_549;

/**
 * Waits until no other transaction writes the account: what two of them count at once, they count
 * alike. It is no row's lock, so that whoever holds the account renews its lease meanwhile; and of
 * the transaction, so that it works behind a pooler in transaction mode. Accounts whose names have
 * one hash wait for each other, too.
 */
export async function takeTurn(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${accountTurns}::int, hashtext(${account}))`);
}
