import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import type { Transaction } from "../connect.ts";

/*
 * One transaction at a time checks an account, signs its breaks off or renames it, so that a check sees what
 * the one before it stored.
 *
 * The turns are sixteen empty tables. An account's name chooses its table, and whoever takes the turn locks
 * it. Only `lock table` waits before its transaction takes a snapshot. An advisory lock and a row lock wait
 * after the snapshot, which then lacks what they waited for.
 */

const turns = 16;

const turnOf = (account: string): number =>
  createHash("sha256").update(account).digest().readUInt8() % turns;

/** It must be the first statement of its transaction, which must not have a snapshot yet. */
export const takeCheckTurn = (tx: Transaction, account: string) =>
  tx.execute(
    sql`lock table ${sql.identifier(`meaning_turns_${turnOf(account)}`)} in share row exclusive mode`,
  );

/** Takes the turns of several accounts. */
export async function takeCheckTurns(tx: Transaction, accounts: readonly string[]): Promise<void> {
  // Always in the same order: two transactions that wait for each other would deadlock.
  for (const account of accounts.toSorted((a, b) => turnOf(a) - turnOf(b)))
    await takeCheckTurn(tx, account);
}
