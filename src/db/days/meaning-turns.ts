import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import type { Transaction } from "../connect.ts";

/*
 * The meaning of an account's bills is the categories of their types, what they move the wallet by,
 * and their order within a millisecond. One transaction at a time changes it, and no day is stored
 * meanwhile: a day with a bill that the transaction does not see would keep the old meaning.
 *
 * The turns are sixteen empty tables. An account's name chooses its table, and whoever takes the
 * turn locks it. Only `lock table` waits before its transaction takes a snapshot. An advisory lock
 * and a row lock wait after the snapshot, which then lacks what they waited for.
 */

const turns = 16;

const turnOf = (account: string): number =>
  createHash("sha256").update(account).digest().readUInt8() % turns;

const tableOf = (account: string) => sql.identifier(`meaning_turns_${turnOf(account)}`);

/**
 * Keeps all others from changing the meaning of the account's bills, and from storing its days. It
 * must be the first statement of its transaction, which must not have a snapshot yet.
 */
export const holdMeaning = (tx: Transaction, account: string) =>
  tx.execute(sql`lock table ${tableOf(account)} in share row exclusive mode`);

/** Holds the meanings of several accounts, or of all. */
export async function holdMeanings(
  tx: Transaction,
  accounts: readonly string[] | "all",
): Promise<void> {
  if (accounts === "all") {
    await tx.execute(sql`lock table meaning_turns in share row exclusive mode`);
    return;
  }
  // Always in the same order: two transactions that wait for each other would deadlock.
  for (const account of accounts.toSorted((a, b) => turnOf(a) - turnOf(b)))
    await holdMeaning(tx, account);
}

/**
 * Keeps the meaning as it is. Several transactions may do so at once.
 * @throws if another transaction is changing the meaning.
 */
export async function keepMeaning(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`lock table ${tableOf(account)} in row exclusive mode nowait`);
}
