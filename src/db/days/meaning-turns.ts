import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import type { Transaction } from "../connect.ts";

/*
 * What an account's bills mean (the categories of their types, what they move the wallet by, and their
 * order within a millisecond) is changed by one transaction at a time, and no day is stored meanwhile:
 * a day that is, of a bill that the transaction does not see, would keep the old meaning.
 *
 * Each account has a turn: an empty table that is locked, one of sixteen, chosen by its name. Only
 * `lock table` waits before its transaction takes a snapshot. An advisory lock and a row's lock wait
 * behind one, which then does not show what was waited for.
 */

const turns = 16;

const turnOf = (account: string): number =>
  createHash("sha256").update(account).digest().readUInt8() % turns;

const tableOf = (account: string) => sql.identifier(`meaning_turns_${turnOf(account)}`);

/**
 * Keeps everybody else from changing what the account's bills mean, and from storing its days. The
 * first statement of its transaction, which must not have a snapshot yet.
 */
export const holdMeaning = (tx: Transaction, account: string) =>
  tx.execute(sql`lock table ${tableOf(account)} in share row exclusive mode`);

/** The same for several accounts, or for all. */
export async function holdMeanings(
  tx: Transaction,
  accounts: readonly string[] | "all",
): Promise<void> {
  if (accounts === "all") {
    await tx.execute(sql`lock table meaning_turns in share row exclusive mode`);
    return;
  }
  // In one order: two who wait for each other's would deadlock.
  for (const account of accounts.toSorted((a, b) => turnOf(a) - turnOf(b)))
    await holdMeaning(tx, account);
}

/** Keeps the meaning as it is, beside others who do. @throws where somebody is changing it. */
export async function keepMeaning(tx: Transaction, account: string): Promise<void> {
  await tx.execute(sql`lock table ${tableOf(account)} in row exclusive mode nowait`);
}
